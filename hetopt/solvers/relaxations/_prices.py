"""Prices of GPU types for the load inequalities.

With prices pi a task carries at least work_g = min_k pi_k p_gk and the cluster does at most sum_k pi_k G_k units a tick.
The best prices for the *total* load are the dual of the fractional assignment LP (least T such that all tasks fit
within G_k T on every type):

    max over pi >= 0, sum_k G_k pi_k = 1 of  sum_g d_g min_k pi_k p_gk,

concave and piecewise linear in K variables; solved by cutting planes over pi (Kelley), each cut one pass over the
rounds.  Rounded to whole prices, any result is valid; only the quality of the bound depends on it.

References
----------
J. K. Lenstra, D. B. Shmoys, E. Tardos, "Approximation algorithms for scheduling unrelated parallel machines", Mathematical
Programming 46 (1990): the assignment LP; J. E. Kelley, "The cutting-plane method", J. SIAM 8 (1960).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.instance import Instance

__all__ = ["assignment_prices", "single_type_prices", "whole_prices"]

_STEPS: Final = 60
_FINENESS: Final = 1000


def whole_prices(instance: Instance, prices: NDArray[np.float64]) -> tuple[int, ...]:
    """Prices as whole numbers >= 1, as fine as the sizes of the instance allow."""
    a = instance.arrays
    total = float((a.scale * a.processing_time.max(axis=1).astype(np.float64)).sum())
    fineness = max(1.0, min(float(_FINENESS), 2.0**61 / max(1.0, total)))
    scaled = prices / prices.max() * fineness
    return tuple(max(1, round(float(x))) for x in scaled)


def assignment_prices(instance: Instance, weight: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Prices of the fractional assignment LP, (K,), positive, sum of G_k pi_k = 1.

    Parameters
    ----------
    weight : (R,) float64, optional
        How much the work of each round counts; all alike by default.
    """
    from scipy.optimize import linprog

    a = instance.arrays
    count = a.gpu_count.astype(np.float64)
    # identical rounds together
    key = np.concatenate((a.processing_time, a.allowed), axis=1)
    changed = np.concatenate(([True], (key[1:] != key[:-1]).any(axis=1)))
    at = np.flatnonzero(changed)
    tasks = a.scale.astype(np.float64) if weight is None else a.scale * weight
    amount = np.add.reduceat(tasks, at)
    times = np.where(a.allowed[at], a.processing_time[at].astype(np.float64), np.inf)
    prices = np.full(len(count), 1.0 / count.sum())
    best, value = prices, -np.inf
    cuts: list[NDArray[np.float64]] = []
    for _ in range(_STEPS):
        cost = times * prices
        chosen = cost.argmin(axis=1)
        load = np.bincount(chosen, amount * times[np.arange(len(at)), chosen], len(count)).astype(np.float64)
        now = float(load @ prices)
        if now > value:
            best, value = prices, now
        cuts.append(load)
        # max t: t <= load . pi for every cut, sum G pi = 1
        scale = max(float(np.max(cut)) for cut in cuts)
        rows = np.column_stack((-np.array(cuts) / scale, np.ones(len(cuts))))
        equality = np.append(count, 0.0)[None, :]
        solved = linprog(
            np.append(np.zeros(len(count)), -1.0),
            A_ub=rows,
            b_ub=np.zeros(len(cuts)),
            A_eq=equality,
            b_eq=[1.0],
            bounds=[(1e-4 / count.sum(), None)] * len(count) + [(None, None)],
        )
        if solved.x is None or -float(solved.fun or 0.0) * scale <= value * (1 + 1e-3):
            break
        prices = 0.5 * solved.x[:-1] + 0.5 * best  # halfway to the best point: fewer, deeper cuts
    return best


def single_type_prices(instance: Instance) -> list[tuple[int, ...]]:
    """For each type k that every round may use: prices under which work is (nearly) the time on k."""
    a = instance.arrays
    out = []
    for k in range(a.num_types):
        if not a.allowed[:, k].all():
            continue
        here = a.processing_time[:, k : k + 1].astype(np.float64)
        ratio = np.where(a.allowed, here / np.maximum(a.processing_time, 1), 0.0).max(axis=0)
        out.append(whole_prices(instance, np.maximum(ratio, 1e-6)))
    return out
