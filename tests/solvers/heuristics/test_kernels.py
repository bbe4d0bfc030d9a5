from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

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
        "import sys, hetopt, hetopt.solvers.heuristics.list_scheduling, hetopt.solvers.heuristics.event_rules, "
        "hetopt.solvers.heuristics.local_search, hetopt.solvers.heuristics.hare; "
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
    made = _kernels._compile(_placement.place, ())
    assert calls == [True, False]
    assert made.__name__ == "place"


def test_the_same_kernel_is_compiled_once() -> None:
    pytest.importorskip("numba")
    assert _kernels.compiled(_placement.place) is _kernels.compiled(_placement.place)


def test_at_hand_looks_at_memory_and_disk(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    pytest.importorskip("numba")

    made = SimpleNamespace(signatures=[], stats=SimpleNamespace(cache_path=str(tmp_path)))
    monkeypatch.setitem(_kernels._made, (_placement.place, ()), made)
    assert not _kernels.at_hand(_placement.place)
    assert not _kernels.loaded(_placement.place)
    index = tmp_path / f"_placement.place-1.py{sys.version_info.major}{sys.version_info.minor}.nbi"
    index.touch()
    assert _kernels.at_hand(_placement.place)
    os.utime(index, (0, 0))  # older than the source
    assert not _kernels.at_hand(_placement.place)
    made.signatures = ["something"]
    assert _kernels.at_hand(_placement.place)
    assert _kernels.loaded(_placement.place)


@pytest.mark.slow
def test_a_real_cache_is_found_again(tmp_path) -> None:
    """The name pattern of the cache files is numba's; this fails if it changes."""
    pytest.importorskip("numba")
    code = (
        "from hetopt.solvers import _kernels\n"
        "from hetopt.solvers.heuristics import _placement, list_scheduling as ls\n"
        "from tests.solvers.heuristics.naive import random_instance\n"
        "ls.WORTH_COMPILING = 0\n"
        "print(_kernels.at_hand(_placement.place))\n"
        "instance = random_instance(1)\n"
        "ls.list_schedule(instance, list(range(instance.num_rounds)), 'R2')\n"
        "print(_kernels.loaded(_placement.place))"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    environment.pop(_kernels.SWITCH, None)
    told = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        told.append(done.stdout.split())
    assert told == [["False", "True"], ["True", "True"]]
