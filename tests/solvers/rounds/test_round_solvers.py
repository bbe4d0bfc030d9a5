"""Solvers of rounds against brute force and each other: rules, backends, ties, scales, limits, bad input."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hetopt.core.errors import HetoptError, InputError, UsageError, VerificationError
from hetopt.core.round_problem import CostModel, RoundProblem
from hetopt.core.round_solver import RoundOutcome
from hetopt.core.solver import Limits
from hetopt.core.status import Status, StopReason
from hetopt.instances.rounds import generate_round
from hetopt.solvers.rounds.fast import FftFast
from hetopt.solvers.rounds.milp import FftMilpSolver
from hetopt.solvers.rounds.run import run_round
from tests.solvers.rounds.oracle import exact, optimum
from tests.solvers.rounds.test_fast import random_round

RULES = ("most-gpus", "maximal", "none")


@pytest.mark.parametrize("rule", RULES)
def test_fft_milp_equals_brute_force(rule: str) -> None:
    for seed in range(30):
        problem = random_round(seed)
        made = run_round("fft-milp", problem, rule=rule)
        assert made.status is Status.OPTIMAL
        assert exact(problem, made.gpu_type, CostModel()) == optimum(problem, rule)


@pytest.mark.parametrize("rule", RULES)
def test_cbc_equals_brute_force(rule: str) -> None:
    for seed in (3, 8):
        problem = random_round(seed)
        made = run_round("fft-milp", problem, rule=rule, params={"backend": "cbc"})
        assert made.status is Status.OPTIMAL
        assert float(exact(problem, made.gpu_type, CostModel())) == pytest.approx(float(optimum(problem, rule)))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("params", [{}, {"fairness": 1.0}, {"fairness": 1.0, "alpha": 2.0}])
def test_fft_convex_bounds_and_obeys(rule: str, params: dict) -> None:
    for seed in range(6):
        problem = random_round(seed)
        made = run_round("fft-convex", problem, rule=rule, params=params)
        best = float(optimum(problem, rule))
        assert made.cost is not None
        assert made.bound is not None
        assert made.bound <= best + 1e-9 * abs(best)
        assert made.cost.total >= best - 1e-9 * abs(best)


KNOBS: list[dict[str, Any]] = [
    {},
    {"forbidden": 0.5, "fairness": 0.0},
    {"demands": (2, 3), "forbidden": 0.3},
    {"gpus": [7, 5, 3, 9], "demands": (2, 4)},
    {"gpus": 600},
    {"copies": 10, "fairness": 0.3},
]


@pytest.mark.parametrize("knobs", KNOBS, ids=str)
def test_exact_solvers_agree_on_larger_rounds(knobs: dict) -> None:
    problem = generate_round(**{"jobs": 80, "types": 4, "gpus": 40, "seed": 5, **knobs})
    fast, milp = run_round("fft-fast", problem), run_round("fft-milp", problem)
    assert (fast.status, milp.status) == (Status.OPTIMAL, Status.OPTIMAL)
    assert fast.cost is not None
    assert milp.cost is not None
    assert fast.cost.total == pytest.approx(milp.cost.total, rel=2e-9)
    assert sum(fast.gpus_used) == sum(milp.gpus_used)


@pytest.mark.parametrize("solver", ["fft-fast", "fft-milp"])
def test_throughputs_over_fourteen_orders_of_magnitude(solver: str) -> None:
    plain = generate_round(60, 4, 24, 2)
    spread = generate_round(60, 4, 24, 2, spread=7.0)
    rates = [r for job in spread.jobs for r in job.throughput if r is not None]
    assert max(rates) / min(rates) > 1e12
    assert run_round(solver, spread).gpu_type == run_round(solver, plain).gpu_type


@pytest.mark.parametrize("solver", ["fft-fast", "fft-milp"])
@pytest.mark.parametrize("unit", [1e-15, 1e12])
def test_the_unit_of_cost_does_not_matter(solver: str, unit: float) -> None:
    problem = generate_round(50, 3, 20, 4)
    weights = CostModel(unit, unit, unit, unit)
    made, plain = run_round(solver, problem, cost=weights), run_round(solver, problem)
    assert made.status is Status.OPTIMAL
    assert made.gpu_type == plain.gpu_type
    assert made.cost is not None
    assert made.bound is not None
    assert made.cost.total - made.bound <= 1e-9 * abs(made.cost.total)


def test_many_equal_jobs_end_with_few_nodes() -> None:
    problem = generate_round(400, 6, 90, 1, copies=100)
    made = run_round("fft-fast", problem, limits=Limits(work=200))
    assert made.status is Status.OPTIMAL


@pytest.mark.parametrize("solver", ["fft-fast", "fft-milp", "fft-convex"])
def test_no_time_at_all_still_gives_an_allocation_that_obeys_the_rule(solver: str) -> None:
    problem = generate_round(300, 6, 100, 0)
    made = run_round(solver, problem, limits=Limits(time=0.0))
    assert made.status is Status.FEASIBLE
    assert made.stop_reason is StopReason.TIME
    assert sum(made.gpus_used) == 100


def test_no_work_allowed_keeps_the_warm_start() -> None:
    problem = generate_round(200, 6, 77, 0, fairness=0.2)
    best = run_round("fft-fast", problem)
    again = run_round("fft-fast", problem, limits=Limits(work=0), incumbent=best)
    assert best.cost is not None
    assert again.cost is not None
    assert again.cost.total <= best.cost.total + 1e-9 * abs(best.cost.total)


@pytest.mark.parametrize("solver", ["fft-fast", "fft-milp"])
def test_same_bytes_twice_and_nothing_printed(solver: str, capfd: pytest.CaptureFixture[str]) -> None:
    problem = generate_round(120, 5, 50, 7, forbidden=0.2)

    def plain() -> str:
        document = run_round(solver, problem).to_dict()
        del document["runtime_seconds"]
        return json.dumps(document)

    assert plain() == plain()
    assert capfd.readouterr() == ("", "")


def test_a_looser_gap_is_kept_and_told() -> None:
    problem = generate_round(200, 6, 77, 0)
    made = run_round("fft-fast", problem, params={"gap": 1e-2})
    assert made.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert made.gap is not None
    assert made.gap <= 1e-2


class _Liar(FftFast):
    name = "liar"  # type: ignore[misc]

    def solve_round(self, problem: RoundProblem, **options: Any) -> RoundOutcome:
        outcome = super().solve_round(problem, **options)
        assert outcome.bound is not None
        return RoundOutcome(outcome.status, outcome.stop_reason, outcome.gpu_type, outcome.bound + 1)


def test_a_bound_above_the_cost_is_an_error() -> None:
    with pytest.raises(VerificationError, match="above the cost"):
        run_round(_Liar(), random_round(8))


def document(**changes: Any) -> dict[str, Any]:
    job = {"name": "a", "demand": 1, "work": 4.0, "done": 0.0, "release_date": 0, "throughput": [1.0, 2.0]}
    return {
        "format": "hetopt/round",
        "version": 1,
        "now": 3,
        "gpu_types": [{"name": "V", "count": 2}, {"name": "K", "count": 1}],
        "jobs": [{**job, **changes}, {**job, "name": "b"}],
    }


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"throughput": [float("nan"), 1.0]}, "jobs[0].throughput[0]"),
        ({"throughput": [-1.0, 1.0]}, "jobs[0].throughput[0]"),
        ({"throughput": [0.0, 1.0]}, "jobs[0].throughput[0]"),
        ({"throughput": [None, None]}, "jobs[0].throughput"),
        ({"throughput": [1.0]}, "jobs[0].throughput"),
        ({"name": "b"}, "jobs[1].name"),
        ({"demand": 0}, "jobs[0].demand"),
        ({"work": 0.0}, "jobs[0].work"),
        ({"release_date": 9}, "jobs[0].release_date"),
        ({"current_type": 7}, "jobs[0].current_type"),
        ({"migration_cost": [1.0, 0.0]}, "jobs[0].migration_cost[0]"),
        ({"fairness": -1.0}, "jobs[0].fairness"),
    ],
)
def test_bad_input_is_one_clear_line(changes: dict, where: str) -> None:
    with pytest.raises(InputError) as caught:
        RoundProblem.from_dict(document(**changes))
    faults = caught.value.faults
    assert [fault.where for fault in faults] == [where]
    assert len(str(caught.value).splitlines()) == 1


def test_capacities_of_zero_and_large_demands_wait_with_a_warning() -> None:
    raw = document(demand=5)
    raw["gpu_types"][0]["count"] = 0
    problem = RoundProblem.from_dict(raw)
    for solver in ("fft-fast", "fft-milp", "fft-convex"):
        made = run_round(solver, problem)
        assert made.gpu_type == (None, 1)
        assert "'a'" in made.message


@pytest.mark.parametrize(
    ("solver", "options"),
    [
        ("fft-fast", {"rule": "maximal"}),
        ("fft-fast", {"rule": "all"}),
        ("fft-fast", {"params": {"gap": 2.0}}),
        ("fft-fast", {"params": {"colour": 1}}),
        ("fft-milp", {"params": {"backend": "cplx"}}),
        ("fft-convex", {"params": {"fairness": -1.0}}),
        ("fifo", {}),
    ],
)
def test_calls_that_make_no_sense(solver: str, options: dict) -> None:
    with pytest.raises(UsageError):
        run_round(solver, random_round(1), **options)


def test_remaining_work_of_a_finished_job_is_refused() -> None:
    raw = document(done=4.0)
    with pytest.raises(HetoptError, match="leave finished jobs out"):
        run_round("fft-fast", RoundProblem.from_dict(raw), cost=CostModel(work="remaining"))  # type: ignore[arg-type]


def test_solver_objects_work_as_names_do() -> None:
    problem = random_round(3)
    assert run_round(FftMilpSolver(), problem).gpu_type == run_round("fft-milp", problem).gpu_type
