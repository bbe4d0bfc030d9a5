"""``verify`` of allocations: their own cost weights and rule, every number, and the certificate that must be about them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from hetopt.analysis.certify import verify
from hetopt.core.round_problem import CostModel, RoundGpuType, RoundJob, RoundProblem, WorkMeasure
from hetopt.solvers.rounds.run import run_round
from tests.solvers.rounds.test_fast import random_round

MODELS = [CostModel(), CostModel(age=0.5, fairness=0.0), CostModel(work=WorkMeasure.REMAINING, migration=3.0)]


@pytest.mark.parametrize("rule", ["most-gpus", "maximal", "none"])
def test_whatever_a_solver_says_is_valid(rule: str) -> None:
    solver = "fft-milp" if rule == "maximal" else "fft-fast"
    params = {} if rule == "maximal" else {"certify": True}
    for seed in range(24):
        problem = random_round(seed)
        made = run_round(solver, problem, rule=rule, cost=MODELS[seed % 3], params=params)
        verification = verify(problem, made)
        assert verification.valid, (seed, verification.violations)
        if made.certificate is not None:
            assert any("proved in exact arithmetic" in note for note in verification.notes)


def certified() -> tuple[RoundProblem, dict[str, Any]]:
    problem = random_round(8)
    made = run_round("fft-fast", problem, cost=CostModel(age=0.5), params={"certify": True})
    return problem, made.to_dict()


@pytest.mark.parametrize(
    ("path", "value", "word"),
    [
        (("cost", "total"), 1.0, "wrong-objective"),
        (("cost", "jct"), 1.0, "wrong-objective"),
        (("gap",), 0.5, "wrong-gap"),
        (("bound",), -1e9, "OPTIMAL"),
        (("bound",), 1e9, "bound-above-objective"),
        (("status",), "FEASIBLE", None),
        (("options", "cost", "age"), 1.0, "wrong-objective"),
        (("options", "cost", "colour"), 1.0, "options"),
        (("options", "rule"), "none", "certificate.data.rule"),
        (("options", "rule"), "some", "options"),
        (("certificate", "data", "cost", "age"), 0.75, "certificate"),
        (("gpus_used", 0), 77, "gpus_used"),
    ],
)
def test_a_changed_number_is_found(path: tuple, value: Any, word: str | None) -> None:
    problem, document = certified()
    assert verify(problem, document).valid
    changed = copy.deepcopy(document)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    verification = verify(problem, changed)
    if word is None:
        assert verification.valid
    else:
        assert not verification.valid
        assert any(word in str(finding) for finding in verification.violations), verification.violations


def test_a_bound_between_proof_and_cost_is_refused() -> None:
    problem, document = certified()
    total = document["cost"]["total"]
    changed = {**document, "bound": total, "gap": 0.0}
    assert any(f.kind == "weak-certificate" for f in verify(problem, changed).violations)


def test_an_idle_gpu_that_a_waiting_job_could_use_is_found() -> None:
    job = RoundJob(name="a", demand=1, work=1.0, done=0.0, release_date=0.0, throughput=(1.0,))
    problem = RoundProblem(now=1.0, gpu_types=(RoundGpuType(name="g", count=2),), jobs=(job,))
    empty = run_round("fft-fast", problem, rule="none").to_dict()
    assert verify(problem, empty).valid
    empty["options"]["rule"] = "maximal"
    assert any("'a' waits" in str(f) for f in verify(problem, empty).violations)
