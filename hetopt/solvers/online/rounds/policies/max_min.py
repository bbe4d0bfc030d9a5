r"""Max-min fairness over shares of time (Gavel's least-attained-service policies; Narayanan et al., OSDI 2020).

.. math:: \max_{x \in X} \min_i \frac{z_i}{w_i} \sum_j \frac{T_{ij}}{T_i^{prop}} x_{ij}

(heterogeneity-aware), the same with T = 1 and no normaliser (agnostic), and water filling: raise
all jobs together, fix those that cannot rise further, and go on with the rest (lexicographic max-min).

Which of many optimal x is taken matters once shares become rounds: see
:class:`~hetopt.solvers.online.rounds.policies.linear.TieBreak`.  Guarantee: the optimum of the LP.  Complexity: one or two LPs of n K variables;
water filling up to n of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hetopt.solvers.online.rounds.conversion import SharePolicy
from hetopt.solvers.online.rounds.policies.base import TieBreakPolicy
from hetopt.solvers.online.rounds.policies.linear import (
    Programme,
    TieBreak,
    proportional_throughput,
    solve_centre,
    solve_linear,
    tidy,
    variables,
)
from hetopt.solvers.online.rounds.state import RoundState

__all__ = [
    "MaxMinFairness",
    "MaxMinFairnessPerf",
    "MaxMinFairnessWaterFilling",
    "max_min_level",
    "max_min_shares",
    "water_filling_levels",
]

Floats = NDArray[np.float64]
_SLACK = 1e-9


def _coefficients(
    rate: Floats, count: NDArray[np.int64], demand: NDArray[np.int64], weight: Floats, perf: bool
) -> Floats:
    runnable = rate > 0
    if perf:
        largest = rate.max(axis=1, keepdims=True)
        scaled = rate / largest
        value = scaled / proportional_throughput(scaled, count)[:, None]
    else:
        value = runnable.astype(np.float64)
    return tidy(np.where(runnable, value * (demand / weight)[:, None], 0.0))


def _level_rows(
    programme: Programme, coefficient: Floats, floors: Floats, free: NDArray[np.bool_]
) -> tuple[Any, Floats]:
    """Rows: capacity and time; and for each job, level >= the common one (free) or >= its floor."""
    from scipy import sparse

    levels = programme.by_job(coefficient)
    common = sparse.csr_matrix(free.astype(np.float64)[:, None])
    empty = sparse.csr_matrix((programme.rows.shape[0], 1))
    rows = sparse.vstack([sparse.hstack([programme.rows, empty]), sparse.hstack([-levels, common])]).tocsr()
    return rows, np.concatenate([programme.limits, -floors])


def max_min_level(programme: Programme, coefficient: Floats) -> tuple[float, Floats]:
    """The max-min value and an optimal vertex."""
    n = programme.shape[0]
    rows, limits = _level_rows(programme, coefficient, np.zeros(n), np.ones(n, dtype=np.bool_))
    cost = np.zeros(rows.shape[1])
    cost[-1] = -1.0
    y = solve_linear(cost, rows, limits, what="max-min fairness")
    return float(y[-1]), y[:-1]


def max_min_shares(
    rate: Floats,
    count: NDArray[np.int64],
    demand: NDArray[np.int64],
    weight: Floats,
    *,
    perf: bool,
    tie_break: TieBreak = TieBreak.CENTRE,
) -> tuple[float, Floats]:
    """The max-min value and the shares, (n, K) float64; see the module."""
    programme = variables(rate, count, demand)
    coefficient = _coefficients(rate, count, demand, weight, perf)
    level, x = max_min_level(programme, coefficient)
    n = programme.shape[0]
    if tie_break is TieBreak.CENTRE:
        rows, limits = _level_rows(programme, coefficient, np.zeros(n), np.ones(n, dtype=np.bool_))
        cost = np.zeros(rows.shape[1])
        cost[-1] = -1.0
        x = solve_centre(cost, rows, limits, what="max-min fairness")[:-1]
    elif tie_break is TieBreak.MOST:
        floors = np.full(n, level * (1 - _SLACK))
        rows, limits = _level_rows(programme, coefficient, floors, np.zeros(n, dtype=np.bool_))
        cost = np.append(-coefficient[programme.job, programme.kind], 0.0)
        x = solve_linear(cost, rows, limits, upper=np.append(np.ones(len(x)), 0.0), what="max-min fairness")[:-1]
    return level, programme.matrix(x)


def water_filling_levels(
    rate: Floats, count: NDArray[np.int64], demand: NDArray[np.int64], weight: Floats, *, perf: bool = True
) -> tuple[Floats, Floats]:
    """Lexicographic max-min levels (n,) and shares (n, K).

    In each step the common level of the jobs that can still rise is raised as far as possible; then
    those that cannot exceed it while the others keep theirs are fixed.  Which those are is found by
    one LP over all of them (largest sum of rises, each capped): a job that rises is free; the
    others are tried one by one, so that no job is fixed too early.
    """
    n = len(demand)
    programme = variables(rate, count, demand)
    coefficient = _coefficients(rate, count, demand, weight, perf)
    levels, free = np.zeros(n), np.ones(n, dtype=np.bool_)
    x = np.zeros(len(programme.job))
    while free.any():
        floors = np.where(free, 0.0, levels * (1 - _SLACK))
        rows, limits = _level_rows(programme, coefficient, floors, free)
        cost = np.zeros(rows.shape[1])
        cost[-1] = -1.0
        y = solve_linear(cost, rows, limits, what="water filling")
        levels[free] = y[-1]
        x = y[:-1]
        rising = _can_rise(programme, coefficient, levels, free)
        if rising.all() or not (free & ~rising).any():  # numerical noise: the lowest must be fixed
            rising = np.zeros(n, dtype=np.bool_)
        free = free & rising
    return levels, programme.matrix(x)


def _can_rise(programme: Programme, coefficient: Floats, levels: Floats, free: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which free jobs can exceed their level (by more than noise) while nobody falls below theirs."""
    from scipy import sparse

    n = programme.shape[0]
    v = len(programme.job)
    cap = max(1e-3 * float(levels.max()), 1e-9)
    by_job = programme.by_job(coefficient)
    rising = np.zeros(n, dtype=np.bool_)
    waiting = free.copy()
    while waiting.any():
        gain = sparse.diags(waiting.astype(np.float64)).tocsr()
        rows = sparse.vstack(
            [
                sparse.hstack([programme.rows, sparse.csr_matrix((programme.rows.shape[0], n))]),
                sparse.hstack([-by_job, gain]),
            ]
        ).tocsr()
        limits = np.concatenate([programme.limits, -levels * (1 - _SLACK)])
        cost = np.concatenate([np.zeros(v), -waiting.astype(np.float64)])
        upper = np.concatenate([np.ones(v), np.full(n, cap)])
        y = solve_linear(cost, rows, limits, upper=upper, what="water filling")
        found = waiting & (y[v:] > 1e-4 * cap)
        if not found.any():
            return rising
        rising |= found
        waiting &= ~found
    return rising


