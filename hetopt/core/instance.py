"""Instances of clairvoyant JCT minimisation (document ``hetopt/clairvoyant``).

A *job* is a chain of synchronisation rounds (:class:`SyncRound`); a round is ``scale`` identical
tasks; a task trains on one GPU for ``processing_time`` ticks (holding it) and then synchronises
for ``sync_time`` ticks (not holding it).  Round r + 1 starts when every task of round r has
synchronised; tasks of one round may run anywhere and at any time within the round (relaxed
scale-fixed synchronisation).  ``release_date`` is what the Hare papers call the arrival a_n,
``processing_time`` their train time.

All times are whole ticks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from hetopt.core.documents import MAX_EXACT, Document, Part, canonical_json, repeated_names
from hetopt.core.errors import Fault, shown

__all__ = ["MAX_TASKS", "GpuType", "Instance", "InstanceArrays", "Job", "SyncRound"]

MAX_TASKS: Final = 2**27
"""Largest number of tasks of an instance; past it arrays would not fit the memory of usual machines."""


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Times = Annotated[tuple[Annotated[int, Field(ge=0)] | None, ...], BeforeValidator(_as_tuple), Field(min_length=1)]
Name = Annotated[str, Field(min_length=1)]


class GpuType(Part):
    """``count`` identical GPUs."""

    name: Name
    count: Annotated[int, Field(ge=1)]


class SyncRound(Part):
    """``repeat`` identical training rounds of ``scale`` tasks each.

    ``processing_time`` and ``sync_time`` have one entry per GPU type, in ticks; ``None`` where the
    round cannot run.  ``sync_time`` omitted means 0 everywhere.
    """

    repeat: Annotated[int, Field(ge=1)] = 1
    scale: Annotated[int, Field(ge=1)]
    processing_time: Times
    sync_time: Times = Field(default=())

    @model_validator(mode="before")
    @classmethod
    def _fill_sync_time(cls, data: Any) -> Any:
        if (
            isinstance(data, dict)
            and "sync_time" not in data
            and isinstance(data.get("processing_time"), (list, tuple))
        ):
            return {**data, "sync_time": tuple(None if p is None else 0 for p in data["processing_time"])}
        return data


class Job(Part):
    """A chain of rounds with a weight and a release date (ticks)."""

    name: Name
    weight: Annotated[int, Field(ge=1)] = 1
    release_date: Annotated[int, Field(ge=0)] = 0
    rounds: Annotated[tuple[SyncRound, ...], BeforeValidator(_as_tuple), Field(min_length=1)]


@dataclass(frozen=True)
class InstanceArrays:
    """Read-only array view of an instance; rounds are expanded, tasks are in (job, round, task) order.

    With N jobs, R rounds over all jobs, K GPU types, M GPUs:

    Attributes
    ----------
    gpu_count : (K,) int64
        GPUs of each type.
    gpu_type : (M,) int64
        Type of each GPU (GPUs are numbered type by type from 0).
    weight, release_date : (N,) int64
        Weight; release date in ticks.
    round_start : (N + 1,) int64
        Rounds of job n are ``round_start[n] .. round_start[n + 1] - 1``.
    round_job : (R,) int64
        Job of each round.
    scale : (R,) int64
        Tasks of each round.
    task_start : (R + 1,) int64
        Tasks of round r are ``task_start[r] .. task_start[r + 1] - 1``.
    allowed : (R, K) bool
        Whether the round may run on the type.
    processing_time, sync_time : (R, K) int64
        Ticks; 0 where not allowed (look at ``allowed`` first).
    min_processing_time, min_sync_time, min_task_time : (R,) int64
        The minima over allowed types of p (theory: q), of s (sigma), and of p + s.
    """

    gpu_count: NDArray[np.int64]
    gpu_type: NDArray[np.int64]
    weight: NDArray[np.int64]
    release_date: NDArray[np.int64]
    round_start: NDArray[np.int64]
    round_job: NDArray[np.int64]
    scale: NDArray[np.int64]
    task_start: NDArray[np.int64]
    allowed: NDArray[np.bool_]
    processing_time: NDArray[np.int64]
    sync_time: NDArray[np.int64]
    min_processing_time: NDArray[np.int64]
    min_sync_time: NDArray[np.int64]
    min_task_time: NDArray[np.int64]

    @property
    def num_jobs(self) -> int:
        """N."""
        return len(self.weight)

    @property
    def num_rounds(self) -> int:
        """R, over all jobs."""
        return len(self.scale)

    @property
    def num_tasks(self) -> int:
        """Tasks over all rounds."""
        return int(self.task_start[-1])

    @property
    def num_types(self) -> int:
        """K."""
        return len(self.gpu_count)

    @property
    def num_gpus(self) -> int:
        """M."""
        return len(self.gpu_type)


def _matrix(rows: Iterable[tuple[int | None, ...]], shape: tuple[int, int]) -> NDArray[np.int64]:
    """Rows of times as an array; -1 stands for null until the mask is taken."""
    flat = (-1 if value is None else value for row in rows for value in row)
    return np.fromiter(flat, dtype=np.int64, count=shape[0] * shape[1]).reshape(shape)


def _arrays(instance: Instance) -> InstanceArrays:
    count = np.array([g.count for g in instance.gpu_types], dtype=np.int64)
    parts = [part for job in instance.jobs for part in job.rounds]
    repeat = np.array([part.repeat for part in parts], dtype=np.int64)
    shape = (len(parts), len(count))
    processing = _matrix((part.processing_time for part in parts), shape)
    sync = np.maximum(_matrix((part.sync_time for part in parts), shape), 0)
    allowed = processing >= 0
    processing = np.maximum(processing, 0)
    scale = np.repeat(np.array([part.scale for part in parts], dtype=np.int64), repeat)
    rounds_of = [sum(part.repeat for part in job.rounds) for job in instance.jobs]
    round_start = np.concatenate(([0], np.cumsum(rounds_of))).astype(np.int64)
    far = np.iinfo(np.int64).max

    def least(values: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.repeat(np.where(allowed, values, far).min(axis=1), repeat)

    out = InstanceArrays(
        gpu_count=count,
        gpu_type=np.repeat(np.arange(len(count), dtype=np.int64), count),
        weight=np.array([job.weight for job in instance.jobs], dtype=np.int64),
        release_date=np.array([job.release_date for job in instance.jobs], dtype=np.int64),
        round_start=round_start,
        round_job=np.repeat(np.arange(len(rounds_of), dtype=np.int64), rounds_of),
        scale=scale,
        task_start=np.concatenate(([0], np.cumsum(scale))).astype(np.int64),
        allowed=np.repeat(allowed, repeat, axis=0),
        processing_time=np.repeat(processing, repeat, axis=0),
        sync_time=np.repeat(sync, repeat, axis=0),
        min_processing_time=least(processing),
        min_sync_time=least(sync),
        min_task_time=least(processing + sync),
    )
    for array in vars(out).values():
        array.setflags(write=False)
    return out


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _canonical_text(instance: Instance) -> str:
    """``canonical_json`` of the content that the fingerprint is taken of, written directly.

    Millions of rounds make this worth while; the tests compare it with the plain recipe.
    """
    times: dict[tuple[int | None, ...], str] = {}

    def listed(values: tuple[int | None, ...]) -> str:
        text = times.get(values)
        if text is None:
            text = times[values] = canonical_json(values)
        return text

    def job_text(job: Job) -> str:
        merged: list[list[Any]] = []  # [repeat, round]
        for part in job.rounds:
            last = merged[-1][1] if merged else None
            if last is not None and (last.scale, last.processing_time, last.sync_time) == (
                part.scale,
                part.processing_time,
                part.sync_time,
            ):
                merged[-1][0] += part.repeat
            else:
                merged.append([part.repeat, part])
        rounds = ",".join(
            f'{{"processing_time":{listed(p.processing_time)},"repeat":{repeat},"scale":{p.scale},"sync_time":{listed(p.sync_time)}}}'
            for repeat, p in merged
        )
        return f'{{"name":{canonical_json(job.name)},"release_date":{job.release_date},"rounds":[{rounds}],"weight":{job.weight}}}'

    gpu_types = canonical_json([g.model_dump() for g in instance.gpu_types])
    jobs = ",".join(job_text(job) for job in instance.jobs)
    head = f'"format":{canonical_json(instance.format)},"gpu_types":{gpu_types},"jobs":[{jobs}]'
    return f'{{{head},"tick_seconds":{canonical_json(instance.tick_seconds)},"version":{instance.version}}}'


class Instance(Document):
    """An instance of clairvoyant scheduling on a heterogeneous cluster.

    Construct it from :class:`GpuType` and :class:`Job` objects, or read it with :meth:`load`.
    Whatever breaks a rule of the format raises :class:`~hetopt.core.errors.InputError` with all
    faults at once.
    """

    format: Literal["hetopt/clairvoyant"] = "hetopt/clairvoyant"
    version: Literal[1] = 1
    name: str = ""
    tick_seconds: Annotated[float, Field(gt=0)] = 1.0
    gpu_types: Annotated[tuple[GpuType, ...], BeforeValidator(_as_tuple), Field(min_length=1)]
    jobs: Annotated[tuple[Job, ...], BeforeValidator(_as_tuple), Field(min_length=1)]

    @classmethod
    def cross_faults(cls, raw: Any) -> Iterator[Fault]:
        """See :meth:`Document.cross_faults`: names, lengths, null patterns, whole weights, size limits."""
        types, jobs = raw.get("gpu_types"), raw.get("jobs")
        types = types if isinstance(types, (list, tuple)) else []
        jobs = jobs if isinstance(jobs, (list, tuple)) else []
        tick = raw.get("tick_seconds", 1.0)
        yield from repeated_names("gpu_types", types)
        yield from repeated_names("jobs", jobs)
        horizon, weights, tasks, sound = 0, 0, 0, True
        latest = 0
        for n, job in enumerate(jobs):
            if not isinstance(job, dict):
                sound = False
                continue
            weight, release = job.get("weight", 1), job.get("release_date", 0)
            if isinstance(weight, float) and not weight.is_integer():
                times = Fraction(str(weight)).denominator
                yield Fault(
                    f"jobs[{n}].weight",
                    shown(weight),
                    "weights are whole numbers >= 1",
                    f"multiply all weights by {times}",
                )
            weights += weight if _whole(weight) and weight > 0 else 0
            latest = max(latest, release if _whole(release) else 0)
            rounds = job.get("rounds")
            for r, part in enumerate(rounds if isinstance(rounds, (list, tuple)) else []):
                where = f"jobs[{n}].rounds[{r}]"
                if not isinstance(part, dict):
                    sound = False
                    continue
                yield from _round_faults(part, where, len(types))
                times_here, syncs = _wholes(part.get("processing_time")), _wholes(part.get("sync_time"))
                repeat, scale = part.get("repeat", 1), part.get("scale")
                if _whole(repeat) and _whole(scale) and times_here:
                    tasks += repeat * scale
                    horizon += repeat * scale * (max(times_here) + max(syncs, default=0))
        total = weights * (horizon + latest)
        if sound and total >= MAX_EXACT:
            rule = f"the sum of the weights ({weights}) x the horizon ({horizon + latest} ticks) stays below 2^53 = {MAX_EXACT}"
            factor = -(-total // (MAX_EXACT - 1))
            coarser = (
                f"{tick * factor:g}"
                if isinstance(tick, float) or (_whole(tick) and abs(tick) < MAX_EXACT)
                else "a coarser tick"
            )
            yield Fault(
                "jobs",
                str(total),
                rule,
                f"use a tick at least {factor} times as long (tick_seconds {coarser}) or smaller weights",
            )
        if tasks > MAX_TASKS:
            yield Fault(
                "jobs",
                f"{tasks} tasks",
                f"an instance has at most 2^27 = {MAX_TASKS} tasks",
                "use fewer or longer rounds",
            )
        gpus = sum(g["count"] for g in types if isinstance(g, dict) and _whole(g.get("count")) and g["count"] > 0)
        if gpus > MAX_TASKS:
            yield Fault("gpu_types", f"{gpus} GPUs", f"a cluster has at most 2^27 = {MAX_TASKS} GPUs", "use fewer GPUs")

    # ------------------------------------------------------------------------------------- views

    @cached_property
    def arrays(self) -> InstanceArrays:
        """Read-only numpy view, computed once."""
        return _arrays(self)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical content; the instance's own name does not count."""
        return hashlib.sha256(_canonical_text(self).encode("utf-8")).hexdigest()

    @property
    def num_jobs(self) -> int:
        """Number of jobs."""
        return len(self.jobs)

    @cached_property
    def num_rounds(self) -> int:
        """Number of rounds over all jobs, repeats expanded."""
        return sum(part.repeat for job in self.jobs for part in job.rounds)

    @cached_property
    def num_tasks(self) -> int:
        """Number of tasks over all rounds."""
        return sum(part.repeat * part.scale for job in self.jobs for part in job.rounds)

    @cached_property
    def num_gpus(self) -> int:
        """Number of GPUs over all types."""
        return sum(g.count for g in self.gpu_types)

    @cached_property
    def horizon(self) -> int:
        """Latest release plus the sum over rounds of scale x (largest p + largest s): no list schedule ends later."""
        work = sum(
            part.repeat
            * part.scale
            * (max(p for p in part.processing_time if p is not None) + max(s for s in part.sync_time if s is not None))
            for job in self.jobs
            for part in job.rounds
        )
        return max(job.release_date for job in self.jobs) + work

    @cached_property
    def total_weighted_release(self) -> int:
        """Sum of weight x release date: what weighted completion and weighted flow time differ by."""
        return sum(job.weight * job.release_date for job in self.jobs)

    def __repr__(self) -> str:
        gpus = ", ".join(f"{g.name} x {g.count}" for g in self.gpu_types)
        return f"Instance({self.name!r}: {self.num_jobs} jobs, {self.num_rounds} rounds, {self.num_tasks} tasks, GPUs {gpus})"

    __str__ = __repr__


