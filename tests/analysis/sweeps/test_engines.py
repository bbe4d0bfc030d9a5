"""Engines: a crash or a lost worker costs one run at most, and the records say why."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hetopt.analysis.sweeps import sweep as sweeping
from hetopt.analysis.sweeps.engine import execute_runs
from hetopt.analysis.sweeps.expand import expand
from hetopt.analysis.sweeps.local import LocalEngine, hard_limit
from hetopt.analysis.sweeps.spec import read_spec
from hetopt.analysis.sweeps.store import RunStore
from hetopt.analysis.sweeps.sweep import crowding, plan_sweep, run_sweep
from hetopt.core.errors import UsageError
from hetopt.core.registry import Entry
from hetopt.solvers.catalogue import SOLVERS

STRANGE = '''
"""Solvers for tests: one that ends its process, one that sleeps, one that waits for a file."""
from __future__ import annotations
import os, signal, time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from hetopt.solvers.heuristics.event_rules import Fifo

@dataclass(frozen=True)
class Crash(Fifo):
    name: ClassVar[str] = "crash"
    def solve(self, problem, **more):
        os.kill(os.getpid(), signal.SIGSEGV)

@dataclass(frozen=True)
class Slow(Fifo):
    name: ClassVar[str] = "slow"
    def solve(self, problem, **more):
        with open(os.environ["HETOPT_TEST_LOG"], "a") as log:
            log.write(f"{os.getpid()}\\n")
        time.sleep(float(os.environ["HETOPT_TEST_SLEEP"]))
        return Fifo().solve(problem, **more)
'''


@pytest.fixture
def strange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The solvers crash and slow as a plug-in that worker processes see, too."""
    place = tmp_path / "plugin"
    info = place / "strange-1.0.dist-info"
    info.mkdir(parents=True)
    (place / "strange_solvers.py").write_text(STRANGE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[hetopt.solvers]\ncrash = strange_solvers:Crash\nslow = strange_solvers:Slow\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("HETOPT_TEST_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("HETOPT_TEST_SLEEP", "0")
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setattr(SOLVERS, "_plugins_read", True)  # in this process they are registered by hand
    before = dict(SOLVERS.entries)
    for name, cls in (("crash", "Crash"), ("slow", "Slow")):
        SOLVERS.entries[name] = Entry(name, f"strange_solvers:{cls}", "plug-in")
    yield tmp_path / "log"
    SOLVERS.entries.clear()
    SOLVERS.entries.update(before)


def spec_of(folder: Path, *solvers: str, limits: str = "{}", library: str = "hand-*") -> Path:
    path = folder / "s.toml"
    tables = "".join(f'[[solvers]]\nname = "{name}"\n' for name in solvers)
    path.write_text(f'name = "x"\nlimits = {limits}\n[[instances]]\nlibrary = "{library}"\n{tables}')
    return path


def test_a_crash_costs_its_own_run_only(strange: Path, tmp_path: Path) -> None:
    heard = []
    path = spec_of(tmp_path, "crash", "fifo", library="hand-[sr]*")
    summary, table = run_sweep(path, tmp_path / "out", jobs=1, listener=heard.append)
    assert dict(summary.states) == {"failed": 2, "done": 2}
    assert {row["solver"] for row in table.done} == {"fifo"}
    assert all("worker process died" in row["reason"] for row in table.rows if row["solver"] == "crash")
    assert [p.finished for p in heard] == [1, 2, 3, 4]
    assert heard[-1].seconds_left == 0


def test_a_run_that_ignores_its_limit_is_ended(strange: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HETOPT_TEST_SLEEP", "600")
    monkeypatch.setattr("hetopt.analysis.sweeps.local._GRACE", 0.2)
    path = spec_of(tmp_path, "slow", limits="{ time = 0.1 }")
    runs = expand(read_spec(path), tmp_path)[:1]
    assert hard_limit(runs[0]) == pytest.approx(0.31)
    store = RunStore(tmp_path / "out")
    # the clock starts with the run, not with the worker
    summary = execute_runs(store, runs, LocalEngine(1))
    assert dict(summary.states) == {"timed-out": 1}
    record = store.read(runs[0].key)
    assert record is not None and "ended by force" in record["reason"]


def test_ctrl_c_keeps_what_is_done_and_ends_the_workers(
    strange: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HETOPT_TEST_SLEEP", "600")
    path, out = spec_of(tmp_path, "fifo", "slow"), tmp_path / "out"
    command = [sys.executable, "-m", "hetopt", "sweep", str(path), "--out", str(out), "--jobs", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as run:
        end = time.monotonic() + 120
        while not strange.exists() and time.monotonic() < end:
            time.sleep(0.02)
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to the whole group
        _, said = run.communicate(timeout=60)
    assert run.returncode == 130, said
    assert "interrupted with 5 left" in said
    assert len(list((out / "runs").glob("*.json"))) == 5
    worker = int(strange.read_text().split()[0])
    _gone(worker)


def test_workers_end_with_their_parent(strange: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HETOPT_TEST_SLEEP", "600")
    path = spec_of(tmp_path, "slow")
    command = [sys.executable, "-m", "hetopt", "sweep", str(path), "--out", str(tmp_path / "out"), "--jobs", "1"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as run:
        end = time.monotonic() + 120
        while not strange.exists() and time.monotonic() < end:
            time.sleep(0.02)
        run.kill()
        run.wait()
    _gone(int(strange.read_text().split()[0]))


def _gone(pid: int) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            if state != "Z":
                time.sleep(0.05)
                continue
        return
    raise AssertionError(f"process {pid} is still there")


@pytest.mark.ci
def test_two_invocations_at_once_execute_each_run_once(
    strange: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HETOPT_TEST_SLEEP", "0.3")
    path = spec_of(tmp_path, "slow")
    command = [sys.executable, "-m", "hetopt", "sweep", str(path), "--out", str(tmp_path / "out"), "--jobs", "1"]
    both = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(2)]
    assert [run.wait(timeout=120) for run in both] == [0, 0]
    assert len(strange.read_text().split()) == 5
    survey = RunStore(tmp_path / "out").survey(expand(read_spec(path), tmp_path))
    assert [record["state"] for record in survey.records.values()] == ["done"] * 5


def test_crowding_warns_where_threads_exceed_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = expand(read_spec(spec_of(tmp_path, "fifo", limits="{ threads = 2 }")), tmp_path)
    monkeypatch.setattr(sweeping, "available_cores", lambda: 4)
    assert crowding(runs, 2) is None
    warning = crowding(runs, 3)
    with pytest.warns(UserWarning, match="workers x 2 threads"):
        monkeypatch.setattr(sweeping, "available_cores", lambda: 1)
        run_sweep(spec_of(tmp_path, "fifo", limits="{ threads = 2 }", library="hand-smith"), tmp_path / "out", jobs=1)
    assert warning is not None and "3 workers x 2 threads on 4 cores" in warning and "--jobs 2" in warning


def test_plans_estimate_from_limits_and_from_records(tmp_path: Path) -> None:
    path, out = spec_of(tmp_path, "fifo", "wspt", limits="{ time = 20 }"), tmp_path / "out"
    plan = plan_sweep(path, out, jobs=2)
    assert (len(plan.runs), len(plan.pending), plan.seconds, plan.upper) == (10, 10, 100.0, True)
    assert not out.exists(), "a plan writes nothing"
    run_sweep(path, out, jobs=1, part="1/2")
    plan = plan_sweep(path, out, jobs=1)
    assert len(plan.pending) == 5
    assert plan.seconds is not None and plan.seconds < 20
    assert plan_sweep(spec_of(tmp_path, "hare"), tmp_path / "none").seconds is None


def test_wrong_calls(tmp_path: Path) -> None:
    path = spec_of(tmp_path, "fifo")
    with pytest.raises(UsageError, match="choose one"):
        run_sweep(path, tmp_path / "out", jobs=1, scheduler="tcp://127.0.0.1:1")
    with pytest.raises(UsageError, match="at least one worker"):
        LocalEngine(0)


@pytest.fixture
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0
    ) as made:
        yield made


@pytest.mark.ci
def test_dask_with_a_worker_killed_mid_run(
    strange: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("HETOPT_TEST_SLEEP", "1.5")
    cluster = request.getfixturevalue("cluster")
    address = cluster.scheduler_address
    killed = []

    def kill_one() -> None:
        end = time.monotonic() + 60
        while not (strange.exists() and strange.read_text().split()) and time.monotonic() < end:
            time.sleep(0.05)
        pid = int(strange.read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)

    helper = threading.Thread(target=kill_one)
    helper.start()
    path, out = spec_of(tmp_path, "slow", "fifo"), tmp_path / "out"
    summary, table = run_sweep(path, out, scheduler=address)
    helper.join()
    assert killed
    assert dict(summary.states) == {"done": 10}, [row["reason"] for row in table.rows]
    assert len(strange.read_text().split()) == 6, "the run of the killed worker was executed again, the others once"
    assert killed[0] in map(int, strange.read_text().split())
    assert len(list((out / "runs").glob("*.json"))) == 10
    again, _ = run_sweep(path, out, scheduler=address)
    assert (again.present, again.executed) == (10, 0)


def test_nobody_answers_at_the_address(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(UsageError, match="no answer"):
        from hetopt.analysis.sweeps.cluster import ClusterEngine

        ClusterEngine("tcp://127.0.0.1:9", connect_seconds=0.3)
