"""Kind ``time-indexed-lagrangian``: GPU time has prices, every job is a chain by dynamic programming.

    bound = c ( sum_n V_n - sum_k G_k sum_t u_k(t) )

V_n is the least w_n C_n + (what its tasks pay) over an horizon that is long enough by a stated
argument; see ``docs/reference/certificates.md`` for windows, caps and the proof.  O(H K) whole-number
operations a round, O(H W K log K) for a capped round with windows up to W.  The sums are taken over
arrays of integers: 64-bit ones where a bound on the largest value shows that nothing can overflow,
otherwise Python's own; never floating point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.analysis.certify.reading import Proved, Refused, keys, listed, whole
from hetopt.analysis.certify.rounds import Cluster, Round, cluster_of
from hetopt.core.instance import Instance

__all__ = ["prove"]

Ints = NDArray[Any]

MOST_CELLS: Final = 50_000_000
"""Horizon x GPU types that are still checked; more would not fit the memory of usual machines."""


@dataclass(frozen=True)
class _Coarse:
    """A round in coarse ticks: (type, p', q') per allowed type, and its window data."""

    scale: int
    options: tuple[tuple[int, int, int], ...]
    capped: bool
    longest: int
    length: int

    def cap(self, counts: Sequence[int], option: tuple[int, int, int], window: int) -> int:
        """Most tasks that the GPUs of a type can train and synchronise within a window."""
        k, p, q = option
        if window < q:
            return 0
        return self.scale if p == 0 else min(self.scale, counts[k] * ((window - (q - p)) // p))


def _coarse(item: Round, counts: Sequence[int], c: int, limit: int) -> _Coarse:
    d = item.scale
    options = tuple((k, p // c, (p + s) // c) for k, p, s in item.options)
    longest = max((q - p) + p * -(-d // counts[k]) for k, p, q in options)
    capped = limit >= 1 and longest <= limit and any(counts[k] < d for k, _, _ in options)
    made = _Coarse(d, options, capped, longest, min(q for _, _, q in options))
    if not capped:
        return made
    low, high = made.length, longest
    while low < high:
        middle = (low + high) // 2
        fits = sum(made.cap(counts, option, middle) for option in options) >= d
        low, high = (low, middle) if fits else (middle + 1, high)
    return _Coarse(d, options, True, longest, low)


def _coarse_rounds(cluster: Cluster, c: int, limit: int) -> list[_Coarse]:
    known = {item: _coarse(item, cluster.counts, c, limit) for item in dict.fromkeys(cluster.rounds)}
    return [known[item] for item in cluster.rounds]


def required_horizon(cluster: Cluster, c: int, limit: int, price_end: int) -> int:
    """max(T, latest coarse release) + the longest sum of L over the rounds of a job."""
    rounds = _coarse_rounds(cluster, c, limit)
    longest = max(sum(rounds[g].length for g in members) for members in cluster.of_job)
    return max(price_end, *(a // c for a in cluster.releases)) + longest


def prove(instance: Instance, data: Any) -> Proved:
    """Recompute the value of the prices."""
    fields = keys(data, ("coarsening", "window_limit", "denominator", "price_end", "horizon", "prices"), "data")
    c = whole(fields["coarsening"], "data.coarsening", 1)
    limit = whole(fields["window_limit"], "data.window_limit")
    unit = whole(fields["denominator"], "data.denominator", 1)
    end = whole(fields["price_end"], "data.price_end")
    horizon = whole(fields["horizon"], "data.horizon")
    cluster = cluster_of(instance)
    needed = required_horizon(cluster, c, limit, end)
    if horizon != needed:
        raise Refused(f"data.horizon: {needed} is required, found {horizon}")
    if (horizon + 1) * len(cluster.counts) > MOST_CELLS:
        raise Refused(
            f"data.horizon: {horizon} ticks of {len(cluster.counts)} types are too many to check; use a coarsening"
        )
    sums = _prefix_sums(fields["prices"], cluster, end, horizon)
    rounds = _coarse_rounds(cluster, c, limit)
    infinite = 1 + sum(g.scale for g in rounds) * max(row[-1] for row in sums)
    largest = 2 * infinite + max(cluster.weights) * unit * (horizon + 1)
    kind: Any = np.int64 if largest < 2**62 else object  # object: Python's own whole numbers, of any size
    paid = [np.array(row, dtype=kind) for row in sums]
    time: Ints = np.arange(horizon + 1).astype(kind)
    total = -sum(count * row[-1] for count, row in zip(cluster.counts, sums, strict=True))
    for weight, release, members in zip(cluster.weights, cluster.releases, cluster.of_job, strict=True):
        cost: Ints = np.zeros(horizon + 1, dtype=kind)
        cost[: release // c] = infinite
        for g in members:
            step = _capped if rounds[g].capped else _free
            cost = np.minimum.accumulate(step(cost, rounds[g], cluster.counts, paid, infinite))
        reached = cost < infinite
        total += int((weight * unit * time[reached] + cost[reached]).min())
    return Proved(Fraction(c * total, unit))


def _prefix_sums(value: Any, cluster: Cluster, end: int, horizon: int) -> list[list[int]]:
    """Per type: what a GPU held during [0, t) costs, t = 0 .. horizon (times the denominator)."""
    out = []
    for k, runs in enumerate(listed(value, "data.prices", len(cluster.counts))):
        spans = []
        for i, run in enumerate(listed(runs, f"data.prices[{k}]")):
            where = f"data.prices[{k}][{i}]"
            price, length = listed(run, where, 2)
            spans.append((whole(price, f"{where}[0]"), whole(length, f"{where}[1]", 1)))
        if sum(length for _, length in spans) != end:
            raise Refused(f"data.prices[{k}]: the lengths sum to {sum(n for _, n in spans)}, not to price_end = {end}")
        ticks = [price for price, length in spans for _ in range(length)]
        out.append(list(accumulate([*ticks, *[0] * (horizon - end)], initial=0)))
    return out


def _free(cost: Ints, item: _Coarse, counts: Sequence[int], paid: list[Ints], infinite: int) -> Ints:
    """F(b) before the running minimum: all tasks on the cheapest (type, start) that ends at b."""
    best = np.full_like(cost, infinite)
    for k, p, q in item.options:
        stop = len(cost) - q
        if stop > 0:
            ends = cost[:stop] + item.scale * (paid[k][p : p + stop] - paid[k][:stop])
            best[q:] = np.minimum(best[q:], ends)
    return best


def _capped(cost: Ints, item: _Coarse, counts: Sequence[int], paid: list[Ints], infinite: int) -> Ints:
    """F(b) before the running minimum: windows of every length up to W, types filled by price."""
    best = np.full_like(cost, infinite)
    task = [paid[k][p:] - paid[k][: len(cost) - p] for k, p, _ in item.options]
    cheapest = [np.empty(0, dtype=cost.dtype)] * len(task)  # per type: least price of a start in [a, a + window - q]
    for window in range(min(item.longest, len(cost) - 1) + 1):
        count = len(cost) - window
        for o, (_, _, q) in enumerate(item.options):
            if window == q:
                cheapest[o] = task[o][:count]
            elif window > q:
                cheapest[o] = np.minimum(cheapest[o][:count], task[o][window - q : window - q + count])
        if window < item.length:
            continue
        caps = [(o, item.cap(counts, option, window)) for o, option in enumerate(item.options)]
        usable = [(o, cap) for o, cap in caps if cap]
        price = np.stack([cheapest[o] for o, _ in usable])
        order = np.argsort(price, axis=0, kind="stable")
        filled = np.cumsum(np.array([cap for _, cap in usable], dtype=np.int64)[order], axis=0)
        used = np.diff(np.minimum(filled, item.scale), axis=0, prepend=0)
        ends = cost[:count] + (used * np.take_along_axis(price, order, axis=0)).sum(axis=0)
        best[window:] = np.minimum(best[window:], ends)
    return best
