r"""Paired comparisons: how much better one solver is than another on the same problems, with a confidence interval.

For problem i the pair gives the ratio r_i = other_i / mine_i (above 1: mine is better where less is better), the seeds of a
problem being averaged first, since they are not independent of it.  Reported is the geometric mean with
a percentile bootstrap interval over problems: B resamples, seeded.

References
----------
Efron, Tibshirani: An Introduction to the Bootstrap, 1993, chapter 13.  Fleming, Wallace: How not to lie with statistics:
the correct way to summarize benchmark results, CACM 29 (1986) 218-221, for the geometric mean of ratios.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from hetopt.analysis.sweeps.collect import SweepTable
from hetopt.core.seeds import generator

__all__ = ["Interval", "PairedComparison", "bootstrap", "compare_all", "compare_pair", "paired_ratios"]

RESAMPLES: Final = 2000
LEVEL: Final = 0.95


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval; the ends are None for fewer than two values."""

    estimate: float
    low: float | None
    high: float | None
    count: int


@dataclass(frozen=True)
class PairedComparison:
    """One solver against another on one metric, where less is better.

    Attributes
    ----------
    ratio
        Geometric mean of other / mine, with its interval; None without a common problem.
    wins, ties, losses
        Problems on which mine is better, equal, worse.
    smallest, largest
        Extreme ratios.
    left_out
        Problems that only one of the two has a value for.
    """

    metric: str
    mine: str
    other: str
    ratio: Interval | None
    wins: int
    ties: int
    losses: int
    smallest: float | None
    largest: float | None
    left_out: int


def bootstrap(values: Sequence[float], seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL) -> Interval:
    """Geometric mean of positive values with its percentile interval.

    Parameters
    ----------
    values
        At least one, all > 0.
    """
    logs = np.log(np.asarray(values, dtype=np.float64))
    estimate = math.exp(float(logs.mean()))
    if len(logs) < 2:
        return Interval(estimate, None, None, len(logs))
    draws = generator(seed, "bootstrap").integers(0, len(logs), size=(resamples, len(logs)))
    means = logs[draws].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, math.exp(float(low)), math.exp(float(high)), len(logs))


def _by_problem(values: Mapping[tuple[str, int], float]) -> dict[str, float]:
    groups: dict[str, list[float]] = {}
    for (problem, _), value in values.items():
        groups.setdefault(problem, []).append(value)
    return {problem: math.fsum(found) / len(found) for problem, found in groups.items()}


def paired_ratios(table: SweepTable, metric: str, mine: str, other: str) -> tuple[dict[str, float], int]:
    """Ratio other / mine of each problem that both have a positive value for, and how many are left out."""
    a, b = _by_problem(table.values(metric, mine)), _by_problem(table.values(metric, other))
    common = {p: b[p] / a[p] for p in a if p in b and a[p] > 0 and b[p] > 0}
    return common, len(set(a) | set(b)) - len(common)


def compare_pair(table: SweepTable, metric: str, mine: str, other: str, seed: int = 0) -> PairedComparison:
    """Compare two solvers of a table."""
    ratios, left_out = paired_ratios(table, metric, mine, other)
    found = list(ratios.values())
    even = 1e-12
    return PairedComparison(
        metric,
        mine,
        other,
        bootstrap(found, seed) if found else None,
        sum(r > 1 + even for r in found),
        sum(abs(r - 1) <= even for r in found),
        sum(r < 1 - even for r in found),
        min(found, default=None),
        max(found, default=None),
        left_out,
    )


def compare_all(table: SweepTable, metric: str, mine: str | None = None, seed: int = 0) -> list[PairedComparison]:
    """One solver (by default the first that has values) against every other that shares a problem with it."""
    having = [s for s in table.solvers if table.values(metric, s)]
    if mine is None and having:
        mine = having[0]
    return [
        made
        for s in having
        if mine is not None and s != mine and (made := compare_pair(table, metric, mine, s, seed)).ratio
    ]
