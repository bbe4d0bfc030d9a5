"""What a round-based policy sees at a border, and what it answers.

A :class:`RoundState` is immutable (its arrays are read-only copies) and holds only what the declared
:class:`Clairvoyance` of the policy allows; asking for more raises :class:`PeekError`, so a policy
cannot look at sizes or at the future by accident.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["ActiveJob", "Clairvoyance", "FutureJob", "PeekError", "RoundPolicy", "RoundState"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Clairvoyance(IntEnum):
    """What a policy knows: nothing of sizes, the sizes of jobs that have arrived, or everything."""

    NONE = 0
    SIZES = 1
    FULL = 2

    @property
    def words(self) -> str:
        """For tables."""
        return ("no sizes", "sizes of arrived jobs", "everything")[self]


class PeekError(RuntimeError):
    """A policy asked for what its declared clairvoyance does not allow (a fault of the policy)."""


@dataclass(frozen=True)
class FutureJob:
    """A job that has not arrived; seen by policies of :attr:`Clairvoyance.FULL` alone."""

    name: str
    arrival: float
    demand: int
    work: float
    rate: tuple[float, ...]


@dataclass(frozen=True)
class ActiveJob:
    """One arrived, unfinished job, for policies that prefer objects to arrays."""

    name: str
    arrival: float
    demand: int
    rate: tuple[float, ...]
    done: float
    current_type: int | None
    attained: float
    run_time: tuple[float, ...]
    age: float
    weight: float
    _work: float | None = field(default=None, repr=False)

    @property
    def work(self) -> float:
        """Total work; only for policies that know sizes."""
        if self._work is None:
            raise PeekError(f"the policy declared that it knows no sizes and asked for the work of {self.name!r}")
        return self._work


@dataclass(frozen=True)
class RoundState:
    """The cluster at the border at which a round begins.

    n jobs have arrived and are not finished, in order of (arrival, position in the workload).

    Attributes
    ----------
    now
        Seconds since the origin of the workload.
    round
        Rounds decided before this one.
    round_seconds
        Length of a round.
    gpu_types
        Names of the K types.
    count : (K,) int64
        GPUs of each type.
    ids : (n,) int64
        Position of each job in the workload; rises with no meaning but identity.
    arrival : (n,) float64
        Seconds.
    demand : (n,) int64
        GPUs, all of one type.
    rate : (n, K) float64
        Work per second on ``demand`` GPUs of a type; 0 where the job cannot run (no throughput
        there, or fewer GPUs than it needs).
    done : (n,) float64
        Work done.
    current : (n,) int64
        Type on which the job ran in the round that ends, -1: it did not run.
    started : (n,) bool
        Whether the job has ever run.
    attained : (n,) float64
        GPU-seconds held.
    run_time : (n, K) float64
        Seconds that the job held GPUs of each type.
    type_run_time : (K,) float64
        Seconds that all jobs, finished ones included, held GPUs of each type (per job, not per GPU).
    weight : (n,) float64
        Priorities.
    moving : (n,) float64
        Seconds that the job loses when it moves or resumes.
    finished_service : (f,) float64
        GPU-seconds that each finished job held, in order of finish (known to every policy).
    seed
        Of the simulation; randomised policies draw from (seed, their name, round).
    clairvoyance
        Of the policy.
    """

    now: float
    round: int
    round_seconds: float
    gpu_types: tuple[str, ...]
    count: Ints
    ids: Ints
    arrival: Floats
    demand: Ints
    rate: Floats
    done: Floats
    current: Ints
    started: NDArray[np.bool_]
    attained: Floats
    run_time: Floats
    type_run_time: Floats
    weight: Floats
    moving: Floats
    finished_service: Floats
    seed: int = 0
    clairvoyance: Clairvoyance = Clairvoyance.NONE
    _names: tuple[str, ...] = field(default=(), repr=False)
    _work: Floats | None = field(default=None, repr=False)
    _future: tuple[FutureJob, ...] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the jobs."""
        return tuple(self._names[i] for i in self.ids.tolist())

    @property
    def work(self) -> Floats:
        """Total work, (n,) float64.

        Raises
        ------
        PeekError
            The policy declared that it knows no sizes.
        """
        if self._work is None:
            raise PeekError("the policy declared that it knows no sizes and asked for the work of jobs")
        return self._work

    @property
    def remaining(self) -> Floats:
        """Work left, (n,) float64, > 0; knows sizes."""
        return np.maximum(self.work - self.done, np.finfo(np.float64).tiny)

    @property
    def future(self) -> tuple[FutureJob, ...]:
        """Jobs that have not arrived, by arrival; knows everything."""
        if self._future is None:
            raise PeekError("the policy did not declare that it knows the future and asked for jobs to come")
        return self._future

    @property
    def age(self) -> Floats:
        """Seconds since arrival, (n,) float64."""
        return self.now - self.arrival

    def job(self, position: int) -> ActiveJob:
        """One job as an object."""
        j = position
        return ActiveJob(
            name=self._names[int(self.ids[j])],
            arrival=float(self.arrival[j]),
            demand=int(self.demand[j]),
            rate=tuple(self.rate[j].tolist()),
            done=float(self.done[j]),
            current_type=None if self.current[j] < 0 else int(self.current[j]),
            attained=float(self.attained[j]),
            run_time=tuple(self.run_time[j].tolist()),
            age=float(self.now - self.arrival[j]),
            weight=float(self.weight[j]),
            _work=None if self._work is None else float(self._work[j]),
        )

    def jobs(self) -> Iterator[ActiveJob]:
        """The jobs as objects, in order."""
        return (self.job(j) for j in range(len(self)))


@runtime_checkable
class RoundPolicy(Protocol):
    """A policy: a pure function from (state, memory) to (allocation, memory).

    The same state and memory give the same answer; neither is changed.  ``memory`` is None at
    first, then whatever the policy returned last.  The allocation is an (n,) array of type indices, -1
    where the job waits.
    """

    name: ClassVar[str]
    clairvoyance: ClassVar[Clairvoyance]

    def decide(self, state: RoundState, memory: Any) -> tuple[Ints, Any]:
        """Types for the jobs of the round that begins."""
