"""Kind ``combinatorial``: critical paths, load, preemptive single-machine bounds."""

from __future__ import annotations

import heapq
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

from hetopt.analysis.certify.reading import Proved, Refused, keys, listed, one_of, whole
from hetopt.analysis.certify.rounds import Cluster, cluster_of, lengths, speed_capacity, work
from hetopt.core.instance import Instance
from hetopt.core.status import Objective

__all__ = ["prove"]

_SUM, _SPAN = str(Objective.TOTAL_WEIGHTED_COMPLETION), str(Objective.MAKESPAN)
_KEYS = {
    (_SUM, "path"): (),
    (_SPAN, "path"): (),
    (_SUM, "load"): ("prices",),
    (_SUM, "preemptive"): ("prices",),
    (_SPAN, "load"): ("prices", "head", "tail"),
}


def srpt(work_of: list[int], release: list[int], speed: Fraction) -> Fraction:
    """Sum of completion times of preemptive shortest remaining processing time, ``speed`` units of work a tick."""
    a, b = speed.numerator, speed.denominator
    order = sorted(range(len(work_of)), key=lambda i: release[i])
    ready: list[tuple[int, int]] = []
    time = at = total = 0  # time in ticks / a: one takes b units of work
    while at < len(order) or ready:
        if not ready:
            time = max(time, a * release[order[at]])
        while at < len(order) and a * release[order[at]] <= time:
            heapq.heappush(ready, (b * work_of[order[at]], order[at]))
            at += 1
        left, i = heapq.heappop(ready)
        stop = time + left
        if at < len(order) and a * release[order[at]] < stop:
            stop = a * release[order[at]]
            heapq.heappush(ready, (left - (stop - time), i))
        else:
            total += stop
        time = stop
    return Fraction(total, a)


def prove(instance: Instance, data: Any) -> Proved:
    """Recompute the value of the named part."""
    if not isinstance(data, dict):
        keys(data, (), "data")
    objective = one_of(data.get("objective"), (_SUM, _SPAN), "data.objective")
    part = one_of(data.get("part"), [p for o, p in _KEYS if o == objective], "data.part")
    fields = keys(data, ("objective", "part", *_KEYS[objective, part]), "data")
    cluster = cluster_of(instance)
    sizes = lengths(cluster, "round")
    if part == "path":
        paths = sizes.path
        total = max(paths) if objective == _SPAN else sum(w * x for w, x in zip(cluster.weights, paths, strict=True))
        return Proved(Fraction(total), Objective(objective))
    given = listed(fields["prices"], "data.prices", len(cluster.counts))
    prices = tuple(whole(x, f"data.prices[{k}]", 1) for k, x in enumerate(given))
    loads = [item.scale * work(item, prices) for item in cluster.rounds]
    if objective == _SPAN:
        head, tail = whole(fields["head"], "data.head"), whole(fields["tail"], "data.tail")
        rest = [item.shortest_sync + after for item, after in zip(cluster.rounds, sizes.after, strict=True)]
        members = [g for g in range(len(loads)) if sizes.head[g] >= head and rest[g] >= tail]
        if not members:
            raise Refused(f"data: no round has a head >= {head} and at least {tail} ticks after it")
        total_load = sum(loads[g] for g in members)
        return Proved(head + total_load / speed_capacity(cluster, members, prices) + tail, Objective.MAKESPAN)
    speed = speed_capacity(cluster, list(range(len(loads))), prices)
    amount = [sum(loads[g] for g in members) for members in cluster.of_job]
    value = _smith(cluster, amount, speed) if part == "load" else _layers(cluster, amount, speed)
    last = [cluster.rounds[members[-1]].shortest_sync for members in cluster.of_job]
    return Proved(value + sum(w * s for w, s in zip(cluster.weights, last, strict=True)))


def _smith(cluster: Cluster, amount: list[int], speed: Fraction) -> Fraction:
    w = cluster.weights

    def falls(i: int, k: int) -> int:
        return w[k] * amount[i] - w[i] * amount[k]

    order = sorted(range(len(w)), key=cmp_to_key(falls))
    done = total = 0
    for n in order:
        done += amount[n]
        total += w[n] * done
    return total / speed + sum(w) * min(cluster.releases)


def _layers(cluster: Cluster, amount: list[int], speed: Fraction) -> Fraction:
    value, below = Fraction(0), 0
    for level in sorted(set(cluster.weights)):
        members = [n for n, w in enumerate(cluster.weights) if w >= level]
        part = srpt([amount[n] for n in members], [cluster.releases[n] for n in members], speed)
        value += (level - below) * part
        below = level
    return value
