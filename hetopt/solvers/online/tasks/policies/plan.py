"""Carrying out plans: per-GPU sequences of tasks made beforehand, and the plan made for mean times.

``Replay`` carries out a given schedule.  Each GPU runs the planned tasks in the planned order, each as soon as the
GPU is free and the round before has synchronised (``hold``: and not before its planned start).  Carried out without noise or switching
costs, a held plan gives back its own schedule; without holding, no task starts later than planned,
and a list schedule or any other schedule without gaps that could be closed comes back as it was.  With
gang scheduling a round starts when every GPU of its has it first in line.

``sched-homo`` (Hare's comparison, Sched_Homo; our reading): a plan that is blind to heterogeneity, made with each task's
time replaced by its mean over the GPUs that it may use (rounded up), carried out with the true
times.  The plan is that of ``rule`` on that instance: ``hare`` (midpoint order, earliest available GPU), or ``wspt``,
``srtf``, ``fifo`` event by event; under gang scheduling the rounds go in the same order, as gangs.  It plans everything at tick 0, so it knows the future.

Guarantee: none known.  No cycle of waiting can arise: sequences of one schedule agree with the order of its start times.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import UsageError, shown
from hetopt.core.instance import Instance, Job, SyncRound
from hetopt.core.schedule import Schedule
from hetopt.solvers.heuristics.event_rules import PRIORITIES, dispatch
from hetopt.solvers.heuristics.list_scheduling import PlacementRule, list_order, place
from hetopt.solvers.online.rounds.state import Clairvoyance
from hetopt.solvers.online.tasks.policies.keyed import Key, KeyAgent
from hetopt.solvers.online.tasks.view import Agent, ClusterView, JobView, Start

__all__ = ["PlanAgent", "PlanRule", "Replay", "ReplayGang", "SchedHomo", "SchedHomoGang", "mean_instance"]


class PlanAgent(Agent):
    """Per-GPU queues of (job, round, task, planned start)."""

    def __init__(self, queues: list[list[tuple[int, int, int, int]]], *, gang: bool, hold: bool) -> None:
        self.queues, self.gang, self.hold = queues, gang, hold
        self.at = [0] * len(queues)
        self.wake: int | None = None

    def _head(self, gpu: int) -> tuple[int, int, int, int] | None:
        return self.queues[gpu][self.at[gpu]] if self.at[gpu] < len(self.queues[gpu]) else None

    def next_start(self, view: ClusterView) -> Start | None:
        """The first free GPU (by index) whose next task may start."""
        self.wake = None
        first: dict[tuple[int, int], dict[int, int]] = {}
        for kind in view.free:
            for gpu in kind:
                head = self._head(gpu)
                if head is None:
                    continue
                n, r, task, planned = head
                if not view.unstarted(n) or view.jobs[n].round != r:
                    continue
                if self.hold and planned > view.now:
                    self.wake = planned if self.wake is None else min(self.wake, planned)
                    continue
                if not self.gang:
                    self.at[gpu] += 1
                    return Start(n, (gpu,), task)
                group = first.setdefault((n, r), {})
                group[task] = gpu
                if len(group) == view.jobs[n].scale:
                    gpus = tuple(group[t] for t in range(len(group)))
                    for g in gpus:
                        self.at[g] += 1
                    return Start(n, gpus)
        return None

    def wake_at(self) -> int | None:
        """The next planned start, when plans are held."""
        return self.wake


def queues_of(instance: Instance, schedule: Schedule) -> list[list[tuple[int, int, int, int]]]:
    """The planned tasks of each GPU in order of their starts."""
    out: list[list[tuple[int, int, int, int]]] = [[] for _ in range(instance.num_gpus)]
    for i in np.lexsort((schedule.end, schedule.start, schedule.gpu)).tolist():
        row = int(schedule.job[i]), int(schedule.round[i]), int(schedule.task[i]), int(schedule.start[i])
        out[int(schedule.gpu[i])].append(row)
    return out


@dataclass(frozen=True)
class Replay:
    """Carry out a schedule; see the module.

    Parameters
    ----------
    plan
        A feasible schedule of the instance (of one with the same jobs and GPUs, if its times differ).
    hold
        Whether planned starts are kept where they could be earlier.
    """

    name: ClassVar[str] = "replay"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.FULL
    gang: ClassVar[bool] = False

    plan: Schedule
    hold: bool = False

    def begin(self, view: ClusterView) -> Agent:
        """See :class:`~hetopt.solvers.online.tasks.view.TaskPolicy`."""
        if len(self.plan) != view.instance.num_tasks:
            raise UsageError(
                f"the plan has {len(self.plan)} rows, the instance {view.instance.num_tasks} tasks: give a plan of this instance"
            )
        return PlanAgent(queues_of(view.instance, self.plan), gang=self.gang, hold=self.hold)


class ReplayGang(Replay):
    """``replay`` with gang scheduling: the plan must be one of gangs."""

    name: ClassVar[str] = "replay-gang"
    gang: ClassVar[bool] = True


class PlanRule(StrEnum):
    """What makes the plan of ``sched-homo``."""

    HARE = "hare"
    WSPT = "wspt"
    SRTF = "srtf"
    FIFO = "fifo"


def mean_instance(instance: Instance) -> Instance:
    """Times replaced by their means over the GPUs on which the round may run, rounded up; forbidden types stay so."""
    counts = [g.count for g in instance.gpu_types]

    def mean(values: tuple[int | None, ...]) -> tuple[int | None, ...]:
        able = [(c, v) for c, v in zip(counts, values, strict=True) if v is not None]
        value = -(-sum(c * v for c, v in able) // sum(c for c, _ in able))
        return tuple(None if v is None else value for v in values)

    return Instance(
        name=f"{instance.name} (mean times)",
        tick_seconds=instance.tick_seconds,
        gpu_types=instance.gpu_types,
        jobs=tuple(
            Job(
                name=job.name,
                weight=job.weight,
                release_date=job.release_date,
                rounds=tuple(
                    SyncRound(
                        repeat=part.repeat,
                        scale=part.scale,
                        processing_time=mean(part.processing_time),
                        sync_time=mean(part.sync_time),
                    )
                    for part in job.rounds
                ),
            )
            for job in instance.jobs
        ),
    )


def plan_order(instance: Instance, rule: PlanRule) -> NDArray[np.int64]:
    """Rounds in the order of a rule, (R,) int64."""
    if rule is PlanRule.HARE:
        from hetopt.solvers.relaxations.midpoint_lp import solve_midpoint_lp

        return list_order(instance, solve_midpoint_lp(instance, exact_rounds=500, max_iterations=1000).midpoint)
    return PRIORITIES[rule](instance.arrays)


class _OrderAgent(KeyAgent):
    """Rounds in a fixed order; makes gang plans."""

    def __init__(self, rank: list[int], first: list[int]) -> None:
        super().__init__(True, True)
        self.rank, self.first = rank, first

    def key(self, job: JobView) -> Key:
        return (self.rank[self.first[job.index] + job.round],)


@dataclass(frozen=True)
class _Ordered:
    """Gang scheduling in a fixed order of rounds (the planner of ``sched-homo-gang``)."""

    name: ClassVar[str] = "ordered-gang"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.FULL
    gang: ClassVar[bool] = True

    order: tuple[int, ...]

    def begin(self, view: ClusterView) -> Agent:
        rank = [0] * len(self.order)
        for position, r in enumerate(self.order):
            rank[r] = position
        return _OrderAgent(rank, view.instance.arrays.round_start.tolist())


@dataclass(frozen=True)
class SchedHomo:
    """Plan with mean times, carry out with true ones; see the module.

    Parameters
    ----------
    rule
        What makes the plan.
    """

    name: ClassVar[str] = "sched-homo"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.FULL
    gang: ClassVar[bool] = False

    rule: PlanRule = PlanRule.HARE

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "rule", PlanRule(self.rule))
        except ValueError:
            raise UsageError(f"rule {shown(self.rule)}: one of {', '.join(PlanRule)}") from None

    def begin(self, view: ClusterView) -> Agent:
        """See :class:`~hetopt.solvers.online.tasks.view.TaskPolicy`."""
        blind = mean_instance(view.instance)
        order = plan_order(blind, self.rule)
        if self.gang:
            from hetopt.solvers.online.tasks.engine import simulate_tasks
            from hetopt.solvers.online.tasks.setting import TaskSetting

            ordered = _Ordered(tuple(order.tolist()))
            plan = simulate_tasks(
                blind, ordered, TaskSetting(gang_types=view.gang_types, gang_hold=view.gang_hold)
            ).schedule
        elif self.rule is PlanRule.HARE:
            plan = Schedule.from_starts(blind, *place(blind.arrays, order, PlacementRule.R1))
        else:
            plan = Schedule.from_starts(blind, *dispatch(blind.arrays, order))
        return PlanAgent(queues_of(blind, plan), gang=self.gang, hold=False)


class SchedHomoGang(SchedHomo):
    """``sched-homo`` with gang scheduling."""

    name: ClassVar[str] = "sched-homo-gang"
    gang: ClassVar[bool] = True
