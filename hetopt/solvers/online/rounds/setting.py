"""The cluster, the clock and the rules of a round-based simulation, checked once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import Fault, InputError, UsageError, shown
from hetopt.core.workload import TrainingJob, Workload

__all__ = ["TICKS_PER_SECOND", "JobTable", "RoundSetting", "Unrunnable", "job_table", "ticks"]

TICKS_PER_SECOND: Final = 1_000_000
"""The clock counts whole microseconds, so that no sum of times depends on an order of additions."""

_LATEST: Final = 2**53


class Unrunnable(StrEnum):
    """What to do with a job that needs more GPUs than any type it can use has: refuse, or leave it waiting for ever."""

    ERROR = "error"
    WAIT = "wait"


def ticks(seconds: float) -> int:
    """Seconds as whole ticks, rounded up (exactly: the binary64 is taken as the rational that it is)."""
    return math.ceil(Fraction(seconds) * TICKS_PER_SECOND)


@dataclass(frozen=True)
class RoundSetting:
    """Rules of the simulation.

    Parameters
    ----------
    gpus
        GPUs of each type; the names are types of the workload.
    round_seconds
        Length of a round.
    migration_seconds
        Time lost when a job moves to another type or resumes after a pause; first starts are free.
        A mapping gives it by job name (others 0).
    early_end
        A round ends as soon as every job that runs in it has finished or used it up, and the next
        begins there (the rule of Gavel's simulator); else rounds stay on a fixed grid.
    whole_steps
        In each round a job does a whole number of units of work, at least one (Gavel's simulator).
    max_rounds
        Stop after that many rounds; None: run until every job has finished.
    unrunnable
        See :class:`Unrunnable`.
    stall_rounds
        After that many rounds in a row in which no work is done although jobs wait, stop with a message.
    """

    gpus: Mapping[str, int]
    round_seconds: float = 300.0
    migration_seconds: float | Mapping[str, float] = 0.0
    early_end: bool = False
    whole_steps: bool = False
    max_rounds: int | None = None
    unrunnable: Unrunnable = Unrunnable.ERROR
    stall_rounds: int = field(default=1000, repr=False)

    def __post_init__(self) -> None:
        faults: list[str] = []
        if not self.gpus:
            faults.append("gpus: no type is given; write for example {'V100': 4}")
        for name, number in self.gpus.items():
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                faults.append(f"gpus: {name!r} has the count {shown(number)}; a whole number >= 1 is needed")
        if not _positive(self.round_seconds) or self.round_seconds * TICKS_PER_SECOND < 1:
            faults.append(f"round_seconds {shown(self.round_seconds)}: a finite number of seconds >= 1e-6")
        moving = self.migration_seconds
        for value in moving.values() if isinstance(moving, Mapping) else (moving,):
            if not (value == 0 and not isinstance(value, bool)) and not _positive(value):
                faults.append(f"migration_seconds {shown(value)}: a finite number of seconds >= 0")
        for key, most in (("max_rounds", self.max_rounds), ("stall_rounds", self.stall_rounds)):
            if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
                faults.append(f"{key} {shown(most)}: a whole number >= 1")
        try:
            object.__setattr__(self, "unrunnable", Unrunnable(self.unrunnable))
        except ValueError:
            faults.append(f"unrunnable {shown(self.unrunnable)}: one of {', '.join(Unrunnable)}")
        if faults:
            raise UsageError("\n".join(faults))


def _positive(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


@dataclass(frozen=True)
class JobTable:
    """A workload on a cluster as arrays of n jobs and K types (see :class:`RoundState` for meanings).

    Attributes
    ----------
    arrival : (n,) int64
        Ticks.
    moving : (n,) int64
        Ticks lost by a move.
    waiting_for_ever
        Jobs that no type can hold.
    """

    names: tuple[str, ...]
    gpu_types: tuple[str, ...]
    count: NDArray[np.int64]
    arrival: NDArray[np.int64]
    work: NDArray[np.float64]
    demand: NDArray[np.int64]
    rate: NDArray[np.float64]
    weight: NDArray[np.float64]
    moving: NDArray[np.int64]
    waiting_for_ever: tuple[int, ...]


def job_table(workload: Workload, setting: RoundSetting) -> JobTable:
    """Arrays of a workload on the cluster of a setting.

    Raises
    ------
    InputError
        A type that the workload does not know; a job that no type of the cluster can hold (with
        ``unrunnable = "error"``); times too large for the clock.  Each names its job.
    """
    kinds = tuple(setting.gpus)
    on_cluster = _restricted(workload, kinds)
    count = np.array([setting.gpus[k] for k in kinds], dtype=np.int64)
    n = len(workload.jobs)
    rate = np.zeros((n, len(kinds)))
    faults: list[Fault] = []
    hopeless: list[int] = []
    for j, (job, rates) in enumerate(zip(workload.jobs, on_cluster, strict=True)):
        for k, value in enumerate(rates):
            if value is not None and job.demand <= count[k]:
                rate[j, k] = value
        if not rate[j].any():
            hopeless.append(j)
            if setting.unrunnable is Unrunnable.ERROR:
                faults.append(_hopeless(workload, j, rates, setting))
        elif job.arrival + job.work / rate[j].max() > _LATEST / TICKS_PER_SECOND:
            rule = f"arrival and run time stay below {_LATEST / TICKS_PER_SECOND:.0f} s"
            what = f"job {job.name!r} would end after {job.arrival + job.work / rate[j].max():.4g} s"
            faults.append(Fault(f"jobs[{j}]", what, rule, "use other units", workload.name))
    if faults:
        raise InputError(faults)
    moving = setting.migration_seconds
    unknown = sorted(set(moving) - {job.name for job in workload.jobs}) if isinstance(moving, Mapping) else []
    if unknown:
        raise UsageError(f"migration_seconds: no job is called {unknown[0]!r}; name jobs of the workload")
    seconds = [float(moving.get(job.name, 0.0) if isinstance(moving, Mapping) else moving) for job in workload.jobs]
    return JobTable(
        names=tuple(job.name for job in workload.jobs),
        gpu_types=kinds,
        count=count,
        arrival=np.array([ticks(job.arrival) for job in workload.jobs], dtype=np.int64),
        work=np.array([job.work for job in workload.jobs], dtype=np.float64),
        demand=np.array([job.demand for job in workload.jobs], dtype=np.int64),
        rate=rate,
        weight=np.array([job.weight for job in workload.jobs], dtype=np.float64),
        moving=np.array([ticks(s) for s in seconds], dtype=np.int64),
        waiting_for_ever=tuple(hopeless),
    )


def _restricted(workload: Workload, kinds: tuple[str, ...]) -> list[tuple[float | None, ...]]:
    """Throughputs on the types asked for, matched ignoring case when that is not ambiguous."""
    index: list[int] = []
    faults: list[Fault] = []
    for k, kind in enumerate(kinds):
        alike = [i for i, known in enumerate(workload.gpu_types) if known == kind] or [
            i for i, known in enumerate(workload.gpu_types) if known.lower() == kind.lower()
        ]
        if len(alike) == 1:
            index.append(alike[0])
        else:
            rule = f"the workload has throughputs for {', '.join(workload.gpu_types)}"
            faults.append(Fault(f"gpus[{k}]", shown(kind), rule, "ask for one of those", workload.name))
    if not faults and len(set(index)) < len(index):
        faults.append(Fault("gpus", shown(kinds), "each type stands once", "add up the counts", workload.name))
    if faults:
        raise InputError(faults)
    return [tuple(job.throughput[i] for i in index) for job in workload.jobs]


def _hopeless(workload: Workload, j: int, rates: tuple[float | None, ...], setting: RoundSetting) -> Fault:
    job: TrainingJob = workload.jobs[j]
    cluster = ", ".join(f"{k}={v}" for k, v in setting.gpus.items())
    if all(value is None for value in rates):
        what = f"job {job.name!r} has no throughput on any of {', '.join(setting.gpus)}"
        return Fault(
            f"jobs[{j}].throughput", what, "a job can run on some type", "add a type or drop it", workload.name
        )
    what = f"job {job.name!r} needs {job.demand} GPUs of one type"
    rule = f"the cluster is {cluster}, and it cannot use all of these"
    remedy = 'ask for a larger cluster, drop the job, or leave it waiting (unrunnable="wait")'
    return Fault(f"jobs[{j}].demand", what, rule, remedy, workload.name)
