r"""Prices of GPU types: the Lagrangian dual of the per-round cost problem, and its LP optimum.

With a price (rent) :math:`\pi_i` per GPU of type i, each job takes its cheapest option

.. math:: L(\pi) = \sum_j \min\{0, \min_i c_{ji} + d_j \pi_i\} - \sum_i \pi_i G_i + S \min_i \pi_i ,

a lower bound on the cost of every allocation that leaves exactly S GPUs unused, whatever the signs
of the prices (the last term: S idle GPUs earn their rent at the cheapest type).  If
every job must run, "0" is dropped from the minimum; with no work-conservation rule the last term is 0 and
prices are >= 0.

Method: coordinate ascent (for one price at a time the best value is where the cumulated demand of
the jobs that want the type, by falling willingness to pay, crosses the capacity: one sort), then
the linear programme restricted to the jobs whose two best options are close, in reduced
costs, until its prices are optimal for all jobs.  Complexity: O(K n log n) a sweep; a basic
solution of the linear programme splits at most K + 1 jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetopt.models._native import load_highspy

__all__ = ["Market", "RestrictedProgramme", "ascend", "lagrangian", "margins", "optimal_prices", "reduced_costs"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Market:
    """A round as the price methods see it: n jobs, K types.

    Attributes
    ----------
    cost : (K, n) float64
        Cost of a job on a type, inf where it may not run.
    demand : (n,) float64
        GPUs per job.
    count : (K,) float64
        GPUs per type that some set of jobs can use (at most what there are).
    idle
        S, of these, GPUs that stay unused; None: any number (no work-conservation rule).
    must_run
        Whether waiting is excluded (every job of the market runs).
    """

    cost: Floats
    demand: Floats
    count: Floats
    idle: float | None
    must_run: bool

    @property
    def types(self) -> int:
        """Number of types K."""
        return len(self.count)

    @property
    def jobs(self) -> int:
        """Number of jobs n."""
        return len(self.demand)


def reduced_costs(market: Market, prices: Floats) -> Floats:
    """Costs c + d pi per option, (K + 1, n); the last row is waiting (0, or inf where it is excluded)."""
    out = np.empty((market.types + 1, market.jobs))
    np.multiply(prices[:, None], market.demand[None, :], out=out[:-1])
    out[:-1] += market.cost
    out[-1] = np.inf if market.must_run else 0.0
    return out


def lagrangian(market: Market, prices: Floats) -> float:
    """L(prices), in floating point."""
    value = float(reduced_costs(market, prices).min(axis=0).sum()) - float(prices @ market.count)
    if market.idle:
        value += market.idle * float(prices.min())
    return value


def ascend(market: Market, start: Floats | None = None, sweeps: int = 12, tolerance: float = 1e-4) -> Floats:
    """Coordinate ascent from ``start`` (zeros); stops when a sweep changes no price by more than ``tolerance``, relatively.

    With no idle GPUs the prices have any sign; otherwise price i is rent_i + common, rent_i >= 0, and
    the common part is chosen so that the demand met equals the GPUs used.
    """
    rent = np.zeros(market.types) if start is None else start.astype(np.float64).copy()
    common = 0.0
    split = market.idle is None or market.idle > 0
    if split and start is not None and market.idle:
        common = float(rent.min())
        rent = rent - common
    target = float(market.count.sum()) - (market.idle or 0.0)
    for _ in range(sweeps):
        before = rent + common
        for i in range(market.types):
            options = reduced_costs(market, rent + common)
            options[i] = np.inf
            other = options.min(axis=0)
            worth = (other - market.cost[i]) / market.demand - common
            crossing = _crossing(worth, market.demand, market.count[i])
            rent[i] = max(crossing, 0.0) if split else crossing
        if market.idle and not market.must_run:
            options = reduced_costs(market, rent)[:-1].min(axis=0)
            common = _crossing(-options / market.demand, market.demand, target)
        change = np.abs(rent + common - before).max(initial=0.0)
        if change <= tolerance * max(1e-300, float(np.abs(rent + common).max(initial=0.0))):
            break
    return rent + common


def _crossing(worth: Floats, demand: Floats, capacity: float) -> float:
    """The price at which the demand of those who would pay more just fits the capacity."""
    usable = np.flatnonzero(worth > -np.inf)
    enough = (
        int(capacity // float(demand.min(initial=np.inf))) + 1 if len(usable) else 0
    )  # so many jobs overfill the type
    if 4 * enough < len(usable):  # no need to sort the rest; ties change which jobs these are, not the price
        values = worth[usable]
        usable = usable[np.argpartition(values, len(values) - enough)[-enough:]]
    order = usable[np.argsort(-worth[usable], kind="stable")]
    met = np.cumsum(demand[order])
    at = int(np.searchsorted(met, capacity, side="right"))
    if at < len(order):
        price = float(worth[order[at]])
        return (
            price if np.isfinite(price) else float(np.nanmax(np.where(np.isfinite(worth), worth, np.nan), initial=0.0))
        )
    finite = worth[order][np.isfinite(worth[order])]
    return float(finite[-1]) if len(finite) else 0.0


class RestrictedProgramme:
    r"""The linear programme over some jobs and options, in reduced costs, kept in one HiGHS object.

    Columns: options of the core jobs, idle GPUs per type, and a shortage and an excess column
    per type at a high penalty, so that every node of a search has a solution and prices.

    .. math:: \min \sum r_{jo} x_{jo},\quad \sum_o x_{jo} = 1,\quad \sum_j d_j x_{ji} + s_i + u_i - e_i = \bar G_i,\quad \sum_i s_i = S .
    """

    def __init__(self, market: Market, prices: Floats, core: NDArray[np.int64], cutoff: float, penalty: float) -> None:
        self.market, self.base, self.core = market, prices, core
        options = reduced_costs(market, prices)
        least = options.min(axis=0)
        self.best = options.argmin(axis=0)
        slack = options - least
        types = market.types
        outside = np.ones(market.jobs, dtype=bool)
        outside[core] = False
        fixed = self.best[outside]
        taken = np.bincount(fixed, weights=market.demand[outside], minlength=types + 1)[:types]
        self.room = market.count - taken
        near = slack[:, core] <= cutoff
        self.col_job, self.col_option = (a.astype(np.int64) for a in np.nonzero(near.T))
        self.col_cost = slack[self.col_option, core[self.col_job]]
        self.num_options = len(self.col_job)
        self._highspy = load_highspy()
        self.highs = self._highspy.Highs()
        for option, setting in (("output_flag", False), ("presolve", "off"), ("solver", "simplex")):
            self.highs.setOptionValue(option, setting)
        self._build(penalty)

    def _build(self, penalty: float) -> None:
        highspy = self._highspy
        market, types, jobs = self.market, self.market.types, len(self.core)
        runs = self.col_option < types
        entries = [1 + int(r) for r in runs]
        idle_row = jobs + types
        has_idle_row = market.idle is not None
        index: list[NDArray[np.int64]] = []
        value: list[Floats] = []
        pair_index = np.stack([self.col_job, jobs + self.col_option], axis=1)
        pair_value = np.stack([np.ones(self.num_options), market.demand[self.core[self.col_job]]], axis=1)
        keep = np.stack([np.ones(self.num_options, dtype=bool), runs], axis=1)
        index.append(pair_index[keep])
        value.append(pair_value[keep])
        for i in range(types):  # idle
            index.append(np.array([jobs + i, idle_row][: 1 + has_idle_row], dtype=np.int64))
            value.append(np.ones(1 + has_idle_row))
        entries += [1 + int(has_idle_row)] * types
        for sign in (1.0, -1.0):
            index.append(jobs + np.arange(types, dtype=np.int64))
            value.append(np.full(types, sign))
            entries += [1] * types
        columns = self.num_options + 3 * types
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = columns, jobs + types + int(has_idle_row)
        idle_cost = self.base - (float(self.base.min()) if market.idle is not None else 0.0)
        lp.col_cost_ = np.concatenate([self.col_cost, idle_cost, np.full(2 * types, penalty)])
        lp.col_lower_ = np.zeros(columns)
        upper = np.full(columns, highspy.kHighsInf)
        if market.idle == 0:
            upper[self.num_options : self.num_options + types] = 0.0
        lp.col_upper_ = upper
        right = np.concatenate([np.ones(jobs), self.room, [market.idle] if market.idle is not None else []])
        lp.row_lower_ = right
        lp.row_upper_ = right
        lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(entries)]).astype(np.int32)
        lp.a_matrix_.index_ = np.concatenate(index).astype(np.int32)
        lp.a_matrix_.value_ = np.concatenate(value)
        self.highs.passModel(lp)
        self._columns = np.arange(self.num_options, dtype=np.int32)
        self._types, self._jobs = types, jobs

    def solve(self, lower: Floats | None = None, upper: Floats | None = None) -> tuple[float, Floats, Floats, bool]:
        """Optimum, option columns, prices (of the whole problem), and whether no penalty is paid."""
        if lower is not None and upper is not None:
            self.highs.changeColsBounds(self.num_options, self._columns, lower, upper)
        self.highs.run()
        if self.highs.getModelStatus() != self._highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(f"the restricted programme ended with {self.highs.getModelStatus()}")
        solution = self.highs.getSolution()
        x = np.asarray(solution.col_value)
        dual = np.asarray(solution.row_dual)[self._jobs : self._jobs + self._types]
        unpaid = bool(x[self.num_options + self._types :].sum() <= 1e-7)
        return float(self.highs.getInfo().objective_function_value), x[: self.num_options], self.base - dual, unpaid


def margins(options: Floats) -> Floats:
    """Difference between the second cheapest and the cheapest option of each job, (n,) float64."""
    if len(options) < 2:
        return np.full(options.shape[1], np.inf)
    two = np.partition(options, 1, axis=0)[:2]
    return np.asarray(two[1] - two[0])


def optimal_prices(
    market: Market,
    start: Floats | None = None,
    *,
    core_size: int = 400,
    stopped: Callable[[], bool] = lambda: False,
) -> tuple[Floats, float]:
    """Prices that maximise the Lagrangian (the LP's dual prices), and its value.

    The restricted programme's value is an upper bound on the LP and the Lagrangian of its
    prices a lower bound; the loop ends when they agree to 1e-10 relatively, or when the core is everything.
    """
    prices = ascend(market, start)
    if market.jobs == 0:
        return prices, lagrangian(market, prices)
    value = lagrangian(market, prices)
    size = min(core_size, market.jobs)
    for _ in range(50):
        if stopped():
            break
        gap = margins(reduced_costs(market, prices))
        core = np.sort(np.argpartition(gap, size - 1)[:size]) if size < market.jobs else np.arange(market.jobs)
        width = float(gap[core][np.isfinite(gap[core])].max(initial=0.0)) or 1.0
        everything = size == market.jobs
        cutoff = np.inf if everything else 2.0 * width
        programme = RestrictedProgramme(market, prices, core, cutoff, penalty=(1e6 if everything else 64.0) * width)
        obtained, _, found, unpaid = programme.solve()
        reached = lagrangian(market, found)
        if market.idle is None:
            reached = reached if float(found.min()) >= 0.0 else -np.inf
        settled = unpaid and reached >= value + obtained - 1e-10 * max(1.0, abs(value))
        if reached > value:
            prices, value = found, reached
        elif not settled:
            if everything:
                break
            size = min(2 * size, market.jobs)
            continue
        if settled:
            break
    return prices, value
