"""Workloads to instances: a number of training rounds per job, a tick, a share of synchronisation.

A job of work w and demand d, with throughput v_k on type k (summed over its d workers), runs for
w / v_k seconds when it holds d GPUs of type k.  It becomes R equal rounds of d tasks.  When the d
tasks of a round run side by side, the round lasts T_k = w / (R v_k); so that is the time of *one task*:
each of the d workers is busy for the whole of the round.  (Equivalently: a task does 1/d of the round's
work at 1/d of the summed rate.)  The work of a round is d T_k GPU-seconds, and d = 1 is the plain case.

A measured throughput includes synchronisation, so the share F of T_k is sync time and the rest,
(1 - F) T_k, is processing time.  Both are rounded up to ticks; F = 0 gives sync time 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hetopt.core.errors import Fault, InputError, UsageError, shown
from hetopt.core.workload import Workload
from hetopt.instances.names import match_types
from hetopt.instances.real_times import RealJob, RealRound, from_real_times, gpu_types_of
from hetopt.instances.report import Dropped, Loaded, LoadReport
from hetopt.instances.rounding import exact

__all__ = ["rounds_of", "share_of", "workload_to_instance"]


def rounds_of(rounds: Any) -> int:
    """A number of rounds per job; :class:`UsageError` unless it is a whole number >= 1."""
    if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 1:
        raise UsageError(f"rounds {shown(rounds)}: rounds per job are a whole number >= 1; give for example 10")
    return rounds


def share_of(sync: Any) -> Fraction:
    """A share of synchronisation; :class:`UsageError` unless 0 <= share < 1."""
    share = exact(sync)
    if share is None or not 0 <= share < 1:
        raise UsageError(
            f"sync {shown(sync)}: the share of a round that is synchronisation is >= 0 and < 1; give for example 0.1"
        )
    return share


def workload_to_instance(
    workload: Workload,
    gpus: Mapping[str, int],
    *,
    rounds: int,
    tick_seconds: Any = 1,
    sync: Any = 0,
    strict: bool = True,
    report: LoadReport | None = None,
    name: str | None = None,
) -> Loaded:
    """Make an instance of a workload on a cluster (see the module's text for the times).

    Parameters
    ----------
    workload
        The jobs.
    gpus
        Count per GPU type, in the order that the instance shall have; names match those of the
        workload ignoring case, and the instance keeps the spelling given here.
    rounds
        Training rounds per job, R.
    tick_seconds
        Length of a tick in seconds; ``None``: chosen as by ``from_real_times``.
    sync
        Share of a round's time that is synchronisation, 0 <= F < 1.
    strict
        Whether a job that can run on none of ``gpus`` is an error (``True``) or dropped and counted.
    report
        The loader's report, which this one continues.
    name
        Name of the instance; the workload's by default.

    Raises
    ------
    InputError
        All faults at once: a type that the workload does not know, jobs that cannot run (strict), numbers too
        large for the tick.
    """
    share, count = share_of(sync), rounds_of(rounds)
    types = gpu_types_of(gpus)
    index = match_types([g.name for g in types], workload.gpu_types, workload.source or workload.name)
    dropped: list[Dropped] = []
    jobs: list[RealJob] = []
    for job in workload.jobs:
        rates = [job.throughput[k] for k in index]
        if all(rate is None for rate in rates):
            where = job.attribute("line") or job.name
            detail = f"job {job.name!r} has no rate on {', '.join(g.name for g in types)}"
            dropped.append(
                Dropped(f"line {where}" if job.attribute("line") else where, "runs on no requested type", detail)
            )
            continue
        work = exact(job.work) or Fraction(0)
        times = [None if rate is None else work / (count * (exact(rate) or Fraction(0))) for rate in rates]
        part = RealRound(
            processing_seconds=[None if t is None else t * (1 - share) for t in times],
            sync_seconds=[None if t is None else t * share for t in times],
            scale=job.demand,
            repeat=count,
        )
        jobs.append(RealJob(job.name, [part], job.weight, job.arrival))
    source = workload.source or workload.name
    if strict:
        refuse_dropped(dropped, source)
    refuse_empty(jobs, dropped, source)
    instance, rounding = from_real_times(
        gpus, jobs, tick_seconds=tick_seconds, name=workload.name if name is None else name
    )
    before = report or LoadReport(rows=len(workload), kept=len(workload))
    after = replace(before, kept=len(jobs), dropped=(*before.dropped, *dropped), rounding=rounding)
    return Loaded(instance, after)


def refuse_dropped(dropped: Iterable[Dropped], source: str) -> None:
    """In strict mode every row that would be dropped is a fault."""
    faults = [
        Fault(
            d.where,
            "",
            f"{d.reason}: {d.detail}",
            "correct the row, ask for other types, or leave such rows out (strict=False, --lenient)",
            source,
        )
        for d in dropped
    ]
    if faults:
        raise InputError(faults)


def refuse_empty(jobs: list[RealJob], dropped: list[Dropped], source: str) -> None:
    """A source of which nothing is left is a fault, even in lenient mode."""
    if not jobs:
        found = f"no job ({len(dropped)} rows dropped)" if dropped else "no job"
        raise InputError(Fault("", found, "an instance has at least one job", "ask for other types or rows", source))