def _wholes(values: Any) -> list[int]:
    return [v for v in values if _whole(v)] if isinstance(values, (list, tuple)) else []


def _round_faults(part: dict[str, Any], where: str, num_types: int) -> Iterator[Fault]:
    processing, sync = part.get("processing_time"), part.get("sync_time")
    lists = {"processing_time": processing, "sync_time": sync}
    for key, values in lists.items():
        if isinstance(values, (list, tuple)) and values and num_types and len(values) != num_types:
            yield Fault(
                f"{where}.{key}",
                f"{len(values)} entries",
                f"one entry per GPU type, and there are {num_types}",
                "add or remove entries (null: cannot run there)",
            )
    if isinstance(processing, (list, tuple)):
        for k, p in enumerate(processing):
            if _whole(p) and p == 0:
                yield Fault(
                    f"{where}.processing_time[{k}]",
                    "0",
                    "processing times are >= 1 tick",
                    "write null where the round cannot run, or use a finer tick",
                )
        if processing and all(p is None for p in processing):
            yield Fault(
                f"{where}.processing_time",
                "null for every type",
                "a round can run on at least one GPU type",
                "give a time for one type or remove the job",
            )
        if isinstance(sync, (list, tuple)) and len(sync) == len(processing):
            for k, (p, s) in enumerate(zip(processing, sync, strict=True)):
                if (p is None) != (s is None):
                    yield Fault(
                        f"{where}.sync_time[{k}]",
                        shown(s),
                        "sync_time is null exactly where processing_time is",
                        f"write {'null' if p is None else 'a time'}",
                    )
