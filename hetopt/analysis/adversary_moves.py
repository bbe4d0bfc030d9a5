"""Genomes of the adversary: small instances on alike GPUs, how they vary, and a quick estimate of their ratio.

A genome is a tuple of jobs (weight, release, rounds), a round (tasks, processing time, sync time).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from math import isqrt
from typing import Final

import numpy as np

from hetopt.core.instance import GpuType, Instance, Job, SyncRound

__all__ = ["Genome", "Rounds", "as_instance", "estimate", "family_starts", "random_genome", "varied"]

GenomeRound = tuple[int, int, int]
GenomeJob = tuple[int, int, tuple[GenomeRound, ...]]
Genome = tuple[GenomeJob, ...]

_WEIGHTS: Final = (1, 1, 1, 10, 1000, 10**5)
_LONGEST: Final = 20_000


class Rounds(StrEnum):
    """Whether the rounds of a job have to be alike."""

    ALIKE = "alike"
    ANY = "any"


def as_instance(genome: Genome, gpus: int, name: str) -> Instance:
    """The genome as a document."""
    jobs = tuple(
        Job(
            name=f"job{n}",
            weight=weight,
            release_date=release,
            rounds=tuple(SyncRound(scale=d, processing_time=(q,), sync_time=(s,)) for d, q, s in rounds),
        )
        for n, (weight, release, rounds) in enumerate(genome)
    )
    return Instance(name=name, gpu_types=(GpuType(name="GPU", count=gpus),), jobs=jobs)


def tasks_of(genome: Genome) -> int:
    """Number of tasks."""
    return sum(d for _, _, rounds in genome for d, _, _ in rounds)


def family_starts(gpus: int, rounds: Rounds, max_tasks: int) -> list[Genome]:
    """Members of the known families, small ones first."""
    out: list[Genome] = []
    for length in (10, 50, 200, 1000):
        blockers, late = ((gpus, 1, 0),), ((1, 1, 0),)
        out.append(((1, length, blockers), (1, 0, ((gpus, 2 * length + 2, 0),)), (10**5, length + 3, late)))
        if gpus == 1:
            out.append(((1, 0, ((1, 2 * length, 0),)), (10**5, length, (*late, *late))))
        if rounds is Rounds.ALIKE or gpus < 3:
            continue
        at, head = (104 * length // 100, 96 * length // 100) if gpus == 3 else (0, 2 * length)
        early = 1519 * length // 1000 if gpus == 3 else max(0, length - 1)
        level = _level(gpus, [(at, head)], at + head)
        chain = ((1, head, 0), (gpus - 1, 1, 0), (1, 1, 0))
        out.append(((1, early, blockers), (10**5, at, chain), (1, 0, ((gpus, level, 0),))))
        heads = [(n + 1, length * 2**n // 2) for n in range(3)]
        end = heads[-1][0] + heads[-1][1]
        level = _level(gpus, heads, end)
        chains = tuple((1, a, ((1, p, 0), (gpus - 1, 1, 0))) for a, p in heads)
        out.append(((1, length // 4, blockers), *chains, (1, 0, ((gpus, level, 0),)), (10**5, end + 2 + gpus, late)))
    return [genome for genome in out if tasks_of(genome) <= max_tasks]


def _level(gpus: int, heads: Sequence[tuple[int, int]], at: int) -> int:
    """Length b of gpus tasks that the load inequality lifts to ``at`` when the heads (release, p) are at their earliest.

    The larger root of (P + M b)^2 = 2 M (sum p H + M b at), rounded down.
    """
    total = sum(p for _, p in heads)
    twice_moment = sum(p * (2 * a + p) for a, p in heads)
    half = gpus * at - total
    return (half + isqrt(half * half - total * total + gpus * twice_moment)) // gpus


def random_genome(rng: np.random.Generator, gpus: int, rounds: Rounds, max_tasks: int) -> Genome:
    """A random small instance."""
    jobs: list[GenomeJob] = []
    left = max_tasks
    for _ in range(int(rng.integers(2, 5))):
        parts: list[GenomeRound] = []
        alike: GenomeRound | None = None
        for _ in range(int(rng.integers(1, 4))):
            part = alike or (
                int(rng.choice([1, 1, gpus, max(1, gpus - 1)])),
                int(rng.choice([1, 1, 10, 100, 200])),
                int(rng.choice([0, 0, 0, 50])),
            )
            if part[0] > left:
                break
            left -= part[0]
            parts.append(part)
            alike = part if rounds is Rounds.ALIKE else None
        if parts:
            jobs.append((int(rng.choice(_WEIGHTS)), int(rng.integers(0, 150)), tuple(parts)))
    return tuple(jobs)


def _nudged(rng: np.random.Generator, value: int, least: int, most: int) -> int:
    kind = int(rng.integers(0, 4))
    if kind == 0:
        new = value + int(rng.choice([-1, 1]))
    elif kind == 1:
        new = value + int(rng.integers(-10, 11))
    elif kind == 2:
        new = round(value * float(rng.uniform(0.9, 1.1)))
    else:
        new = round(value * float(rng.choice([0.5, 2.0])))
    return min(most, max(least, new))


def varied(rng: np.random.Generator, genome: Genome, gpus: int, rounds: Rounds, max_tasks: int) -> Genome | None:
    """A neighbour: one to three small changes, or all times doubled; None if it became too large."""
    jobs = [[weight, release, [list(part) for part in parts]] for weight, release, parts in genome]
    if rng.random() < 0.05:
        for job in jobs:
            job[1] = min(_LONGEST, 2 * job[1])  # type: ignore[operator]
            for part in job[2]:  # type: ignore[attr-defined]
                if part[1] > 1:
                    part[1] = min(_LONGEST, 2 * part[1])
                part[2] = min(_LONGEST, 2 * part[2])
    for _ in range(int(rng.integers(1, 4))):
        _change(rng, jobs, gpus, rounds)
    out = tuple((int(w), int(a), tuple((int(d), int(q), int(s)) for d, q, s in parts)) for w, a, parts in jobs if parts)  # type: ignore[call-overload, attr-defined]
    return out if out and tasks_of(out) <= max_tasks else None


def _change(rng: np.random.Generator, jobs: list[list[object]], gpus: int, rounds: Rounds) -> None:
    if not jobs:
        return
    job = jobs[int(rng.integers(0, len(jobs)))]
    parts: list[list[int]] = job[2]  # type: ignore[assignment]
    move = int(rng.integers(0, 14))
    if move <= 4 and parts:
        part = parts[int(rng.integers(0, len(parts)))]
        new = [part[0], _nudged(rng, part[1], 1, _LONGEST), part[2]]
        _put(parts, part, new, rounds)
    elif move <= 7:
        job[1] = _nudged(rng, int(job[1]), 0, _LONGEST)  # type: ignore[call-overload]
    elif move == 8:
        job[0] = int(rng.choice(_WEIGHTS))
    elif move == 9 and parts:
        part = parts[int(rng.integers(0, len(parts)))]
        _put(
            parts, part, [max(1, int(rng.choice([part[0] - 1, part[0] + 1, gpus, gpus - 1]))), part[1], part[2]], rounds
        )
    elif move == 10 and parts:
        part = parts[int(rng.integers(0, len(parts)))]
        _put(parts, part, [part[0], part[1], _nudged(rng, part[2], 0, _LONGEST) if rng.random() < 0.5 else 0], rounds)
    elif move == 11:
        last = list(parts[-1]) if parts else [1, 1, 0]
        parts.append(last if rounds is Rounds.ALIKE else [int(rng.choice([1, gpus])), int(rng.choice([1, last[1]])), 0])
    elif move == 12 and len(parts) > 1:
        parts.pop(int(rng.integers(0, len(parts))))
    elif move == 13:
        if len(jobs) > 2 and rng.random() < 0.5:
            jobs.remove(job)
        else:
            jobs.append([int(rng.choice(_WEIGHTS)), int(job[1]), [[int(rng.choice([1, gpus])), 1, 0]]])  # type: ignore[call-overload]


def _put(parts: list[list[int]], old: list[int], new: list[int], rounds: Rounds) -> None:
    for part in parts if rounds is Rounds.ALIKE else [old]:
        part[:] = new


# ------------------------------------------------------------------------------------- quick estimate


def estimate(genome: Genome, gpus: int) -> Fraction:
    """List value / schedule value if the LP puts everything at its earliest and lifts the cheapest job only.

    The cheapest job is the one with the least weight per work.  Only a filter: what passes is measured.
    """
    halves: list[tuple[int, int, int]] = []  # twice the midpoint, job, round
    for n, (_, release, rounds) in enumerate(genome):
        at = release
        for r, (_, q, s) in enumerate(rounds):
            halves.append((2 * at + q, n, r))
            at += q + s
    work = [sum(d * q for d, q, _ in rounds) for _, _, rounds in genome]
    cheapest = min(range(len(genome)), key=lambda n: (Fraction(genome[n][0], work[n]), n))
    halves.sort()
    lifted = [item for item in halves if item[1] == cheapest]
    others = [item for item in halves if item[1] != cheapest]
    rise = _rise(genome, gpus, others, lifted)
    order = sorted([*others, *((h + rise, n, r) for h, n, r in lifted)])
    listed = _value(genome, gpus, [(n, r) for _, n, r in order])
    jobs = range(len(genome))
    best = listed
    for key in (
        lambda n: (Fraction(work[n], genome[n][0]), n),
        lambda n: (genome[n][1], n),
        lambda n: (-genome[n][0], genome[n][1], n),
    ):
        by_job = [(n, r) for n in sorted(jobs, key=key) for r in range(len(genome[n][2]))]
        best = min(best, _value(genome, gpus, by_job, gaps=True))
    return Fraction(listed, best)


def _rise(
    genome: Genome, gpus: int, others: Sequence[tuple[int, int, int]], lifted: Sequence[tuple[int, int, int]]
) -> Fraction:
    """Least common rise (of twice the midpoints) of the lifted rounds that satisfies all load prefixes; a few passes."""
    rise = Fraction(0)
    for _ in range(4):
        order = sorted([*((Fraction(h), n, r) for h, n, r in others), *((h + rise, n, r) for h, n, r in lifted)])
        mine = {(n, r) for _, n, r in lifted}
        total = share = 0
        moment = Fraction(0)
        more = Fraction(0)
        for h, n, r in order:
            d, q, _ = genome[n][2][r]
            total += d * q
            moment += d * q * h
            share += d * q if (n, r) in mine else 0
            lack = Fraction(total * total, gpus) - moment
            if lack > 0 and share:
                more = max(more, lack / share)
        if not more:
            break
        rise += more
    return rise


def _value(genome: Genome, gpus: int, order: Sequence[tuple[int, int]], *, gaps: bool = False) -> int:
    """Value of placing rounds in this order on the earliest available GPU, or (``gaps``) at the earliest fit."""
    free = [(0, m) for m in range(gpus)]
    busy: list[list[tuple[int, int]]] = [[] for _ in range(gpus)]
    ready = [release for _, release, _ in genome]
    for n, r in order:
        d, q, s = genome[n][2][r]
        done = 0
        for _ in range(d):
            if gaps:
                start, m = min((_fit(busy[m], ready[n], q), m) for m in range(gpus))
                busy[m].append((start, start + q))
                busy[m].sort()
            else:
                least, m = heapq.heappop(free)
                start = max(least, ready[n])
                heapq.heappush(free, (start + q, m))
            done = max(done, start + q + s)
        ready[n] = done
    return sum(weight * end for (weight, _, _), end in zip(genome, ready, strict=True))


def _fit(busy: Sequence[tuple[int, int]], ready: int, length: int) -> int:
    time = ready
    for begin, end in busy:
        if begin >= time + length:
            break
        time = max(time, end)
    return time
