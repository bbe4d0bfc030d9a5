"""Brute force for tiny instances: every order of tasks on every choice of GPUs; and random instances."""

from __future__ import annotations

import random
from fractions import Fraction

from hetopt.core.instance import Instance
from tests.conftest import make_instance


def best_values(instance: Instance) -> tuple[int, int]:
    """Least sum of w C and least makespan over all schedules (semi-active ones suffice)."""
    gpu_type = [k for k, g in enumerate(instance.gpu_types) for _ in range(g.count)]
    tasks = []  # (job, round, part)
    for n, job in enumerate(instance.jobs):
        r = 0
        for part in job.rounds:
            for _ in range(part.repeat):
                tasks += [(n, r, part)] * part.scale
                r += 1
    best = [10**18, 10**18]

    def go(left: frozenset, free: tuple, ready: dict) -> None:
        if not left:
            done = [max(ready[n, r] for (m, r) in ready if m == n) for n in range(len(instance.jobs))]
            best[0] = min(best[0], sum(j.weight * c for j, c in zip(instance.jobs, done)))
            best[1] = min(best[1], max(done))
            return
        seen = set()
        for i in left:
            n, r, part = tasks[i]
            if (n, r) in seen or any(tasks[k][0] == n and tasks[k][1] < r for k in left):
                continue
            seen.add((n, r))
            at = ready.get((n, r - 1), instance.jobs[n].release_date)
            used = set()
            for m, k in enumerate(gpu_type):
                p, s = part.processing_time[k], part.sync_time[k]
                if p is None or (k, free[m]) in used:
                    continue
                used.add((k, free[m]))
                end = max(free[m], at) + p
                new = dict(ready)
                new[n, r] = max(new.get((n, r), 0), end + s)
                go(left - {i}, (*free[:m], end, *free[m + 1 :]), new)

    go(frozenset(range(len(tasks))), (0,) * len(gpu_type), {})
    return best[0], best[1]


def random_instance(rng: random.Random, max_tasks: int = 5, *, forbidden: bool = True, big: bool = False) -> Instance:
    types = rng.randint(1, 2)
    gpus = {f"t{k}": rng.randint(1, 2) for k in range(types)}
    top = rng.choice((3, 9, 40)) if big else rng.choice((2, 5, 12))
    left, jobs = max_tasks, []
    while left > 0 and len(jobs) < (6 if big else 3):
        rounds = []
        for _ in range(rng.randint(1, 4 if big else 2)):
            d = min(left, rng.randint(1, 4 if big else 2))
            if d:
                p = [rng.randint(1, top) for _ in range(types)]
                s = [rng.choice((0, 0, rng.randint(0, top))) for _ in range(types)]
                if forbidden and types > 1 and rng.random() < 0.25:
                    k = rng.randrange(types)
                    p[k] = s[k] = None
                rounds.append((d, p, s))
                left -= d
        if rounds:
            jobs.append((rng.randint(1, 5), rng.choice((0, rng.randint(0, 2 * top))), rounds))
    return make_instance(gpus, jobs)


def scaled_text(value: Fraction) -> int | str:
    return value.numerator if value.denominator == 1 else f"{value.numerator}/{value.denominator}"
