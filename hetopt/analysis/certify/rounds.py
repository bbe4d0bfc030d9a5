"""Rounds of an instance as the certificates number them, and the three choices of lengths.

Read straight from the jobs of the document (not through the array view that solvers use).
Notation of ``docs/reference/certificates.md``: q, sigma, L, e, head, tail, path, work.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hetopt.core.instance import Instance

__all__ = ["Cluster", "Lengths", "Round", "cluster_of", "lengths", "speed_capacity", "work"]


@dataclass(frozen=True)
class Round:
    """Round g: its job, number of tasks d, and (type, p, s) for the types that it may use."""

    job: int
    scale: int
    options: tuple[tuple[int, int, int], ...]

    @property
    def shortest(self) -> int:
        """q_g."""
        return min(p for _, p, _ in self.options)

    @property
    def shortest_sync(self) -> int:
        """sigma_g."""
        return min(s for _, _, s in self.options)


@dataclass(frozen=True)
class Cluster:
    """GPUs of each type, rounds in job order (repeats expanded), and the rounds of each job."""

    counts: tuple[int, ...]
    weights: tuple[int, ...]
    releases: tuple[int, ...]
    rounds: tuple[Round, ...]
    of_job: tuple[range, ...]


def cluster_of(instance: Instance) -> Cluster:
    """Read an instance."""
    rounds: list[Round] = []
    of_job = []
    for n, job in enumerate(instance.jobs):
        first = len(rounds)
        for part in job.rounds:
            options = tuple(
                (k, p, s or 0)
                for k, (p, s) in enumerate(zip(part.processing_time, part.sync_time, strict=True))
                if p is not None
            )
            rounds += [Round(n, part.scale, options)] * part.repeat
        of_job.append(range(first, len(rounds)))
    return Cluster(
        tuple(kind.count for kind in instance.gpu_types),
        tuple(job.weight for job in instance.jobs),
        tuple(job.release_date for job in instance.jobs),
        tuple(rounds),
        tuple(of_job),
    )


@dataclass(frozen=True)
class Lengths:
    """Per round: length L, head, ``after`` (sum of L over the later rounds) and tail = e + after; per job: path."""

    length: tuple[int, ...]
    head: tuple[int, ...]
    after: tuple[int, ...]
    tail: tuple[Fraction, ...]
    path: tuple[int, ...]


def _round_length(item: Round, counts: tuple[int, ...]) -> int:
    """Least t within which the GPUs can train and synchronise ``scale`` tasks: sum G floor((t - s)/p) >= d."""
    low, high = 0, min(p * item.scale + s for _, p, s in item.options)
    while low < high:
        middle = (low + high) // 2
        done = sum(counts[k] * max(0, (middle - s) // p) for k, p, s in item.options)
        low, high = (low, middle) if done >= item.scale else (middle + 1, high)
    return low


def _round_end(item: Round, counts: tuple[int, ...]) -> Fraction:
    """Mean of the d smallest of { p/2 + s + j p, G times each }: a threshold t, all below it, the rest at it."""
    low, high = 0, min(p + 2 * s + 2 * p * item.scale for _, p, s in item.options)  # twice the numbers

    def up_to(t: int, p: int, s: int) -> int:
        return max(0, (t - p - 2 * s) // (2 * p) + 1)

    while low < high:
        middle = (low + high) // 2
        found = sum(counts[k] * up_to(middle, p, s) for k, p, s in item.options)
        low, high = (low, middle) if found >= item.scale else (middle + 1, high)
    taken = total = 0
    for k, p, s in item.options:
        n = up_to(low - 1, p, s)
        taken += counts[k] * n
        total += counts[k] * (n * (p + 2 * s) + p * n * (n - 1))
    return Fraction(total + (item.scale - taken) * low, 2 * item.scale)


def lengths(cluster: Cluster, choice: str) -> Lengths:
    """L, head, tail and path for the choice ``base``, ``chain`` or ``round``."""
    known: dict[Round, tuple[int, Fraction]] = {}
    for item in dict.fromkeys(cluster.rounds):
        if choice == "base":
            known[item] = item.shortest + item.shortest_sync, Fraction(item.shortest, 2) + item.shortest_sync
        elif choice == "chain":
            least = min(p + 2 * s for _, p, s in item.options)
            known[item] = min(p + s for _, p, s in item.options), Fraction(least, 2)
        else:
            known[item] = _round_length(item, cluster.counts), _round_end(item, cluster.counts)
    length = [known[item][0] for item in cluster.rounds]
    head, after, path = [0] * len(length), [0] * len(length), []
    for release, members in zip(cluster.releases, cluster.of_job, strict=True):
        at = release
        for g in members:
            head[g] = at
            at += length[g]
        path.append(at)
        for g in members:
            after[g] = at - head[g] - length[g]
    tail = tuple(known[item][1] + rest for item, rest in zip(cluster.rounds, after, strict=True))
    return Lengths(tuple(length), tuple(head), tuple(after), tail, tuple(path))


def work(item: Round, prices: tuple[int, ...]) -> int:
    """work_g: the least price x processing time of one task."""
    return min(prices[k] * p for k, p, _ in item.options)


def speed_capacity(cluster: Cluster, members: list[int], prices: tuple[int, ...]) -> Fraction:
    """V: sum over types of G_k x the largest rate work_g / p_gk of the members."""
    best = [Fraction(0)] * len(cluster.counts)
    for item in dict.fromkeys(cluster.rounds[g] for g in members):
        amount = work(item, prices)
        for k, p, _ in item.options:
            best[k] = max(best[k], Fraction(amount, p))
    return sum((n * rate for n, rate in zip(cluster.counts, best, strict=True)), Fraction(0))
