"""Seeded synthetic workloads for the round-based simulator: :func:`generate_workload`.

Work is counted in seconds on the job's fastest type.  The type at place k of K has the speed
alpha^(-k/(K-1)), and job j gains from fast types to the power u_j, uniform on [1 - diversity, 1]:
its throughput on type k is speed_k^u_j.  So alpha is the largest ratio of throughputs of a job, and
diversity says how much jobs disagree about how much a fast type is worth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from hetopt.core.errors import UsageError, shown
from hetopt.core.seeds import generator
from hetopt.core.workload import TrainingJob, Workload

__all__ = ["generate_workload"]


def generate_workload(
    jobs: int = 80,
    gpus: Mapping[str, int] | None = None,
    seed: int = 0,
    *,
    load: float = 0.8,
    alpha: float = 5.0,
    diversity: float = 0.7,
    minutes: float = 60.0,
    tail: float = 1.0,
    demands: Sequence[int] = (1, 1, 1, 2, 4),
    name: str | None = None,
) -> Workload:
    """A random workload; the same arguments give the same workload in every process.

    Parameters
    ----------
    jobs
        Number of jobs, >= 1.
    gpus
        GPUs of each type, fastest first; they set the arrival rate for the load.
    seed
        Any whole number.
    load
        Offered load: GPU-seconds of work that arrive per second, each job's taken at its mean over the GPUs of
        the cluster, over the number of GPUs.  0: all jobs arrive at 0.
    alpha
        Largest ratio of a job's throughputs, >= 1.
    diversity
        0: all jobs gain alike from fast types; 1: some gain nothing.
    minutes
        Median run time on the fastest type.
    tail
        Standard deviation of the logarithm of run times.
    demands
        Equally likely numbers of GPUs (repeat one to make it likelier).
    name
        Name of the workload; by default it tells jobs, load and seed.

    Raises
    ------
    UsageError
        An argument out of range: one line each.
    """
    cluster = dict(gpus) if gpus is not None else {"A100": 12, "V100": 12, "T4": 12}
    _check(jobs, cluster, load, alpha, diversity, minutes, tail, demands)
    kinds, count = tuple(cluster), np.array(list(cluster.values()), dtype=np.float64)
    draw = generator(seed, "workload")
    places = np.arange(len(kinds)) / max(1, len(kinds) - 1)
    speed = alpha**-places
    power = draw.uniform(1.0 - diversity, 1.0, size=jobs)
    seconds = np.maximum(1.0, np.round(60.0 * minutes * draw.lognormal(0.0, tail, size=jobs), 3))
    demand = draw.choice(np.asarray(demands, dtype=np.int64), size=jobs)
    gaps = draw.exponential(1.0, size=jobs)
    rate = np.round(speed[None, :] ** power[:, None], 6)
    held = demand * seconds * (count / rate).sum(axis=1) / count.sum()
    scale = float(held.mean()) / (load * count.sum()) if load > 0 else 0.0
    arrival = np.round(np.concatenate([[0.0], np.cumsum(gaps)[:-1] * scale]), 3)
    made = tuple(
        TrainingJob(
            name=f"job{j}",
            arrival=float(arrival[j]),
            work=float(seconds[j]),
            demand=int(demand[j]),
            throughput=tuple(float(v) for v in rate[j]),
        )
        for j in range(jobs)
    )
    return Workload(
        name=f"workload-{jobs}-load{load:g}-seed{seed}" if name is None else name,
        gpu_types=kinds,
        jobs=made,
        work_unit="second",
        source="generated",
    )


def _check(
    jobs: int,
    gpus: Mapping[str, int],
    load: float,
    alpha: float,
    diversity: float,
    minutes: float,
    tail: float,
    demands: Sequence[int],
) -> None:
    faults = []
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        faults.append(f"jobs {shown(jobs)}: a whole number >= 1 is needed")
    whole = [v for v in gpus.values() if isinstance(v, int) and not isinstance(v, bool) and v >= 1]
    if not gpus or len(whole) < len(gpus):
        faults.append(f"gpus {shown(dict(gpus))}: at least one type, each with a whole number >= 1 of GPUs")
    if (
        not isinstance(demands, (list, tuple))
        or not demands
        or any(isinstance(d, bool) or not isinstance(d, int) or d < 1 for d in demands)
    ):
        faults.append(f"demands {shown(demands)}: a list of whole numbers >= 1")
    elif len(whole) == len(gpus) and whole and max(demands) > max(whole):
        faults.append(f"demands {shown(demands)}: no type has more than {max(whole)} GPUs; ask for at most that many")
    for key, value, low, high in (
        ("load", load, 0.0, 1e3),
        ("alpha", alpha, 1.0, 1e6),
        ("diversity", diversity, 0.0, 1.0),
        ("minutes", minutes, 1e-3, 1e6),
        ("tail", tail, 0.0, 5.0),
    ):
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not number or not low <= value <= high:
            faults.append(f"{key} {shown(value)}: a number from {low:g} to {high:g} is needed")
    if faults:
        raise UsageError("\n".join(faults))
