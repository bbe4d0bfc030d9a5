"""Rules of a task-level simulation: synchronisation, cost of switching jobs, noise; checked once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import Fault, InputError, UsageError, shown
from hetopt.core.instance import Instance, InstanceArrays
from hetopt.core.seeds import generator

__all__ = ["GangHold", "GangTypes", "TaskSetting", "gang_faults", "noise_factors", "require_gangs"]


class GangTypes(StrEnum):
    """Whether a gang may span GPU types."""

    ANY = "any"
    ONE = "one"


class GangHold(StrEnum):
    """Until when a gang holds its GPUs: until all its tasks have synchronised, or until all have trained."""

    SYNC = "sync"
    TRAIN = "train"


@dataclass(frozen=True)
class TaskSetting:
    """Rules of the simulation; the defaults are those of the offline problem.

    Parameters
    ----------
    switch_ticks
        Ticks that a GPU loses before a task when its last task was another job's; the first task on
        a GPU loses nothing.
    noise
        Standard deviation of the logarithm of each task's time over its profiled time (log-normal with mean 1,
        rounded up to ticks); 0: times are as profiled.  A task has the same factor under every policy.
    gang_types, gang_hold
        For gang scheduling only; see the enumerations.
    """

    switch_ticks: int = 0
    noise: float = 0.0
    gang_types: GangTypes = GangTypes.ANY
    gang_hold: GangHold = GangHold.SYNC

    def __post_init__(self) -> None:
        faults: list[str] = []
        if isinstance(self.switch_ticks, bool) or not isinstance(self.switch_ticks, int) or self.switch_ticks < 0:
            faults.append(f"switch_ticks {shown(self.switch_ticks)}: a whole number of ticks >= 0")
        number = isinstance(self.noise, (int, float)) and not isinstance(self.noise, bool)
        if not number or not 0 <= self.noise <= 3:
            faults.append(f"noise {shown(self.noise)}: a standard deviation of the logarithm, 0 to 3; for example 0.1")
        for key, kind in (("gang_types", GangTypes), ("gang_hold", GangHold)):
            try:
                object.__setattr__(self, key, kind(getattr(self, key)))
            except ValueError:
                faults.append(f"{key} {shown(getattr(self, key))}: one of {', '.join(kind)}")
        if faults:
            raise UsageError("\n".join(faults))


def noise_factors(instance: Instance, setting: TaskSetting, seed: int) -> NDArray[np.float64] | None:
    """Factor of each task's processing time, (T,); None without noise."""
    if not setting.noise:
        return None
    drawn = generator(seed, "task noise").standard_normal(instance.num_tasks)
    return np.asarray(np.exp(setting.noise * drawn - setting.noise**2 / 2), dtype=np.float64)


def real_ticks(profiled: int, factor: float) -> int:
    """The time that a task really takes: the product, rounded up to a tick."""
    return max(1, math.ceil(profiled * factor))


def gang_faults(instance: Instance, kinds: GangTypes) -> list[Fault]:
    """Rounds whose tasks can never run all at once, one fault a job."""
    a: InstanceArrays = instance.arrays
    counts = a.allowed * a.gpu_count
    room = counts.max(axis=1) if kinds is GangTypes.ONE else counts.sum(axis=1)
    short = np.flatnonzero(a.scale > room)
    faults, met = [], set()
    for r in short.tolist():
        n = int(a.round_job[r])
        if n in met:
            continue
        met.add(n)
        where = "of one type " if kinds is GangTypes.ONE else ""
        faults.append(
            Fault(
                f"jobs[{n}]",
                f"a round of {int(a.scale[r])} tasks in job {instance.jobs[n].name!r}",
                f"gang scheduling needs as many GPUs {where}at once that may run it, and there are {int(room[r])}",
                "use a policy with relaxed synchronisation, more GPUs, or leave the job out",
                instance.name,
            )
        )
    return faults


def require_gangs(instance: Instance, kinds: GangTypes) -> None:
    """Raise :class:`InputError` if some gang can never run."""
    faults = gang_faults(instance, kinds)
    if faults:
        raise InputError(faults)
