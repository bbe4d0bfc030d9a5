r"""Max-min fairness of a round, certified: shares that maximise the least normalised throughput.

.. math::

    \max \; z \quad\text{s.t.}\quad \sum_i r_{ji} x_{ji} \ge z \;\; (j), \quad \sum_i x_{ji} \le 1 \;\; (j), \quad
    \sum_j d_j x_{ji} \le G_i \;\; (i), \quad x \ge 0,

with the normalised throughput :math:`r_{ji}` (0: the job cannot use the type) of one's choice: Gavel's heterogeneity-aware policy divides
a job's throughput by that on an equal share and by its weight.  Policies of the simulator use this function; cvxpy gives the same value.

Method.  For a target z and prices :math:`p \ge 0` with :math:`\sum_i G_i p_i = 1`, each job buys z as cheaply as it can,
:math:`f_j(z; p) = \min \{\sum_i d_j p_i x_i : \sum_i r_{ji} x_i \ge z, \sum_i x_i \le 1\}`: its best ratio of price to throughput where that
type is fast enough, else a mixture of a slower and a faster type (or of waiting and one).  If :math:`\sum_j f_j(z; p) > 1`, no shares attain z: the root
of that sum in z is an upper bound.  Prices follow multiplicative weights on the use of each type; the average of what the jobs bought,
scaled into the capacities, is a feasible point: the lower bound.  The rows :math:`\sum_i x_{ji} \le 1` are kept throughout.

Guarantee: the relative gap that is returned is certified by the point and the prices (up to rounding of binary64);
:math:`O(\log K / \epsilon^2)` steps in theory, of O(n K) each.  Compiled with numba where it is installed; the plain twin gives the same bytes.

References: S. Arora, E. Hazan, S. Kale, "The multiplicative weights update method", Theory of Computing 8 (2012), section 3.4 (fractional
packing); D. Narayanan et al., "Heterogeneity-aware cluster scheduling policies for deep learning workloads" (Gavel), OSDI 2020, section 4.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import UsageError
from hetopt.solvers._kernels import compiled, numba_usable

__all__ = ["MaxMin", "max_min_shares"]

Floats = NDArray[np.float64]

_PACE = 0.35
"""Pace of the prices relative to the worst-case theory; measured best on rounds of 400 to 4,000 jobs."""


@dataclass(frozen=True, eq=False)
class MaxMin:
    """Shares, and what is proved about them.

    Attributes
    ----------
    shares : (n, K) float64
        Share of the time that a job spends on a type; rows sum to at most 1.
    value
        The least normalised throughput of the shares.
    bound
        No shares have a larger one.
    prices : (K,) float64
        Prices that prove the bound, sum of G p = 1.
    steps
        Steps taken.
    """

    shares: Floats
    value: float
    bound: float
    prices: Floats
    steps: int

    @property
    def gap(self) -> float:
        """(bound - value) / bound; 0 where both are 0."""
        return (self.bound - self.value) / self.bound if self.bound > 0 else 0.0


def max_min_shares(
    rate: Floats,
    demand: NDArray[np.int64],
    count: NDArray[np.int64],
    *,
    gap: float = 1e-3,
    max_steps: int = 200_000,
    prices: Floats | None = None,
) -> MaxMin:
    """Max-min fair shares to a certified relative gap.

    Parameters
    ----------
    rate : (n, K) float64
        Normalised throughput per share, >= 0; 0 where the job cannot use the type.
    demand : (n,) int64
        GPUs that a job holds while it runs, >= 1.
    count : (K,) int64
        GPUs per type.
    gap
        Relative gap to prove.
    max_steps
        Steps at most; the gap reached is in the result.
    prices : (K,) float64
        Prices to start from (those of the round before).

    Raises
    ------
    UsageError
        A rate that is negative or not finite, or a job that can use no type with GPUs (leave it out: the optimum is 0).
    """
    rate = np.array(rate, dtype=np.float64)
    jobs, types = rate.shape
    if not (np.isfinite(rate).all() and (rate >= 0).all()):
        raise UsageError("rates: finite numbers >= 0 are needed (0 where the job cannot use the type)")
    if not 0 < gap < 1:
        raise UsageError(f"gap {gap}: a number above 0 and below 1 is needed")
    rate[:, np.asarray(count) == 0] = 0.0
    if jobs == 0:
        return MaxMin(np.zeros((0, types)), 0.0, 0.0, np.zeros(types), 0)
    top = rate.max(axis=1)
    if not (top > 0).all():
        raise UsageError(f"job {int(np.argmin(top))} can use no type that has GPUs; leave it out")
    gpus = np.asarray(count, dtype=np.float64)
    open_ = gpus > 0
    start = np.where(open_, 1.0, 0.0) if prices is None else np.where(open_, np.maximum(prices, 1e-300), 0.0)
    start = start / float(start @ gpus)
    inverse = np.divide(1.0, rate, out=np.zeros_like(rate), where=rate > 0)
    flat = (rate.ravel(), inverse.ravel(), np.asarray(demand, dtype=np.float64), gpus)
    fast = numba_usable()
    walk = compiled(_walk, _buy) if fast else _walk
    afford = compiled(_afford, _buy) if fast else _afford

    def given(values: Any) -> Any:
        return values if fast else values.tolist()

    rates, inverses, needs, room = (given(a) for a in flat)
    ceiling = float(top.min())
    target = bound = float(afford(rates, inverses, needs, room, given(start), ceiling, jobs, types))
    weights, best, best_prices = np.log(np.maximum(start * gpus, 1e-300)), 0.0, start
    shares = np.zeros((jobs, types))
    steps, length = 0, 16
    while steps < max_steps:
        length = min(length, max_steps - steps)
        bought, use = given(np.zeros(jobs * types)), given(np.zeros(types))
        log, last = given(weights), given(np.zeros(types + 1))
        walk(
            rates,
            inverses,
            needs,
            room,
            log,
            target,
            length,
            _PACE * math.sqrt(math.log(types + 1.0) / length),
            bought,
            use,
            last,
            jobs,
            types,
        )
        steps += length
        x = np.asarray(bought).reshape(jobs, types) / last[types]
        weights, average = np.asarray(log, dtype=np.float64), np.asarray(last, dtype=np.float64)[:types]
        used = np.asarray(demand, dtype=np.float64) @ x
        over = max(1.0, float((used[open_] / gpus[open_]).max()))
        value = float((rate * x).sum(axis=1).min()) / over
        if value > best:
            best, shares = value, x / over
        for p in (average, _prices(weights, gpus)):
            found = float(afford(rates, inverses, needs, room, given(p / float(p @ gpus)), ceiling, jobs, types))
            if found < bound:
                bound, best_prices = found, p / float(p @ gpus)
        if bound - best <= gap * bound:
            break
        target = bound
        length *= 2
    return MaxMin(shares, best, max(bound, best), best_prices, steps)


def _prices(log: Floats, gpus: Floats) -> Floats:
    weight = np.where(gpus > 0, np.exp(log - log.max()), 0.0)
    return np.where(gpus > 0, weight / np.where(gpus > 0, gpus, 1.0), 0.0)


def _buy(
    rates: Any, inverses: Any, j: int, d: float, price: Any, z: float, types: int
) -> tuple[float, int, float, int, float]:
    """Cheapest way for job j to reach z: cost, and up to two (type, share); type -1: none."""
    base = j * types
    best, at = -1.0, -1
    for i in range(types):
        inverse = inverses[base + i]
        if inverse > 0.0:
            ratio = price[i] * inverse
            if at < 0 or ratio < best:
                best, at = ratio, i
    share = z * inverses[base + at]
    if share <= 1.0:
        return best * z * d, at, share, -1, 0.0
    cost, first, second = -1.0, -1, -1
    for b in range(types):  # the faster one
        fast = rates[base + b]
        if fast < z or fast <= 0.0:
            continue
        alone = price[b] * z / fast
        if cost < 0.0 or alone < cost:
            cost, first, second, share = alone, b, -1, z / fast
        for a in range(types):  # mixed with a slower one
            slow = rates[base + a]
            if 0.0 < slow < z and fast > slow:
                part = (z - slow) / (fast - slow)
                mixed = price[b] * part + price[a] * (1.0 - part)
                if mixed < cost:
                    cost, first, second, share = mixed, b, a, part
    other = 1.0 - share if second >= 0 else 0.0
    return cost * d, first, share, second, other


def _afford(
    rates: Any, inverses: Any, needs: Any, room: Any, price: Any, ceiling: float, jobs: int, types: int
) -> float:
    """A number that no z with cost at most 1 exceeds, close to the largest such z <= ceiling.

    The cost is convex in z and 0 at 0: the chord's root is affordable, and a cost t <= 1 at z shows that z / t is such a number.
    """
    low, low_cost, high, high_cost = 0.0, 0.0, ceiling, 0.0
    for j in range(jobs):
        high_cost += _buy(rates, inverses, j, needs[j], price, high, types)[0]
    if high_cost <= 1.0:
        return ceiling
    bound = high
    halve = False
    for _ in range(60):
        guess = 0.5 * (low + high)
        if not halve:
            guess = low + (1.0 - low_cost) * (high - low) / (high_cost - low_cost)
        total = 0.0
        for j in range(jobs):
            total += _buy(rates, inverses, j, needs[j], price, guess, types)[0]
        before = high - low
        if total > 1.0:
            high, high_cost = guess, total
        else:
            low, low_cost = guess, total
            if total > 0.0 and guess / total < bound:
                bound = guess / total
        bound = min(bound, high)
        if bound - low <= 1e-7 * bound:
            break
        halve = high - low > 0.5 * before
    return bound * (1.0 + 1e-12)


def _walk(
    rates: Any,
    inverses: Any,
    needs: Any,
    room: Any,
    log: Any,
    z: float,
    steps: int,
    rate_of_change: float,
    bought: Any,
    use: Any,
    last: Any,
    jobs: int,
    types: int,
) -> None:
    """Steps of multiplicative weights at the target z; ``log`` moves on.

    A step counts with one over its largest load (the width), in what the prices learn as in the averages ``bought`` (n K), of the
    shares, and ``last`` (K + 1), of the prices and of the weights themselves: the averages then keep the guarantee.
    """
    price = [0.0] * types
    kinds, parts = [0] * (2 * jobs), [0.0] * (2 * jobs)
    for _ in range(steps):
        highest = log[0]
        for i in range(types):
            if room[i] > 0.0 and log[i] > highest:
                highest = log[i]
        total = 0.0
        for i in range(types):
            price[i] = math.exp(log[i] - highest) if room[i] > 0.0 else 0.0
            total += price[i]
            use[i] = 0.0
        for i in range(types):
            price[i] = price[i] / (total * room[i]) if room[i] > 0.0 else 0.0
        for j in range(jobs):
            d = needs[j]
            _, first, share, second, other = _buy(rates, inverses, j, d, price, z, types)
            kinds[2 * j], kinds[2 * j + 1] = first, second
            parts[2 * j], parts[2 * j + 1] = share, other
            use[first] += d * share
            if second >= 0:
                use[second] += d * other
        most = 0.0
        for i in range(types):
            if room[i] > 0.0 and use[i] / room[i] > most:
                most = use[i] / room[i]
        weight = 1.0 / most
        last[types] += weight
        for i in range(types):
            last[i] += price[i] * weight
            if room[i] > 0.0:
                log[i] += rate_of_change * (use[i] / room[i]) * weight
        for j in range(jobs):
            bought[j * types + kinds[2 * j]] += parts[2 * j] * weight
            if kinds[2 * j + 1] >= 0:
                bought[j * types + kinds[2 * j + 1]] += parts[2 * j + 1] * weight
