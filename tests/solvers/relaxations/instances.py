"""Random small instances, forbidden types and releases included, and the LP written out naively."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from hetopt.core.instance import GpuType, Instance, Job, SyncRound


def random_instance(rng, jobs: int = 3, rounds: int = 2, most_tasks: int = 99, forbid: bool = True) -> Instance:
    kinds = int(rng.integers(1, 4))
    made, left = [], most_tasks
    for n in range(int(rng.integers(1, jobs + 1))):
        chain = []
        for _ in range(int(rng.integers(1, rounds + 1))):
            scale = int(rng.integers(1, 4))
            if scale > left:
                break
            left -= scale
            allowed = rng.random(kinds) < 0.75 if forbid else np.ones(kinds, bool)
            allowed[int(rng.integers(kinds))] = True
            chain.append(
                SyncRound(
                    scale=scale,
                    processing_time=tuple(int(rng.integers(1, 9)) if x else None for x in allowed),
                    sync_time=tuple(int(rng.integers(0, 4)) if x else None for x in allowed),
                )
            )
        if chain:
            release = int(rng.integers(0, 12)) * int(rng.integers(0, 2))
            made.append(Job(name=f"j{n}", weight=int(rng.integers(1, 6)), release_date=release, rounds=tuple(chain)))
    counts = [int(rng.integers(1, 3)) for _ in range(kinds)]
    return Instance(gpu_types=tuple(GpuType(name=f"k{k}", count=c) for k, c in enumerate(counts)), jobs=tuple(made))


def naive_lp(instance: Instance) -> tuple[float, np.ndarray, np.ndarray]:
    """Value, and rows A x <= b over (H, C), of the midpoint LP with a load row for every set of rounds."""
    rounds, job, weights, counts = [], [], [j.weight for j in instance.jobs], [g.count for g in instance.gpu_types]
    for n, j in enumerate(instance.jobs):
        for part in j.rounds:
            for _ in range(part.repeat):
                q = min(p for p in part.processing_time if p is not None)
                sigma = min(s for s in part.sync_time if s is not None)
                rounds.append((q, sigma, part.scale * q))
                job.append(n)
    size, width = len(rounds), len(rounds) + len(weights)
    rows, right = [], []

    def at_least(entries: dict[int, float], value: float) -> None:
        row = np.zeros(width)
        for column, coefficient in entries.items():
            row[column] = -coefficient
        rows.append(row)
        right.append(-value)

    for mask in range(1, 2**size):
        members = [g for g in range(size) if mask >> g & 1]
        total = sum(rounds[g][2] for g in members)
        at_least({g: rounds[g][2] for g in members}, total**2 / (2 * sum(counts)))
    for g, (q, sigma, _) in enumerate(rounds):
        if g == 0 or job[g - 1] != job[g]:
            at_least({g: 1.0}, instance.jobs[job[g]].release_date + q / 2)
        else:
            before = rounds[g - 1]
            at_least({g: 1.0, g - 1: -1.0}, before[0] / 2 + before[1] + q / 2)
        at_least({size + job[g]: 1.0, g: -1.0}, q / 2 + sigma)
    cost = np.concatenate((np.zeros(size), weights))
    solved = linprog(cost, A_ub=np.array(rows), b_ub=np.array(right), bounds=[(0, None)] * width)
    return float(solved.fun), np.array(rows), np.array(right)
