from __future__ import annotations

import os
import subprocess
import sys

import pytest

from hetopt.solvers import _kernels
from hetopt.solvers.heuristics import _placement


def test_the_switch_turns_compiled_kernels_off(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    for text, usable in (("1", False), ("yes", False), ("0", True), ("", True)):
        monkeypatch.setenv(_kernels.SWITCH, text)
        assert _kernels.numba_usable() is usable
    monkeypatch.delenv(_kernels.SWITCH)
    assert _kernels.numba_usable()


def test_importing_the_solvers_does_not_import_numba() -> None:
    code = (
        "import sys, hetopt, hetopt.solvers.heuristics.list_scheduling, hetopt.solvers.heuristics.event_rules; "
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_numba_nothing_imports_it() -> None:
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "from tests.solvers.heuristics.naive import random_instance\n"
        "from hetopt.solvers.heuristics.list_scheduling import list_schedule\n"
        "from hetopt.solvers import _kernels\n"
        "instance = random_instance(1)\n"
        "list_schedule(instance, list(range(instance.num_rounds)), 'R2')\n"
        "print(_kernels.numba_usable())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=os.getcwd())
    assert done.stdout.strip() == "False"


def test_an_unwritable_cache_folder_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba")
    calls = []

    def njit(function=None, *, cache=False):
        calls.append(cache)
        if cache:

            def refuse(f):
                raise RuntimeError("cannot cache function: no locator available")

            return refuse
        return function

    monkeypatch.setattr(numba, "njit", njit)
    made = _kernels._compiled.__wrapped__(_placement.place, ())
    assert calls == [True, False]
    assert made.__name__ == "place"


def test_the_same_kernel_is_compiled_once() -> None:
    pytest.importorskip("numba")
    assert _kernels.compiled(_placement.place) is _kernels.compiled(_placement.place)
