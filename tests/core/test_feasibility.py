"""Each rule of a schedule is broken once, and named once."""

from __future__ import annotations

import numpy as np
import pytest

from hetopt.core.feasibility import ViolationKind, violations
from hetopt.core.instance import Instance
from hetopt.core.objectives import completion_times, evaluate, flow_times
from hetopt.core.schedule import Schedule
from hetopt.core.status import Objective

# resnet: 3 rounds of 2 tasks; bert: 1 task, then 3 tasks
GPU = [0, 1, 0, 1, 0, 2, 1, 0, 1, 1]
START = [0, 0, 12, 12, 17, 17, 5, 21, 17, 22]


@pytest.fixture
def schedule(two_jobs: Instance) -> Schedule:
    return Schedule.from_starts(two_jobs, GPU, START)


def test_feasible_schedule_and_its_objectives(two_jobs: Instance, schedule: Schedule) -> None:
    assert violations(two_jobs, schedule) == []
    assert completion_times(two_jobs, schedule).tolist() == [27, 27]
    assert flow_times(two_jobs, schedule).tolist() == [27, 24]
    assert evaluate(two_jobs, schedule) == 27 + 3 * 27
    assert evaluate(two_jobs, schedule, Objective.TOTAL_WEIGHTED_FLOW) == 27 + 3 * 24
    assert evaluate(two_jobs, schedule, Objective.MAKESPAN) == 27


def _changed(schedule: Schedule, column: str, row: int, value: int) -> Schedule:
    values = getattr(schedule, column).copy()
    values[row] = value
    return schedule.replace(**{column: values})


@pytest.mark.parametrize(
    ("column", "row", "value", "kind"),
    [
        ("job", 0, 9, ViolationKind.UNKNOWN_TASK),
        ("job", 0, -1, ViolationKind.UNKNOWN_TASK),
        ("round", 0, 3, ViolationKind.UNKNOWN_TASK),
        ("task", 0, 2, ViolationKind.UNKNOWN_TASK),
        ("task", 0, 1, ViolationKind.DUPLICATE_TASK),
        ("task", 0, 1, ViolationKind.MISSING_TASK),
        ("gpu", 0, 3, ViolationKind.UNKNOWN_GPU),
        ("gpu", 6, 2, ViolationKind.FORBIDDEN_TYPE),
        ("end", 0, 5, ViolationKind.WRONG_END),
        ("sync_end", 0, 6, ViolationKind.WRONG_SYNC_END),
        ("start", 6, 2, ViolationKind.BEFORE_RELEASE),
        ("start", 2, 4, ViolationKind.BEFORE_PREVIOUS_ROUND),
        ("gpu", 0, 1, ViolationKind.OVERLAP),
    ],
)
def test_every_rule_is_named(
    two_jobs: Instance, schedule: Schedule, column: str, row: int, value: int, kind: ViolationKind
) -> None:
    found = violations(two_jobs, _changed(schedule, column, row, value))
    assert kind in {v.kind for v in found}


def test_all_violations_are_returned(two_jobs: Instance, schedule: Schedule) -> None:
    broken = schedule.replace(start=np.zeros(len(schedule)), end=schedule.end, gpu=np.full(len(schedule), 7))
    kinds = [v.kind for v in violations(two_jobs, broken)]
    assert kinds.count(ViolationKind.UNKNOWN_GPU) == len(schedule)
    assert ViolationKind.BEFORE_RELEASE in kinds
    assert ViolationKind.BEFORE_PREVIOUS_ROUND in kinds


def test_another_instance_is_noticed(two_jobs: Instance, schedule: Schedule) -> None:
    other = two_jobs.model_copy(update={"tick_seconds": 2.0})
    assert [v.kind for v in violations(other, schedule)] == [ViolationKind.WRONG_INSTANCE]


def test_an_empty_schedule_misses_every_task(two_jobs: Instance) -> None:
    empty = Schedule("two-jobs", two_jobs.fingerprint, *[np.array([], dtype=np.int64)] * 7)
    assert len(violations(two_jobs, empty)) == two_jobs.num_tasks
