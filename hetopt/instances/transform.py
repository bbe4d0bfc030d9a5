"""Instances from instances: scaled, permuted, cut down, merged.  Each function returns a new instance.

What each does to the optimum (total weighted completion time) is stated, where it is known; the tests
of solvers and bounds use these as metamorphic relations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Any

from hetopt.core.errors import UsageError, shown
from hetopt.core.instance import GpuType, Instance, Job, SyncRound
from hetopt.instances.names import hint
from hetopt.instances.real_times import Rounded
from hetopt.instances.rounding import Rounder, RoundingReport, exact, tick_of

__all__ = [
    "Merge",
    "change_tick",
    "merge_types",
    "permute_jobs",
    "permute_types",
    "restrict_jobs",
    "restrict_types",
    "scale_times",
    "scale_weights",
    "with_counts",
]

_Times = tuple[int | None, ...]


def _remade(instance: Instance, **fields: Any) -> Instance:
    kept = {key: getattr(instance, key) for key in ("name", "tick_seconds", "gpu_types", "jobs")}
    return Instance(**{**kept, **fields})


def _with_times(
    instance: Instance, change: Callable[[_Times], _Times], release: Callable[[int], int]
) -> tuple[Job, ...]:
    return tuple(
        Job(
            name=job.name,
            weight=job.weight,
            release_date=release(job.release_date),
            rounds=tuple(
                SyncRound(
                    repeat=part.repeat,
                    scale=part.scale,
                    processing_time=change(part.processing_time),
                    sync_time=change(part.sync_time),
                )
                for part in job.rounds
            ),
        )
        for job in instance.jobs
    )


def _factor(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"factor {shown(value)}: a factor is a whole number >= 1; for another unit use change_tick")
    return value


def scale_times(instance: Instance, factor: int) -> Instance:
    """All times and release dates x a whole factor; the tick is as much shorter, so nothing changes in seconds.

    The optimum is multiplied by ``factor``.
    """
    by = _factor(factor)

    def change(times: _Times) -> _Times:
        return tuple(None if t is None else t * by for t in times)

    jobs = _with_times(instance, change, lambda date: date * by)
    return _remade(instance, jobs=jobs, tick_seconds=instance.tick_seconds / by)


def scale_weights(instance: Instance, factor: int) -> Instance:
    """All weights x a whole factor; so is the optimum."""
    by = _factor(factor)
    jobs = tuple(job.model_copy(update={"weight": job.weight * by}) for job in instance.jobs)
    return _remade(instance, jobs=jobs)


def change_tick(instance: Instance, tick_seconds: Any) -> Rounded:
    """The instance on another time grid: times in seconds stay, rounded up to the new tick, and reported.

    With a longer tick the optimum in seconds does not fall; it grows by at most the relative error
    reported when no release date is rounded.
    """
    tick, old = tick_of(tick_seconds), exact(instance.tick_seconds) or Fraction(1)
    rounder = Rounder(tick)
    names = [g.name for g in instance.gpu_types]

    def change(kind: str, where: str, times: _Times) -> _Times:
        return tuple(
            None if t is None else rounder.ticks(t * old, kind, f"{where}.{kind}[{names[k]}]")
            for k, t in enumerate(times)
        )

    jobs = []
    for job in instance.jobs:
        parts = []
        for r, part in enumerate(job.rounds):
            where = f"job {job.name!r} round {r}"
            parts.append(
                SyncRound(
                    repeat=part.repeat,
                    scale=part.scale,
                    processing_time=change("processing_time", where, part.processing_time),
                    sync_time=change("sync_time", where, part.sync_time),
                )
            )
        release = rounder.ticks(job.release_date * old, "release_date", f"job {job.name!r}")
        jobs.append(Job(name=job.name, weight=job.weight, release_date=release, rounds=tuple(parts)))
    remade = _remade(instance, jobs=tuple(jobs), tick_seconds=float(tick))
    return Rounded(remade, rounder.report(RoundingReport(1.0).weight, Fraction(1)))


def _order(order: Sequence[int], number: int, what: str) -> list[int]:
    given = list(order)
    if sorted(given) != list(range(number)):
        raise UsageError(f"order {shown(given)}: an order names each of the {what} 0 to {number - 1} once; correct it")
    return given


def permute_jobs(instance: Instance, order: Sequence[int]) -> Instance:
    """The jobs in another order (``order[i]`` is the old index of the new job i); the optimum stays."""
    return _remade(instance, jobs=tuple(instance.jobs[i] for i in _order(order, instance.num_jobs, "jobs")))


def permute_types(instance: Instance, order: Sequence[int]) -> Instance:
    """The GPU types in another order (and with them the GPU numbers); the optimum stays."""
    return _on_types(instance, _order(order, len(instance.gpu_types), "GPU types"), lambda name: name)


def _find(asked: Sequence[str | int], names: Sequence[str], what: str) -> list[int]:
    known = {name: i for i, name in enumerate(names)}
    out = []
    for item in asked:
        number = isinstance(item, int) and not isinstance(item, bool)
        index = item if number else known.get(item, -1)  # type: ignore[arg-type]
        if not (isinstance(index, int) and 0 <= index < len(names)):
            rule = f"there are {len(names)}, numbered from 0" if number else hint(str(item), names)
            raise UsageError(f"{what} {shown(item)}: the instance has none of that name or number; {rule}")
        if index in out:
            raise UsageError(f"{what} {shown(item)}: named twice; name each once")
        out.append(index)
    if not out:
        raise UsageError(f"{what}: none is left; name at least one")
    return out


def restrict_jobs(instance: Instance, jobs: Sequence[str | int]) -> Instance:
    """Only some jobs (names or numbers), in the order given; the optimum does not rise."""
    chosen = _find(jobs, [job.name for job in instance.jobs], "job")
    return _remade(instance, jobs=tuple(instance.jobs[i] for i in chosen))


def _on_types(instance: Instance, index: Sequence[int], names: Callable[[str], str]) -> Instance:
    def change(times: _Times) -> _Times:
        return tuple(times[k] for k in index)

    stuck = [
        job.name for job in instance.jobs for part in job.rounds if all(part.processing_time[k] is None for k in index)
    ]
    if stuck:
        kept = ", ".join(instance.gpu_types[k].name for k in index)
        raise UsageError(f"job {stuck[0]!r}: it can run on none of {kept}; keep another type or drop the job first")
    types = tuple(GpuType(name=names(instance.gpu_types[k].name), count=instance.gpu_types[k].count) for k in index)
    return _remade(instance, gpu_types=types, jobs=_with_times(instance, change, lambda date: date))


def restrict_types(instance: Instance, types: Sequence[str | int]) -> Instance:
    """Only some GPU types (names or numbers), in the order given; the optimum does not fall."""
    return _on_types(instance, _find(types, [g.name for g in instance.gpu_types], "GPU type"), lambda name: name)


def with_counts(instance: Instance, counts: Mapping[str, int]) -> Instance:
    """Other numbers of GPUs for the types named; more GPUs never raise the optimum."""
    names = [g.name for g in instance.gpu_types]
    _find(list(counts), names, "GPU type")
    for name, count in counts.items():
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise UsageError(
                f"GPU type {name!r}: {shown(count)}: a count is a whole number >= 1; to leave it out use restrict_types"
            )
    types = tuple(GpuType(name=g.name, count=counts.get(g.name, g.count)) for g in instance.gpu_types)
    return _remade(instance, gpu_types=types)


class Merge(StrEnum):
    """Which time a merged type takes: the largest (each schedule stays possible) or the least (a relaxation)."""

    SLOWEST = "slowest"
    FASTEST = "fastest"


def merge_types(
    instance: Instance, types: Sequence[str | int], into: str, rule: Merge | str = Merge.SLOWEST
) -> Instance:
    """Several GPU types become one, with all their GPUs, in the place of the first of them.

    ``slowest``: each time is the largest over the merged types, ``None`` if any of them is; the optimum
    does not fall, and a schedule of the result is one of the instance after its tasks are shortened.
    ``fastest``: the least over those that are not ``None``; the optimum does not rise.
    """
    try:
        way = Merge(rule)
    except ValueError:
        raise UsageError(f"rule {shown(rule)}: no such rule; give one of {', '.join(Merge)}") from None
    names = [g.name for g in instance.gpu_types]
    chosen = _find(types, names, "GPU type")
    first, others = chosen[0], set(chosen[1:])
    if into in names and names.index(into) not in chosen:
        raise UsageError(f"into {into!r}: another GPU type has this name; choose another")
    kept = [k for k in range(len(names)) if k not in others]

    def change(times: _Times) -> _Times:
        group = [times[k] for k in chosen]
        numbers = [t for t in group if t is not None]
        slow = way is Merge.SLOWEST
        merged = None if not numbers or (slow and len(numbers) < len(group)) else (max if slow else min)(numbers)
        return tuple(merged if k == first else times[k] for k in kept)

    for job in instance.jobs:
        for part in job.rounds:
            if all(t is None for t in change(part.processing_time)):
                raise UsageError(f"job {job.name!r}: after merging it can run nowhere; merge with rule 'fastest'")
    total = sum(instance.gpu_types[k].count for k in chosen)
    made = tuple(GpuType(name=into, count=total) if k == first else instance.gpu_types[k] for k in kept)
    return _remade(instance, gpu_types=made, jobs=_with_times(instance, change, lambda date: date))
