"""The clock of the combinatorial bounds and of the strengthened LP, counted in looks at it."""

from __future__ import annotations

import numpy as np
import pytest

from hetopt.core.solver import Limits
from hetopt.core.status import Objective, StopReason
from hetopt.solvers.relaxations.combinatorial import combinatorial_bounds
from hetopt.solvers.relaxations.midpoint_lp import solve_midpoint_lp
from hetopt.solvers.relaxations.midpoint_lp_strong import solve_midpoint_lp_strong
from hetopt.solvers.run import run
from tests import oracle
from tests.tiny import tiny


@pytest.mark.parametrize("objective", [Objective.TOTAL_WEIGHTED_COMPLETION, Objective.MAKESPAN])
@pytest.mark.parametrize("seed", range(6))
def test_parts_found_before_the_clock_are_parts_of_all_and_never_above_the_optimum(objective, seed):
    instance = tiny(seed, tasks=6)
    whole = combinatorial_bounds(instance, objective)
    best = oracle.optimum(instance, objective)
    for most in range(8):
        looks = 0

        def late():
            nonlocal looks
            looks += 1
            return looks > most  # noqa: B023 - used within the turn

        parts = combinatorial_bounds(instance, objective, late=late)
        assert parts[0] == whole[0] and all(value <= best for value, _ in parts)
        if objective is not Objective.MAKESPAN:  # there a pair found early is a bound of its own
            assert all(part in whole for part in parts)
    assert combinatorial_bounds(instance, objective, late=lambda: False) == whole
    assert len(combinatorial_bounds(instance, objective, late=lambda: True)) == 1


def test_no_time_still_gives_a_bound_and_says_why_it_ended():
    result = run("combinatorial", tiny(3), limits=Limits(time=0.0))
    assert result.stop_reason is StopReason.TIME and result.bound is not None


@pytest.mark.parametrize("seed", range(4))
def test_however_late_the_strengthened_lp_is_not_below_the_plain_one(seed):
    from tests.conftest import make_instance

    random = np.random.default_rng(seed)
    jobs = [
        (int(random.integers(1, 9)), 0, [(int(random.integers(1, 4)), random.integers(1, 60, 2).tolist(), [2, 3])] * 5)
        for _ in range(40)
    ]
    instance = make_instance({"a": 3, "b": 5}, jobs)
    late = solve_midpoint_lp_strong(instance, limits=Limits(time=0.0)).lower_bound
    assert late >= solve_midpoint_lp(instance).lower_bound * 97 / 100
