"""Random problems with their own times per task and GPU, in families that stress different terms of the proof."""

from __future__ import annotations

import random
from fractions import Fraction

from hetopt.analysis.certify.midpoint.tasks import TaskProblem

FAMILIES = ("alike", "unequal", "sync", "zero-sync", "related", "forbidden", "single", "wide", "near-tight")


def random_problem(rng: random.Random, family: str, max_tasks: int = 18) -> TaskProblem:
    gpus = rng.randint(1, 5)
    alpha = rng.choice((1, 1, Fraction(3, 2), 3, 8))
    speeds = [Fraction(1)] + [Fraction(1, rng.randint(1, 4)) for _ in range(gpus - 1)]
    rng.shuffle(speeds)
    if family == "near-tight":
        return near_tight(rng, gpus, alpha)
    jobs, left = [], rng.randint(2, max_tasks)
    while left > 0:
        rounds, fixed = [], None
        for _ in range(1 if family == "wide" else rng.randint(1, 5)):
            size = min(left, 1 if family == "single" else rng.randint(4, 9) if family == "wide" else rng.randint(1, 3))
            if size <= 0:
                break
            tasks = []
            for _ in range(size):
                q = rng.choice((1, 2, 3, 7, 20, 60)) if family != "alike" else 5
                sigma = rng.choice((0, 0, 1, 9, 30)) if family in ("sync", "zero-sync", "forbidden") else 0
                if family == "related":
                    p, s = [q / v for v in speeds], [Fraction(sigma)] * gpus
                else:
                    p = [
                        q * (1 if rng.random() < 0.4 else 1 + Fraction(rng.randint(0, 4), 4) * (alpha - 1))
                        for _ in range(gpus)
                    ]
                    s = [
                        sigma * (1 if rng.random() < 0.5 else alpha)
                        + (rng.choice((0, 2)) if family == "zero-sync" else 0)
                        for _ in range(gpus)
                    ]
                if family == "forbidden":
                    keep = rng.randrange(gpus)
                    for m in range(gpus):
                        if m != keep and rng.random() < 0.4:
                            p[m] = s[m] = None
                tasks.append((p, s))
            if family == "alike":
                fixed = fixed or tasks
                tasks = fixed
                size = len(tasks)
            rounds.append(tasks)
            left -= size
        release = 0 if rng.random() < 0.4 else rng.randint(0, 80)
        jobs.append((rng.choice((1, 1, 3, 10, 1000)), release, rounds))
    return TaskProblem.from_tasks(gpus, jobs)


def near_tight(rng: random.Random, gpus: int, alpha: Fraction | int) -> TaskProblem:
    """Perturbed members of the family that attains the constants: blockers, falling rounds, a level block, a late job."""
    at, length = rng.randint(0, 40), rng.randint(20, 90)

    def times(q: int) -> tuple[list, list]:
        fast = rng.randrange(gpus)
        return [q if m == fast else q * alpha for m in range(gpus)], [0] * gpus

    jobs = [(1, at, [[times(rng.randint(1, 2)) for _ in range(gpus)]])]
    for _ in range(rng.randint(1, 3)):
        first = [times(length + rng.randint(-5, 5))]
        jobs.append((rng.choice((1, 1000)), rng.randint(0, 5), [first, [times(1) for _ in range(max(1, gpus - 1))]]))
    jobs.append((1, 0, [[times(2 * length + rng.randint(-9, 9)) for _ in range(gpus)]]))
    jobs.append((1000, at + length + rng.randint(-5, 9), [[times(1)]]))
    return TaskProblem.from_tasks(gpus, jobs)


def random_midpoints(rng: random.Random, problem: TaskProblem) -> list[float]:
    """Any numbers: they are repaired to a feasible point, and the theorems hold for that."""
    return [rng.uniform(0, 120) for _ in range(problem.num_tasks)]
