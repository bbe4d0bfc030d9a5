"""List schedules by the three placement rules, exactly.

Tasks are placed in list order.  F_m is the end of the last task placed on GPU m so far, F_i the
least F_m over the GPUs that task i may use, R_i the time at which it is ready.

* R1: a GPU with F_m = F_i (lowest index), start max(F_i, R_i).
* R2: start max(F_i, R_i) on the fastest GPU with F_m <= that start (least p, then lowest index).
* R3: the earliest t >= R_i at which an idle gap [t, t + p) begins on some GPU (lowest index).
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from hetopt.analysis.certify.midpoint.tasks import TaskProblem

__all__ = ["Rule", "TaskSchedule", "completion", "list_order", "list_schedule", "ready_times"]


class Rule(StrEnum):
    """Placement rules of the guarantee."""

    R1 = "R1"
    R2 = "R2"
    R3 = "R3"


@dataclass(frozen=True)
class TaskSchedule:
    """GPU and start (units) of every task."""

    gpu: tuple[int, ...]
    start: tuple[int, ...]


def list_order(midpoint: Sequence[int]) -> tuple[int, ...]:
    """Tasks by (H, job, round, task)."""
    return tuple(sorted(range(len(midpoint)), key=lambda i: (midpoint[i], i)))


def ready_times(problem: TaskProblem, schedule: TaskSchedule) -> tuple[int, ...]:
    """R_i: the release date, or when the round before has synchronised, by a given schedule."""
    out = [0] * problem.num_tasks
    for n, rounds in enumerate(problem.rounds):
        ready = problem.release[n]
        for tasks in rounds:
            for i in tasks:
                out[i] = ready
            ready = max(synchronised(problem, schedule, i) for i in tasks)
    return tuple(out)


def trained(problem: TaskProblem, schedule: TaskSchedule, i: int) -> int:
    """When task i leaves its GPU."""
    return schedule.start[i] + (problem.processing[i][schedule.gpu[i]] or 0)


def synchronised(problem: TaskProblem, schedule: TaskSchedule, i: int) -> int:
    """When task i has synchronised."""
    return trained(problem, schedule, i) + (problem.sync[i][schedule.gpu[i]] or 0)


def completion(problem: TaskProblem, schedule: TaskSchedule) -> tuple[int, ...]:
    """C_n per job, units."""
    return tuple(max(synchronised(problem, schedule, i) for i in rounds[-1]) for rounds in problem.rounds)


class _Gaps:
    """Busy intervals of one GPU in order of time."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []

    def earliest(self, ready: int, length: int) -> int:
        at = bisect.bisect_right(self.starts, ready)
        time = max(ready, self.ends[at - 1]) if at else ready
        while at < len(self.starts) and self.starts[at] < time + length:
            time = self.ends[at]
            at += 1
        return time

    def occupy(self, start: int, end: int) -> None:
        at = bisect.bisect_left(self.starts, start)
        self.starts.insert(at, start)
        self.ends.insert(at, end)


def list_schedule(problem: TaskProblem, order: Sequence[int], rule: Rule | str = Rule.R1) -> TaskSchedule:
    """Place the tasks in list order.

    Raises
    ------
    ValueError
        A task is listed before one of the round before it.
    """
    rule = Rule(rule)
    free = [0] * problem.num_gpus
    gaps = [_Gaps() for _ in free]
    gpu, start = [-1] * problem.num_tasks, [-1] * problem.num_tasks
    ready = [{0: release} for release in problem.release]
    waiting = [[len(tasks) for tasks in rounds] for rounds in problem.rounds]
    latest = list(problem.release)
    for i in order:
        n, r, p = problem.job[i], problem.round[i], problem.processing[i]
        if r not in ready[n]:
            raise ValueError(f"{problem.name(i)} is listed before the round before it is complete")
        at, usable = ready[n][r], problem.eligible[i]
        if rule is Rule.R3:
            begin, m = min((gaps[m].earliest(at, p[m] or 0), m) for m in usable)
        else:
            least = min(free[m] for m in usable)
            begin = max(least, at)
            if rule is Rule.R1:
                m = next(m for m in usable if free[m] == least)
            else:
                m = min((m for m in usable if free[m] <= begin), key=lambda m: (p[m] or 0, m))
        gpu[i], start[i] = m, begin
        end = begin + (p[m] or 0)
        free[m] = max(free[m], end)
        if rule is Rule.R3:
            gaps[m].occupy(begin, end)
        latest[n] = max(latest[n], end + (problem.sync[i][m] or 0))
        waiting[n][r] -= 1
        if not waiting[n][r]:
            ready[n][r + 1] = latest[n]
    return TaskSchedule(tuple(gpu), tuple(start))
