"""Small random instances for tests of solvers: forbidden types, releases, syncs, several GPUs of a type."""

from __future__ import annotations

import numpy as np

from hetopt.core.instance import Instance
from tests.conftest import make_instance


def random_instance(seed: int, max_tasks: int = 6, max_time: int = 5) -> Instance:
    """At most ``max_tasks`` tasks in one to three jobs."""
    rng = np.random.default_rng(seed)
    types = int(rng.integers(1, 4))
    gpus = {f"g{k}": int(rng.integers(1, 3)) for k in range(types)}
    jobs, left = [], max_tasks
    for _ in range(int(rng.integers(1, 4))):
        rounds = []
        for _ in range(int(rng.integers(1, 3))):
            scale = int(rng.integers(1, 4))
            if scale > left:
                continue
            left -= scale
            p = [int(x) for x in rng.integers(1, max_time + 1, types)]
            s = [int(x) for x in rng.integers(0, 3, types)]
            if types > 1 and rng.random() < 0.3:
                k = int(rng.integers(types))
                p[k], s[k] = None, None
            rounds.append((scale, p, s))
        if rounds:
            jobs.append((int(rng.integers(1, 6)), int(rng.integers(0, 5)), rounds))
    if not jobs:
        jobs = [(1, 0, [(1, [2] * types, [0] * types)])]
    return make_instance(gpus, jobs, name=f"random-{seed}")
