from __future__ import annotations

from fractions import Fraction

import pytest

from hetopt.core.errors import UsageError
from hetopt.core.feasibility import violations
from hetopt.core.objectives import evaluate
from hetopt.core.solver import Limits
from hetopt.core.status import Objective, StopReason, Trust
from hetopt.solvers.heuristics.hare import Hare, HareEft, weighted_completion
from hetopt.solvers.run import run
from tests.conftest import make_instance
from tests.solvers.heuristics import naive

# name: (GPUs, [(weight, release, rounds as (scale, p))], midpoint LP, value of Hare, optimum)
THEORY = {
    "three-jobs-m3": (
        3,
        [
            (1, 1519, [(3, 1)]),
            (100000, 1040, [(1, 960), (2, 1), (1, 1)]),
            (1, 0, [(3, 3602)]),
        ],
        Fraction(2163418713629, 10806),
        608307603,
        200207125,
    ),
    "three-jobs-m4-small": (
        4,
        [(1, 29, [(4, 1)]), (1000, 0, [(1, 60), (3, 1), (1, 1)]), (1, 0, [(4, 97)])],
        Fraction(24110289, 388),
        188218,
        62190,
    ),
    "tight-m1": (
        1,
        [(1, 1000, [(1, 1)]), (1, 0, [(1, 2002)]), (100000, 1002, [(1, 1)])],
        Fraction(200806614009, 2002),
        300404004,
        100304006,
    ),
}


@pytest.mark.parametrize("name", list(THEORY))
def test_golden_values_of_the_theory_pages(name: str) -> None:
    gpus, jobs, relaxation, value, optimum = THEORY[name]
    instance = make_instance({"G": gpus}, [(w, a, [(d, (p,), (0,)) for d, p in rounds]) for w, a, rounds in jobs])
    result = run("hare", instance)
    assert result.objective == value
    assert result.exact_bound.value == relaxation
    assert result.bound_trust is Trust.DERIVED
    assert result.certificate.kind == "midpoint-lp"
    better = run("hare-eft", instance)
    assert optimum <= better.objective <= value
    assert relaxation <= better.exact_bound.value <= optimum


def test_places_by_the_rule_as_written_in_the_order_of_the_midpoints() -> None:
    for seed in range(8):
        instance = naive.random_instance(seed)
        result = run(Hare(), instance)
        rows = naive.list_schedule(instance, result.extra["midpoint"].tolist(), "R1")
        s = result.schedule
        assert sorted(zip(*(c.tolist() for c in (s.job, s.round, s.task, s.gpu, s.start)), strict=True)) == sorted(rows)


def test_flow_differs_by_the_weighted_releases() -> None:
    for solver in ("hare", "hare-eft"):
        instance = naive.random_instance(3)
        completion = run(solver, instance)
        flow = run(solver, instance, objective="total-weighted-flow")
        assert flow.objective == completion.objective - instance.total_weighted_release
        assert flow.exact_bound.value == completion.exact_bound.value - instance.total_weighted_release
        assert flow.schedule == completion.schedule


def test_makespan_is_refused(two_jobs) -> None:
    with pytest.raises(UsageError, match="does not take the objective makespan"):
        run("hare", two_jobs, objective="makespan")


def test_earliest_finish_is_never_worse_than_hare() -> None:
    for seed in range(8):
        instance = naive.random_instance(seed)
        one, two = run("hare", instance), run("hare-eft", instance)
        assert two.objective <= one.objective
        assert violations(instance, two.schedule) == []
        assert two.stop_reason in (StopReason.EXHAUSTED, StopReason.PROVED)


def test_more_penalties_are_never_worse() -> None:
    instance = naive.random_instance(11, jobs=8)
    few = run("hare-eft", instance, params={"gammas": (0.5,), "orders": ("midpoint",)})
    many = run("hare-eft", instance, params={"gammas": (0.5, 1, 2)})
    assert many.objective <= few.objective
    assert tuple(few.options["gammas"]) == (0.5,)


@pytest.mark.parametrize(
    "params",
    [{"gammas": ()}, {"gammas": (-1.0,)}, {"gammas": (float("nan"),)}, {"orders": ()}, {"orders": ("best",)}],
)
def test_parameters_are_checked(params: dict) -> None:
    with pytest.raises(UsageError, match=r"gamma|orders"):
        run("hare-eft", naive.random_instance(0), params=params)


def test_text_parameters_of_a_command_line() -> None:
    assert HareEft(gammas="0.5", orders="release") == HareEft(gammas=(0.5,), orders=("release",))  # type: ignore[arg-type]


def test_weighted_completion_agrees_with_the_core() -> None:
    for seed in range(20):
        instance = naive.random_instance(seed)
        schedule = run("wspt", instance).schedule
        assert weighted_completion(instance.arrays, schedule.gpu, schedule.start) == evaluate(instance, schedule)


def test_a_time_limit_of_zero_still_gives_a_schedule(two_jobs) -> None:
    for solver in ("hare", "hare-eft"):
        result = run(solver, two_jobs, limits=Limits(time=0))
        assert violations(two_jobs, result.schedule) == []
        assert result.stop_reason in (StopReason.TIME, StopReason.PROVED)


def test_objective_names() -> None:
    assert Hare.objectives == HareEft.objectives == set(Objective) - {Objective.MAKESPAN}
