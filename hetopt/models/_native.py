"""The only place that imports the four native solver libraries, in the one order that is safe.

PuLP makes the symbols of highspy's extension global when it is imported.  A library loaded after
that which carries symbols of the same names (OSQP, OR-Tools' own HiGHS) binds to the wrong copy and
crashes the process.  So whenever PuLP is asked for, cvxpy (which loads OSQP), OR-Tools' native
part and highspy are loaded first; asked for alone, CP-SAT, cvxpy and highspy load by themselves,
which is safe in any order among them.

Where the user imported pulp before us, the damage is done and cannot be undone in this process, but
only OSQP and OR-Tools' HiGHS suffer from it, and hetopt uses neither: CP-SAT, highspy, and cvxpy with
Clarabel, SCS or HiGHS work in either order (``tests/native`` runs each order in its own
interpreter).  :func:`require_engine` refuses the two that would crash.

HiGHS prints a banner to file descriptor 1 when the first solver object of a process is made, before
its output can be switched off.  :func:`load_highspy` makes (and drops) that first object
with the descriptor pointed elsewhere, so nothing later prints it: not cvxpy, not PuLP.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.metadata
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Final

from hetopt.core.errors import SolverUnavailableError

__all__ = [
    "PACKAGES",
    "installed",
    "load_cpsat",
    "load_cvxpy",
    "load_highspy",
    "load_pulp",
    "pulp_came_first",
    "require_engine",
    "silenced_stdout",
    "version",
]

PACKAGES: Final = {
    "cvxpy": "cvxpy>=1.9,<2",
    "ortools": "ortools>=9.15,<10",
    "highspy": "highspy>=1.15,<2",
    "pulp": "pulp>=3.3.2,<5",
}
"""Import name of each library and the requirement to give to pip."""

CRASHING_AFTER_PULP: Final = {"osqp": "osqp", "ortools-highs": "ortools.linear_solver.pywraplp"}
"""Engines that end the process when pulp was imported before the module that loads their library."""

_lock = threading.RLock()
_highs_ready = threading.Event()


def installed(package: str) -> bool:
    """Whether an import of the package would find it; nothing is imported."""
    if package in sys.modules:
        return sys.modules[package] is not None
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def version(package: str) -> str:
    """Installed version of a package, ``""`` where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _load(module: str) -> ModuleType:
    package = module.partition(".")[0]
    if not installed(package):
        raise SolverUnavailableError(
            f'{package} is not installed here; get it with: pip install "{PACKAGES.get(package, package)}"'
        )
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise SolverUnavailableError(
            f"{package} {version(package)} is installed but cannot be loaded ({error}); "
            f'install it again with: pip install --force-reinstall "{PACKAGES.get(package, package)}"'
        ) from error


def pulp_came_first(module: str = "osqp") -> bool:
    """Whether pulp was imported before ``module``, so that the library behind that module crashes when used.

    ``sys.modules`` keeps the order of first import, whoever imported.
    """
    for name in tuple(sys.modules):
        if name == module:
            return False
        if name == "pulp":
            return True
    return False


def require_engine(engine: str) -> None:
    """Refuse an engine that would crash this process.

    Parameters
    ----------
    engine
        ``"osqp"``, ``"ortools-highs"``, or any other name (always fine).

    Raises
    ------
    SolverUnavailableError
        pulp was imported before hetopt loaded the engine's library.
    """
    module = CRASHING_AFTER_PULP.get(engine.lower())
    if module is not None and pulp_came_first(module):
        raise SolverUnavailableError(
            f"{engine} would crash this process, because pulp was imported before it; import hetopt's solver (or cvxpy) "
            "before pulp, choose another engine (clarabel, highs), or run it in a fresh process"
        )


def load_cpsat() -> ModuleType:
    """``ortools.sat.python.cp_model``."""
    with _lock:
        return _load("ortools.sat.python.cp_model")


def load_highspy() -> ModuleType:
    """``highspy``, with the banner of the process's first solver object already dealt with."""
    with _lock:
        highspy = _load("highspy")
        if not _highs_ready.is_set():
            with silenced_stdout():
                highspy.Highs()
            _highs_ready.set()
        return highspy


def load_cvxpy() -> ModuleType:
    """``cvxpy``; choose the engine by name (``CLARABEL``, ``HIGHS``), never its default, and see :func:`require_engine`."""
    with _lock:
        cvxpy = _load("cvxpy")
        if installed("highspy"):
            load_highspy()
        return cvxpy


def load_pulp(*, alone: bool = False) -> ModuleType:
    """``pulp``, after everything that it would make crash.

    Parameters
    ----------
    alone
        This process uses nothing but pulp (and HiGHS through it): load it at once.
    """
    with _lock:
        if not alone and "pulp" not in sys.modules and installed("pulp"):
            # a library that is absent or broken cannot crash later either
            for module in ("cvxpy", "ortools.linear_solver.pywraplp", "ortools.sat.python.cp_model"):
                with contextlib.suppress(SolverUnavailableError):
                    _load(module)
            with contextlib.suppress(SolverUnavailableError):
                load_highspy()
        pulp = _load("pulp")
        if installed("highspy"):
            load_highspy()
        return pulp


def _flush_c_streams() -> None:
    with contextlib.suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None) if os.name == "posix" else ctypes.CDLL("ucrtbase")
        library.fflush(None)


@contextlib.contextmanager
def silenced_stdout() -> Iterator[None]:
    """Point file descriptor 1 at the null device for a moment, C buffers included; restored whatever happens.

    For the whole process: keep it to calls that take microseconds.  Output of other threads during
    that time is lost; Python's own buffered text is written before and is safe.
    """
    with _lock:
        with contextlib.suppress(AttributeError, OSError, ValueError):
            sys.stdout.flush()
        _flush_c_streams()
        try:
            saved = os.dup(1)
        except OSError:  # descriptor 1 is closed: whatever is printed goes nowhere
            yield
            return
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            try:
                os.dup2(null, 1)
            finally:
                os.close(null)
            yield
        finally:
            _flush_c_streams()
            os.dup2(saved, 1)
            os.close(saved)
