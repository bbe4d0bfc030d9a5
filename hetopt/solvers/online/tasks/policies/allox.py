r"""``sched-allox``: AlloX's matching at the level of jobs (Le et al., EuroSys 2020; Hare's Sched_AlloX; our reading).

Waiting job j in the q-th place *from the last* on machine m costs :math:`(a_m - now) + q P_{jm}`, with :math:`a_m` the time at
which the machine is free and :math:`P_{jm}` the time that the whole job takes there: the sum of completion times if every
machine runs its jobs in that order.  A matching of least cost of jobs to (machine, place) is computed whenever
jobs arrive or finish; a free machine then runs the first of its jobs.  Jobs are never moved or interrupted.
With all jobs present at tick 0 and machines of one GPU this minimises the sum of completion times on
unrelated machines.

* Relaxed: a machine is one GPU; it runs all tasks of a job, one after another: :math:`P = \sum_r (scale_r\, p_r + s_r)`.
* Gang: AlloX has no multi-GPU jobs; our extension: the machines of a type are as many groups as jobs of the mean size of the
  waiting ones fit on it; :math:`P = \sum_r (p_r + s_r)`.  The jobs matched to a type start in the order of their places as soon
  as as many GPUs as their largest round has tasks are uncommitted; the first one that does not fit keeps those behind it waiting.

``window``: only so many waiting jobs, the earliest, enter the matching (AlloX's fairness rule lets a fraction in; ours bounds the work).

Knows the sizes of the jobs that have arrived.  Guarantee: none known with arrivals.  Complexity: O(n^3 M) a matching for n jobs of the window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hetopt.core.errors import Fault, InputError, UsageError, shown
from hetopt.solvers.online.rounds.state import Clairvoyance
from hetopt.solvers.online.tasks.view import Agent, ClusterView, JobView, Start

__all__ = ["SchedAllox", "SchedAlloxGang", "match"]


def match(times: list[list[int | None]], available: list[int], machine_type: list[int]) -> list[tuple[int, int]]:
    """The (machine, place from the last) of each job in a matching of least cost.

    Parameters
    ----------
    times
        Per job and type: time of the whole job; None where it cannot run.
    available
        Ticks until each machine is free.
    machine_type
        Type of each machine.
    """
    from scipy.optimize import linear_sum_assignment

    n, machines = len(times), len(available)
    cost = np.full((n, machines, n), np.inf)
    places = np.arange(1, n + 1, dtype=np.float64)
    for m, kind in enumerate(machine_type):
        for j, row in enumerate(times):
            time = row[kind]
            if time is not None:
                cost[j, m] = available[m] + places * time
    rows, columns = linear_sum_assignment(cost.reshape(n, machines * n))
    out = [(0, 0)] * n
    for j, c in zip(rows.tolist(), columns.tolist(), strict=True):
        out[j] = c // n, c % n + 1
    return out


class _AlloxAgent(Agent):
    def __init__(self, policy: SchedAllox, view: ClusterView) -> None:
        self.policy, self.view, self.gang = policy, view, policy.gang
        self.room = [count for _, count in view.gpu_types]
        self.waiting: list[JobView] = []
        self.running: dict[
            int, tuple[JobView, int, int, int]
        ] = {}  # job, its GPU or type, GPUs committed, expected end
        self.changed = False

    def released(self, job: JobView) -> None:
        need = job.largest_scale if self.gang else 1
        if not any(self.view.gpu_types[k][1] >= need for k in job.runnable):
            raise InputError(
                Fault(
                    f"jobs[{job.index}]",
                    f"job {job.name!r} with up to {job.largest_scale} tasks a round",
                    f"{self.policy.name} runs a job on one type, and none can run all of it",
                    "use another policy, more GPUs, or leave the job out",
                )
            )
        self.waiting.append(job)
        self.changed = True

    def finished(self, job: int) -> None:
        _, place, committed, _ = self.running.pop(job)
        if self.gang:
            self.room[place] += committed
        self.changed = True

    def next_start(self, view: ClusterView) -> Start | None:
        if self.changed:
            self.changed = False
            self._match(view)
        for n, (job, place, _, _) in self.running.items():
            if not view.unstarted(n):
                continue
            if not self.gang and view.is_free(place):
                return Start(n, (place,))
            if self.gang and len(view.free[place]) >= job.scale:
                return Start(n, tuple(view.free[place][: job.scale]))
        return None

    def _match(self, view: ClusterView) -> None:
        """Match the waiting jobs, and commit GPUs to those that may begin."""
        jobs = self.waiting[: self.policy.window]
        if not jobs:
            return
        busy = {place: max(1, end - view.now) for _, place, _, end in self.running.values()}
        kinds = range(len(view.gpu_types))
        if not self.gang:
            machine_type = view.gpu_type
            available = [busy.get(m, 0) for m in range(len(machine_type))]
            if 0 not in available:
                return
            times = [[job.work_on(k) if k in job.runnable else None for k in kinds] for job in jobs]
        else:
            machine_type, available = [], []
            mean = -(-sum(job.largest_scale for job in jobs) // len(jobs))
            for k in kinds:
                groups = max(1, view.gpu_types[k][1] // mean)
                ends = sorted(max(1, e - view.now) for _, place, _, e in self.running.values() if place == k)
                idle = min(groups, self.room[k] // mean if self.room[k] >= mean else int(self.room[k] > 0))
                machine_type += [k] * groups
                available += ([0] * idle + ends + [ends[-1] if ends else 0] * groups)[:groups]
            times = [
                [
                    job.time_on(k) if k in job.runnable and view.gpu_types[k][1] >= job.largest_scale else None
                    for k in kinds
                ]
                for job in jobs
            ]
        placed = match(times, available, machine_type)
        if self.gang:
            self._begin_gangs(view, jobs, placed, machine_type)
            return
        first: dict[int, tuple[int, JobView]] = {}
        for job, (m, q) in zip(jobs, placed, strict=True):
            if m not in first or q > first[m][0]:
                first[m] = q, job
        for m in sorted(first):
            job = first[m][1]
            if not available[m]:
                self._commit(job, m, 1, view.now + (job.work_on(view.gpu_type[m]) or 0))

    def _begin_gangs(
        self, view: ClusterView, jobs: list[JobView], placed: list[tuple[int, int]], machine_type: list[int]
    ) -> None:
        last = {m: max(q for mm, q in placed if mm == m) for m, _ in placed}
        lines: dict[int, list[tuple[int, int, JobView]]] = {}
        for i, (job, (m, q)) in enumerate(zip(jobs, placed, strict=True)):
            lines.setdefault(machine_type[m], []).append((last[m] - q, i, job))
        for kind in sorted(lines):
            for _, _, job in sorted(lines[kind], key=lambda entry: entry[:2]):
                if self.room[kind] < job.largest_scale:
                    break
                self.room[kind] -= job.largest_scale
                self._commit(job, kind, job.largest_scale, view.now + (job.time_on(kind) or 0))

    def _commit(self, job: JobView, place: int, gpus: int, end: int) -> None:
        self.running[job.index] = job, place, gpus, end
        self.waiting.remove(job)


@dataclass(frozen=True)
class SchedAllox:
    """AlloX's matching with single GPUs as machines; see the module.

    Parameters
    ----------
    window
        Waiting jobs that enter the matching at most.
    """

    name: ClassVar[str] = "sched-allox"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.SIZES
    gang: ClassVar[bool] = False

    window: int = 50

    def __post_init__(self) -> None:
        if isinstance(self.window, bool) or not isinstance(self.window, int) or self.window < 1:
            raise UsageError(f"window {shown(self.window)}: a whole number of jobs >= 1")

    def begin(self, view: ClusterView) -> Agent:
        """See :class:`~hetopt.solvers.online.tasks.view.TaskPolicy`."""
        return _AlloxAgent(self, view)


class SchedAlloxGang(SchedAllox):
    """``sched-allox`` with gang scheduling."""

    name: ClassVar[str] = "sched-allox-gang"
    gang: ClassVar[bool] = True
