"""FFT scheduling rounds (document ``hetopt/round``) and their cost matrix.

A round asks: which of the active jobs run in the next interval, and on which GPU type?  Times are
in scheduler rounds, work in epochs, ``throughput`` in epochs per round when the job holds its
``demand`` GPUs of a type.  All of this is **our reading** of FFT (Mo, Xu, Lau, ICS 2025), equations
(1), (3), (4), (6), (7) as cited in public material.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from hetopt.core.documents import Document, Part, fingerprint_of, repeated_names
from hetopt.core.errors import Fault, InputError, UsageError, shown

__all__ = ["CostModel", "RoundArrays", "RoundGpuType", "RoundJob", "RoundProblem", "WorkMeasure"]

_MAX_COUNT = 2**31


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


_NotNegative = Annotated[float, Field(ge=0)]
_Positive = Annotated[float, Field(gt=0)]


class RoundGpuType(Part):
    """``count`` GPUs of one type; 0 is allowed (all of them taken or broken)."""

    name: Annotated[str, Field(min_length=1)]
    count: Annotated[int, Field(ge=0, le=_MAX_COUNT)]


class RoundJob(Part):
    """One active job; see ``formats.md`` for the fields."""

    name: Annotated[str, Field(min_length=1)]
    demand: Annotated[int, Field(ge=1, le=_MAX_COUNT)]
    work: _Positive
    done: _NotNegative
    release_date: _NotNegative
    throughput: Annotated[tuple[_NotNegative | None, ...], BeforeValidator(_as_tuple), Field(min_length=1)]
    current_type: int | None = None
    migration_cost: Annotated[tuple[_NotNegative, ...], BeforeValidator(_as_tuple)] = ()
    fairness: _NotNegative = 0.0

    @model_validator(mode="before")
    @classmethod
    def _fill_migration_cost(cls, data: Any) -> Any:
        if (
            isinstance(data, dict)
            and "migration_cost" not in data
            and isinstance(data.get("throughput"), (list, tuple))
        ):
            return {**data, "migration_cost": (0.0,) * len(data["throughput"])}
        return data


class WorkMeasure(StrEnum):
    """Which work enters phi: all of the job's, as in the papers' equation (3), or what is left."""

    TOTAL = "total"
    REMAINING = "remaining"


@dataclass(frozen=True)
class CostModel:
    """Weights of the terms of the per-round cost (our reading of FFT's equations (3), (4), (6)).

    The cost of running job j on type i is::

        age       * (t - a_j) theta_ij / W_j
      + size      * d_j W_j / theta_ij
      + migration * s_ij
      - fairness  * rho_j theta_ij

    Parameters
    ----------
    age, size, migration, fairness
        Weights >= 0; 1 each in the reading of the paper.
    work
        W_j is the total work, or what remains of it.
    """

    age: float = 1.0
    size: float = 1.0
    migration: float = 1.0
    fairness: float = 1.0
    work: WorkMeasure = WorkMeasure.TOTAL

    def __post_init__(self) -> None:
        for name in ("age", "size", "migration", "fairness"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
                raise UsageError(
                    f"cost weight {name} is {shown(value)}; weights are finite numbers >= 0; write for example 1.0"
                )
        try:
            object.__setattr__(self, "work", WorkMeasure(self.work))
        except ValueError:
            raise UsageError(f"work measure {shown(self.work)}; it is one of {', '.join(WorkMeasure)}") from None

    def to_dict(self) -> dict[str, float | str]:
        """Plain values, for records and certificates."""
        return {f.name: (str(v) if isinstance(v := getattr(self, f.name), StrEnum) else float(v)) for f in fields(self)}


@dataclass(frozen=True, eq=False)
class RoundArrays:
    """Read-only arrays of a round with n jobs and K types.

    Attributes
    ----------
    count : (K,) int64
        GPUs of each type.
    demand : (n,) int64
        GPUs that the job needs, all of one type.
    allowed : (n, K) bool
        The job has a throughput on the type and its demand is at most the type's count.
    throughput : (n, K) float64
        Epochs per round; 1.0 where it is null (look at ``allowed`` first).
    """

    count: NDArray[np.int64]
    demand: NDArray[np.int64]
    allowed: NDArray[np.bool_]
    throughput: NDArray[np.float64]


class RoundProblem(Document):
    """One FFT scheduling round; faults of a file are reported all at once."""

    format: Literal["hetopt/round"] = "hetopt/round"
    version: Literal[1] = 1
    name: str = ""
    round_seconds: _Positive = 300.0
    now: _NotNegative
    gpu_types: Annotated[tuple[RoundGpuType, ...], BeforeValidator(_as_tuple), Field(min_length=1)]
    jobs: Annotated[tuple[RoundJob, ...], BeforeValidator(_as_tuple)]

    @classmethod
    def cross_faults(cls, raw: Any) -> Iterator[Fault]:
        """See :meth:`Document.cross_faults`: names, lengths, types, dates, migration costs."""
        types, jobs, now = raw.get("gpu_types"), raw.get("jobs"), raw.get("now")
        types = types if isinstance(types, (list, tuple)) else []
        jobs = jobs if isinstance(jobs, (list, tuple)) else []
        yield from repeated_names("gpu_types", types)
        yield from repeated_names("jobs", jobs)
        for j, job in enumerate(jobs):
            if isinstance(job, dict):
                yield from _job_faults(job, f"jobs[{j}]", len(types), now)

    # ------------------------------------------------------------------------------------- views

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical content; the round's own name does not count."""
        content = self.to_dict()
        del content["name"]
        return fingerprint_of(content)

    @cached_property
    def arrays(self) -> RoundArrays:
        """Read-only numpy view, computed once."""
        count = np.array([g.count for g in self.gpu_types], dtype=np.int64)
        demand = np.array([job.demand for job in self.jobs], dtype=np.int64)
        rates = [[1.0 if x is None else x for x in job.throughput] for job in self.jobs]
        known = [[x is not None for x in job.throughput] for job in self.jobs]
        shape = (len(self.jobs), len(count))
        allowed = np.array(known, dtype=np.bool_).reshape(shape) & (demand[:, None] <= count[None, :])
        out = RoundArrays(count, demand, allowed, np.array(rates, dtype=np.float64).reshape(shape))
        for array in vars(out).values():
            array.setflags(write=False)
        return out

    @cached_property
    def waiting(self) -> tuple[int, ...]:
        """Jobs whose demand exceeds every type that they can use: they wait, with a warning."""
        return tuple(int(j) for j in np.flatnonzero(~self.arrays.allowed.any(axis=1)))

    @cached_property
    def _cost_data(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Age (n,), migration cost (n, K) and fairness factor (n,) of the jobs."""
        shape = self.arrays.throughput.shape
        age = self.now - np.array([job.release_date for job in self.jobs], dtype=np.float64)
        moving = np.array([job.migration_cost for job in self.jobs], dtype=np.float64).reshape(shape)
        return age, moving, np.array([job.fairness for job in self.jobs], dtype=np.float64)

    def cost_terms(self, model: CostModel | None = None) -> dict[str, NDArray[np.float64]]:
        """The weighted terms of the cost, ``jct``, ``migration`` and ``fairness``, each (n, K) float64.

        Their sum is the cost; entries that are not allowed are meaningless.

        Raises
        ------
        InputError
            The remaining work of a job is not positive and the model asks for it, or a cost
            overflows binary64.
        """
        model = model or CostModel()
        a = self.arrays
        work = self.measured_work(model)
        age, moving, rho = self._cost_data
        with np.errstate(over="ignore", invalid="ignore"):
            terms = {
                "jct": model.age * (age[:, None] * a.throughput / work[:, None])
                + model.size * (a.demand[:, None] * work[:, None] / a.throughput),
                "migration": model.migration * moving,
                "fairness": -model.fairness * (rho[:, None] * a.throughput) + 0.0,  # no negative zeros
            }
            total = sum(terms.values())
        for j, i in np.argwhere(a.allowed & ~np.isfinite(total)):
            where = f"jobs[{j}].throughput[{i}]"
            rule = "the cost of the job on this type overflows binary64"
            raise InputError(
                Fault(where, shown(self.jobs[j].throughput[i]), rule, "use other units for work and throughput")
            )
        return terms

    def measured_work(self, model: CostModel) -> NDArray[np.float64]:
        """W_j of the cost model, (n,) float64, epochs."""
        work = np.array([job.work for job in self.jobs], dtype=np.float64)
        if model.work is WorkMeasure.REMAINING:
            work = work - np.array([job.done for job in self.jobs], dtype=np.float64)
            faults = [
                Fault(
                    f"jobs[{j}].done",
                    shown(self.jobs[j].done),
                    f"less than work {self.jobs[j].work} is done when costs use the remaining work",
                    "leave finished jobs out",
                )
                for j in np.flatnonzero(~(work > 0))
            ]
            if faults:
                raise InputError(faults)
        return work

    def exact_cost(self, job: int, gpu_type: int, model: CostModel | None = None) -> Fraction:
        """Cost of one job on one type in rational arithmetic; each number is the binary64 that it is."""
        model = model or CostModel()
        item, rate = self.jobs[job], self.jobs[job].throughput[gpu_type]
        if rate is None:
            raise UsageError(f"job {item.name!r} cannot run on type {self.gpu_types[gpu_type].name!r}")
        theta = Fraction(rate)
        work = Fraction(item.work) - (Fraction(item.done) if model.work is WorkMeasure.REMAINING else 0)
        age = Fraction(self.now) - Fraction(item.release_date)
        return (
            Fraction(model.age) * age * theta / work
            + Fraction(model.size) * item.demand * work / theta
            + Fraction(model.migration) * Fraction(item.migration_cost[gpu_type])
            - Fraction(model.fairness) * Fraction(item.fairness) * theta
        )

    def __repr__(self) -> str:
        gpus = ", ".join(f"{g.name} x {g.count}" for g in self.gpu_types)
        return f"RoundProblem({self.name!r}: {len(self.jobs)} jobs, GPUs {gpus})"

    __str__ = __repr__


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _job_faults(job: dict[str, Any], where: str, num_types: int, now: Any) -> Iterator[Fault]:
    rates, moving, current = job.get("throughput"), job.get("migration_cost"), job.get("current_type")
    release = job.get("release_date")
    for key, values in (("throughput", rates), ("migration_cost", moving)):
        if isinstance(values, (list, tuple)) and (values or key == "migration_cost") and len(values) != num_types:
            rule = f"one entry per GPU type, and there are {num_types}"
            yield Fault(f"{where}.{key}", f"{len(values)} entries", rule, "add or remove entries")
    if isinstance(rates, (list, tuple)):
        for i, rate in enumerate(rates):
            if _number(rate) and rate == 0:
                rule = "throughput is > 0, or null where the job cannot run"
                yield Fault(f"{where}.throughput[{i}]", "0", rule, "write null")
        if rates and all(rate is None for rate in rates):
            rule = "a job can run on at least one GPU type"
            yield Fault(f"{where}.throughput", "null for every type", rule, "give a throughput or leave the job out")
    if _number(release) and _number(now) and release > now:
        yield Fault(
            f"{where}.release_date",
            shown(release),
            f"only jobs released by now ({now}) are in a round",
            "leave the job out",
        )
    running = isinstance(current, int) and not isinstance(current, bool)
    current = current if isinstance(current, int) else -1
    if running and not 0 <= current < num_types:
        yield Fault(
            f"{where}.current_type", shown(current), f"a type index from 0 to {num_types - 1}, or null", "correct it"
        )
    elif running and isinstance(rates, (list, tuple)) and current < len(rates) and rates[current] is None:
        yield Fault(
            f"{where}.current_type",
            shown(current),
            "the job cannot run on this type",
            "give a throughput or write null",
        )
    if isinstance(moving, (list, tuple)):
        for i, cost in enumerate(moving):
            if _number(cost) and cost > 0 and (not running or i == current):
                rule = "migration_cost is 0 on the current type and for a job that is not running"
                yield Fault(f"{where}.migration_cost[{i}]", shown(cost), rule, "write 0")
