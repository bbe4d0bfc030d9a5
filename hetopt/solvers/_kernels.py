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
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

__all__ = ["SWITCH", "compiled", "numba_usable"]

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
    return _compiled(function, helpers)


@functools.cache
def _compiled(function: Callable[..., Any], helpers: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    import numba

    assert isinstance(function, FunctionType)
    # a copy whose global names of helpers mean the compiled helpers; the plain function keeps its own
    names = {helper.__name__: _compiled(helper, ()) for helper in helpers}
    copy = FunctionType(function.__code__, {**function.__globals__, **names}, function.__name__)
    copy.__qualname__ = function.__qualname__
    try:
        made: Callable[..., Any] = numba.njit(cache=True)(copy)
    except RuntimeError:  # no folder for the cache can be written
        made = numba.njit(copy)
    return made
