"""Workloads: training jobs as traces describe them, before any cluster or time grid is chosen.

A :class:`Workload` is what every trace loader returns.  It becomes an
:class:`~hetopt.core.instance.Instance` by ``hetopt.instances.traces.workload_to_instance`` (rounds and
ticks are chosen there), or goes to the online simulator as it is.  Numbers are binary64; whoever needs
them exactly takes the shortest decimal text of each (``repr``), which is what the trace files wrote.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from hetopt.core.errors import Fault, InputError, shown

__all__ = ["TrainingJob", "Workload"]


@dataclass(frozen=True)
class TrainingJob:
    """One job of a workload.

    Attributes
    ----------
    name
        Unique in the workload.
    arrival
        Seconds from the origin of the trace, >= 0.
    work
        Work to do, > 0, in the workload's ``work_unit``, over all workers together.
    demand
        GPUs that the job wants, >= 1 (its scale).
    throughput
        Per GPU type: work per second while the job holds ``demand`` GPUs of that type, summed over
        its workers; ``None`` where it cannot run.  At least one is a number.
    weight
        Priority, > 0.
    deadline
        Seconds from the origin of the trace, or ``None``.
    attributes
        Further facts of the source (user, model, virtual cluster, line) as sorted pairs of text.
    """

    name: str
    arrival: float
    work: float
    demand: int
    throughput: tuple[float | None, ...]
    weight: float = 1.0
    deadline: float | None = None
    attributes: tuple[tuple[str, str], ...] = ()

    def duration(self, gpu_type: int) -> float | None:
        """Seconds that the job runs on ``demand`` GPUs of a type, alone and never moved; ``None``: cannot."""
        rate = self.throughput[gpu_type]
        return None if rate is None else self.work / rate

    def attribute(self, key: str) -> str | None:
        """A fact of the source, or ``None``."""
        return dict(self.attributes).get(key)


@dataclass(frozen=True)
class Workload:
    """Jobs with a throughput per GPU type; no cluster yet.

    Attributes
    ----------
    name
        Name of the trace.
    gpu_types
        Names of the K types; each job's ``throughput`` follows this order.
    jobs
        In the order of the source (which need not be the order of arrival).
    work_unit
        What ``work`` counts: ``"step"`` (mini-batches), ``"epoch"``, ``"second"`` (on a type of throughput 1).
    source
        Where the numbers come from, for reports.

    Raises
    ------
    InputError
        Some value is out of range; all faults at once.
    """

    name: str
    gpu_types: tuple[str, ...]
    jobs: tuple[TrainingJob, ...]
    work_unit: str = "step"
    source: str = ""

    def __post_init__(self) -> None:
        faults = list(_faults(self))
        if faults:
            raise InputError(faults)

    def __len__(self) -> int:
        return len(self.jobs)

    def restricted(self, gpu_types: tuple[str, ...]) -> Workload:
        """The same jobs on some of the types, in the order given.

        Raises
        ------
        InputError
            A type is not in the workload, or a job can run on none of those asked for.
        """
        unknown = [g for g in gpu_types if g not in self.gpu_types]
        if unknown:
            raise InputError(
                Fault(
                    f"gpu_types[{i}]",
                    shown(g),
                    f"the workload has throughputs for {', '.join(self.gpu_types)}",
                    "ask for one of those",
                    self.name,
                )
                for i, g in enumerate(gpu_types)
                if g in unknown
            )
        index = [self.gpu_types.index(g) for g in gpu_types]
        jobs = tuple(replace(job, throughput=tuple(job.throughput[k] for k in index)) for job in self.jobs)
        return replace(self, gpu_types=tuple(gpu_types), jobs=jobs)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _faults(workload: Workload) -> Iterator[Fault]:
    kinds = workload.gpu_types
    if not kinds:
        yield Fault("gpu_types", "an empty list", "a workload has at least one GPU type", "name the types")
    if len(set(kinds)) != len(kinds) or not all(kinds):
        yield Fault("gpu_types", shown(kinds), "names of types are unique, non-empty text", "rename the types")
    if not workload.jobs:
        yield Fault("jobs", "an empty list", "a workload has at least one job", "add a job")
    seen: dict[str, int] = {}
    for n, job in enumerate(workload.jobs):
        where = f"jobs[{n}]"
        if not job.name or job.name in seen:
            rule = "names of jobs are non-empty" if not job.name else f"jobs[{seen[job.name]}] has this name already"
            yield Fault(f"{where}.name", shown(job.name), rule, "rename the job")
        seen.setdefault(job.name, n)
        if not (_number(job.arrival) and job.arrival >= 0):
            yield Fault(f"{where}.arrival", shown(job.arrival), "seconds >= 0", "shift the arrivals")
        for key, value in (("work", job.work), ("weight", job.weight)):
            if not (_number(value) and value > 0):
                yield Fault(f"{where}.{key}", shown(value), "a finite number > 0", "correct the value or drop the job")
        if not (isinstance(job.demand, int) and not isinstance(job.demand, bool) and job.demand >= 1):
            yield Fault(f"{where}.demand", shown(job.demand), "a whole number >= 1", "give the number of GPUs")
        if job.deadline is not None and not _number(job.deadline):
            yield Fault(f"{where}.deadline", shown(job.deadline), "seconds or None", "write None for no deadline")
        if len(job.throughput) != len(kinds):
            rule = f"one throughput per GPU type, and there are {len(kinds)}"
            yield Fault(f"{where}.throughput", f"{len(job.throughput)} entries", rule, "None: cannot run there")
            continue
        for k, rate in enumerate(job.throughput):
            if rate is not None and not (_number(rate) and rate > 0):
                rule = "a finite number > 0, or None where the job cannot run"
                yield Fault(f"{where}.throughput[{k}]", shown(rate), rule, "write None for a rate of 0")
        if all(rate is None for rate in job.throughput):
            rule = f"job {job.name!r} can run on at least one of {', '.join(kinds)}"
            yield Fault(f"{where}.throughput", "None for every type", rule, "drop the job or add a type")
