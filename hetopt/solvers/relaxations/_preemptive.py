"""Preemptive weighted-shortest-processing-time on one machine: the oracle of release-strengthened load inequalities.

The minimum of sum c_g H_g over sum_S P_g H_g >= P(S) (r_min(S) + P(S)/2) for all S is attained by the mean busy times of
the preemptive schedule that always works on the available job of largest c_g / P_g.  O(R log R); the compiled loop and
the plain one make the same operations in the same order and so give the same bytes.

References
----------
M. X. Goemans, M. Queyranne, A. S. Schulz, M. Skutella, Y. Wang, "Single machine scheduling with release dates",
SIAM J. Discrete Math. 15 (2002), Theorem 3.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetopt.solvers._kernels import compiled, numba_usable

__all__ = ["mean_busy_oracle", "mean_busy_times"]

Floats = NDArray[np.float64]


def _sweep(rank: Any, item: Any, by_release: Any, release: Any, left: Any, heap: Any, moment: Any) -> None:
    """Fill ``moment`` with half the integral of d(t^2) of each item; ``heap`` and ``left`` are scratch.

    ``rank[g]`` is the place of g by priority, ``item`` its inverse, ``by_release`` the items by release.  A binary heap of
    ranks, written out.
    """
    count = len(by_release)
    size = 0
    at = 0
    now = 0.0
    while at < count or size > 0:
        if size == 0 and release[by_release[at]] > now:
            now = release[by_release[at]]
        while at < count and release[by_release[at]] <= now:
            g = by_release[at]
            at += 1
            i = size
            size += 1
            value = rank[g]
            while i > 0:
                up = (i - 1) // 2
                if heap[up] <= value:
                    break
                heap[i] = heap[up]
                i = up
            heap[i] = value
        g = item[heap[0]]
        end = now + left[g]
        if at < count and release[by_release[at]] < end:
            stop = release[by_release[at]]
            moment[g] += 0.5 * (stop - now) * (stop + now)
            left[g] = end - stop
            now = stop
        else:
            moment[g] += 0.5 * (end - now) * (end + now)
            left[g] = 0.0
            now = end
            size -= 1
            value = heap[size]
            i = 0
            while True:
                child = 2 * i + 1
                if child >= size:
                    break
                if child + 1 < size and heap[child + 1] < heap[child]:
                    child += 1
                if heap[child] >= value:
                    break
                heap[i] = heap[child]
                i = child
            heap[i] = value


def mean_busy_times(
    priority: Floats, work: Floats, release: Floats, by_release: NDArray[np.int64] | None = None
) -> Floats:
    """Mean busy times of preemptive WSPT, (R,).

    Parameters
    ----------
    priority, work, release : (R,) float64
        Larger priority first; work on a machine of speed 1.
    by_release : (R,) int64
        Order of non-decreasing release, where at hand.
    """
    order = np.argsort(release, kind="stable") if by_release is None else by_release
    item = np.argsort(-priority, kind="stable")
    rank = np.empty_like(item)
    rank[item] = np.arange(len(item))
    moment = np.zeros(len(item))
    if numba_usable():
        compiled(_sweep)(rank, item, order, release, work.copy(), np.zeros(len(item) + 1, np.int64), moment)
        return moment / work
    result = [0.0] * len(item)
    _sweep(
        rank.tolist(),
        item.tolist(),
        order.tolist(),
        release.tolist(),
        work.tolist(),
        [0] * (len(item) + 1),
        result,
    )
    out: Floats = np.array(result) / work
    return out


def mean_busy_oracle(work: Floats, head: NDArray[np.int64]) -> Callable[[Floats], Floats]:
    """The oracle of :func:`hetopt.solvers.relaxations._splitting.solve_saddle` for fixed works and heads."""
    release = head.astype(np.float64)
    by_release = np.argsort(release, kind="stable")
    return lambda priority: mean_busy_times(priority, work, release, by_release)