@dataclass(frozen=True, kw_only=True)
class MaxMinFairness(TieBreakPolicy):
    """Max-min fair shares of time, blind to throughputs (Gavel's agnostic least attained service)."""

    name: ClassVar[str] = "gavel-max-min"
    random_order: ClassVar[bool] = True
    perf: ClassVar[bool] = False

    def shares(self, state: RoundState, memory: Any) -> tuple[Floats, Any]:
        """Optimal shares of the LP."""
        _, x = max_min_shares(
            state.rate, state.count, state.demand, state.weight, perf=self.perf, tie_break=self.tie_break
        )
        return x, None


@dataclass(frozen=True, kw_only=True)
class MaxMinFairnessPerf(MaxMinFairness):
    """Max-min fair normalised throughputs (Gavel's heterogeneity-aware least attained service)."""

    name: ClassVar[str] = "gavel-max-min-perf"
    random_order: ClassVar[bool] = False
    perf: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class MaxMinFairnessWaterFilling(SharePolicy):
    """Max-min fairness filled up level by level, so that no capacity that helps someone is left."""

    name: ClassVar[str] = "gavel-water-filling"

    def shares(self, state: RoundState, memory: Any) -> tuple[Floats, Any]:
        """Lexicographically max-min fair shares."""
        _, x = water_filling_levels(state.rate, state.count, state.demand, state.weight)
        return x, None
