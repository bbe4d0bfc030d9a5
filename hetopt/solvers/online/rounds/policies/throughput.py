"""Shares of the largest total throughput: maximise the sum of T_ij x_ij over the base polytope (Gavel, OSDI 2020).

Throughputs of different jobs are added as they are, so the answer depends on their units: that is the
policy, not a fault of it; with ``normalized`` each job's are divided by its largest first.
Guarantee: optimal.  Jobs whose throughput is small in number may starve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hetopt.solvers.online.rounds.policies.base import TieBreakPolicy
from hetopt.solvers.online.rounds.policies.linear import TieBreak, solve_centre, solve_linear, variables
from hetopt.solvers.online.rounds.state import RoundState

__all__ = ["MaxSumThroughput", "throughput_shares"]

Floats = NDArray[np.float64]


def throughput_shares(
    rate: Floats, count: NDArray[np.int64], demand: NDArray[np.int64], tie_break: TieBreak = TieBreak.VERTEX
) -> tuple[float, Floats]:
    """Largest sum of throughputs, and the shares (n, K)."""
    programme = variables(rate, count, demand)
    unit = float(rate.max())
    gain = rate[programme.job, programme.kind] / unit
    solve = solve_centre if tie_break is TieBreak.CENTRE else solve_linear
    x = solve(-gain, programme.rows, programme.limits, what="max-sum throughput")
    return float(gain @ x) * unit, programme.matrix(x)


@dataclass(frozen=True, kw_only=True)
class MaxSumThroughput(TieBreakPolicy):
    """Shares of the largest sum of throughputs.

    Parameters
    ----------
    normalized
        Divide each job's throughputs by its largest first.
    """

    name: ClassVar[str] = "gavel-max-throughput"

    normalized: bool = False

    def shares(self, state: RoundState, memory: Any) -> tuple[Floats, Any]:
        """Optimal shares of the LP."""
        rate = state.rate / state.rate.max(axis=1, keepdims=True) if self.normalized else state.rate
        _, x = throughput_shares(rate, state.count, state.demand, self.tie_break)
        return x, None
