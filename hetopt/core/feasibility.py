"""The independent feasibility checker: every violation of every rule, in exact integer arithmetic.

It shares no code with any solver or model, and reads the jobs of the instance directly rather than
through the array view that the solvers use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetopt.core.instance import Instance
from hetopt.core.schedule import Schedule

__all__ = ["Violation", "ViolationKind", "violations"]


class ViolationKind(StrEnum):
    """The rules of ``hetopt/schedule``, one name each."""

    WRONG_INSTANCE = "wrong-instance"
    UNKNOWN_TASK = "unknown-task"
    DUPLICATE_TASK = "duplicate-task"
    MISSING_TASK = "missing-task"
    UNKNOWN_GPU = "unknown-gpu"
    FORBIDDEN_TYPE = "forbidden-type"
    WRONG_END = "wrong-end"
    WRONG_SYNC_END = "wrong-sync-end"
    BEFORE_RELEASE = "before-release"
    BEFORE_PREVIOUS_ROUND = "before-previous-round"
    OVERLAP = "overlap"


@dataclass(frozen=True)
class Violation:
    """One broken rule: its kind, where it is broken, and the numbers that show it."""

    kind: ViolationKind
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.kind}: {self.message}"

    def to_dict(self) -> dict[str, str]:
        """As in ``hetopt/verification``."""
        return {"kind": str(self.kind), "where": self.where, "message": self.message}


def violations(instance: Instance, schedule: Schedule) -> list[Violation]:
    """Every violation of the rules of feasibility; an empty list means feasible.

    Overlaps are reported once per task: with the task that holds the GPU longest among those
    started before it.  O(T log T) for T rows.
    """
    return list(_violations(instance, schedule))


def _violations(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    kind = ViolationKind
    if schedule.fingerprint != instance.fingerprint:
        yield Violation(
            kind.WRONG_INSTANCE,
            "fingerprint",
            f"the schedule was made for {schedule.fingerprint[:12]}..., the instance is {instance.fingerprint[:12]}...",
        )
    type_of_gpu = np.repeat(np.arange(len(instance.gpu_types)), [gpu_type.count for gpu_type in instance.gpu_types])
    num_jobs = len(instance.jobs)

    # what the rounds say, one row a round; repeats are expanded last and in one go
    written = [part for job in instance.jobs for part in job.rounds]
    repeat = np.array([part.repeat for part in written], dtype=np.int64)
    length = np.array([sum(part.repeat for part in job.rounds) for job in instance.jobs], dtype=np.int64)
    scale = np.repeat(np.array([part.scale for part in written], dtype=np.int64), repeat)
    processing = np.repeat(_table([part.processing_time for part in written]), repeat, axis=0)
    syncing = np.repeat(_table([part.sync_time for part in written]), repeat, axis=0)
    first = np.concatenate(([0], np.cumsum(length)))  # flat index of the first round of each job
    task_first = np.concatenate(([0], np.cumsum(scale)))

    s = schedule

    def name(row: int | np.integer[Any]) -> str:
        return f"tasks[{row}] (job {s.job[row]}, round {s.round[row]}, task {s.task[row]})"

    known = (s.job >= 0) & (s.job < num_jobs)
    job = np.where(known, s.job, 0)
    known &= (s.round >= 0) & (s.round < length[job])
    position = first[job] + np.where(known, s.round, 0)
    known &= (s.task >= 0) & (s.task < scale[position])
    for row in np.flatnonzero(~known):
        yield Violation(kind.UNKNOWN_TASK, name(row), "the instance has no such task")

    identity = np.where(known, task_first[position] + np.where(known, s.task, 0), -1)
    times_seen = np.bincount(identity[known], minlength=int(task_first[-1]))
    if (times_seen > 1).any():
        met: set[int] = set()
        for row in np.flatnonzero(known & (times_seen[np.maximum(identity, 0)] > 1)):
            if int(identity[row]) in met:
                yield Violation(kind.DUPLICATE_TASK, name(row), "the task has a row already")
            met.add(int(identity[row]))
    for t in np.flatnonzero(times_seen == 0):
        r = int(np.searchsorted(task_first, t, side="right")) - 1
        n = int(np.searchsorted(first, r, side="right")) - 1
        yield Violation(
            kind.MISSING_TASK, f"job {n}, round {r - first[n]}, task {t - task_first[r]}", "the task has no row"
        )

    placed = (s.gpu >= 0) & (s.gpu < len(type_of_gpu))
    for row in np.flatnonzero(~placed):
        yield Violation(
            kind.UNKNOWN_GPU,
            name(row),
            f"GPU {s.gpu[row]} does not exist; GPUs are numbered 0 to {len(type_of_gpu) - 1}",
        )
    gpu_type = type_of_gpu[np.where(placed, s.gpu, 0)]
    usable = known & placed
    p, q = processing[position, gpu_type], syncing[position, gpu_type]
    for row in np.flatnonzero(usable & (p < 0)):
        yield Violation(
            kind.FORBIDDEN_TYPE,
            name(row),
            f"cannot run on {instance.gpu_types[gpu_type[row]].name!r} (GPU {s.gpu[row]})",
        )
    timed = usable & (p >= 0)
    for row in np.flatnonzero(timed & (s.end != s.start + p)):
        yield Violation(
            kind.WRONG_END,
            name(row),
            f"end {s.end[row]}, but start {s.start[row]} + processing time {p[row]} = {s.start[row] + p[row]}",
        )
    for row in np.flatnonzero(timed & (s.sync_end != s.end + q)):
        yield Violation(
            kind.WRONG_SYNC_END,
            name(row),
            f"sync_end {s.sync_end[row]}, but end {s.end[row]} + sync time {q[row]} = {s.end[row] + q[row]}",
        )

    release = np.array([j.release_date for j in instance.jobs], dtype=np.int64)
    for row in np.flatnonzero(known & (s.start < release[job])):
        yield Violation(
            kind.BEFORE_RELEASE, name(row), f"starts at {s.start[row]}, the job is released at {release[job[row]]}"
        )
    least = np.iinfo(np.int64).min
    synchronised = np.full(len(scale), least, dtype=np.int64)
    np.maximum.at(synchronised, position[known], np.maximum(s.sync_end, s.end)[known])
    later = known & (s.round > 0)
    before = synchronised[np.where(later, position - 1, 0)]
    for row in np.flatnonzero(later & (s.start < before)):
        yield Violation(
            kind.BEFORE_PREVIOUS_ROUND,
            name(row),
            f"starts at {s.start[row]}, round {s.round[row] - 1} has synchronised at {before[row]}",
        )

    # on one GPU, in order of (start, end): a row overlaps an earlier one if it starts before the latest end so far
    order = np.lexsort((s.end, s.start, s.gpu))
    order = order[placed[order]]
    neighbours = s.gpu[order][1:] == s.gpu[order][:-1]
    if not (neighbours & ((s.start[order][1:] < s.end[order][:-1]) | (s.end[order][1:] < s.end[order][:-1]))).any():
        return  # each starts when the one before has ended, and ends no earlier: the row before is the latest end
    holder, gpu = -1, None
    for row in order.tolist():
        if s.gpu[row] != gpu:
            holder, gpu = row, s.gpu[row]
            continue
        if s.start[row] < s.end[holder]:
            yield Violation(
                kind.OVERLAP,
                name(row),
                f"on GPU {gpu} [{s.start[row]}, {s.end[row]}) overlaps [{s.start[holder]}, {s.end[holder]}) of {name(holder)}",
            )
        if s.end[row] > s.end[holder]:
            holder = row


def _table(times: list[tuple[int | None, ...]]) -> NDArray[np.int64]:
    """One row per round and one column per type, -1 for what cannot run."""
    return np.array([[-1 if t is None else t for t in row] for row in times], dtype=np.int64)
