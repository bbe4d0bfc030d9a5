"""Measures of a schedule, exact where they are rational: flow times, slowdowns, utilisation, fairness.

Nothing here solves or bounds anything; times are in ticks unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import Fault, InputError
from hetopt.core.instance import Instance
from hetopt.core.objectives import completion_times
from hetopt.core.schedule import Schedule

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Distribution",
    "JobMetrics",
    "Summary",
    "Usage",
    "alone_times",
    "busy_over_time",
    "distribution",
    "jain_index",
    "job_metrics",
    "jobs_to_pandas",
    "summarise",
    "utilisation",
]


@dataclass(frozen=True)
class Distribution:
    """Figures of a finite set of values; ``None`` everywhere when there are none.

    ``median``, ``p90`` and ``p99`` are nearest-rank percentiles (each is one of the values).
    """

    count: int
    mean: Fraction | None
    median: Fraction | None
    p90: Fraction | None
    p99: Fraction | None
    largest: Fraction | None


@dataclass(frozen=True)
class JobMetrics:
    """One job under one schedule.

    ``alone_time`` is the sum over its rounds of the least p + s: what it takes with the cluster to itself and
    enough GPUs of its best types; ``slowdown`` is flow time over that, so at least 1.
    """

    index: int
    name: str
    weight: int
    release_date: int
    completion_time: int
    flow_time: int
    alone_time: int
    slowdown: Fraction


@dataclass(frozen=True)
class Usage:
    """Use of one GPU type: ``busy`` GPU ticks of ``count`` x makespan; ``share`` is None when the makespan is 0."""

    gpu_type: str
    count: int
    busy: int
    share: Fraction | None


@dataclass(frozen=True)
class Summary:
    """A schedule in figures; see the functions of this module for each."""

    makespan: int
    flow_time: Distribution
    slowdown: Distribution
    utilisation: tuple[Usage, ...]
    overall_utilisation: Fraction | None
    jain_index: Fraction | None


def distribution(values: Iterable[int | Fraction]) -> Distribution:
    """Mean, nearest-rank percentiles and largest of some exact values."""
    ordered = sorted(Fraction(v) for v in values)
    n = len(ordered)
    if not n:
        return Distribution(0, None, None, None, None, None)

    def rank(percent: int) -> Fraction:
        return ordered[max(0, -(-percent * n // 100) - 1)]

    return Distribution(n, sum(ordered, Fraction(0)) / n, rank(50), rank(90), rank(99), ordered[-1])


def jain_index(values: Sequence[int | Fraction]) -> Fraction | None:
    """Jain's fairness index (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one has everything.

    References
    ----------
    Jain, Chiu, Hawe: A quantitative measure of fairness and discrimination for resource allocation in shared
    computer systems. DEC Research Report TR-301, 1984.
    """
    exact = [Fraction(v) for v in values]
    squares = sum((v * v for v in exact), Fraction(0))
    if not squares:
        return None
    return sum(exact, Fraction(0)) ** 2 / (len(exact) * squares)


def alone_times(instance: Instance) -> NDArray[np.int64]:
    """(N,) int64, ticks: sum over a job's rounds of the least p + s over its types."""
    arrays = instance.arrays
    return np.add.reduceat(arrays.min_task_time, arrays.round_start[:-1]).astype(np.int64)


def job_metrics(instance: Instance, schedule: Schedule) -> tuple[JobMetrics, ...]:
    """Completion, flow time and slowdown of each job, in the order of the instance.

    Raises
    ------
    InputError
        The schedule is of another instance, or lacks the last round of a job.
    """
    _same(instance, schedule)
    out = []
    for n, (job, done, alone) in enumerate(
        zip(instance.jobs, completion_times(instance, schedule).tolist(), alone_times(instance).tolist(), strict=True)
    ):
        flow = done - job.release_date
        out.append(JobMetrics(n, job.name, job.weight, job.release_date, done, flow, alone, Fraction(flow, alone)))
    return tuple(out)


def jobs_to_pandas(instance: Instance, schedule: Schedule) -> pd.DataFrame:
    """:func:`job_metrics` as a data frame, one row a job; the slowdown as a float."""
    import pandas as pd

    rows = [{**vars(job), "slowdown": float(job.slowdown)} for job in job_metrics(instance, schedule)]
    return pd.DataFrame(rows, columns=list(JobMetrics.__dataclass_fields__))


def utilisation(instance: Instance, schedule: Schedule) -> tuple[Usage, ...]:
    """Training time of each GPU type as a share of count x makespan (synchronising does not hold a GPU)."""
    _same(instance, schedule)
    types = instance.arrays.gpu_type[schedule.gpu]
    span = schedule.makespan
    out = []
    for k, gpu in enumerate(instance.gpu_types):
        busy = int((schedule.end - schedule.start)[types == k].sum())
        out.append(Usage(gpu.name, gpu.count, busy, Fraction(busy, gpu.count * span) if span else None))
    return tuple(out)


def busy_over_time(instance: Instance, schedule: Schedule) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number of busy GPUs of each type as a step function.

    Returns
    -------
    times : (S,) int64
        Ticks at which something changes, rising, from 0.
    busy : (S, K) int64
        Busy GPUs per type from ``times[i]`` (included) to ``times[i + 1]``.
    """
    _same(instance, schedule)
    types = instance.arrays.gpu_type[schedule.gpu]
    times = np.unique(np.concatenate(([0], schedule.start, schedule.end))).astype(np.int64)
    change = np.zeros((len(times), len(instance.gpu_types)), dtype=np.int64)
    np.add.at(change, (np.searchsorted(times, schedule.start), types), 1)
    np.add.at(change, (np.searchsorted(times, schedule.end), types), -1)
    return times, np.cumsum(change, axis=0)


def summarise(instance: Instance, schedule: Schedule) -> Summary:
    """All figures of a schedule at once."""
    jobs = job_metrics(instance, schedule)
    usage = utilisation(instance, schedule)
    span = schedule.makespan
    overall = Fraction(sum(u.busy for u in usage), instance.num_gpus * span) if span else None
    slowdowns = [job.slowdown for job in jobs]
    return Summary(
        makespan=span,
        flow_time=distribution(job.flow_time for job in jobs),
        slowdown=distribution(slowdowns),
        utilisation=usage,
        overall_utilisation=overall,
        jain_index=jain_index(slowdowns),
    )


def _same(instance: Instance, schedule: Schedule) -> None:
    if schedule.fingerprint != instance.fingerprint:
        raise InputError(
            Fault(
                "fingerprint",
                schedule.fingerprint[:12] or "nothing",
                f"the schedule must be of instance {instance.name!r} ({instance.fingerprint[:12]})",
                "pass the instance that the schedule was made for",
            )
        )
    outside = (schedule.gpu < 0) | (schedule.gpu >= instance.num_gpus)
    if outside.any():
        rule = f"the instance has {instance.num_gpus} GPUs"
        raise InputError(Fault("gpu", str(int(schedule.gpu[outside][0])), rule, "verify the schedule first"))
