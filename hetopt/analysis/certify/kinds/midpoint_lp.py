"""Kinds ``midpoint-lp`` and ``midpoint-lp-strong``: split weights, preemptive Smith's rule.

    bound = sum_n c_n0 path_n + sum_f ( sum_g c_fg tail_g + B_f ),   c_fg = n_fg P_fg / D,

with B_f the value of preemptive weighted-shortest-processing-time on one machine that does V_f
units of work a tick (``docs/reference/certificates.md`` has the proof).
"""

from __future__ import annotations

import heapq
from fractions import Fraction
from typing import Any

from hetopt.analysis.certify.reading import Proved, Refused, keys, listed, one_of, whole
from hetopt.analysis.certify.rounds import Cluster, cluster_of, lengths, speed_capacity, work
from hetopt.core.instance import Instance

__all__ = ["prove_base", "prove_strong"]


def read_density(value: Any, cluster: Cluster, where: str) -> list[int]:
    """One list per job with one integer >= 0 per round, as one flat list."""
    out: list[int] = []
    for n, row in enumerate(listed(value, where, len(cluster.of_job))):
        place = f"{where}[{n}]"
        items = listed(row, place, len(cluster.of_job[n]))
        out += [whole(x, f"{place}[{r}]") for r, x in enumerate(items)]
    return out


def preemptive_wspt(density: list[int], size: list[int], release: list[int]) -> int:
    """sum_g n_g Q_g, Q_g = sum of y^2 - x^2 over the intervals in which the machine works on g."""
    order = sorted(range(len(size)), key=lambda i: release[i])
    left = list(size)
    ready: list[tuple[int, int]] = []
    time = at = total = 0
    while at < len(order) or ready:
        if not ready:
            time = max(time, release[order[at]])
        while at < len(order) and release[order[at]] <= time:
            heapq.heappush(ready, (-density[order[at]], order[at]))
            at += 1
        i = ready[0][1]
        stop = time + left[i]
        if at < len(order):
            stop = min(stop, release[order[at]])
        total += density[i] * (stop - time) * (stop + time)
        left[i] -= stop - time
        time = stop
        if not left[i]:
            heapq.heappop(ready)
    return total


def prove_base(instance: Instance, data: Any) -> Proved:
    """The LP of the Hare papers: one family, unit prices, M GPUs, base lengths."""
    return _prove(instance, data, strong=False)


def prove_strong(instance: Instance, data: Any) -> Proved:
    """Any families and lengths."""
    return _prove(instance, data, strong=True)


def _prove(instance: Instance, data: Any, *, strong: bool) -> Proved:
    fields = keys(data, ("tail", "denominator", "families"), "data")
    choice = one_of(fields["tail"], ("base", "chain", "round") if strong else ("base",), "data.tail")
    whole_weight = whole(fields["denominator"], "data.denominator", 1)
    families = listed(fields["families"], "data.families", None if strong else 1)
    if not families:
        raise Refused("data.families: at least one family is required")
    cluster = cluster_of(instance)
    sizes = lengths(cluster, choice)
    rest = [w * whole_weight for w in cluster.weights]  # D c_n0
    bound = Fraction(0)  # times D until the end
    for f, family in enumerate(families):
        where = f"data.families[{f}]"
        item = keys(family, ("prices", "capacity", "release", "density"), where)
        listed_prices = listed(item["prices"], f"{where}.prices", len(cluster.counts))
        prices = tuple(whole(x, f"{where}.prices[{k}]", 1) for k, x in enumerate(listed_prices))
        capacity = one_of(item["capacity"], ("gpus", "speed") if strong else ("gpus",), f"{where}.capacity")
        released = one_of(item["release"], (True, False), f"{where}.release")
        if capacity == "gpus" and set(prices) != {1}:
            raise Refused(f"{where}.prices: all are 1 where the capacity is the number of GPUs, found {list(prices)}")
        density = read_density(item["density"], cluster, f"{where}.density")
        used = [g for g, n in enumerate(density) if n]
        if not used:
            continue
        loads = [cluster.rounds[g].scale * work(cluster.rounds[g], prices) for g in used]
        for g, load in zip(used, loads, strict=True):
            part = density[g] * load
            rest[cluster.rounds[g].job] -= part
            bound += part * sizes.tail[g]
        v = Fraction(sum(cluster.counts)) if capacity == "gpus" else speed_capacity(cluster, used, prices)
        a, b = v.numerator, v.denominator
        moments = preemptive_wspt(
            [density[g] for g in used],
            [b * load for load in loads],
            [a * sizes.head[g] if released else 0 for g in used],
        )
        bound += Fraction(moments, 2 * a * b)
    for n, left in enumerate(rest):
        if left < 0:
            given = Fraction(cluster.weights[n] * whole_weight - left, whole_weight)
            raise Refused(f"job {n} gives away {given} of its weight {cluster.weights[n]}")
        bound += left * sizes.path[n]
    return Proved(bound / whole_weight)
