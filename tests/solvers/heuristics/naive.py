"""Independent references: the rules as the formats state them, one GPU at a time, in plain integers."""

from __future__ import annotations

import random
from fractions import Fraction

from hetopt.core.instance import GpuType, Instance, Job, SyncRound


def random_instance(
    seed: int, *, jobs: int = 4, types: int = 3, largest: int = 9, most: int = 3, alike: bool = False
) -> Instance:
    rng = random.Random(seed)
    num_types = rng.randint(1, types)

    def made_round() -> SyncRound:
        times = [rng.randint(1, largest) if rng.random() < 0.75 else None for _ in range(num_types)]
        if all(t is None for t in times):
            times[rng.randrange(num_types)] = rng.randint(1, largest)
        syncs = [None if t is None else rng.choice((0, rng.randint(0, largest))) for t in times]
        return SyncRound(
            repeat=rng.randint(1, 2), scale=rng.randint(1, 4), processing_time=tuple(times), sync_time=tuple(syncs)
        )

    return Instance(
        name=f"random-{seed}",
        gpu_types=tuple(GpuType(name=f"type{k}", count=rng.randint(1, most)) for k in range(num_types)),
        jobs=tuple(
            Job(
                name=f"job{n}",
                weight=rng.randint(1, 5),
                release_date=rng.choice((0, rng.randint(0, 3 * largest))),
                rounds=tuple(made_round() for _ in range(rng.randint(1, 3))),
            )
            for n in range(rng.randint(1, jobs))
        ),
    )


def expanded(instance: Instance) -> list[list[SyncRound]]:
    return [[part for part in job.rounds for _ in range(part.repeat)] for job in instance.jobs]


def type_of_gpus(instance: Instance) -> list[int]:
    return [k for k, g in enumerate(instance.gpu_types) for _ in range(g.count)]


def rounds_in_list_order(instance: Instance, key: list[float]) -> list[tuple[int, int]]:
    step, rounds, at = 1e-6 * instance.horizon, [], 0
    for n, parts in enumerate(expanded(instance)):
        for r in range(len(parts)):
            rounds.append((round(key[at] / step), n, r))
            at += 1
    return [(n, r) for _, n, r in sorted(rounds)]


def list_schedule(instance: Instance, key: list[float], rule: str, gamma: Fraction = Fraction(0)) -> list[tuple]:
    """Rows (job, round, task, gpu, start) in the order of the list."""
    types, parts = type_of_gpus(instance), expanded(instance)
    held: list[list[tuple[int, int]]] = [[] for _ in types]
    ready = {(n, 0): job.release_date for n, job in enumerate(instance.jobs)}
    rows = []
    for n, r in rounds_in_list_order(instance, key):
        p, s = parts[n][r].processing_time, parts[n][r].sync_time
        can = [m for m, k in enumerate(types) if p[k] is not None]
        least = min(t for t in p if t is not None)
        done = []
        for task in range(parts[n][r].scale):
            since = ready[n, r]
            free = {m: max((e for _, e in held[m]), default=0) for m in can}
            begin = {m: max(free[m], since) for m in can}
            if rule == "R1":
                m = min(can, key=lambda m: (free[m], m))
            elif rule == "R2":
                first = max(min(free.values()), since)
                m = min((m for m in can if free[m] <= first), key=lambda m: (p[types[m]] + s[types[m]], m))
            elif rule == "R3":
                for m in can:
                    spots = [since] + [e for _, e in held[m] if e >= since]
                    begin[m] = min(t for t in spots if all(t + p[types[m]] <= b or e <= t for b, e in held[m]))
                m = min(can, key=lambda m: (begin[m], m))
            else:
                m = min(
                    can,
                    key=lambda m: (
                        begin[m] + p[types[m]] + s[types[m]] + gamma * (p[types[m]] - least),
                        begin[m],
                        m,
                    ),
                )
            held[m].append((begin[m], begin[m] + p[types[m]]))
            rows.append((n, r, task, m, begin[m]))
            done.append(begin[m] + p[types[m]] + s[types[m]])
        ready[n, r + 1] = max(done)
    return rows


def event_schedule(instance: Instance, rule: str) -> list[tuple]:
    """Rows (job, round, task, gpu, start), ticking through every tick."""
    types, parts = type_of_gpus(instance), expanded(instance)
    free = [0] * len(types)
    ready: dict[tuple[int, int], int] = {(n, 0): job.release_date for n, job in enumerate(instance.jobs)}
    done: dict[tuple[int, int], list[int]] = {}
    waiting = {(n, r, t) for n, rs in enumerate(parts) for r, part in enumerate(rs) for t in range(part.scale)}

    def key(task: tuple[int, int, int]) -> tuple:
        n, r, t = task
        left = sum(part.scale * min(p for p in part.processing_time if p is not None) for part in parts[n][r:])
        first = {
            "fifo": instance.jobs[n].release_date,
            "wspt": Fraction(left, instance.jobs[n].weight),
            "srtf": left,
        }[rule]
        return (first, n, r, t)

    rows, now = [], 0
    while waiting:
        moved = True
        while moved:
            moved = False
            for n, r, t in sorted((x for x in waiting if ready.get(x[:2], now + 1) <= now), key=key):
                p, s = parts[n][r].processing_time, parts[n][r].sync_time
                can = [m for m, k in enumerate(types) if p[k] is not None and free[m] <= now]
                if not can:
                    continue
                m = min(can, key=lambda m: (p[types[m]] + s[types[m]], m))
                free[m] = now + p[types[m]]
                rows.append((n, r, t, m, now))
                waiting.remove((n, r, t))
                done.setdefault((n, r), []).append(free[m] + s[types[m]])
                if len(done[n, r]) == parts[n][r].scale:
                    ready[n, r + 1] = max(done[n, r])
                moved = True
                break
        now += 1
    return rows
