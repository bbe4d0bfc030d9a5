"""Kind ``convex-qp``: a tangent of the convex quadratic relaxation at any point, with capacity prices.

    grad_glk = t_l v_g + (1 / G_k) sum_h K_gh y_hlk + v_g (p_gk / 2 + s_gk) + lambda_lk p_gk
    bound = sum_n c_n0 path_n + sum_g c_g after_g - sum_{l,k} y' K y / (2 G_k)
            - sum_{l,k} lambda_lk G_k (t_{l+1} - t_l) + sum_g d_g min grad_glk,

K_gh = min(v_g p_hk, v_h p_gk).  Sums over h are prefix sums in the order of v / p, so that the
check takes O(R log R) per interval and type.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from hetopt.analysis.certify.kinds.midpoint_lp import read_density
from hetopt.analysis.certify.reading import Proved, Refused, keys, listed, one_of, whole
from hetopt.analysis.certify.rounds import cluster_of, lengths
from hetopt.core.instance import Instance

__all__ = ["prove"]

_KEYS = (
    "tail",
    "denominator",
    "density",
    "starts",
    "point_denominator",
    "point",
    "price_denominator",
    "capacity_prices",
)


def kernel_sums(v: list[int], p: list[int], y: list[int]) -> list[int]:
    """sum_h min(v_g p_h, v_h p_g) y_h for every g."""

    def falls(g: int, h: int) -> int:
        return v[h] * p[g] - v[g] * p[h]

    order = sorted(range(len(v)), key=cmp_to_key(falls))  # v/p falls
    rest = sum(v[h] * y[h] for h in order)
    before, out = 0, [0] * len(v)
    for g in order:  # for h before g: v_g p_h is the smaller one; from g on: v_h p_g
        out[g] = v[g] * before + p[g] * rest
        before += p[g] * y[g]
        rest -= v[g] * y[g]
    return out


def prove(instance: Instance, data: Any) -> Proved:
    """Recompute the value of the tangent; all sums over whole numbers, scaled."""
    fields = keys(data, _KEYS, "data")
    cluster = cluster_of(instance)
    counts, rounds = cluster.counts, cluster.rounds
    sizes = lengths(cluster, one_of(fields["tail"], ("base", "chain", "round"), "data.tail"))
    unit = whole(fields["denominator"], "data.denominator", 1)
    y_unit = whole(fields["point_denominator"], "data.point_denominator", 1)
    price_unit = whole(fields["price_denominator"], "data.price_denominator", 1)
    density = read_density(fields["density"], cluster, "data.density")
    starts = [whole(t, f"data.starts[{i}]") for i, t in enumerate(listed(fields["starts"], "data.starts"))]
    if not starts or any(x >= y for x, y in pairwise(starts)):
        raise Refused("data.starts: increasing whole numbers are required, at least one")
    used = [g for g, n in enumerate(density) if n]
    v = {g: density[g] * rounds[g].shortest for g in used}  # times 1 / D
    first = {}
    for g in used:
        if starts[0] > sizes.head[g]:
            raise Refused(f"data.starts[0]: {starts[0]} is after the head {sizes.head[g]} of round {g}")
        first[g] = max(i for i, t in enumerate(starts) if t <= sizes.head[g])
    prices = listed(fields["capacity_prices"], "data.capacity_prices", len(starts) - 1)
    tolls = []
    for i, row in enumerate(prices):
        items = listed(row, f"data.capacity_prices[{i}]", len(counts))
        tolls.append([whole(x, f"data.capacity_prices[{i}][{k}]") for k, x in enumerate(items)])
    tolls.append([0] * len(counts))
    y = _read_point(fields["point"], cluster.of_job, len(starts), len(counts))

    bound = Fraction(0)
    for n, members in enumerate(cluster.of_job):
        given = sum(density[g] * rounds[g].scale * rounds[g].shortest for g in members)
        if given > cluster.weights[n] * unit:
            raise Refused(f"job {n} gives away {Fraction(given, unit)} of its weight {cluster.weights[n]}")
        bound += Fraction(cluster.weights[n] * unit - given, unit) * sizes.path[n]
        bound += Fraction(sum(v[g] * rounds[g].scale * sizes.after[g] for g in members if density[g]), unit)
    least: dict[int, Fraction] = {}
    options = {g: {k: (p, s) for k, p, s in rounds[g].options} for g in range(len(rounds))}
    for g in range(len(rounds)):
        for i in range(len(starts)):
            for k in range(len(counts)):
                allowed = bool(density[g]) and k in options[g] and i >= first[g]
                if y[g][i][k] and not allowed:
                    raise Refused(f"data.point: round {g} may have nothing in interval {i} on type {k}")
    for i, t in enumerate(starts):
        for k, count in enumerate(counts):
            here = [g for g in used if k in options[g] and i >= first[g]]
            p = [options[g][k][0] for g in here]
            v_here, y_here = [v[g] for g in here], [y[g][i][k] for g in here]
            sums = kernel_sums(v_here, p, y_here)
            energy = sum(a * b for a, b in zip(y_here, sums, strict=True))
            bound -= Fraction(energy, 2 * count * unit * y_unit * y_unit)
            if i + 1 < len(starts):
                bound -= Fraction(tolls[i][k] * count * (starts[i + 1] - t), price_unit)
            for g, pull in zip(here, sums, strict=True):
                time, sync = options[g][k]
                slope = Fraction(v[g] * (2 * t + time + 2 * sync), 2 * unit)
                slope += Fraction(pull, count * unit * y_unit) + Fraction(tolls[i][k] * time, price_unit)
                least[g] = slope if g not in least else min(least[g], slope)
    for g in used:
        bound += rounds[g].scale * least[g]
    return Proved(bound)


def _read_point(value: Any, of_job: tuple[range, ...], intervals: int, types: int) -> list[list[list[int]]]:
    out = []
    for n, of_rounds in enumerate(listed(value, "data.point", len(of_job))):
        for r, of_round in enumerate(listed(of_rounds, f"data.point[{n}]", len(of_job[n]))):
            where = f"data.point[{n}][{r}]"
            rows = []
            for i, row in enumerate(listed(of_round, where, intervals)):
                items = listed(row, f"{where}[{i}]", types)
                rows.append([whole(x, f"{where}[{i}][{k}]") for k, x in enumerate(items)])
            out.append(rows)
    return out
