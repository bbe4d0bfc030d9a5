"""Random tiny instances for agreement and property tests, the same for a seed everywhere."""

from __future__ import annotations

import random

from hetopt.core.instance import GpuType, Instance, Job, SyncRound


def tiny(seed: int, *, tasks: int = 6, longest: int = 5) -> Instance:
    """At most ``tasks`` tasks; one or two types, forbidden types, sync times, releases, repeats, weights."""
    rng = random.Random(seed)
    types = rng.randint(1, 2)
    left = rng.randint(2, tasks)
    jobs = []
    while left > 0:
        rounds = []
        for _ in range(rng.randint(1, 2)):
            scale = rng.randint(1, 3)
            repeat = rng.choice((1, 1, 1, 2))
            if scale * repeat > left:
                scale, repeat = 1, 1
            if left < 1:
                break
            left -= scale * repeat
            p: list[int | None] = [rng.randint(1, longest) for _ in range(types)]
            s: list[int | None] = [rng.randint(0, 2) for _ in range(types)]
            if types > 1 and rng.random() < 0.3:
                k = rng.randrange(types)
                p[k] = s[k] = None
            rounds.append(SyncRound(repeat=repeat, scale=scale, processing_time=tuple(p), sync_time=tuple(s)))
        jobs.append(
            Job(
                name=f"job{len(jobs)}",
                weight=rng.randint(1, 4),
                release_date=rng.choice((0, rng.randint(0, 5))),
                rounds=tuple(rounds),
            )
        )
    gpus = tuple(GpuType(name=f"type{k}", count=rng.randint(1, 2)) for k in range(types))
    return Instance(name=f"tiny-{seed}", gpu_types=gpus, jobs=tuple(jobs))
