"""The portfolio: agreement, certificates, failures of stages, sizes, limits, determinism."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from hetopt.core.errors import SolverUnavailableError, UsageError, VerificationError
from hetopt.core.objectives import evaluate
from hetopt.core.solver import Limits
from hetopt.core.status import Objective, Status, StopReason, Trust
from hetopt.solvers.exact import auto
from hetopt.solvers.exact.auto import Auto
from hetopt.solvers.exact.cpsat import CpSat
from hetopt.solvers.run import run
from tests import oracle
from tests.conftest import make_instance
from tests.solvers.random_instances import random_instance


@pytest.mark.parametrize("objective", list(Objective))
def test_agrees_with_exhaustive_search(objective):
    for seed in range(6):
        instance = random_instance(300 + seed)
        result = run("auto", instance, objective=objective)
        assert result.status is Status.OPTIMAL
        assert result.objective == oracle.optimum(instance, str(objective))
        word = "rests on the word" if result.bound_trust is Trust.REPORTED else "proved by"
        assert word in result.message
        if result.bound_trust is not Trust.REPORTED:
            assert result.exact_bound.certificate is not None


def test_a_bound_that_closes_brings_its_certificate():
    # one job alone: its critical path is its completion
    instance = make_instance({"a": 2}, [(3, 4, [(2, [5], [1]), (1, [2], [0])])])
    result = run("auto", instance)
    assert (result.status, result.objective, result.bound_trust) == (Status.OPTIMAL, 36, Trust.DERIVED)
    assert result.exact_bound.certificate.kind == "time-indexed-lagrangian"
    assert "proved by the bound time-indexed-lagrangian" in result.message


def hard_instance(jobs: int = 12):
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(jobs):
        rounds = [
            (int(rng.integers(1, 5)), rng.integers(3, 30, 2).tolist(), rng.integers(0, 6, 2).tolist()) for _ in range(4)
        ]
        rows.append((int(rng.integers(1, 10)), int(rng.integers(0, 20)), rounds))
    return make_instance({"a": 2, "b": 2}, rows)


def test_a_missing_library_is_named_and_the_rest_goes_on(monkeypatch):
    def gone(*args, **kwargs):
        raise SolverUnavailableError("ortools is not installed here")

    monkeypatch.setattr(CpSat, "solve", gone)
    result = run("auto", hard_instance(), limits=Limits(work=80))
    assert result.status is Status.FEASIBLE
    assert "cpsat left out: ortools is not installed here" in result.message
    assert result.bound is not None and result.bound_trust is Trust.DERIVED


@pytest.mark.parametrize("stage", ["anneal", "maximise", "prune", "quick_schedule"])
def test_a_stage_that_fails_is_named_and_the_rest_goes_on(monkeypatch, stage):
    def broken(*args, **kwargs):
        raise RuntimeError("boom")

    monkeypatch.setattr(auto, stage, broken)
    result = run("auto", random_instance(301), limits=Limits(work=400))
    assert "RuntimeError: boom" in result.message or result.status is Status.OPTIMAL
    assert result.objective is not None and result.objective >= oracle.optimum(random_instance(301))


def test_out_of_memory_is_named(monkeypatch):
    def full(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(CpSat, "solve", full)
    assert "cpsat stopped: out of memory" in run("auto", hard_instance(), limits=Limits(work=80)).message


def test_a_wrong_answer_is_never_passed_over(monkeypatch):
    def wrong(*args, **kwargs):
        raise VerificationError("two numbers disagree")

    monkeypatch.setattr(CpSat, "solve", wrong)
    with pytest.raises(VerificationError, match="disagree"):
        run("auto", hard_instance(), limits=Limits(work=80))


def test_large_instances_build_no_model(monkeypatch):
    monkeypatch.setattr(auto, "MODEL_INTERVALS", 10)
    monkeypatch.setattr(CpSat, "solve", lambda *args, **kwargs: pytest.fail("a model was built"))
    result = run("auto", hard_instance(), limits=Limits(work=80))
    assert "too large for a constraint model" in result.message
    assert result.status is Status.FEASIBLE and 0 < result.bound <= result.objective


@pytest.mark.parametrize("limits", [Limits(time=0.0), Limits(work=0)])
def test_no_limits_no_numbers(limits):
    instance = hard_instance()
    result = run("auto", instance, limits=limits)
    assert result.status is Status.UNKNOWN
    assert result.incumbent is result.objective is result.bound is None
    good = run("auto", instance, limits=Limits(work=20)).incumbent
    kept = run("auto", instance, limits=limits, warm_start=good)
    assert kept.objective <= evaluate(instance, good) and kept.warm_start == "accepted"


def test_time_limit_is_a_status_not_a_proof():
    result = run("auto", hard_instance(16), limits=Limits(time=1.0))
    assert result.status is Status.FEASIBLE and result.stop_reason is StopReason.TIME
    assert result.bound < result.objective and not result.deterministic


@pytest.mark.ci
def test_work_limit_repeats_in_every_process(tmp_path):
    path = tmp_path / "i.json"
    path.write_text(hard_instance().to_json())
    code = (
        "import sys; from hetopt.core.instance import Instance; from hetopt.core.solver import Limits;"
        "from hetopt.solvers.run import run;"
        "r = run('auto', Instance.load(sys.argv[1]), limits=Limits(work=120), seed=2);"
        "assert r.deterministic and r.stop_reason == 'WORK', r;"
        "print(r.incumbent.to_json(), r.exact_bound.certificate.to_json(), r.work)"
    )
    out = set()
    for hash_seed in ("1", "77"):
        env = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], env=env, capture_output=True, text=True, check=True
        )
        out.add(done.stdout)
    assert len(out) == 1


@pytest.mark.parametrize("params", [{"search_share": 2}, {"bound_share": -0.1}, {"prune": 1}])
def test_parameters_are_checked(params):
    with pytest.raises(UsageError, match=next(iter(params))):
        Auto(**params)


@pytest.mark.slow
def test_agrees_with_exhaustive_search_on_many():
    for seed in range(200):
        instance = random_instance(5000 + seed)
        objective = list(Objective)[seed % 3]
        assert run("auto", instance, objective=objective).objective == oracle.optimum(instance, str(objective))


def test_a_short_limit_brings_the_search_before_everything_that_is_slow_to_load(monkeypatch):
    instance = _long()
    asked = []

    def search(self, limits, decodes):
        asked.append(("search", limits.time))
        auto._Portfolio.list_schedules(self)
        self.began -= 0.7 * self.seconds  # the clock goes on

    monkeypatch.setattr(auto._Portfolio, "search", search)
    monkeypatch.setattr(auto._Portfolio, "lagrangian", lambda self, iterations: asked.append(("bound", None)))
    monkeypatch.setattr(auto._Portfolio, "constraint_model", lambda self, part: asked.append(("model", None)))
    result = run("auto", instance, limits=Limits(time=2.0))
    assert [name for name, _ in asked[:2]] == ["search", "bound"] and "model" not in {name for name, _ in asked}
    assert asked[0][1] >= 0.4 * 2.0
    assert result.incumbent is not None and "no time for a constraint model" in result.message


def _long():
    return make_instance(
        {"a": 2, "b": 1}, [(1 + n % 3, n, [(2, [3 + n % 5, 2 + n % 4], [1, 0])] * 3) for n in range(10)]
    )
