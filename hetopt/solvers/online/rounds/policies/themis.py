r"""A Themis-like auction for jobs of fixed demand (after Mahajan et al., NSDI 2020; "-like").

Each round all GPUs are offered to the part 1 - f of the jobs with the largest finish-time ratio rho = T_shared /
T_alone, and the split that maximises the product of 1/rho is taken.  Jobs are rigid: a
bid is "my demand on type k" or nothing, so the product is maximised exactly, as a sum of logarithms
(one type a job, capacities).  rho of an outcome counts this round as it would go and the rest at the rate of
an equal share; T_alone likewise from the start.  What is left goes to the other jobs in a
random (seeded) order.  Not modelled: hidden payments, which take a part of a bundle away (a rigid
job cannot use a part).  Gavel's rendering of Themis is ``gavel-ftf-perf``.

Guarantee: each auction is optimal to 1e-9 unless the node limit ran out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import UsageError
from hetopt.core.round_solver import WorkConservation
from hetopt.core.seeds import generator
from hetopt.solvers.online.rounds.fairness import isolated_rate
from hetopt.solvers.online.rounds.policies.market import cheapest
from hetopt.solvers.online.rounds.state import Clairvoyance, RoundState

__all__ = ["ThemisAuction"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class ThemisAuction:
    """Themis-like: an auction each round among the jobs that are worst off (knows sizes).

    Parameters
    ----------
    fairness
        f: the part of the jobs that is left out of the auction, the best off; at least one bids.
    nodes
        Most nodes of the search a round.
    """

    name: ClassVar[str] = "themis-like"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.SIZES

    fairness: float = 0.8
    nodes: int = 20_000

    def __post_init__(self) -> None:
        if not 0 <= self.fairness < 1:
            raise UsageError(f"fairness {self.fairness}: at least 0 and below 1")

    def decide(self, state: RoundState, memory: Any) -> tuple[Ints, Any]:
        """Auction, then the rest at random."""
        prices = tuple(memory or ())
        n, span = len(state), state.round_seconds
        iso = isolated_rate(state.rate, state.count, state.demand, n)
        alone = state.work / iso
        wait = (state.age + span + state.remaining / iso) / alone
        with np.errstate(divide="ignore", invalid="ignore"):
            finishes = state.remaining[:, None] <= state.rate * span
            ends = np.where(
                finishes,
                state.remaining[:, None] / np.where(state.rate > 0, state.rate, 1.0),
                span + np.maximum(state.remaining[:, None] - state.rate * span, 0.0) / iso[:, None],
            )
        gain = np.log(wait)[:, None] - np.log((state.age[:, None] + ends) / alone[:, None])
        bidders = np.argsort(-wait, kind="stable")[: max(1, int(np.ceil((1 - self.fairness) * n - 1e-9)))]
        cost = np.where(state.rate > 0, 1.0, 0.0)  # not bidding: running costs, so the job waits
        cost[bidders] = -np.maximum(gain[bidders], 0.0)
        chosen, prices = cheapest(state, cost, WorkConservation.NONE, nodes=self.nodes, prices=prices)
        on = np.flatnonzero(chosen >= 0)
        used = np.bincount(chosen[on], weights=state.demand[on], minlength=len(state.count)).astype(np.int64)
        left = state.count - used
        for j in generator(state.seed, self.name, str(state.round)).permutation(n).tolist():
            if chosen[j] < 0:
                fits = (state.rate[j] > 0) & (left >= state.demand[j])
                if fits.any():
                    k = int(np.argmax(np.where(fits, state.rate[j], -1.0)))
                    chosen[j] = k
                    left[k] -= state.demand[j]
        return chosen, prices
