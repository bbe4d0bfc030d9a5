"""The task-level simulator: events in whole ticks, a policy asked after every tick at which something happened.

Events of one tick act in the order of :class:`~hetopt.solvers.online.events.EventKind` (train end,
sync end, round end, job end, release), equal ones in the order in which they were added; then the policy is
asked for starts until it has none.  Nothing depends on the order of sets or on wall-clock time, so a
deterministic policy gives the same run each time.

Two ways to synchronise are simulated (the policy says which):

* *relaxed scale-fixed* (Hare): the tasks of a round start when they like after the round before has synchronised, on
  any GPUs, one after another if need be; training holds the GPU, synchronising does not;
* *gang*: all tasks of a round start at one tick on as many free GPUs, and hold them until the last of
  them has synchronised (or trained: ``gang_hold``).

A GPU that changes its job may lose ``switch_ticks`` first (a gang starts when the last of its GPUs has
switched); with ``noise`` the true time of a task differs from the profiled one that policies see.

Guarantee: every start is checked as it is made, and the finished run once more by code of its own
(:mod:`hetopt.solvers.online.tasks.checks`); without noise the schedule passes the feasibility checker of the offline
problem as it is.  Complexity: O(log E) an event and what the policy takes.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hetopt.core.errors import UsageError, VerificationError
from hetopt.core.instance import Instance
from hetopt.core.solver import NullObserver, Observer
from hetopt.solvers.online.events import EventKind, EventQueue
from hetopt.solvers.online.tasks.outcome import TaskRun, policy_options
from hetopt.solvers.online.tasks.setting import (
    GangHold,
    GangTypes,
    TaskSetting,
    noise_factors,
    real_ticks,
    require_gangs,
)
from hetopt.solvers.online.tasks.tables import Tables
from hetopt.solvers.online.tasks.view import ClusterView, JobStates, JobView, Start, TaskPolicy

__all__ = ["TaskProgress", "simulate_tasks"]

_EVERY = 2048


@dataclass(frozen=True)
class TaskProgress:
    """What a progress listener hears now and then: tick, events so far, jobs finished and in all."""

    policy: str
    now: int
    events: int
    finished: int
    total: int


def simulate_tasks(
    instance: Instance,
    policy: TaskPolicy,
    setting: TaskSetting | None = None,
    *,
    seed: int = 0,
    observer: Observer | None = None,
    listener: Callable[[TaskProgress], None] | None = None,
) -> TaskRun:
    """Run a policy on an instance whose jobs arrive at their release dates.

    Parameters
    ----------
    instance
        The jobs and the cluster.
    policy
        What starts when; see :class:`~hetopt.solvers.online.tasks.view.TaskPolicy`.
    setting
        Rules; by default those of the offline problem.
    seed
        For noise and for policies that draw.
    observer
        Its ``stop_requested`` ends the run between ticks; what was done is kept.
    listener
        Told of the progress every few thousand events.

    Raises
    ------
    InputError
        Under gang scheduling: jobs with more tasks in a round than GPUs that may run them.
    VerificationError
        The policy starts what it may not, or leaves jobs waiting for ever.
    PeekError
        The policy looks at what it declared not to know.
    """
    rules = setting or TaskSetting()
    if policy.gang:
        require_gangs(instance, rules.gang_types)
    run = _Run(instance, policy, rules, seed)
    run.loop(observer or NullObserver(), listener)
    return run.result()


class _Run:
    def __init__(self, instance: Instance, policy: TaskPolicy, setting: TaskSetting, seed: int) -> None:
        self.instance, self.policy, self.setting, self.seed = instance, policy, setting, seed
        t = self.tables = Tables(instance)
        t.states = self.states = JobStates(t)
        self.view = ClusterView(instance, t, policy.clairvoyance, seed, setting)
        for gpu, kind in enumerate(t.gpu_type):
            self.view.free[kind].append(gpu)
        factors = noise_factors(instance, setting, seed)
        self.factors: list[float] | None = None if factors is None else factors.tolist()
        tasks, jobs = instance.num_tasks, instance.num_jobs
        self.gpu, self.start = [-1] * tasks, [-1] * tasks
        self.end, self.sync_end = [-1] * tasks, [-1] * tasks
        self.taken, self.given = [-1] * tasks, [-1] * tasks
        self.next_task = [t.task_start[r] for r in self.states.round]
        self.unsynced, self.untrained = [0] * jobs, [0] * jobs
        self.finish, self.last_job = [-1] * jobs, [-1] * instance.num_gpus
        self.queue: EventQueue[int] = EventQueue()
        self.events = self.finished = 0
        self.free_count = instance.num_gpus
        self.interrupted = False
        self.agent = policy.begin(self.view)

    # ----------------------------------------------------------------------------------------- events

    def loop(self, observer: Observer, listener: Callable[[TaskProgress], None] | None) -> None:
        """Act on events until none is left or somebody asks to stop."""
        queue, view, jobs = self.queue, self.view, self.instance.num_jobs
        for n in sorted(range(jobs), key=lambda n: (self.tables.release[n], n)):
            queue.push(self.tables.release[n], EventKind.RELEASE, n)
        heard, woken = 0, -1
        while (now := queue.next_time) is not None:
            view.now = now
            while queue.next_time == now:
                _, kind, what = queue.pop()
                self.events += 1
                self.act(now, kind, what)
            if observer.stop_requested():
                self.interrupted = True
                return
            while self.free_count:
                wish = self.agent.next_start(view)
                if wish is None:
                    break
                self.begin(now, wish)
            wake = self.agent.wake_at()
            if wake is not None and wake > now and wake != woken:
                woken = wake
                queue.push(wake, EventKind.DECIDE, -1)
            if listener is not None and self.events - heard >= _EVERY:
                heard = self.events
                listener(TaskProgress(self.policy.name, now, self.events, self.finished, jobs))
        if self.finished < jobs:
            waiting = [view.jobs[n].name for n in view.jobs][:3]
            raise VerificationError(
                f"policy {self.policy.name} leaves {jobs - self.finished} jobs waiting for ever "
                f"({', '.join(map(repr, waiting))}{', ...' if jobs - self.finished > 3 else ''}) with GPUs free"
            )

    def act(self, now: int, kind: EventKind, what: int) -> None:
        """One event; ``what`` is a task, or a job."""
        if kind is EventKind.TRAIN_END:
            self.train_end(now, what)
        elif kind is EventKind.SYNC_END:
            n = what
            self.unsynced[n] -= 1
            if not self.unsynced[n]:
                self.queue.push(now, EventKind.ROUND_END, n)
        elif kind is EventKind.ROUND_END:
            n = what
            if self.policy.gang and self.setting.gang_hold is GangHold.SYNC:
                self.give_back(now, n)
            self.agent.round_ended(n)
            self.states.round[n] += 1
            if self.states.round[n] == self.tables.round_start[n + 1]:
                self.queue.push(now, EventKind.JOB_END, n)
            else:
                self.open_round(n)
        elif kind is EventKind.JOB_END:
            self.finish[what] = now
            self.finished += 1
            del self.view.jobs[what]
            self.agent.finished(what)
        elif kind is EventKind.RELEASE:
            view = self.view.jobs[what] = JobView(what, self.tables, self.states, self.policy.clairvoyance)
            self.agent.released(view)
            self.open_round(what)

    def open_round(self, n: int) -> None:
        scale = self.tables.scale[self.states.round[n]]
        self.states.unstarted[n] = self.unsynced[n] = self.untrained[n] = scale
        self.next_task[n] = self.tables.task_start[self.states.round[n]]
        self.agent.ready(self.view.jobs[n])

    def train_end(self, now: int, task: int) -> None:
        gpu = self.gpu[task]
        n = self.last_job[gpu]
        self.untrained[n] -= 1
        if not self.policy.gang:
            self.free(now, task, gpu)
        elif self.setting.gang_hold is GangHold.TRAIN and not self.untrained[n]:
            self.give_back(now, n)
        self.agent.trained(n, gpu, self.end[task] - self.start[task])

    def give_back(self, now: int, n: int) -> None:
        r = self.states.round[n]
        for task in range(self.tables.task_start[r], self.tables.task_start[r + 1]):
            self.free(now, task, self.gpu[task])

    def free(self, now: int, task: int, gpu: int) -> None:
        self.given[task] = now
        self.tables.is_free[gpu] = 1
        insort(self.view.free[self.tables.gpu_type[gpu]], gpu)
        self.free_count += 1

    # ----------------------------------------------------------------------------------------- starts

    def begin(self, now: int, wish: Start) -> None:
        """Check a wish and carry it out."""
        t, n = self.tables, wish.job
        if n not in self.view.jobs or not self.states.unstarted[n]:
            raise self.wrong(wish, "the job has no task that could start")
        r = self.states.round[n]
        first, last = t.task_start[r], t.task_start[r + 1]
        if self.policy.gang:
            if len(wish.gpus) != t.scale[r] or len(set(wish.gpus)) != len(wish.gpus):
                raise self.wrong(wish, f"a gang of {t.scale[r]} tasks needs as many different GPUs")
            if self.setting.gang_types is GangTypes.ONE and len({t.gpu_type[g] for g in wish.gpus}) > 1:
                raise self.wrong(wish, "the gang spans GPU types")
            tasks = range(first, last)
        else:
            if len(wish.gpus) != 1:
                raise self.wrong(wish, "one task starts on one GPU")
            task = self.next_task[n] if wish.task is None else first + wish.task
            if not first <= task < last or self.start[task] >= 0:
                raise self.wrong(wish, "no such task, or it has started")
            tasks = range(task, task + 1)
        switch = 0
        for gpu in wish.gpus:
            if not 0 <= gpu < len(t.gpu_type) or not t.is_free[gpu]:
                raise self.wrong(wish, f"GPU {gpu} is not free")
            if not t.processing[r][t.gpu_type[gpu]]:
                raise self.wrong(wish, f"the round cannot run on GPU {gpu}")
            if self.setting.switch_ticks and self.last_job[gpu] not in (-1, n):
                switch = self.setting.switch_ticks
        for task, gpu in zip(tasks, wish.gpus, strict=True):
            kind = t.gpu_type[gpu]
            p = t.processing[r][kind]
            real = p if self.factors is None else real_ticks(p, self.factors[task])
            begin, end = now + switch, now + switch + real
            self.gpu[task], self.taken[task] = gpu, now
            self.start[task], self.end[task], self.sync_end[task] = begin, end, end + t.sync[r][kind]
            self.last_job[gpu] = n
            t.is_free[gpu] = 0
            self.view.free[kind].remove(gpu)
            self.free_count -= 1
            self.queue.push(end, EventKind.TRAIN_END, task)
            self.queue.push(end + t.sync[r][kind], EventKind.SYNC_END, n)
        self.states.unstarted[n] -= len(tasks)
        task = self.next_task[n]
        while task < last and self.start[task] >= 0:
            task += 1
        self.next_task[n] = task
        job = self.view.jobs[n]
        for gpu in wish.gpus:
            self.agent.started(job, gpu)

    def wrong(self, wish: Start, why: str) -> VerificationError:
        """The policy's fault, in words."""
        name = self.tables.names[wish.job] if 0 <= wish.job < len(self.tables.names) else wish.job
        return VerificationError(
            f"policy {self.policy.name} at tick {self.view.now}: start of job {name!r} on GPUs {wish.gpus}: {why}"
        )

    def result(self) -> TaskRun:
        """Arrays of what happened."""

        def column(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
            return np.array(values, dtype=np.int64)

        return TaskRun(
            instance=self.instance,
            policy=self.policy.name,
            options=policy_options(self.policy),
            setting=self.setting,
            seed=self.seed,
            gang=self.policy.gang,
            gpu=column(self.gpu),
            start=column(self.start),
            end=column(self.end),
            sync_end=column(self.sync_end),
            taken=column(self.taken),
            given=column(self.given),
            finish=column(self.finish),
            events=self.events,
            interrupted=self.interrupted,
        ).checked()


def make_policy(cls: type, params: dict[str, object] | None = None) -> TaskPolicy:
    """A policy from its class and parameters, with one clear line for a wrong one."""
    import dataclasses

    known = [f.name for f in dataclasses.fields(cls)] if dataclasses.is_dataclass(cls) else []
    name = getattr(cls, "name", cls.__name__)
    for key in params or {}:
        if key not in known:
            raise UsageError(f"{name} has no parameter {key!r}; it has: {', '.join(known) or 'none'}")
    try:
        made: TaskPolicy = cls(**(params or {}))
    except (TypeError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{name}: {error}") from None
    return made
