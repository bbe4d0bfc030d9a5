"""``gavel-fifo-tasks``: Gavel's FIFO policy at the level of tasks (Gavel_FIFO in Hare's comparison; our reading).

Jobs wait in order of (arrival, job).  The first one is *admitted* to a GPU type with as many uncommitted
GPUs as its largest round has tasks: its fastest such type (``choice = "fastest"``, Gavel's ``fifo_perf``) or a seeded
random one (``"random"``, Gavel's ``fifo``).  If no type has room, everybody behind it waits too (head-of-line blocking), and an
admitted job stays on its type until it has finished (Gavel's base mode; its jobs are never pre-empted).

Gang: the job commits as many GPUs as its largest round has tasks, and the tasks of each round start together.
Relaxed: it is admitted as soon as one GPU is uncommitted, commits as many as there are up to that number, and runs
the tasks of a round on them, one after another where need be.

Knows no sizes.  Guarantee: none known.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from hetopt.core.errors import Fault, InputError, UsageError, shown
from hetopt.core.seeds import generator
from hetopt.solvers.online.rounds.state import Clairvoyance
from hetopt.solvers.online.tasks.view import Agent, ClusterView, JobView, Start

__all__ = ["GavelFifo", "GavelFifoGang", "TypeChoice"]


class TypeChoice(StrEnum):
    """Which type with room an admitted job takes."""

    FASTEST = "fastest"
    RANDOM = "random"


class _GavelFifoAgent(Agent):
    def __init__(self, policy: GavelFifo, view: ClusterView) -> None:
        self.policy, self.view = policy, view
        self.room = [count for _, count in view.gpu_types]
        self.line: list[JobView] = []
        self.admitted: dict[int, tuple[JobView, int, int]] = {}  # job, its type, GPUs committed
        self.running: dict[int, int] = {}

    def released(self, job: JobView) -> None:
        if not self._types(job, [count for _, count in self.view.gpu_types]):
            raise InputError(
                Fault(
                    f"jobs[{job.index}]",
                    f"job {job.name!r} with up to {job.largest_scale} tasks a round",
                    f"{self.policy.name} runs a job on one type, and none can run all of it",
                    "use another policy, more GPUs, or leave the job out",
                )
            )
        self.line.append(job)

    def _types(self, job: JobView, room: list[int]) -> list[int]:
        """Types with room that run the whole job; what a job is submitted with (GPUs, models of GPU) is known."""
        need = job.largest_scale if self.policy.gang else 1
        return [k for k in job.runnable if room[k] >= need]

    def started(self, job: JobView, gpu: int) -> None:
        self.running[job.index] = self.running.get(job.index, 0) + 1

    def trained(self, job: int, gpu: int, ticks: int) -> None:
        self.running[job] -= 1

    def finished(self, job: int) -> None:
        _, kind, committed = self.admitted.pop(job)
        del self.running[job]
        self.room[kind] += committed

    def _admit(self) -> None:
        while self.line:
            job = self.line[0]
            types = self._types(job, self.room)
            if not types:
                return
            if self.policy.choice is TypeChoice.RANDOM:
                draw = generator(self.view.seed, self.policy.name, str(job.index))
                kind = types[int(draw.integers(len(types)))]
            else:
                kind = min(types, key=lambda k: (job.task_time[k], k))
            self.line.pop(0)
            committed = min(job.largest_scale, self.room[kind])
            self.room[kind] -= committed
            self.admitted[job.index] = job, kind, committed

    def next_start(self, view: ClusterView) -> Start | None:
        self._admit()
        for n, (job, kind, committed) in self.admitted.items():
            if not view.unstarted(n):
                continue
            free = view.free[kind]
            if self.policy.gang and len(free) >= job.scale:
                return Start(n, tuple(free[: job.scale]))
            if not self.policy.gang and free and self.running.get(n, 0) < committed:
                return Start(n, (free[0],))
        return None


@dataclass(frozen=True)
class GavelFifo:
    """Gavel's FIFO, relaxed; see the module.

    Parameters
    ----------
    choice
        The fastest type with room, or a random one.
    """

    name: ClassVar[str] = "gavel-fifo-tasks"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.NONE
    gang: ClassVar[bool] = False

    choice: TypeChoice = TypeChoice.FASTEST

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "choice", TypeChoice(self.choice))
        except ValueError:
            raise UsageError(f"choice {shown(self.choice)}: one of {', '.join(TypeChoice)}") from None

    def begin(self, view: ClusterView) -> Agent:
        """See :class:`~hetopt.solvers.online.tasks.view.TaskPolicy`."""
        return _GavelFifoAgent(self, view)


class GavelFifoGang(GavelFifo):
    """``gavel-fifo-tasks`` with gang scheduling."""

    name: ClassVar[str] = "gavel-fifo-tasks-gang"
    gang: ClassVar[bool] = True
