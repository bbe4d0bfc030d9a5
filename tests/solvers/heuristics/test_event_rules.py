from __future__ import annotations

import numpy as np
import pytest

from hetopt.core.feasibility import violations
from hetopt.core.objectives import evaluate
from hetopt.core.schedule import Schedule
from hetopt.core.status import Objective
from hetopt.solvers.heuristics.event_rules import PRIORITIES, dispatch, remaining_work
from hetopt.solvers.run import run
from tests.conftest import make_instance
from tests.solvers.heuristics import naive


@pytest.mark.parametrize("rule", ["fifo", "wspt", "srtf"])
def test_agrees_with_ticking_through_time(rule: str) -> None:
    for seed in range(80):
        instance = naive.random_instance(seed)
        result = run(rule, instance)
        s = result.schedule
        rows = sorted(zip(*(c.tolist() for c in (s.job, s.round, s.task, s.gpu, s.start)), strict=True))
        assert rows == sorted(naive.event_schedule(instance, rule)), seed


@pytest.mark.parametrize("rule", ["fifo", "wspt", "srtf"])
@pytest.mark.parametrize("objective", list(Objective))
def test_every_objective(rule: str, objective: Objective, two_jobs) -> None:
    result = run(rule, two_jobs, objective=objective)
    assert violations(two_jobs, result.schedule) == []
    assert result.objective == evaluate(two_jobs, result.schedule, objective)
    assert result.stop_reason in ("EXHAUSTED", "PROVED")
    assert result.deterministic


def test_remaining_work_counts_this_round_and_later_ones(two_jobs) -> None:
    assert remaining_work(two_jobs.arrays).tolist() == [24, 16, 8, 22, 15]


def test_quotients_are_compared_exactly() -> None:
    # (2^50 + 1) / (2^50) and 2^50 / (2^50 - 1) are one double, but the first is smaller
    big = 2**25 + 1
    jobs = [(1, 0, [(big, (2**25,), (0,))]), (1, 0, [(1, (1,), (0,))])]
    a = make_instance({"A": 1}, jobs).arrays
    from dataclasses import replace

    work, weight = np.array([2**52 - 1, 2**52 - 3]), np.array([2**52 - 2, 2**52 - 4])
    assert work[0] / weight[0] == work[1] / weight[1]
    close = replace(a, scale=np.ones(2, dtype=np.int64), min_processing_time=work, weight=weight)
    # 1 + 1/(2^52 - 2) < 1 + 1/(2^52 - 4)
    assert PRIORITIES["wspt"](close).tolist() == [0, 1]
    swapped = replace(close, min_processing_time=work[::-1].copy(), weight=weight[::-1].copy())
    assert PRIORITIES["wspt"](swapped).tolist() == [1, 0]


def test_a_blocked_task_is_overtaken() -> None:
    # job 0 may use A only, which is busy with itself; job 1 comes later but B is free
    jobs = [(1, 0, [(2, (5, None), (0, None))]), (1, 1, [(1, (9, 9), (0, 0))])]
    instance = make_instance({"A": 1, "B": 1}, jobs)
    schedule = Schedule.from_starts(instance, *dispatch(instance.arrays, PRIORITIES["fifo"](instance.arrays)))
    assert schedule.start.tolist() == [0, 5, 1]
    assert schedule.gpu.tolist() == [0, 0, 1]
