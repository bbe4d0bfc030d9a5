"""What a task-level policy sees, and what it answers.

A policy is a frozen dataclass of parameters; :meth:`TaskPolicy.begin` gives the *agent* that holds the
state of one run.  The simulator tells the agent what happens and asks it, again and again at each
tick at which something happened, for the next task to start.

Everything that a policy may look at goes through :class:`ClusterView` and :class:`JobView`.  What the declared
:class:`~hetopt.solvers.online.rounds.state.Clairvoyance` does not allow raises
:class:`~hetopt.solvers.online.rounds.state.PeekError`:

* nothing: of a job that has arrived its name, arrival, weight, the GPUs that it asks for (its largest number of tasks,
  the types that can run it), and of its present round the number of tasks and the profiled times per GPU type (new jobs
  are profiled first);
* sizes: its later rounds as well;
* everything: the jobs that have not arrived, too.

No policy sees the true times of a run with noise before they have passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from hetopt.core.instance import Instance, SyncRound
from hetopt.solvers.online.rounds.state import Clairvoyance, PeekError
from hetopt.solvers.online.tasks.setting import TaskSetting
from hetopt.solvers.online.tasks.tables import Tables

__all__ = ["Agent", "ClusterView", "JobView", "Start", "TaskPolicy"]


@dataclass(frozen=True, slots=True)
class Start:
    """The wish to start a task of a job's present round on a GPU, or under gang scheduling the round on several.

    ``task`` names the task; None: the first one that has not started.
    """

    job: int
    gpus: tuple[int, ...]
    task: int | None = None


class JobView:
    """One job that has arrived."""

    __slots__ = ("_clairvoyance", "_state", "_tables", "index")

    def __init__(self, index: int, tables: Tables, state: JobStates, clairvoyance: Clairvoyance) -> None:
        self.index = index
        self._tables, self._state, self._clairvoyance = tables, state, clairvoyance

    def __repr__(self) -> str:
        return f"JobView({self.name!r})"

    @property
    def name(self) -> str:
        """Its name."""
        return self._tables.names[self.index]

    @property
    def arrival(self) -> int:
        """Release date, ticks."""
        return self._tables.release[self.index]

    @property
    def weight(self) -> int:
        """Weight."""
        return self._tables.weight[self.index]

    @property
    def round(self) -> int:
        """Rounds that it has finished, which is the index of its present round."""
        return self._state.round[self.index] - self._tables.round_start[self.index]

    @property
    def scale(self) -> int:
        """Tasks of the present round."""
        return self._tables.scale[self._state.round[self.index]]

    @property
    def processing(self) -> list[int]:
        """Profiled processing time of a task of the present round per GPU type, ticks; 0 where it cannot run.  Read only."""
        return self._tables.processing[self._state.round[self.index]]

    @property
    def task_time(self) -> list[int]:
        """Profiled p + s of a task of the present round per GPU type, ticks; 0 where it cannot run.  Read only."""
        return self._tables.total[self._state.round[self.index]]

    @property
    def preferred(self) -> list[int]:
        """The types that it may run on, by (p + s, type).  Read only."""
        return self._tables.preferred[self._state.round[self.index]]

    @property
    def runnable(self) -> list[int]:
        """Types that can run every round of the job, as it says when it is submitted.  Read only."""
        return self._tables.runnable[self.index]

    def _sizes(self, what: str) -> None:
        if self._clairvoyance < Clairvoyance.SIZES:
            raise PeekError(f"the policy declared that it knows no sizes and asked for {what} of {self.name!r}")

    @property
    def remaining_work(self) -> int:
        """Sum of scale x least processing time over the present and the later rounds, ticks.  Sizes."""
        self._sizes("the remaining work")
        return self._tables.remaining[self._state.round[self.index]]

    @property
    def remaining_rounds(self) -> int:
        """Rounds that have not ended, the present one included.  Sizes."""
        self._sizes("the remaining rounds")
        return self._tables.round_start[self.index + 1] - self._state.round[self.index]

    def work_on(self, gpu_type: int) -> int | None:
        """Ticks that the remaining rounds take on one GPU of a type, tasks one after another; None: cannot.  Sizes."""
        self._sizes("the work on a type")
        return self._tables.work_on(self._state.round[self.index], self.index, gpu_type)

    def time_on(self, gpu_type: int) -> int | None:
        """Ticks that the remaining rounds take with all tasks of a round side by side on a type; None: cannot.  Sizes."""
        self._sizes("the time on a type")
        return self._tables.time_on(self._state.round[self.index], self.index, gpu_type)

    def remaining_rounds_as_parts(self, unstarted: int) -> list[SyncRound]:
        """The present round with so many tasks (0: left out) and the later ones, as parts of an instance.  Sizes."""
        self._sizes("the remaining rounds")
        return self._tables.parts_from(self._state.round[self.index], self.index, unstarted)

    @property
    def largest_scale(self) -> int:
        """Largest number of tasks of a round: the GPUs that the job asks for when it is submitted."""
        return self._tables.demand[self.index]


class JobStates:
    """Where each job is: global index of its present round; tasks of it that have not started."""

    __slots__ = ("round", "unstarted")

    def __init__(self, tables: Tables) -> None:
        self.round = list(tables.round_start[:-1])
        self.unstarted = [0] * len(tables.names)


class ClusterView:
    """The cluster at one tick; always the present, never a copy."""

    __slots__ = (
        "_clairvoyance",
        "_instance",
        "_tables",
        "free",
        "gang_hold",
        "gang_types",
        "gpu_type",
        "gpu_types",
        "jobs",
        "now",
        "seed",
        "tick_seconds",
    )

    def __init__(
        self, instance: Instance, tables: Tables, clairvoyance: Clairvoyance, seed: int, setting: TaskSetting
    ) -> None:
        self._instance, self._tables, self._clairvoyance = instance, tables, clairvoyance
        self.now = 0
        """The tick."""
        self.seed = seed
        """Seed of the run, for policies that draw."""
        self.tick_seconds = instance.tick_seconds
        """Length of a tick."""
        self.gpu_types: tuple[tuple[str, int], ...] = tuple((g.name, g.count) for g in instance.gpu_types)
        """Name and count of each GPU type."""
        self.gpu_type: list[int] = tables.gpu_type
        """Type of each GPU.  Read only."""
        self.gang_types, self.gang_hold = setting.gang_types, setting.gang_hold
        """Rules of gangs in this run."""
        self.free: list[list[int]] = [[] for _ in self.gpu_types]
        """Free GPUs of each type, in rising order.  Read only."""
        self.jobs: dict[int, JobView] = {}
        """Jobs that have arrived and have not finished, by index, in order of (arrival, index)."""

    @property
    def instance(self) -> Instance:
        """The whole instance, future included.  Only with full clairvoyance."""
        if self._clairvoyance < Clairvoyance.FULL:
            raise PeekError(
                f"the policy declared that it knows {self._clairvoyance.words} and asked for the whole instance"
            )
        return self._instance

    def is_free(self, gpu: int) -> bool:
        """Whether a GPU is free."""
        return self._tables.is_free[gpu] == 1

    def unstarted(self, job: int) -> int:
        """Tasks of the present round of a job that could start now; 0 while it waits for its round before."""
        return self._tables.states.unstarted[job] if job in self.jobs else 0


class Agent:
    """State of one policy in one run; every hook may be left as it is but ``next_start``."""

    def released(self, job: JobView) -> None:
        """A job has arrived."""

    def ready(self, job: JobView) -> None:
        """The tasks of a job's next round may start (also right after its arrival)."""

    def started(self, job: JobView, gpu: int) -> None:
        """A task has started."""

    def trained(self, job: int, gpu: int, ticks: int) -> None:
        """A task has trained for so many ticks; its job by index, since the round may be over."""

    def round_ended(self, job: int) -> None:
        """Every task of a job's round has synchronised."""

    def finished(self, job: int) -> None:
        """The last round of a job has ended."""

    def next_start(self, view: ClusterView) -> Start | None:
        """The next task to start now; None: nothing more at this tick."""
        raise TypeError(f"{type(self).__name__} defines no next_start")

    def wake_at(self) -> int | None:
        """A tick at which to be asked again even if nothing happens."""
        return None


@runtime_checkable
class TaskPolicy(Protocol):
    """Parameters of a policy: a frozen dataclass.  ``gang``: rounds start all at once."""

    name: ClassVar[str]
    clairvoyance: ClassVar[Clairvoyance]
    gang: ClassVar[bool]

    def begin(self, view: ClusterView) -> Agent:
        """The agent of a new run, before anything has happened."""


def allowed_free(view: ClusterView, preferred: Sequence[int]) -> int | None:
    """The free GPU of least p + s (lowest index), or None."""
    for k in preferred:
        if view.free[k]:
            return view.free[k][0]
    return None
