"""Integer choices of one type per job at least total cost, by the exact solver of FFT rounds.

Several policies choose, each round, at most one type a job within the capacities so that a sum of given
costs is least.  That is the problem of an FFT round with other costs, so ``fft-fast`` solves it; a
:class:`RoundView` gives it the arrays without building and checking a document for each round
(the simulator checks every allocation itself).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import NoSolutionError
from hetopt.core.round_problem import CostModel, RoundArrays, RoundProblem
from hetopt.core.round_solver import RoundOutcome, WorkConservation
from hetopt.core.solver import Limits, NullObserver
from hetopt.solvers.online.rounds.state import RoundState
from hetopt.solvers.rounds.fast import FftFast

__all__ = ["RoundView", "arrays_of", "cheapest", "solve_view"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class RoundView:
    """The part of a :class:`~hetopt.core.round_problem.RoundProblem` that its solver reads.

    Attributes
    ----------
    arrays
        Counts, demands, allowed types, throughputs.
    terms
        Cost terms, each (n, K) float64.
    """

    arrays: RoundArrays
    terms: dict[str, Floats]

    @property
    def jobs(self) -> Sequence[int]:
        """As many as there are jobs."""
        return range(len(self.arrays.demand))

    @property
    def waiting(self) -> tuple[int, ...]:
        """None: the simulator lets no job in that no type can hold."""
        return ()

    def cost_terms(self, model: CostModel | None = None) -> dict[str, Floats]:
        """The terms as they are; the weights are in them."""
        return self.terms


def arrays_of(state: RoundState) -> RoundArrays:
    """Arrays of a state in the units of a round problem (throughputs per round)."""
    allowed = state.rate > 0
    return RoundArrays(state.count, state.demand, allowed, np.where(allowed, state.rate * state.round_seconds, 1.0))


def solve_view(
    view: RoundView,
    rule: WorkConservation,
    *,
    gap: float,
    nodes: int,
    prices: tuple[float, ...] = (),
    seed: int = 0,
    incumbent: Sequence[int | None] | None = None,
) -> RoundOutcome:
    """Solve a view by ``fft-fast`` within a relative gap and a number of nodes; prices of the last round help."""
    outcome = FftFast(gap=gap, prices=prices).solve_round(
        cast(RoundProblem, view),
        cost=CostModel(),
        rule=rule,
        limits=Limits(work=nodes),
        seed=seed,
        incumbent=incumbent,
        observer=NullObserver(),
    )
    if outcome.gpu_type is None:
        raise NoSolutionError(f"fft-fast gave no allocation: {outcome.message}")
    return outcome


def cheapest(
    state: RoundState,
    cost: Floats,
    rule: WorkConservation,
    *,
    gap: float = 1e-9,
    nodes: int = 20_000,
    prices: tuple[float, ...] = (),
) -> tuple[Ints, tuple[float, ...]]:
    """Types of least total cost under a rule, and the prices of the GPU types."""
    nothing = np.zeros_like(cost)
    terms = {"jct": cost, "migration": nothing, "fairness": nothing}
    outcome = solve_view(RoundView(arrays_of(state), terms), rule, gap=gap, nodes=nodes, prices=prices, seed=state.seed)
    assert outcome.gpu_type is not None
    chosen = np.array([-1 if k is None else k for k in outcome.gpu_type], dtype=np.int64)
    extra: dict[str, Any] = outcome.extra
    return chosen, tuple(extra.get("prices", ()))
