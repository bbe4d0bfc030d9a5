"""Answers to an FFT round (document ``hetopt/allocation``), checked independently of who made them."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BeforeValidator, Field

from hetopt.core.certificate import Certificate
from hetopt.core.documents import Document, Part, read_json, read_text, write_text, written_json
from hetopt.core.errors import Fault, NoSolutionError
from hetopt.core.feasibility import Violation, ViolationKind
from hetopt.core.round_problem import CostModel, RoundProblem
from hetopt.core.status import Status, StopReason

__all__ = ["Allocation", "Cost", "allocation_violations", "evaluate_allocation", "exact_total", "optimality_tolerance"]


@dataclass(frozen=True)
class Cost:
    """The terms of the cost of an allocation (weighted), and their sum."""

    total: float
    jct: float
    migration: float
    fairness: float


class _Assigned(Part):
    name: str
    gpu_type: int | None


class _CostPart(Part):
    total: float
    jct: float
    migration: float
    fairness: float


class _AllocationDocument(Document):
    format: Literal["hetopt/allocation"] = "hetopt/allocation"
    version: Literal[1] = 1
    fingerprint: str
    jobs: Annotated[tuple[_Assigned, ...], BeforeValidator(lambda v: tuple(v) if isinstance(v, list) else v)]
    gpus_used: Annotated[tuple[int, ...], BeforeValidator(lambda v: tuple(v) if isinstance(v, list) else v)]
    cost: _CostPart | None
    status: Annotated[Status, Field(strict=False)]
    stop_reason: Annotated[StopReason, Field(strict=False)]
    bound: float | None
    gap: float | None
    solver: str = ""
    options: dict[str, Any] = Field(default_factory=dict)
    seed: int = 0
    runtime_seconds: Annotated[float, Field(ge=0)] = 0.0
    message: str = ""
    certificate: Any = None


@dataclass(frozen=True)
class Allocation:
    """Which type each job runs on in a round (None: it waits), with what is proved about it.

    Attributes
    ----------
    names, gpu_type
        Jobs of the round in its order, and the type index of each, or None.
    gpus_used
        GPUs used per type.
    cost
        Recomputed from the allocation; None when there is no allocation.
    bound
        Lower bound on the cost of any allocation that obeys the same work-conservation rule.
    """

    fingerprint: str
    names: tuple[str, ...]
    gpu_type: tuple[int | None, ...]
    gpus_used: tuple[int, ...]
    cost: Cost | None
    status: Status
    stop_reason: StopReason
    bound: float | None = None
    solver: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    runtime_seconds: float = 0.0
    message: str = ""
    certificate: Certificate | None = None
    extra: dict[str, Any] = field(default_factory=dict, compare=False)

    def __bool__(self) -> NoReturn:
        raise TypeError("an Allocation is neither true nor false; look at allocation.status")

    @property
    def gap(self) -> float | None:
        """(cost - bound) / |cost|, or None; 0 when both are equal."""
        if self.cost is None or self.bound is None:
            return None
        if self.cost.total == self.bound:
            return 0.0
        return (self.cost.total - self.bound) / abs(self.cost.total) if self.cost.total else None

    def raise_for_status(self) -> Allocation:
        """Raise where there is no allocation."""
        if self.cost is None:
            raise NoSolutionError(
                f"{self.solver} found no allocation (status {self.status}, stopped by {self.stop_reason})"
            )
        return self

    def with_certificate(self, certificate: Certificate | None) -> Allocation:
        """A copy with another certificate."""
        return replace(self, certificate=certificate)

    def to_dict(self) -> dict[str, Any]:
        """The ``hetopt/allocation`` document as plain JSON values."""
        return {
            "format": "hetopt/allocation",
            "version": 1,
            "fingerprint": self.fingerprint,
            "jobs": [{"name": n, "gpu_type": g} for n, g in zip(self.names, self.gpu_type, strict=True)],
            "gpus_used": list(self.gpus_used),
            "cost": None if self.cost is None else vars(self.cost).copy(),
            "status": str(self.status),
            "stop_reason": str(self.stop_reason),
            "bound": self.bound,
            "gap": self.gap,
            "solver": self.solver,
            "options": self.options,
            "seed": self.seed,
            "runtime_seconds": self.runtime_seconds,
            "message": self.message,
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
        }

    def to_json(self) -> str:
        """The document as text, one job a line."""
        return written_json(self.to_dict())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write in one step."""
        write_text(path, self.to_json())

    @classmethod
    def from_dict(cls, raw: Any, source: str = "", faults: Sequence[Fault] = ()) -> Allocation:
        """Read a parsed document; only its shape is checked."""
        doc = _AllocationDocument.from_dict(raw, source, faults)
        cost = None if doc.cost is None else Cost(doc.cost.total, doc.cost.jct, doc.cost.migration, doc.cost.fairness)
        return cls(
            fingerprint=doc.fingerprint,
            names=tuple(job.name for job in doc.jobs),
            gpu_type=tuple(job.gpu_type for job in doc.jobs),
            gpus_used=doc.gpus_used,
            cost=cost,
            status=doc.status,
            stop_reason=doc.stop_reason,
            bound=doc.bound,
            solver=doc.solver,
            options=raw.get("options", {}),
            seed=doc.seed,
            runtime_seconds=doc.runtime_seconds,
            message=doc.message,
            certificate=None if doc.certificate is None else Certificate.from_dict(raw["certificate"], source),
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Allocation:
        """Read from a file."""
        text, source = read_text(path)
        raw, faults = read_json(text, source)
        return cls.from_dict(raw, source, faults)


def evaluate_allocation(problem: RoundProblem, gpu_type: Sequence[int | None], model: CostModel | None = None) -> Cost:
    """Cost of an allocation, term by term; sums are correctly rounded (``math.fsum``)."""
    terms = problem.cost_terms(model or CostModel())
    chosen = [(j, i) for j, i in enumerate(gpu_type) if i is not None]
    sums = {key: math.fsum(float(value[j, i]) for j, i in chosen) for key, value in terms.items()}
    total = math.fsum(float(value[j, i]) for value in terms.values() for j, i in chosen)
    return Cost(total, sums["jct"], sums["migration"], sums["fairness"])


def optimality_tolerance(
    problem: RoundProblem, gpu_type: Sequence[int | None], model: CostModel | None = None
) -> float:
    """How far a bound may be below the cost of an allocation that counts as proved optimal.

    1e-9 of the cost, or 1e-12 of the sum of the jobs' costs without their signs where the terms cancel:
    relative whatever the unit of the costs.
    """
    total = sum(problem.cost_terms(model or CostModel()).values())
    assert not isinstance(total, int)
    costs = [float(total[j, i]) for j, i in enumerate(gpu_type) if i is not None]
    return max(1e-9 * abs(math.fsum(costs)), 1e-12 * math.fsum(map(abs, costs)))


def exact_total(problem: RoundProblem, gpu_type: Sequence[int | None], model: CostModel | None = None) -> Fraction:
    """Cost of an allocation in rational arithmetic (slow for thousands of jobs)."""
    pairs = [(j, i) for j, i in enumerate(gpu_type) if i is not None]
    return sum((problem.exact_cost(j, i, model) for j, i in pairs), Fraction(0))


def allocation_violations(problem: RoundProblem, allocation: Allocation) -> list[Violation]:
    """Every broken rule of an allocation: instance, job list, types, capacities, stated GPU use."""
    out: list[Violation] = []
    if allocation.fingerprint != problem.fingerprint:
        out.append(Violation(ViolationKind.WRONG_INSTANCE, "fingerprint", "the allocation was made for another round"))
    expected = tuple(job.name for job in problem.jobs)
    if allocation.names != expected:
        out.append(Violation(ViolationKind.MISSING_TASK, "jobs", "the jobs are not those of the round, in its order"))
        return out
    used = [0] * len(problem.gpu_types)
    for j, (job, i) in enumerate(zip(problem.jobs, allocation.gpu_type, strict=True)):
        if i is None:
            continue
        if not 0 <= i < len(used):
            out.append(Violation(ViolationKind.UNKNOWN_GPU, f"jobs[{j}].gpu_type", f"type {i} does not exist"))
        elif job.throughput[i] is None:
            name = problem.gpu_types[i].name
            out.append(
                Violation(ViolationKind.FORBIDDEN_TYPE, f"jobs[{j}].gpu_type", f"{job.name!r} cannot run on {name!r}")
            )
        else:
            used[i] += job.demand
    for i, (gpu_type, taken) in enumerate(zip(problem.gpu_types, used, strict=True)):
        if taken > gpu_type.count:
            message = f"{taken} GPUs of {gpu_type.name!r} are used, there are {gpu_type.count}"
            out.append(Violation(ViolationKind.OVERLAP, f"gpus_used[{i}]", message))
    if list(allocation.gpus_used) != used:
        out.append(
            Violation(ViolationKind.WRONG_END, "gpus_used", f"says {list(allocation.gpus_used)}, the jobs use {used}")
        )
    return out
