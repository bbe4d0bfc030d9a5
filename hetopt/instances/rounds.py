"""Seeded synthetic FFT rounds, for benchmarks and tests: :func:`generate_round`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import UsageError
from hetopt.core.round_problem import RoundGpuType, RoundJob, RoundProblem
from hetopt.core.seeds import generator

__all__ = ["generate_round"]


def generate_round(
    jobs: int = 400,
    types: int = 8,
    gpus: int | Sequence[int] = 100,
    seed: int = 0,
    *,
    demands: Sequence[int] = (1, 2, 4, 8),
    forbidden: float = 0.0,
    running: float = 0.3,
    fairness: float = 1.0,
    copies: int = 1,
    spread: float = 0.0,
    name: str | None = None,
) -> RoundProblem:
    """A random round; the same arguments give the same round in every process.

    A job's work and its throughput on its best type are log-normal, its throughput on a type is the type's speed (1 to 8
    times that of the slowest, the same for all jobs) to a power of its own, with noise: jobs differ in how much they gain from fast
    types.  Ages are exponential.  Fairness factors are on the scale at which the compensation and the job's
    cost are alike, so that some jobs are worth running for their own sake and others run to use the GPUs.

    Parameters
    ----------
    jobs
        Number of jobs, >= 0.
    types
        Number of GPU types, >= 1.
    gpus
        GPUs in all, shared out as evenly as whole numbers allow, or the number of each type.
    seed
        Any whole number.
    demands
        Equally likely demands.
    forbidden
        Chance that a job cannot run on a type; at least one type is left to it.
    running
        Share of the jobs that run already: moving them costs.
    fairness
        Scale of the fairness factors; 0: all are 0.
    copies
        Jobs come in groups of so many identical ones (ties).
    spread
        Throughput and work of each job are multiplied by 10 to a power uniform in [-spread, spread] and its fairness factor
        divided by it: the costs, and so the allocation, stay what they are.
    name
        Name of the round; by default it tells the arguments.

    Raises
    ------
    UsageError
        An argument out of range.
    """
    counts = _counts(gpus, types)
    _check(jobs, demands, copies, forbidden=forbidden, running=running, fairness=fairness, spread=spread)
    rng, powers = generator(seed, "round"), generator(seed, "round", "spread")
    speed = np.geomspace(1.0, 8.0, types) if types > 1 else np.ones(1)
    out: list[RoundJob] = []
    last: dict[str, Any] = {}
    for j in range(jobs):
        if j % copies == 0:
            last = _job(rng, speed, demands, forbidden, running, fairness)
            if spread:
                factor = 10.0 ** powers.uniform(-spread, spread)
                last["work"] *= factor
                last["done"] *= factor
                last["fairness"] /= factor
                last["throughput"] = tuple(None if x is None else x * factor for x in last["throughput"])
        out.append(RoundJob(name=f"j{j}", **last))
    kinds = tuple(RoundGpuType(name=f"G{i}", count=int(g)) for i, g in enumerate(counts))
    called = f"round-{jobs}x{types}-{seed}" if name is None else name
    return RoundProblem(name=called, now=2000.0, gpu_types=kinds, jobs=tuple(out))


def _job(
    rng: np.random.Generator,
    speed: NDArray[np.float64],
    demands: Sequence[int],
    forbidden: float,
    running: float,
    fairness: float,
) -> dict[str, Any]:
    types = len(speed)
    work = float(np.round(rng.lognormal(3.0, 1.0), 4)) + 0.01
    base = float(rng.lognormal(0.0, 0.8))
    rates = np.round(base * speed ** rng.uniform(0.1, 1.1) * rng.uniform(0.7, 1.3, types), 5) + 1e-4
    closed = rng.random(types) < forbidden
    closed[int(rng.integers(types))] = False
    throughput = tuple(None if no else float(x) for no, x in zip(closed, rates, strict=True))
    demand = int(rng.choice(np.asarray(demands)))
    current = int(rng.choice(np.flatnonzero(~closed))) if rng.random() < running else None
    moving = float(np.round(rng.exponential(3.0), 4))
    age = float(np.round(min(rng.exponential(150.0), 2000.0), 3))
    # rho theta is of the order of d W / theta where rho is of the order of d W / theta^2
    rho = fairness * float(rng.exponential(1.0)) * demand * work / float(np.median(rates)) ** 2
    return {
        "demand": demand,
        "work": work,
        "done": 0.0 if current is None else float(np.round(work * rng.uniform(0.0, 0.9), 4)),
        "release_date": 2000.0 - age,
        "throughput": throughput,
        "current_type": current,
        "migration_cost": tuple(0.0 if current is None or i == current else moving for i in range(types)),
        "fairness": float(np.round(rho, 5)),
    }


def _counts(gpus: int | Sequence[int], types: int) -> list[int]:
    if isinstance(types, bool) or not isinstance(types, int) or types < 1:
        raise UsageError(f"types {types!r}: a whole number >= 1 is needed")
    if isinstance(gpus, int) and not isinstance(gpus, bool) and gpus >= 0:
        return [gpus // types + (i < gpus % types) for i in range(types)]
    if isinstance(gpus, Sequence) and not isinstance(gpus, str) and len(gpus) == types and all(g >= 0 for g in gpus):
        return [int(g) for g in gpus]
    raise UsageError(f"gpus {gpus!r}: a whole number >= 0, or one for each of the {types} types, is needed")


def _check(jobs: int, demands: Sequence[int], copies: int, **numbers: float) -> None:
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 0:
        raise UsageError(f"jobs {jobs!r}: a whole number >= 0 is needed")
    if not demands or any(isinstance(d, bool) or not isinstance(d, int) or d < 1 for d in demands):
        raise UsageError(f"demands {demands!r}: whole numbers >= 1 are needed")
    if copies < 1:
        raise UsageError(f"copies {copies}: a whole number >= 1 is needed")
    for name, value in numbers.items():
        top = 1.0 if name in ("forbidden", "running") else 100.0
        if not 0.0 <= value <= top:
            raise UsageError(f"{name} {value}: a number from 0 to {top:g} is needed")
