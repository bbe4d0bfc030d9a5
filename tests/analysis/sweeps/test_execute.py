"""What a run records: figures that re-computation confirms, or the reason why there are none."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

import hetopt.solvers.run
from hetopt.analysis.sweeps.execute import RunInterrupted, run_one
from hetopt.analysis.sweeps.expand import Run, expand, load_problem
from hetopt.analysis.sweeps.provenance import available_cores, provenance
from hetopt.analysis.sweeps.spec import read_spec
from hetopt.core.errors import SolverUnavailableError, VerificationError
from hetopt.core.objectives import evaluate, flow_times
from hetopt.core.result import Result
from hetopt.core.status import StopReason


def runs_of(text: str, folder: Path) -> list[Run]:
    path = folder / "s.toml"
    path.write_text('name = "x"\n' + text)
    return expand(read_spec(path), folder, str(path))


SOLVE = '{head}\n[[instances]]\nlibrary = "hand-two-types"\n[[solvers]]\nname = "{name}"\n'


def test_a_solve_with_its_result(tmp_path: Path) -> None:
    (run,) = runs_of(SOLVE.format(head="keep_results = true", name="wspt"), tmp_path)
    record = run_one(run)
    assert record["state"] == "done"
    instance = load_problem(run.problem)
    result = Result.from_dict(record["result"])
    assert result.incumbent is not None
    assert record["measures"]["objective"] == evaluate(instance, result.incumbent)
    assert json.loads(json.dumps(record)) == record
    flows = flow_times(instance, result.incumbent)
    assert record["measures"]["mean_jct"] == pytest.approx(sum(map(int, flows)) / len(flows) * instance.tick_seconds)
    origin = record["provenance"]
    assert {"hetopt", "python", "numpy"} <= set(origin["versions"])
    assert origin["machine"]["cores"] >= 1
    assert (origin["seed"], origin["limits"]["threads"]) == (0, 1)
    assert socket.gethostname() not in json.dumps(origin)


def test_the_same_run_gives_the_same_figures(tmp_path: Path) -> None:
    (run,) = runs_of(SOLVE.format(head="", name="hare"), tmp_path)
    first, second = (run_one(run)["measures"] for _ in range(2))
    del first["runtime_seconds"], second["runtime_seconds"]
    assert first == second


def test_checks_and_simulations(tmp_path: Path) -> None:
    text = """
    [setting]
    round_seconds = 60.0
    migration_seconds = 5.0
    [[instances]]
    library = "ratio-m3"
    [[checks]]
    [[workloads]]
    generate = { jobs = 6, gpus = { A = 2, B = 2 }, demands = [1, 2], minutes = 5 }
    [[policies]]
    name = "las-rounds"
    """
    simulated, checked = (run_one(run) for run in runs_of(text, tmp_path))
    assert simulated["state"] == checked["state"] == "done", (simulated["reason"], checked["reason"])
    m = checked["measures"]
    assert m["ok"] and m["alpha"] == 1
    assert m["published_alpha_2_plus_alpha"] == 3 < m["ratio_to_best_known"] <= m["guarantee_K"]
    s = simulated["measures"]
    assert (s["jobs"], s["finished"], s["unfinished"]) == (6, 6, 0)
    assert s["mean_jct"] > 0 and s["ftf_worst"] >= s["ftf_mean"] > 0


def test_a_round(tmp_path: Path) -> None:
    text = '[[rounds]]\ngenerate = { jobs = 8, types = 2, gpus = 6 }\n[[solvers]]\nname = "fft-fast"\n'
    (run,) = runs_of(text, tmp_path)
    record = run_one(run)
    assert record["state"] == "done", record["reason"]
    assert record["measures"]["status"] == "OPTIMAL"
    assert record["measures"]["gpus_used"] <= 6


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (VerificationError("2 is 3"), "verification failed: 2 is 3"),
        (SolverUnavailableError("no licence"), "not available: no licence"),
        (MemoryError(), "out of memory"),
        (ZeroDivisionError("x"), "broke: ZeroDivisionError: x"),
    ],
)
def test_what_breaks_is_recorded_with_its_reason(
    error: Exception, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(hetopt.solvers.run, "run", broken)
    (run,) = runs_of(SOLVE.format(head="", name="wspt"), tmp_path)
    record = run_one(run)
    assert record["state"] == "failed"
    assert record["reason"].startswith(said)
    assert record["measures"] == {}


def test_out_of_time_and_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
    limits = { time = 0.0 }
    [[workloads]]
    generate = { jobs = 6, gpus = { A = 4 } }
    [[policies]]
    name = "las-rounds"
    """
    (run,) = runs_of(text, tmp_path)
    record = run_one(run)
    assert record["state"] == "timed-out"
    assert "of 6 jobs finished" in record["reason"]
    (solve,) = runs_of(SOLVE.format(head="", name="wspt"), tmp_path)
    original = hetopt.solvers.run.run

    def stopped(*words: Any, **more: Any) -> Any:
        return dataclasses.replace(original(*words, **more), stop_reason=StopReason.INTERRUPTED)

    monkeypatch.setattr(hetopt.solvers.run, "run", stopped)
    with pytest.raises(RunInterrupted):
        run_one(solve)


def test_cores_are_those_of_the_control_group(tmp_path: Path) -> None:
    here = len(os.sched_getaffinity(0))
    assert available_cores(tmp_path) == here
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    assert available_cores(tmp_path) == 1
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    assert available_cores(tmp_path) == 1
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert available_cores(tmp_path) == here


def test_provenance_names_the_commit() -> None:
    commit = provenance()["commit"]
    assert commit is None or len(commit.rstrip("+")) == 40
