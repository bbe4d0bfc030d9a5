r"""Shares of least total completion time at constant shares (the min-JCT policy in Sia's port of Gavel).

.. math:: \min_{x \in X} \sum_i \Big( t_i + \frac{r_i}{\sum_j T_{ij} x_{ij}} \Big)

Convex and separable in the jobs' speeds: outer approximation by tangents, one LP a step, until the
upper and the lower bound meet.  Guarantee: within ``gap`` (relative) of the optimum, proved by the tangents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import NoSolutionError, UsageError
from hetopt.solvers.online.rounds.conversion import SharePolicy
from hetopt.solvers.online.rounds.policies.linear import solve_linear, tidy, variables
from hetopt.solvers.online.rounds.state import Clairvoyance, RoundState

__all__ = ["MinJct", "min_jct_shares"]

Floats = NDArray[np.float64]
_STEPS = 200


def min_jct_shares(
    rate: Floats, count: NDArray[np.int64], demand: NDArray[np.int64], remaining: Floats, gap: float = 1e-6
) -> tuple[float, float, Floats]:
    """Sum of r_i / speed_i in seconds, a lower bound on the least one, and the shares (n, K)."""
    from scipy import sparse

    programme = variables(rate, count, demand)
    n, v = len(demand), len(programme.job)
    largest = rate.max(axis=1)
    seconds = remaining / largest
    unit = float(seconds.max())
    weight = np.maximum(seconds / unit, 1e-12)
    scaled = tidy(np.where(rate > 0, rate / largest[:, None], 0.0))
    speeds = programme.by_job(scaled)
    floor = float(min(1.0, count.sum() / max(1, int(demand.sum())))) / (4.0 * n)
    points = [np.full(n, p) for p in np.geomspace(floor, 1.0, 12)]
    identity = sparse.identity(n, format="csr")
    cost = np.concatenate([np.zeros(v), weight])
    tangents: list[Any] = []
    limits = [programme.limits]

    def add(at: Floats) -> None:
        # 1/s >= 2/at - s/at^2, scaled by at so that coefficients stay near 1
        tangents.append(sparse.hstack([sparse.diags(-1.0 / at) @ speeds, -sparse.diags(at) @ identity]))
        limits.append(-2.0 * np.ones(n))

    for point in points:
        add(point)
    best, best_x, lower = np.inf, np.zeros(v), 0.0
    for _ in range(_STEPS):
        rows = sparse.vstack([sparse.hstack([programme.rows, sparse.csr_matrix((n + len(count), n))]), *tangents])
        y = solve_linear(cost, rows.tocsr(), np.concatenate(limits), what="min-JCT")
        lower = max(lower, float(cost @ y))
        speed = np.maximum(speeds @ y[:v], floor / 1e3)
        value = float((weight / speed).sum())
        if value < best:
            best, best_x = value, y[:v]
        if best - lower <= gap * best:
            return best * unit, lower * unit, programme.matrix(best_x)
        add(speed)
    raise NoSolutionError(f"min-JCT: the bounds {lower * unit} and {best * unit} did not meet in {_STEPS} steps")


@dataclass(frozen=True, kw_only=True)
class MinJct(SharePolicy):
    """Shares of least sum of completion times, were they kept for ever (knows sizes).

    Parameters
    ----------
    gap
        Relative gap to prove.
    """

    name: ClassVar[str] = "min-jct"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.SIZES

    gap: float = 1e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1e-9 <= self.gap < 1:
            raise UsageError(f"gap {self.gap}: a relative gap from 1e-9 to below 1")

    def shares(self, state: RoundState, memory: Any) -> tuple[Floats, Any]:
        """Shares within the gap of the optimum."""
        _, _, x = min_jct_shares(state.rate, state.count, state.demand, state.remaining, self.gap)
        return x, None
