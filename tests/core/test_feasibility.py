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


def _plain_overlaps(schedule: Schedule) -> list[str]:
    """Overlaps by looking at every pair: each row with the row that ends last among those before it."""
    rows = sorted(
        range(len(schedule)), key=lambda i: (int(schedule.gpu[i]), int(schedule.start[i]), int(schedule.end[i]), i)
    )
    out = []
    for at, i in enumerate(rows):
        before = [j for j in rows[:at] if schedule.gpu[j] == schedule.gpu[i]]
        if before and schedule.start[i] < max(schedule.end[j] for j in before):
            out.append(f"tasks[{i}] (job {schedule.job[i]}, round {schedule.round[i]}, task {schedule.task[i]})")
    return out


@pytest.mark.parametrize("seed", range(40))
def test_overlaps_agree_with_looking_at_every_pair(two_jobs: Instance, schedule: Schedule, seed: int) -> None:
    random = np.random.default_rng(seed)
    moved = schedule.replace(start=random.integers(0, 200, len(schedule)))
    long = random.integers(-1 if seed % 4 == 0 else 0, 12, len(schedule))  # ends before starts: nonsense, but checked
    moved = moved.replace(end=moved.start + long)
    found = [v.where for v in violations(two_jobs, moved) if v.kind is ViolationKind.OVERLAP]
    assert found == _plain_overlaps(moved)


def test_repeats_are_checked_as_if_they_were_written_out() -> None:
    from tests.conftest import make_instance

    short = Instance.from_dict(
        {
            **make_instance({"a": 1, "b": 1}, [(1, 0, [(1, [3, 2], [1, 1])])]).to_dict(),
            "jobs": [
                {
                    "name": "j",
                    "rounds": [
                        {"repeat": 300, "scale": 2, "processing_time": [3, None], "sync_time": [1, None]},
                        {"repeat": 5, "scale": 1, "processing_time": [4, 2], "sync_time": [0, 3]},
                    ],
                }
            ],
        }
    )
    start = np.concatenate([np.repeat(np.arange(300) * 7, 2) + np.tile([0, 3], 300), 2100 + np.arange(5) * 5])
    gpu = np.concatenate([np.zeros(600, dtype=int), np.ones(5, dtype=int)])
    good = Schedule.from_starts(short, gpu, start)
    assert violations(short, good) == []
    early = start.copy()
    early[603] -= 1
    assert [v.kind for v in violations(short, Schedule.from_starts(short, gpu, early))] == [
        ViolationKind.BEFORE_PREVIOUS_ROUND
    ]
    there = gpu.copy()
    there[17] = 1
    assert ViolationKind.FORBIDDEN_TYPE in {
        v.kind for v in violations(short, Schedule.from_starts(short, there, start))
    }
