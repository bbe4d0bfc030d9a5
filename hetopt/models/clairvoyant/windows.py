r"""When a task may start, given the value of a known schedule: the safe horizon of the linear models.

The horizon of an instance is long (everything one after the other on the slowest GPU), and big-M
and time-indexed models live or die by it.  Let U be the value of a feasible schedule.  Claim: among
the schedules of value at most U, for each value that occurs there is one in which, for each job n
with earliest completion :math:`c_n = r_n + \sum_r \min_k (p_{rk} + s_{rk})`,

(1) :math:`C_n \le D_n`, where :math:`D_n = \lfloor (U - \sum_{m \ne n} w_m c_m) / w_n \rfloor` for the total weighted
    completion time (U plus :math:`\sum_m w_m r_m` first, for the flow time) and :math:`D_n = U` for the makespan;
(2) :math:`C_n \le H`, the horizon of the instance;
(3) a task of round r on type k starts no earlier than :math:`r_n` plus the least times of the rounds before, and no
    later than :math:`\min(D_n, H)` minus the least times of the rounds after, minus :math:`p_{rk} + s_{rk}`.

Proof.  (1) holds for every schedule of value at most U, because :math:`C_m \ge c_m` for all m.  Shifting
every task to the left as far as its GPU order and the rounds allow raises no completion time, so no
objective, and only lowers the value; the value stays at most U and (1) still holds.  In a shifted
schedule every moment between the latest release and the end lies in some task's
[start, start + p + s): a task starts either at its release, or when a task on its GPU ends, or when its job's
previous round has synchronised.  Hence its end is at most the latest release plus the sum of
:math:`p + s` over all tasks, each at most its largest value: (2).  (3) follows, since the chain before and after
a round takes at least the least times.  So an optimal schedule of value at most U always
survives, and a model in these windows that has no solution proves that no schedule of value at
most U exists.

A relaxation's :class:`~hetopt.core.solver.Exclusions` remove nothing that a schedule of value at most
``upper_bound`` uses; intersecting with them keeps the claim for U = the smaller of the two.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate, offset
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Exclusions
from hetopt.core.status import Objective

__all__ = ["Windows", "coloured", "first_schedule", "left_shifted", "start_windows"]


@dataclass(frozen=True)
class Windows:
    """Start windows of the tasks of each round on each type.

    Attributes
    ----------
    earliest, latest : (R, K) int64
        First and last start tick; ``earliest > latest`` where the round does not run on the type.
    earliest_end, latest_end : (R,) int64
        When the round has synchronised.
    completion_earliest, completion_latest : (N,) int64
        When the job is complete.
    cutoff
        Value up to which nothing is lost; see the module.
    """

    earliest: NDArray[np.int64]
    latest: NDArray[np.int64]
    earliest_end: NDArray[np.int64]
    latest_end: NDArray[np.int64]
    completion_earliest: NDArray[np.int64]
    completion_latest: NDArray[np.int64]
    cutoff: int


def start_windows(
    instance: Instance, objective: Objective, upper_bound: int, exclusions: Exclusions | None = None
) -> Windows:
    """Start windows that keep a schedule of each value at most ``upper_bound``.

    Parameters
    ----------
    instance, objective
        The problem.
    upper_bound
        Value of a feasible schedule (U in the module documentation).
    exclusions
        What a relaxation has excluded, for the same objective; others are ignored.
    """
    a = instance.arrays
    if exclusions is not None and exclusions.objective is not objective:
        exclusions = None
    cutoff = upper_bound if exclusions is None else min(upper_bound, exclusions.upper_bound)
    before = np.zeros(a.num_rounds, dtype=np.int64)  # least time of the job's earlier rounds
    after = np.zeros(a.num_rounds, dtype=np.int64)
    for n in range(a.num_jobs):
        rounds = slice(int(a.round_start[n]), int(a.round_start[n + 1]))
        least = a.min_task_time[rounds]
        before[rounds] = np.cumsum(least) - least
        after[rounds] = least.sum() - np.cumsum(least)
    last = a.round_start[1:] - 1
    complete = a.release_date + before[last] + a.min_task_time[last]
    if objective is Objective.MAKESPAN:
        latest = [cutoff] * a.num_jobs
    else:
        total = cutoff - offset(instance, objective)
        floor = sum(int(w) * int(c) for w, c in zip(a.weight, complete, strict=True))
        latest = [(total - floor) // int(w) + int(c) for w, c in zip(a.weight, complete, strict=True)]
    completion_latest = np.array([min(value, instance.horizon) for value in latest], dtype=np.int64)
    earliest = np.repeat((a.release_date[a.round_job] + before)[:, None], a.num_types, axis=1)
    ends_latest = completion_latest[a.round_job] - after
    starts_latest = ends_latest[:, None] - a.processing_time - a.sync_time
    starts_latest = np.where(a.allowed, starts_latest, earliest - 1)
    if exclusions is not None:
        earliest = np.maximum(earliest, exclusions.earliest)
        starts_latest = np.minimum(starts_latest, exclusions.latest)
        starts_latest = np.where(starts_latest < earliest, earliest - 1, starts_latest)
    return Windows(
        earliest=earliest,
        latest=starts_latest,
        earliest_end=a.release_date[a.round_job] + before + a.min_task_time,
        latest_end=ends_latest,
        completion_earliest=complete,
        completion_latest=completion_latest,
        cutoff=cutoff,
    )


def left_shifted(instance: Instance, schedule: Schedule) -> Schedule:
    """Every task as early as the order on its GPU and the rounds allow; no completion time rises.

    The schedule is feasible.  O(T log T).
    """
    a = instance.arrays
    rounds = a.round_start[schedule.job] + schedule.round
    task = a.task_start[rounds] + schedule.task
    gpu, start = np.empty(a.num_tasks, dtype=np.int64), np.empty(a.num_tasks, dtype=np.int64)
    gpu[task], start[task] = schedule.gpu, schedule.start
    return placed_in_order(instance, gpu, start)


def placed_in_order(
    instance: Instance, gpu: NDArray[np.int64], key: NDArray[np.float64] | NDArray[np.int64]
) -> Schedule:
    """The left-shifted schedule with the given GPUs that treats the tasks of each round in order of ``key``.

    Tasks are placed by (key, round, task), but never before the rounds that they wait for.

    Parameters
    ----------
    gpu, key : (T,) int64 or float64
        GPU of each task, and what to order by (start times, exact or not).
    """
    a = instance.arrays
    kind = a.gpu_type[gpu]
    free, start = [0] * a.num_gpus, [0] * a.num_tasks
    rounds = np.repeat(np.arange(a.num_rounds), a.scale)
    p, s = a.processing_time[rounds, kind].tolist(), a.sync_time[rounds, kind].tolist()
    gpus, keys = gpu.tolist(), key.tolist()
    heap: list[tuple[float, int, int]] = []

    def open_round(r: int) -> None:
        for i in range(int(a.task_start[r]), int(a.task_start[r + 1])):
            heapq.heappush(heap, (keys[i], r, i))

    ready, waiting = [0] * a.num_rounds, a.scale.tolist()
    for n in range(a.num_jobs):
        r = int(a.round_start[n])
        ready[r] = int(a.release_date[n])
        open_round(r)
    synced = [0] * a.num_rounds
    while heap:
        _, r, i = heapq.heappop(heap)
        start[i] = max(free[gpus[i]], ready[r])
        free[gpus[i]] = start[i] + p[i]
        synced[r] = max(synced[r], start[i] + p[i] + s[i])
        waiting[r] -= 1
        if not waiting[r] and r + 1 < a.round_start[a.round_job[r] + 1]:
            ready[r + 1] = synced[r]
            open_round(r + 1)
    return Schedule.from_starts(instance, gpu, start)


def first_schedule(instance: Instance, objective: Objective) -> Schedule:
    """A feasible schedule made at once, to have a value to start from; no guarantee.

    The better of two list schedules, each task on the GPU where it ends first: rounds in order of readiness, and in
    order of readiness plus remaining work over weight.  O(T (log M + K)).
    """
    a = instance.arrays
    work = a.scale * a.min_processing_time
    remaining = [0.0] * a.num_rounds
    for n in range(a.num_jobs):
        left = 0.0
        for r in range(int(a.round_start[n + 1]) - 1, int(a.round_start[n]) - 1, -1):
            left += float(work[r])
            remaining[r] = left / (float(a.weight[n]) * a.num_gpus)
    candidates = [_list_schedule(instance, remaining, share) for share in (0.0, 1.0, 4.0)]
    return min(candidates, key=lambda schedule: evaluate(instance, schedule, objective))


def _list_schedule(instance: Instance, remaining: list[float], share: float) -> Schedule:
    a = instance.arrays
    first = np.concatenate(([0], np.cumsum(a.gpu_count)))
    free = [[(0, g) for g in range(int(first[k]), int(first[k + 1]))] for k in range(a.num_types)]
    p, s, allowed = a.processing_time.tolist(), a.sync_time.tolist(), a.allowed.tolist()
    gpu, start = [0] * a.num_tasks, [0] * a.num_tasks
    heap = [
        (
            float(a.release_date[n]) + share * remaining[int(a.round_start[n])],
            int(a.round_start[n]),
            int(a.release_date[n]),
        )
        for n in range(a.num_jobs)
    ]
    heapq.heapify(heap)
    while heap:
        _, r, ready = heapq.heappop(heap)
        synced = 0
        for i in range(int(a.task_start[r]), int(a.task_start[r + 1])):
            _, k = min((max(free[k][0][0], ready) + p[r][k] + s[r][k], k) for k in range(a.num_types) if allowed[r][k])
            when, gpu[i] = free[k][0]
            start[i] = max(when, ready)
            heapq.heapreplace(free[k], (start[i] + p[r][k], gpu[i]))
            synced = max(synced, start[i] + p[r][k] + s[r][k])
        if r + 1 < a.round_start[a.round_job[r] + 1]:
            heapq.heappush(heap, (synced + share * remaining[r + 1], r + 1, synced))
    return Schedule.from_starts(instance, gpu, start)


def coloured(instance: Instance, kind: NDArray[np.int64], start: NDArray[np.int64]) -> Schedule:
    """GPU numbers for tasks of which type and start are known: interval colouring, lowest free GPU first.

    The tasks of a round are numbered by (start, type); in order of (start, round, task) each takes the
    free GPU of its type with the lowest number.  Exists whenever no type is overloaded at any time,
    because interval graphs are perfect.

    Parameters
    ----------
    kind, start : (T,) int64
        Type and start tick of each task.

    Raises
    ------
    ValueError
        Some type is overloaded.
    """
    a = instance.arrays
    rounds = np.repeat(np.arange(a.num_rounds), a.scale)
    order = np.lexsort((kind, start, rounds))
    kind, start = kind[order], start[order]  # tasks renumbered within their round
    first = np.concatenate(([0], np.cumsum(a.gpu_count)))
    free = [list(range(int(first[k]), int(first[k + 1]))) for k in range(a.num_types)]
    busy: list[list[tuple[int, int]]] = [[] for _ in range(a.num_types)]
    gpu = np.empty(a.num_tasks, dtype=np.int64)
    for i in np.lexsort((np.arange(a.num_tasks), start)).tolist():
        k, now = int(kind[i]), int(start[i])
        while busy[k] and busy[k][0][0] <= now:
            heapq.heappush(free[k], heapq.heappop(busy[k])[1])
        if not free[k]:
            raise ValueError(f"more than {a.gpu_count[k]} tasks run on type {k} at tick {now}")
        gpu[i] = heapq.heappop(free[k])
        heapq.heappush(busy[k], (now + int(a.processing_time[rounds[i], k]), int(gpu[i])))
    return Schedule.from_starts(instance, gpu, start)
