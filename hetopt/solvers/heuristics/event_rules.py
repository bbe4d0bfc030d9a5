"""Priority rules driven by events: whenever a GPU is free, the first ready task starts on it.

Problem: at every tick at which a GPU becomes free or a round becomes ready (all that happens at the
tick is known first), the ready task of least priority starts on the allowed free GPU of least
p + s, lowest index on ties; again and again until no ready task may use a free GPU.  A task that may
use no free GPU waits, and later ones may overtake it (our reading: no GPU idles while a ready task
may use it).  Priorities belong to rounds and are fixed, with q the least p of a round:

* ``fifo``: (release date, job);
* ``wspt``: (remaining sum of scale x q, divided by the weight), the remaining rounds being this one and
  all later ones of the job;
* ``srtf``: the remaining sum of scale x q;

ties by job, round and task.  The quotients of ``wspt`` are compared exactly.

Guarantee: none known on heterogeneous GPUs (a fast GPU may be left to a long task while a slow one
takes the short).  Known special case: on identical GPUs, with one task per job and no release dates,
``wspt`` is within (1 + sqrt 2)/2 of the optimum (Kawaguchi and Kyan, SIAM J. Comput. 15, 1986).

Complexity: O((T + R)(log M + log R + K + A)) for T tasks, R rounds, M GPUs, K types and A different
sets of allowed types; memory O(T + R K + M).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.certificate import Bound
from hetopt.core.instance import Instance, InstanceArrays
from hetopt.core.objectives import evaluate
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Exclusions, Limits, Observer, Outcome
from hetopt.core.status import Capability, Objective, SolverKind, Status, StopReason

__all__ = ["PRIORITIES", "Fifo", "Srtf", "Wspt", "dispatch", "remaining_work"]


def remaining_work(a: InstanceArrays) -> NDArray[np.int64]:
    """Sum of scale x q over each round and the later ones of its job, (R,) int64 ticks."""
    total = np.cumsum((a.scale * a.min_processing_time)[::-1])[::-1]
    after = np.append(total, 0)[a.round_start[1:]]
    return np.asarray(total - after[a.round_job], dtype=np.int64)


def _fifo(a: InstanceArrays) -> NDArray[np.int64]:
    return np.argsort(a.release_date[a.round_job], kind="stable")


def _srtf(a: InstanceArrays) -> NDArray[np.int64]:
    return np.argsort(remaining_work(a), kind="stable")


def _wspt(a: InstanceArrays) -> NDArray[np.int64]:
    work, weight = remaining_work(a), a.weight[a.round_job]
    # correctly rounded quotients never change the order, but may hide a difference: mend those runs
    quotient = work / weight
    order = np.argsort(quotient, kind="stable")
    divisor = np.gcd(work, weight)
    exact = np.stack((work // divisor, weight // divisor))[:, order]
    same = quotient[order][1:] == quotient[order][:-1]
    if (same & (exact[:, 1:] != exact[:, :-1]).any(axis=0)).any():
        edges = [0, *(np.flatnonzero(~same) + 1).tolist(), len(order)]
        for low, high in pairwise(edges):
            if high - low > 1:
                run = [int(r) for r in order[low:high]]
                order[low:high] = sorted(run, key=lambda r: (Fraction(int(work[r]), int(weight[r])), r))
    return order


PRIORITIES: Final[dict[str, Callable[[InstanceArrays], NDArray[np.int64]]]] = {
    "fifo": _fifo,
    "wspt": _wspt,
    "srtf": _srtf,
}
"""For each rule, the rounds in order of priority."""


def dispatch(a: InstanceArrays, order: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Run the events.

    Parameters
    ----------
    a
        The instance.
    order
        (R,) rounds, the first one first.

    Returns
    -------
    gpu, start : (T,) int64
        GPU and start tick of each task.
    """
    rank = np.empty(a.num_rounds, dtype=np.int64)
    rank[order] = np.arange(a.num_rounds)
    rank_of, round_of, job_of = rank.tolist(), order.tolist(), a.round_job.tolist()
    task_start, last_round = a.task_start.tolist(), (a.round_start[1:] - 1).tolist()
    processing, sync, gpu_type = a.processing_time.tolist(), a.sync_time.tolist(), a.gpu_type.tolist()
    # types in order of (p + s, type), and the waiting line of the round's set of allowed types
    total = np.where(a.allowed, a.processing_time + a.sync_time, np.iinfo(np.int64).max)
    preferred = np.argsort(total, axis=1, kind="stable").tolist()
    _, line_of_round = np.unique(a.allowed, axis=0, return_inverse=True)
    line_of = line_of_round.ravel().tolist()
    allowed = np.unique(a.allowed, axis=0)
    lines: list[list[int]] = [[] for _ in range(len(allowed))]  # heaps of ranks
    usable = [np.flatnonzero(row).tolist() for row in allowed]

    idle: list[list[int]] = [np.flatnonzero(a.gpu_type == k).tolist() for k in range(a.num_types)]
    events: list[tuple[int, int]] = []  # (tick, GPU that is free) or (tick, -1 - round that is ready)
    for release, first in zip(a.release_date.tolist(), a.round_start[:-1].tolist(), strict=True):
        events.append((release, -1 - first))
    heapq.heapify(events)
    next_task = list(task_start[:-1])
    synchronised = [0] * a.num_rounds
    gpu, start = [0] * a.num_tasks, [0] * a.num_tasks
    push, pop = heapq.heappush, heapq.heappop
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            what = pop(events)[1]
            if what < 0:
                r = -1 - what
                push(lines[line_of[r]], rank_of[r])
            else:
                push(idle[gpu_type[what]], what)
        while True:
            best, where = -1, -1
            for number, line in enumerate(lines):
                if line and (best < 0 or line[0] < best) and any(idle[k] for k in usable[number]):
                    best, where = line[0], number
            if best < 0:
                break
            r = round_of[best]
            row, extra = processing[r], sync[r]
            task, end_task = next_task[r], task_start[r + 1]
            for k in preferred[r]:  # forbidden types come last, and never have their turn
                if not row[k]:
                    break
                free = idle[k]
                while free and task < end_task:
                    m = pop(free)
                    gpu[task], start[task] = m, now
                    push(events, (now + row[k], m))
                    synchronised[r] = max(synchronised[r], now + row[k] + extra[k])
                    task += 1
                if task == end_task:
                    break
            next_task[r] = task
            if task == end_task:
                pop(lines[where])
                if r != last_round[job_of[r]]:
                    push(events, (synchronised[r], -2 - r))
    return np.array(gpu, dtype=np.int64), np.array(start, dtype=np.int64)


