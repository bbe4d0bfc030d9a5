r"""Shares of least makespan, by an exact linear programme (Gavel bisects instead; Narayanan et al., OSDI 2020).

.. math:: \min C,\quad \sum_j f_{ij} = 1,\quad \sum_i z_i \frac{r_i}{T_{ij}} f_{ij} \le N_j C,\quad
          \sum_j \frac{r_i}{T_{ij}} f_{ij} \le C,\quad x_{ij} = \frac{r_i}{T_{ij}} f_{ij} / C .

f_ij is the part of the work left of job i that is done on type j.  Guarantee: optimal; C is a lower bound on
the time in which any schedule, preemptive and time-shared, can finish the jobs present.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hetopt.solvers.online.rounds.conversion import SharePolicy
from hetopt.solvers.online.rounds.policies.linear import solve_linear, variables
from hetopt.solvers.online.rounds.state import Clairvoyance, RoundState

__all__ = ["MinMakespan", "makespan_shares"]

Floats = NDArray[np.float64]


def makespan_shares(
    rate: Floats, count: NDArray[np.int64], demand: NDArray[np.int64], remaining: Floats
) -> tuple[float, Floats]:
    """Least C in seconds, and the shares (n, K)."""
    from scipy import sparse

    programme = variables(rate, count, demand)
    job, kind = programme.job, programme.kind
    n, kinds = rate.shape
    v = len(job)
    seconds = (remaining[:, None] / np.where(rate > 0, rate, 1.0))[job, kind]
    unit = float((remaining / rate.max(axis=1)).max())
    scaled = seconds / unit
    rows = sparse.csr_matrix(
        (
            np.concatenate([demand[job] * scaled, scaled, -count.astype(np.float64), -np.ones(n)]),
            (
                np.concatenate([kind, kinds + job, np.arange(kinds + n)]),
                np.concatenate([np.arange(v), np.arange(v), np.full(kinds + n, v)]),
            ),
        ),
        (kinds + n, v + 1),
    )
    whole = sparse.csr_matrix((np.ones(v), (job, np.arange(v))), (n, v + 1))
    cost = np.zeros(v + 1)
    cost[-1] = 1.0
    y = solve_linear(cost, rows, np.zeros(kinds + n), equal=(whole, np.ones(n)), what="least makespan")
    least = float(y[-1])
    return least * unit, programme.matrix(scaled * y[:-1] / least)


@dataclass(frozen=True, kw_only=True)
class MinMakespan(SharePolicy):
    """Shares under which the jobs present all finish soonest (knows sizes)."""

    name: ClassVar[str] = "gavel-makespan"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.SIZES

    def shares(self, state: RoundState, memory: Any) -> tuple[Floats, Any]:
        """Optimal shares of the LP."""
        _, x = makespan_shares(state.rate, state.count, state.demand, state.remaining)
        return x, None
