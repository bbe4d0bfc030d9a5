"""Results of online simulations (document ``hetopt/simulation``): what happened to each job, and the summary.

All times are seconds from the origin of the workload.  Unknown is None: a policy under which no job
finished has no mean JCT.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from hetopt.core.documents import Document, Part, write_text, written_json

__all__ = ["JobOutcome", "PolicyOutcome", "SimulationDocument", "SimulationResult", "jain_index"]


def jain_index(values: list[float]) -> float | None:
    """Jain's fairness index (sum x)^2 / (n sum x^2) of positive values; None for none (Jain et al., DEC TR-301, 1984)."""
    if not values:
        return None
    total, squares = math.fsum(values), math.fsum(v * v for v in values)
    return total * total / (len(values) * squares) if squares > 0 else None


@dataclass(frozen=True)
class JobOutcome:
    """What happened to one job.

    Attributes
    ----------
    name
        As in the workload.
    arrival, first_start, finish
        Seconds; the latter two None when it never started or finished.
    gpu_seconds
        GPU time held (training and, where they are modelled, restarts).
    migrations
        Changes of GPU type or restarts after a pause.
    alone
        Seconds that the job would take alone on a 1/n share (the policy-independent denominator of
        finish-time fairness); None where it is not defined.
    """

    name: str
    arrival: float
    first_start: float | None
    finish: float | None
    gpu_seconds: float
    migrations: int = 0
    alone: float | None = None

    @property
    def jct(self) -> float | None:
        """Job completion time: finish - arrival."""
        return None if self.finish is None else self.finish - self.arrival

    @property
    def finish_time_fairness(self) -> float | None:
        """JCT over the time alone on a share (Themis, NSDI 2020); above 1 is unfair."""
        jct = self.jct
        return None if jct is None or not self.alone else jct / self.alone


@dataclass(frozen=True)
class PolicyOutcome:
    """One policy on one workload.

    Attributes
    ----------
    policy
        Name.
    jobs
        One outcome a job, in the order of the workload.
    gpus
        GPUs of the cluster.
    utilisation
        GPU-seconds in use over GPU-seconds available until the last finish; None when nothing ran.
    options
        Parameters of the policy and of the run.
    decision_seconds
        Wall-clock seconds of each decision; left out of documents, since it does not repeat.
    series
        Named step functions of time, each a tuple of (seconds, value): queue length, GPUs in use, ...
    interrupted
        True when the run was stopped before its end; what was done is kept.
    """

    policy: str
    jobs: tuple[JobOutcome, ...]
    gpus: int
    utilisation: float | None
    options: dict[str, Any] = field(default_factory=dict)
    decision_seconds: tuple[float, ...] = field(default=(), compare=False)
    series: dict[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    interrupted: bool = False
    message: str = ""

    @property
    def jcts(self) -> list[float]:
        """Completion times of the finished jobs, in the order of the workload."""
        return [jct for job in self.jobs if (jct := job.jct) is not None]

    @property
    def fairness(self) -> list[float]:
        """Finish-time fairness of the finished jobs for which it is defined."""
        return [rho for job in self.jobs if (rho := job.finish_time_fairness) is not None]

    @property
    def makespan(self) -> float | None:
        """Last finish; None when no job finished."""
        return max((job.finish for job in self.jobs if job.finish is not None), default=None)

    def to_dict(self) -> dict[str, Any]:
        """Summary as in the format, with the extra fields ``jain_index``, ``migrations`` and ``interrupted``."""
        jcts, rho = self.jcts, self.fairness
        return {
            "policy": self.policy,
            "jct": {
                "mean": math.fsum(jcts) / len(jcts) if jcts else None,
                "median": float(np.median(jcts)) if jcts else None,
                "p99": float(np.percentile(jcts, 99)) if jcts else None,
            },
            "makespan": self.makespan,
            "finish_time_fairness": {
                "mean": math.fsum(rho) / len(rho) if rho else None,
                "worst": max(rho, default=None),
                "fraction_above_one": sum(r > 1 for r in rho) / len(rho) if rho else None,
            },
            "jain_index": jain_index(rho),
            "utilisation": self.utilisation,
            "jobs": len(jcts),
            "unfinished": len(self.jobs) - len(jcts),
            "migrations": sum(job.migrations for job in self.jobs),
            "interrupted": self.interrupted,
        }


class _Distribution(Part):
    mean: float | None
    median: float | None
    p99: float | None


class _Fairness(Part):
    mean: float | None
    worst: float | None
    fraction_above_one: float | None


class _PolicyPart(Part):
    policy: str
    jct: _Distribution
    makespan: float | None
    finish_time_fairness: _Fairness
    jain_index: float | None = None
    utilisation: float | None
    jobs: Annotated[int, Field(ge=0)]
    unfinished: Annotated[int, Field(ge=0)]
    migrations: Annotated[int, Field(ge=0)] = 0
    interrupted: bool = False


class SimulationDocument(Document):
    """The file form of a :class:`SimulationResult`: summaries, seconds."""

    format: Literal["hetopt/simulation"] = "hetopt/simulation"
    version: Literal[1] = 1
    workload: str = ""
    seed: int
    policies: Annotated[tuple[_PolicyPart, ...], BeforeValidator(lambda v: tuple(v) if isinstance(v, list) else v)]


@dataclass(frozen=True)
class SimulationResult:
    """Several policies on one workload."""

    workload: str
    seed: int
    policies: tuple[PolicyOutcome, ...]

    def to_dict(self) -> dict[str, Any]:
        """The ``hetopt/simulation`` document as plain JSON values."""
        return {
            "format": "hetopt/simulation",
            "version": 1,
            "workload": self.workload,
            "seed": self.seed,
            "policies": [p.to_dict() for p in self.policies],
        }

    def to_json(self) -> str:
        """The document as text, one policy a line."""
        return written_json(self.to_dict())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write in one step."""
        write_text(path, self.to_json())
