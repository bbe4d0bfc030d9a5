"""Compiled twins of plain loops, through the optional package numba (extra ``fast``).

A kernel is an ordinary Python function over flat sequences of whole numbers: indexing, loops and
integer arithmetic only.  The same source runs in two ways that give the same bytes:

* compiled by numba, over int64 arrays;
* as it stands, over Python lists (much faster than scalar access to arrays).

numba is imported when the first kernel is asked for, never at ``import hetopt``.  Setting the
environment variable ``HETOPT_NO_NUMBA`` to anything but ``0`` or an empty text switches it off.
Compiled code is cached on disk where numba finds a folder that it may write; elsewhere each process
compiles once more (a second or two per kernel).
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, Final

__all__ = ["SWITCH", "at_hand", "compiled", "loaded", "numba_usable"]

SWITCH: Final = "HETOPT_NO_NUMBA"
"""Environment variable that turns compiled kernels off."""


@functools.cache
def _importable() -> bool:
    if importlib.util.find_spec("numba") is None:
        return False
    try:
        import numba  # noqa: F401
    except ImportError:  # installed, but not for this numpy or this machine
        return False
    return True


def numba_usable() -> bool:
    """Whether kernels are compiled: numba can be imported and is not switched off."""
    return os.environ.get(SWITCH, "0") in ("", "0") and _importable()


def compiled(function: Callable[..., Any], *helpers: Callable[..., Any]) -> Callable[..., Any]:
    """The compiled twin of a plain function.

    Parameters
    ----------
    function
        The plain kernel.
    helpers
        Plain kernels that it calls by their global names; they are compiled too.

    Returns
    -------
    A numba dispatcher; the same object each time.  Call it only if :func:`numba_usable`.
    """
    if (function, helpers) not in _made:
        _made[function, helpers] = _compile(function, helpers)
    made: Callable[..., Any] = _made[function, helpers]
    return made


_made: dict[tuple[Callable[..., Any], tuple[Callable[..., Any], ...]], Any] = {}


def _compile(function: Callable[..., Any], helpers: tuple[Callable[..., Any], ...]) -> Any:
    import numba

    assert isinstance(function, FunctionType)
    # a copy whose global names of helpers mean the compiled helpers; the plain function keeps its own
    names = {helper.__name__: compiled(helper) for helper in helpers}
    copy = FunctionType(function.__code__, {**function.__globals__, **names}, function.__name__)
    copy.__qualname__ = function.__qualname__
    try:
        return numba.njit(cache=True)(copy)
    except RuntimeError:  # no folder for the cache can be written
        return numba.njit(copy)


def loaded(function: Callable[..., Any], *helpers: Callable[..., Any]) -> bool:
    """Whether the compiled twin has been called in this process; numba is not imported to find out."""
    return (function, helpers) in _made and bool(_made[function, helpers].signatures)


def at_hand(function: Callable[..., Any], *helpers: Callable[..., Any]) -> bool:
    """Whether the compiled twin can be called without compiling: loaded already, or in the cache on disk.

    For callers with little to compute or little time.  A cache made for another processor is taken
    for a usable one (then the first call compiles after all).
    """
    dispatcher: Any = compiled(function, *helpers)
    if dispatcher.signatures:
        return True
    folder = dispatcher.stats.cache_path
    if folder is None:
        return False
    assert isinstance(function, FunctionType)
    source = Path(function.__code__.co_filename)
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    found = Path(folder).glob(f"{source.stem}.{function.__qualname__}-*.{python}.nbi")
    return any(index.stat().st_mtime >= source.stat().st_mtime for index in found)