class _Rule:
    name: ClassVar[str]
    kind: ClassVar = SolverKind.HEURISTIC
    capabilities: ClassVar = frozenset({Capability.HEURISTIC, Capability.DETERMINISTIC})
    objectives: ClassVar = frozenset(Objective)

    def solve(
        self,
        problem: Instance,
        *,
        objective: Objective,
        limits: Limits,
        seed: int,
        incumbent: Schedule | None,
        bound: Bound | None,
        exclusions: Exclusions | None,
        observer: Observer,
    ) -> Outcome:
        """One pass over the events; limits and seed play no part, the objective only values the schedule."""
        arrays = problem.arrays
        schedule = Schedule.from_starts(problem, *dispatch(arrays, PRIORITIES[self.name](arrays)))
        value = evaluate(problem, schedule, objective)
        observer.record(incumbent=value, schedule=schedule)
        return Outcome(Status.FEASIBLE, StopReason.EXHAUSTED, schedule, claimed=value, work=arrays.num_tasks)


@dataclass(frozen=True)
class Fifo(_Rule):
    """First come, first served: priority (release date, job).  No guarantee known; see the module."""

    name: ClassVar[str] = "fifo"


@dataclass(frozen=True)
class Wspt(_Rule):
    """Least remaining work per weight first.  No guarantee known on heterogeneous GPUs; see the module."""

    name: ClassVar[str] = "wspt"


@dataclass(frozen=True)
class Srtf(_Rule):
    """Least remaining work first.  No guarantee known; see the module."""

    name: ClassVar[str] = "srtf"
