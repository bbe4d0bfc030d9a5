"""Instances from real-valued times (seconds) and weights: rounded up to ticks once, and reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from hetopt.core.documents import MAX_EXACT
from hetopt.core.errors import Fault, InputError, UsageError, shown
from hetopt.core.instance import GpuType, Instance, Job, SyncRound
from hetopt.instances.rounding import Rounder, RoundingReport, exact, nice_ticks_down, tick_of, whole_weights

__all__ = ["RealJob", "RealRound", "Rounded", "from_real_times", "gpu_types_of"]


@dataclass(frozen=True)
class RealRound:
    """``repeat`` identical rounds of ``scale`` tasks.

    ``processing_seconds`` and ``sync_seconds`` have one entry per GPU type, in seconds (numbers,
    fractions or decimal text); ``None`` where the round cannot run.  No ``sync_seconds``: 0 everywhere.
    """

    processing_seconds: Sequence[Any]
    scale: int = 1
    sync_seconds: Sequence[Any] | None = None
    repeat: int = 1


@dataclass(frozen=True)
class RealJob:
    """A chain of rounds with a real weight and a release in seconds."""

    name: str
    rounds: Sequence[RealRound]
    weight: Any = 1
    release_seconds: Any = 0


class Rounded(NamedTuple):
    """An instance and what rounding did to the numbers that it was made from."""

    instance: Instance
    report: RoundingReport


def gpu_types_of(gpus: Any) -> tuple[GpuType, ...]:
    """GPU types from ``{"V100": 2, "T4": 1}``; names that differ only in case are refused.

    Raises
    ------
    UsageError
        Not a mapping of names to whole numbers >= 1.
    """
    if not isinstance(gpus, Mapping) or not gpus:
        raise UsageError(f'gpus {shown(gpus)}: counts by type name are needed; give for example {{"V100": 2, "T4": 2}}')
    folded: dict[str, str] = {}
    for name, count in gpus.items():
        if not isinstance(name, str) or not name:
            raise UsageError(f"gpus {shown(name)}: names of GPU types are non-empty text; rename the type")
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise UsageError(
                f"gpus {name!r}: {shown(count)}: a count is a whole number >= 1; give a count or leave the type out"
            )
        if name.casefold() in folded:
            raise UsageError(
                f"gpus {name!r}: the same as {folded[name.casefold()]!r} ignoring case; rename one of the two"
            )
        folded[name.casefold()] = name
    return tuple(GpuType(name=name, count=count) for name, count in gpus.items())


def _time_faults(jobs: Sequence[RealJob], num_types: int) -> Iterator[Fault]:
    for n, job in enumerate(jobs):
        release = exact(job.release_seconds)
        if release is None or release < 0:
            yield Fault(f"jobs[{n}].release_seconds", shown(job.release_seconds), "seconds >= 0", "shift the releases")
        for r, part in enumerate(job.rounds):
            for key, number in (("scale", part.scale), ("repeat", part.repeat)):
                if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                    yield Fault(f"jobs[{n}].rounds[{r}].{key}", shown(number), "a whole number >= 1", "correct it")
            for key, values, least in (
                ("processing_seconds", part.processing_seconds, "> 0"),
                ("sync_seconds", part.sync_seconds, ">= 0"),
            ):
                if values is None:
                    continue
                where = f"jobs[{n}].rounds[{r}].{key}"
                if len(values) != num_types:
                    rule = f"one entry per GPU type, and there are {num_types}"
                    yield Fault(where, f"{len(values)} entries", rule, "None: cannot run there")
                    continue
                for k, value in enumerate(values):
                    time = exact(value)
                    sound = value is None or (time is not None and (time > 0 or (time == 0 and least == ">= 0")))
                    if not sound:
                        yield Fault(
                            f"{where}[{k}]", shown(value), f"finite seconds {least}, or None", "correct the time"
                        )


def _times(jobs: Sequence[RealJob]) -> set[Fraction]:
    """Every processing and sync time above 0, in seconds."""
    given = (v for job in jobs for part in job.rounds for v in (*part.processing_seconds, *(part.sync_seconds or ())))
    return {time for v in given if (time := exact(v))}


def _automatic_tick(jobs: Sequence[RealJob], weights: Sequence[int], tolerance: Fraction) -> Fraction:
    times = _times(jobs)
    if not times:
        return Fraction(1)

    def excess(time: Fraction, tick: Fraction) -> Fraction:
        return -(-time // tick) * tick - time

    coarser: list[Fraction] = []
    tick = Fraction(1)
    for tick in nice_ticks_down(min(times)):
        if all(excess(t, tick) <= tolerance * t for t in times):
            break
        coarser.append(tick)
    longest = max(times)
    while _total(jobs, weights, tick) >= MAX_EXACT and tick < 10 * longest:
        tick = coarser.pop() if coarser else next(nice_ticks_down(tick * 3))
    return tick


def _total(jobs: Sequence[RealJob], weights: Sequence[int], tick: Fraction) -> int:
    def most(values: Sequence[Any] | None) -> int:
        return max((int(-(-t // tick)) for v in values or () if (t := exact(v)) is not None), default=0)

    work = sum(
        part.repeat * part.scale * (most(part.processing_seconds) + most(part.sync_seconds))
        for job in jobs
        for part in job.rounds
    )
    return sum(weights) * (most([job.release_seconds for job in jobs]) + work)


def from_real_times(
    gpus: Mapping[str, int],
    jobs: Sequence[RealJob],
    *,
    tick_seconds: Any = None,
    tolerance: float = 1e-3,
    name: str = "",
) -> Rounded:
    """An instance from real-valued times and weights.

    Parameters
    ----------
    gpus
        GPUs of each type, in the order of the entries of the times.
    jobs
        Jobs with times in seconds.
    tick_seconds
        Length of a tick.  ``None``: the longest of 1, 2, 5 x 10^k seconds that rounds no processing
        and no sync time up by more than ``tolerance`` (relative); if the sum of the weights x the horizon would
        then reach 2^53, the finest such number with which it does not (the report shows the error).
    tolerance
        Relative rounding error allowed to the automatic tick and to weights that no factor makes whole.
    name
        Name of the instance.

    Raises
    ------
    InputError
        A number is out of range, or the numbers are too large for the tick given; all faults at once.
    UsageError
        ``gpus``, ``tick_seconds`` or ``tolerance`` make no sense.
    """
    types = gpu_types_of(gpus)
    allowed = exact(tolerance)
    if allowed is None or not 0 < allowed < 1:
        raise UsageError(f"tolerance {shown(tolerance)}: a relative error is > 0 and < 1; give for example 0.001")
    faults = list(_time_faults(jobs, len(types)))
    whole: list[int] = []
    factor, weight_error = Fraction(1), RoundingReport(1.0).weight
    try:
        labels = [f"jobs[{n}].weight" for n in range(len(jobs))]
        whole, factor, weight_error = whole_weights([job.weight for job in jobs], labels, allowed)
    except InputError as error:
        faults.extend(error.faults)
    if faults:
        raise InputError(faults)
    tick = _automatic_tick(jobs, whole, allowed) if tick_seconds is None else tick_of(tick_seconds)
    rounder = Rounder(tick)

    def ticks(values: Sequence[Any], kind: str, where: str) -> tuple[int | None, ...]:
        exacts = [exact(v) for v in values]
        return tuple(
            None if t is None else rounder.ticks(t, kind, f"{where}.{kind}[{types[k].name}]")
            for k, t in enumerate(exacts)
        )

    made = []
    for job, weight in zip(jobs, whole, strict=True):
        parts = []
        for r, part in enumerate(job.rounds):
            where = f"job {job.name!r} round {r}"
            fields: dict[str, Any] = {"processing_time": ticks(part.processing_seconds, "processing_time", where)}
            if part.sync_seconds is not None:
                fields["sync_time"] = ticks(part.sync_seconds, "sync_time", where)
            parts.append(SyncRound(repeat=part.repeat, scale=part.scale, **fields))
        release = rounder.ticks(exact(job.release_seconds) or Fraction(0), "release_date", f"job {job.name!r}")
        made.append(Job(name=job.name, weight=weight, release_date=release, rounds=tuple(parts)))
    instance = Instance(name=name, tick_seconds=float(tick), gpu_types=types, jobs=tuple(made))
    return Rounded(instance, rounder.report(weight_error, factor))
