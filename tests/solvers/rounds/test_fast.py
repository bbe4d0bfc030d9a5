"""fft-fast equals brute force on random tiny rounds, whatever the demands, holes and slack."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hetopt.core.round_problem import CostModel, RoundGpuType, RoundJob, RoundProblem
from hetopt.core.status import Status
from hetopt.solvers.rounds.run import run_round
from hetopt.solvers.rounds.usage import most_gpus, reachable
from tests.solvers.rounds.oracle import allocations, exact, optimum


def random_round(seed: int) -> RoundProblem:
    """Up to 6 jobs on up to 3 types; forbidden types, demands 1 to 5, capacities 0 to 6."""
    rng = np.random.default_rng(seed)
    types, jobs = int(rng.integers(1, 4)), int(rng.integers(1, 7))
    made = []
    for j in range(jobs):
        rate: list[float | None] = [float(np.round(rng.lognormal(0, 1), 3)) + 0.001 for _ in range(types)]
        for i in range(types):
            if rng.random() < 0.3 and sum(r is not None for r in rate) > 1:
                rate[i] = None
        usable = [i for i, r in enumerate(rate) if r is not None]
        current = int(rng.choice(usable)) if rng.random() < 0.5 else None
        moving = tuple(
            0.0 if current is None or i == current else float(np.round(rng.exponential(), 3)) for i in range(types)
        )
        made.append(
            RoundJob(
                name=f"j{j}",
                demand=int(rng.choice([1, 2, 3, 4, 5])),
                work=float(np.round(rng.uniform(0.5, 40), 3)),
                done=0.1,
                release_date=float(rng.integers(0, 20)),
                throughput=tuple(rate),
                current_type=current,
                migration_cost=moving,
                fairness=float(np.round(rng.exponential(rng.choice([0.0, 5.0, 100.0])), 3)),
            )
        )
    counts = rng.integers(0, 7, types)
    gpus = tuple(RoundGpuType(name=f"g{i}", count=int(g)) for i, g in enumerate(counts))
    return RoundProblem(name=f"r{seed}", now=20.0, gpu_types=gpus, jobs=tuple(made))


@pytest.mark.parametrize("rule", ["most-gpus", "none"])
def test_equals_brute_force(rule: str) -> None:
    for seed in range(120):
        problem = random_round(seed)
        allocation = run_round("fft-fast", problem, rule=rule, params={"certify": True})
        assert allocation.status is Status.OPTIMAL
        assert allocation.cost is not None
        best = optimum(problem, rule)
        assert allocation.cost.total == pytest.approx(float(best), rel=1e-9, abs=1e-9)
        assert exact(problem, allocation.gpu_type, CostModel()) == best
        if allocation.certificate is None:  # the most GPUs have no short proof
            assert rule == "most-gpus"
            assert "no certificate" in allocation.message
            continue
        assert best - abs(best) / 10**8 - 1e-8 <= allocation.certificate.bound <= best


def test_usage_equals_brute_force() -> None:
    unproved = 0
    for seed in range(300):
        problem = random_round(seed)
        usage = most_gpus(problem.arrays)
        assert usage.value == max(used for _, used in allocations(problem))
        unproved += usage.cut is None
    assert unproved < 30


@pytest.mark.parametrize(
    ("capacity", "demands", "most"),
    [(7, [2, 2, 2, 2], 6), (7, [3, 5], 5), (0, [1], 0), (9, [], 0), (100, [3] * 40, 99)],
)
def test_reachable_sums(capacity: int, demands: list[int], most: int) -> None:
    assert reachable(capacity, np.array(demands, dtype=np.int64)) == most


def test_prices_warm_start_the_next_round() -> None:
    problem = random_round(7)
    first = run_round("fft-fast", problem)
    again = run_round("fft-fast", problem, params={"prices": first.extra["prices"]})
    assert again.gpu_type == first.gpu_type


def test_same_bytes_twice() -> None:
    problem = random_round(11)

    def plain() -> str:
        document = run_round("fft-fast", problem, params={"certify": True}).to_dict()
        del document["runtime_seconds"]
        return json.dumps(document)

    assert plain() == plain()


def test_no_jobs_and_no_gpus() -> None:
    empty = RoundProblem(now=0.0, gpu_types=(RoundGpuType(name="a", count=0),), jobs=())
    allocation = run_round("fft-fast", empty, params={"certify": True})
    assert (allocation.status, allocation.gpus_used) == (Status.OPTIMAL, (0,))


def test_a_job_that_fits_nowhere_waits_with_a_warning() -> None:
    job = RoundJob(name="big", demand=9, work=1.0, done=0.0, release_date=0.0, throughput=(1.0,))
    small = RoundJob(name="small", demand=1, work=1.0, done=0.0, release_date=0.0, throughput=(1.0,))
    problem = RoundProblem(now=1.0, gpu_types=(RoundGpuType(name="a", count=4),), jobs=(job, small))
    allocation = run_round("fft-fast", problem)
    assert allocation.gpu_type == (None, 0)
    assert "'big'" in allocation.message
