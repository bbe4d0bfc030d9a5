"""Every bound is at most the optimum of exhaustive search, and its certificate is accepted by the independent checker."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hetopt.analysis.certify.check import check_certificate
from hetopt.core.certificate import Certificate
from hetopt.core.status import Objective
from hetopt.models.clairvoyant.midpoint_lp import MidpointLpModel
from hetopt.models.clairvoyant.round_terms import Tail, round_terms
from hetopt.solvers.relaxations.combinatorial import combinatorial_bounds
from hetopt.solvers.run import run
from tests.conftest import make_instance
from tests.oracle import optimum
from tests.solvers.relaxations.instances import random_instance

SOLVERS = [
    ("midpoint-lp", {}),
    ("midpoint-lp", {"exact_rounds": 0, "max_iterations": 60}),
    ("midpoint-lp", {"release": True, "max_iterations": 40}),
    ("midpoint-lp-strong", {"max_iterations": 40}),
    ("midpoint-lp-strong", {"max_iterations": 40, "exact_rounds": 0, "tail": "chain"}),
    ("convex-qp", {"steps": 2}),
    ("convex-qp", {"steps": 1, "intervals": 1}),
]


def _check(seed: int, count: int) -> dict[str, int]:
    rng = np.random.default_rng(seed)
    attained: dict[str, int] = {}
    for _ in range(count):
        instance = random_instance(rng, most_tasks=6)
        best = {objective: optimum(instance, str(objective)) for objective in Objective}
        for solver, params in SOLVERS:
            result = run(solver, instance, params=params)
            assert result.bound <= best[Objective.TOTAL_WEIGHTED_COMPLETION], (solver, params, instance)
            verdict = check_certificate(instance, result.certificate)
            assert verdict.valid, verdict.reasons
            attained[solver] = attained.get(solver, 0) + (result.bound == best[Objective.TOTAL_WEIGHTED_COMPLETION])
        for objective in (Objective.TOTAL_WEIGHTED_COMPLETION, Objective.MAKESPAN):
            for value, data in combinatorial_bounds(instance, objective):
                assert value <= best[objective], (data, instance)
                verdict = check_certificate(instance, Certificate("combinatorial", value, instance.fingerprint, data))
                assert verdict.valid, verdict.reasons
        flow = run("combinatorial", instance, objective=Objective.TOTAL_WEIGHTED_FLOW)
        assert flow.bound <= best[Objective.TOTAL_WEIGHTED_FLOW]
    return attained


def test_bounds_are_valid_and_checkable() -> None:
    attained = _check(1, 16)
    assert attained["midpoint-lp-strong"] >= 4  # and not merely tiny


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 42))
def test_bounds_are_valid_and_checkable_many(seed: int) -> None:
    _check(seed, 130)


@pytest.mark.parametrize("solver", ["midpoint-lp", "midpoint-lp-strong", "convex-qp", "combinatorial"])
def test_a_changed_number_is_refused(solver) -> None:
    busy = make_instance({"A": 1, "B": 1}, [(n + 1, 0, [(2, (3, 5), (1, 0)), (1, (4, 4), (0, 0))]) for n in range(4)])
    certificate = run(solver, busy).certificate
    assert check_certificate(busy, certificate).valid
    higher = Certificate(
        certificate.kind, certificate.bound + Fraction(1, 7), certificate.fingerprint, certificate.data
    )
    assert not check_certificate(busy, higher).valid
    if "denominator" in certificate.data:
        changed = {**certificate.data, "denominator": certificate.data["denominator"] - 1}
        other = Certificate(certificate.kind, certificate.bound, certificate.fingerprint, changed)
        assert not check_certificate(busy, other).valid


@pytest.mark.parametrize("strong", [False, True])
def test_every_schedule_is_a_point_of_the_lp(strong: bool) -> None:
    """Lists in random order on random GPUs with idle time: true midpoints satisfy every row, all sets of rounds included."""
    rng = np.random.default_rng(21)
    model = MidpointLpModel(strong=strong)
    for _ in range(60):
        instance = random_instance(rng, most_tasks=9)
        schedule = _random_schedule(instance, rng)
        for objective in Objective:
            built = model.build(instance, objective)
            values = model.encode(built, schedule)
            assert built.linear.broken(values, 1e-9) == []
            assert model.violated_order(built, values) is None
        terms = round_terms(instance, Tail.ROUND)
        point = model.decode(built, values)
        assert (point.midpoint >= terms.head).all()
        late = point.midpoint + terms.tail_ticks
        assert (point.completion[instance.arrays.round_job] >= late - 1e-9).all()


def _random_schedule(instance, rng):
    from hetopt.core.schedule import Schedule

    a = instance.arrays
    free = np.zeros(a.num_gpus, dtype=np.int64)
    gpus, starts = [], []
    ready = a.release_date.copy()
    for g in range(a.num_rounds):
        n = a.round_job[g]
        ends = []
        for _ in range(int(a.scale[g])):
            allowed = np.flatnonzero(a.allowed[g, a.gpu_type])
            gpu = int(rng.choice(allowed))
            k = a.gpu_type[gpu]
            start = int(max(free[gpu], ready[n]) + rng.integers(0, 3) * rng.integers(0, 2))
            free[gpu] = start + a.processing_time[g, k]
            ends.append(free[gpu] + a.sync_time[g, k])
            gpus.append(gpu)
            starts.append(start)
        ready[n] = max(ends)
    return Schedule.from_starts(instance, gpus, starts)
