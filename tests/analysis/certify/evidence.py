"""Random evidence of every kind: any split, any prices, any point proves some bound."""

from __future__ import annotations

import importlib
import random
from typing import Any

from hetopt.analysis.certify.check import KINDS
from hetopt.analysis.certify.kinds.time_indexed import required_horizon
from hetopt.analysis.certify.rounds import cluster_of
from hetopt.core.certificate import Certificate
from hetopt.core.instance import Instance


def _rounds(instance: Instance) -> list[list]:
    return [[part for part in job.rounds for _ in range(part.repeat)] for job in instance.jobs]


def _density(
    rng: random.Random, instance: Instance, denominator: int, prices: list[int], share: float
) -> list[list[int]]:
    out = []
    for job, rounds in zip(instance.jobs, _rounds(instance)):
        budget = int(job.weight * denominator * share)
        row = []
        for part in rounds:
            p = part.scale * min(prices[k] * x for k, x in enumerate(part.processing_time) if x is not None)
            n = rng.choice((0, rng.randint(0, max(0, budget // p)), budget // p))
            budget -= n * p
            row.append(n)
        out.append(row)
    return out


def midpoint(rng: random.Random, instance: Instance, strong: bool) -> dict[str, Any]:
    denominator = rng.choice((1, 7, 1000))
    families = []
    count = rng.randint(1, 2) if strong else 1
    for _ in range(count):
        speed = strong and rng.random() < 0.7
        prices = [rng.randint(1, 4) if speed else 1 for _ in instance.gpu_types]
        families.append(
            {
                "prices": prices,
                "capacity": "speed" if speed else "gpus",
                "release": rng.random() < 0.6,
                "density": _density(rng, instance, denominator, prices, 1 / count),
            }
        )
    tail = rng.choice(("base", "chain", "round")) if strong else "base"
    return {"tail": tail, "denominator": denominator, "families": families}


def convex(rng: random.Random, instance: Instance) -> dict[str, Any]:
    denominator, unit = rng.choice((1, 100)), rng.choice((1, 10))
    types = len(instance.gpu_types)
    density = _density(rng, instance, denominator, [1] * types, 1)
    starts = [0]
    for _ in range(rng.randint(0, 2)):
        starts.append(starts[-1] + rng.randint(1, 10))
    # a lower bound on the heads, so that the point is allowed whatever the choice of lengths
    point, heads = [], []
    for job, rounds in zip(instance.jobs, _rounds(instance)):
        at, rows, of_job = job.release_date, [], []
        for part in rounds:
            of_job.append(at)
            at += 10**6
            first = max(i for i, t in enumerate(starts) if t <= of_job[-1])
            rows.append(
                [
                    [
                        rng.randint(0, unit * part.scale) if part.processing_time[k] is not None and i >= first else 0
                        for k in range(types)
                    ]
                    for i in range(len(starts))
                ]
            )
        heads.append(of_job)
        point.append(rows)
    for n, row in enumerate(density):
        for r, amount in enumerate(row):
            if not amount:
                point[n][r] = [[0] * types for _ in starts]
    return {
        "tail": rng.choice(("base", "chain", "round")),
        "denominator": denominator,
        "density": density,
        "starts": starts,
        "point_denominator": unit,
        "point": point,
        "price_denominator": rng.choice((1, 5)),
        "capacity_prices": [[rng.randint(0, 3) for _ in range(types)] for _ in starts[1:]],
    }


def combinatorial(rng: random.Random, instance: Instance) -> dict[str, Any]:
    prices = [rng.randint(1, 3) for _ in instance.gpu_types]
    total, span = "total-weighted-completion", "makespan"
    return rng.choice(
        (
            {"objective": total, "part": "path"},
            {"objective": span, "part": "path"},
            {"objective": total, "part": "load", "prices": prices},
            {"objective": total, "part": "preemptive", "prices": prices},
            {
                "objective": span,
                "part": "load",
                "prices": prices,
                "head": rng.choice((0, 0, 1, 3)),
                "tail": rng.choice((0, 0, 1, 3)),
            },
        )
    )


def time_indexed(rng: random.Random, instance: Instance) -> dict[str, Any]:
    coarsening, limit, end = rng.choice((1, 1, 2, 3)), rng.choice((0, 5, 60)), rng.randint(0, 30)
    prices = []
    for _ in instance.gpu_types:
        runs, left = [], end
        while left:
            length = rng.randint(1, left)
            runs.append([rng.choice((0, rng.randint(0, 12), rng.randint(0, 4))), length])
            left -= length
        prices.append(runs)
    return {
        "coarsening": coarsening,
        "window_limit": limit,
        "denominator": rng.choice((2, 5)),
        "price_end": end,
        "horizon": required_horizon(cluster_of(instance), coarsening, limit, end),
        "prices": prices,
    }


MAKERS = {
    "midpoint-lp": lambda rng, instance: midpoint(rng, instance, strong=False),
    "midpoint-lp-strong": lambda rng, instance: midpoint(rng, instance, strong=True),
    "convex-qp": convex,
    "combinatorial": combinatorial,
    "time-indexed-lagrangian": time_indexed,
}


def prove(instance: Instance, kind: str, data: Any):
    module, _, name = KINDS[kind].partition(":")
    return getattr(importlib.import_module(module), name)(instance, data)


def stated(instance: Instance, kind: str, data: Any) -> Certificate:
    return Certificate(kind, prove(instance, kind, data).bound, instance.fingerprint, data)
