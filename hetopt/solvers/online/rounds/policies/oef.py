r"""Optimal efficiency with fairness: two linear programmes (after OEF, Middleware 2024; "-like").

W_l = speed-ups of user l over its slowest type, x_lj = GPUs of type j, sum_l x_lj <= M_j:

* non-cooperative: max sum_l W_l x_l with W_1 x_1 = ... = W_n x_n (strategy-proof);
* cooperative: max sum_l W_l x_l with W_l x_l >= W_l x_k for all l, k (envy-free, sharing incentive).

Written from summaries; they satisfy the properties named there, which tests check, but were not checked
against the paper, hence "-like".  As policies: each job is a user of the GPUs that it needs
(sum_j x_lj <= z_l, ours), and its share of time on type j is x_lj / z_l.  With that cap equal
speed-ups may be unattainable for jobs of different sizes; the non-cooperative programme then
equalises speed-ups per GPU wanted.  Envy rows are added when violated.
Guarantee: optimal LPs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hetopt.solvers.online.rounds.conversion import SharePolicy
from hetopt.solvers.online.rounds.policies.linear import solve_linear, tidy
from hetopt.solvers.online.rounds.state import RoundState

__all__ = ["OefCooperative", "OefNonCooperative", "cooperative", "non_cooperative"]

Floats = NDArray[np.float64]


def _rows(speedup: Floats, gpus: Floats, most: Floats | None) -> tuple[Any, Floats]:
    from scipy import sparse

    n, kinds = speedup.shape
    user, kind = np.divmod(np.arange(n * kinds), kinds)
    capacity = sparse.csr_matrix((np.ones(n * kinds), (kind, np.arange(n * kinds))), (kinds, n * kinds))
    if most is None:
        return capacity, gpus
    own = sparse.csr_matrix((np.ones(n * kinds), (user, np.arange(n * kinds))), (n, n * kinds))
    return sparse.vstack([capacity, own]).tocsr(), np.concatenate([gpus, most])


def non_cooperative(speedup: Floats, gpus: Floats, most: Floats | None = None) -> Floats:
    """GPUs (n, K) of the largest common speed-up.

    Parameters
    ----------
    speedup : (n, K) float64
        W, 0 where a user cannot run.
    gpus : (K,) float64
        M.
    most : (n,) float64
        Most GPUs of each user; speed-ups are then equal per GPU wanted.  None: no limit.
    """
    from scipy import sparse

    n, kinds = speedup.shape
    rows, limits = _rows(speedup, gpus, most)
    v = n * kinds
    scale = np.ones(n) if most is None else most
    equal = sparse.csr_matrix(
        (
            np.concatenate([(speedup / scale[:, None]).ravel(), -np.ones(n)]),
            (
                np.concatenate([np.repeat(np.arange(n), kinds), np.arange(n)]),
                np.concatenate([np.arange(v), np.full(n, v)]),
            ),
        ),
        (n, v + 1),
    )
    rows = sparse.hstack([rows, sparse.csr_matrix((rows.shape[0], 1))]).tocsr()
    cost = np.append(np.zeros(v), -1.0)
    upper = np.append(np.where(speedup > 0, np.inf, 0.0).ravel(), np.inf)
    y = solve_linear(cost, rows, limits, equal=(equal, np.zeros(n)), upper=upper, what="OEF")
    return y[:-1].reshape(n, kinds)


def cooperative(speedup: Floats, gpus: Floats, most: Floats | None = None) -> Floats:
    """GPUs (n, K) of the largest total speed-up without envy (per GPU wanted when ``most`` is given)."""
    from scipy import sparse

    n, kinds = speedup.shape
    base, limits = _rows(speedup, gpus, most)
    v = n * kinds
    scale = np.ones(n) if most is None else most
    upper = np.where(speedup > 0, np.inf, 0.0).ravel()
    rows, bounds = base, limits
    weight = tidy(speedup)
    for _ in range(n * n + 1):
        y = solve_linear(-weight.ravel(), rows, bounds, upper=upper, what="OEF")
        x = y.reshape(n, kinds)
        usable = np.where(speedup > 0, 1.0, 0.0)
        values = weight @ (x / scale[:, None]).T  # values[l, k]: what l makes of k's bundle, per GPU wanted
        own = (weight * usable * x / scale[:, None]).sum(axis=1)
        envy = values - own[:, None]
        pairs = np.argwhere(envy > 1e-9 * (1.0 + own[:, None]))
        if not len(pairs):
            return x
        worst = {int(a): int(b) for a, b in pairs[np.argsort(envy[pairs[:, 0], pairs[:, 1]], kind="stable")].tolist()}
        cuts = np.zeros((len(worst), v))
        for r, (a, b) in enumerate(sorted(worst.items())):
            cuts[r, a * kinds : (a + 1) * kinds] -= weight[a] / scale[a]
            cuts[r, b * kinds : (b + 1) * kinds] += weight[a] / scale[b]
        rows = sparse.vstack([rows, sparse.csr_matrix(cuts)]).tocsr()
        bounds = np.concatenate([bounds, np.zeros(len(worst))])
    return x


def _speedups(state: RoundState) -> Floats:
    allowed = state.rate > 0
    least = np.where(allowed, state.rate, np.inf).min(axis=1, keepdims=True)
    return tidy(np.where(allowed, state.rate / least, 0.0))


@dataclass(frozen=True, kw_only=True)
class OefNonCooperative(SharePolicy):
    """OEF-like, non-cooperative: the largest common speed-up per GPU wanted."""

    name: ClassVar[str] = "oef-noncooperative-like"

    def shares(self, state: RoundState, memory: Any) -> tuple[Floats, Any]:
        """GPUs over demand."""
        most = state.demand.astype(np.float64)
        return non_cooperative(_speedups(state), state.count.astype(np.float64), most) / most[:, None], None


@dataclass(frozen=True, kw_only=True)
class OefCooperative(SharePolicy):
    """OEF-like, cooperative: the largest total speed-up such that no job envies another."""

    name: ClassVar[str] = "oef-cooperative-like"

    def shares(self, state: RoundState, memory: Any) -> tuple[Floats, Any]:
        """GPUs over demand."""
        most = state.demand.astype(np.float64)
        return cooperative(_speedups(state), state.count.astype(np.float64), most) / most[:, None], None
