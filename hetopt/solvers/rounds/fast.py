"""``fft-fast``: the per-round cost problem solved exactly by prices, a reduced-cost core and a proof.

1. U*, the most GPUs usable (:mod:`~hetopt.solvers.rounds.usage`).
2. Prices: coordinate ascent on the K-dimensional Lagrangian dual, finished by a small linear
   programme (:mod:`~hetopt.solvers.rounds.prices`); their value is the LP bound.
3. Core: with prices known, an option whose reduced cost exceeds (upper bound - lower bound) is in no better
   allocation.  Branch and bound over the options that are left (:mod:`~hetopt.solvers.rounds.branch`),
   first with a guess of the width, then with the width that the best allocation found demands.

Guarantee: exact (to 1e-9, relatively), with a certificate (kind ``fft-round``: prices and the search tree with prices at
its leaves).  Complexity: O(K n log n) a sweep of the prices; the search is exponential in the worst case.
The dual-price core idea is that of solver studies of multiple-choice knapsacks (Pisinger, EJOR 83, 1995); this
combination for FFT rounds is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import UsageError
from hetopt.core.round_problem import CostModel, RoundProblem
from hetopt.core.round_solver import RoundOutcome, WorkConservation
from hetopt.core.solver import Limits, Observer
from hetopt.core.status import Capability, SolverKind, Status, StopReason
from hetopt.solvers.rounds.branch import SearchResult, branch_and_bound
from hetopt.solvers.rounds.prices import Market, lagrangian, margins, optimal_prices, reduced_costs
from hetopt.solvers.rounds.usage import Usage, most_gpus

__all__ = ["FftFast"]

_RELATIVE = 1e-9


@dataclass(frozen=True)
class FftFast:
    """Exact solver of FFT rounds by dual prices.

    Parameters
    ----------
    gap
        Relative gap to prove before stopping; 0 proves optimality (to 1e-9).
    core_jobs
        Jobs in the first guess of the core.
    prices
        Prices of the last round, one per GPU type, to start from; empty: none.
    certify
        Whether to build the certificate.
    """

    name: ClassVar[str] = "fft-fast"
    kind: ClassVar[SolverKind] = SolverKind.ROUND
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.EXACT,
            Capability.LOWER_BOUND,
            Capability.WARM_START,
            Capability.ANYTIME,
            Capability.DETERMINISTIC,
            Capability.CERTIFICATE,
        }
    )
    rules: ClassVar[frozenset[WorkConservation]] = frozenset({WorkConservation.MOST_GPUS, WorkConservation.NONE})

    gap: float = 0.0
    core_jobs: int = 200
    prices: tuple[float, ...] = ()
    certify: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.gap < 1:
            raise UsageError(f"gap {self.gap}: a relative gap is at least 0 and below 1")
        if self.core_jobs < 1:
            raise UsageError(f"core_jobs {self.core_jobs}: at least one job is needed")
        object.__setattr__(self, "prices", tuple(float(p) for p in self.prices))

    def solve_round(
        self,
        problem: RoundProblem,
        *,
        cost: CostModel,
        rule: WorkConservation,
        limits: Limits,
        seed: int,
        incumbent: Sequence[int | None] | None,
        observer: Observer,
    ) -> RoundOutcome:
        """Solve one round; ``work`` counts nodes of the search, and ``limits.work`` limits them."""
        arrays = problem.arrays
        types = len(arrays.count)
        usage = most_gpus(arrays)
        active = np.flatnonzero(arrays.allowed.any(axis=1))
        market = _market(problem, cost, rule, usage, active)
        start = np.array(self.prices) if len(self.prices) == types else None
        prices, value = optimal_prices(market, start)
        bound_scale = max(1.0, abs(value))

        def stopped() -> bool:
            late = limits.time is not None and observer.elapsed() >= limits.time
            return late or observer.stop_requested()

        option = _start_allocation(market, usage, active, incumbent, rule)
        best = _relative_value(market, prices, option)
        found, proved, bound, nodes, tree = self._search(market, prices, best, bound_scale, stopped, limits.work)
        if found is not None:
            option = found
        chosen: list[int | None] = [None] * len(problem.jobs)
        for position, pick in zip(active.tolist(), option.tolist(), strict=True):
            chosen[position] = pick if pick < types else None
        absolute = value + bound
        safe = Fraction(absolute) - Fraction(_RELATIVE / 4 * max(1.0, abs(absolute)))
        status = Status.OPTIMAL if proved and self.gap == 0 else Status.FEASIBLE
        if proved:
            stop = StopReason.PROVED if self.gap == 0 else StopReason.GAP
        elif observer.stop_requested():
            stop = StopReason.INTERRUPTED
        else:
            stop = StopReason.TIME if stopped() else StopReason.WORK
        certificate = None
        if self.certify:
            from hetopt.solvers.rounds.evidence import build_certificate

            certificate = build_certificate(problem, cost, rule, usage, market, active, prices, tree, safe)
        message = (
            ""
            if usage.cut is not None or rule is WorkConservation.NONE
            else (f"that no allocation uses more than {usage.value} GPUs rests on the word of HiGHS")
        )
        return RoundOutcome(
            status=status,
            stop_reason=stop,
            gpu_type=tuple(chosen),
            bound=safe if certificate is None else certificate.bound,
            certificate=certificate,
            work=nodes,
            message=message,
            extra={"prices": tuple(prices.tolist()), "lp_bound": value, "most_gpus": usage.value},
        )

    def _search(
        self,
        market: Market,
        prices: NDArray[np.float64],
        known: float,
        scale: float,
        stopped: object,
        node_limit: int | None,
    ) -> tuple[NDArray[np.int64] | None, bool, float, int, SearchResult | None]:
        """Grow the core until it holds every option that a better allocation could use.

        Values are relative to the Lagrangian of ``prices``; ``known`` is that of the allocation at hand.
        """
        options = reduced_costs(market, prices)
        gap = margins(options)
        tolerance = _RELATIVE / 8 * scale
        finite = np.sort(gap[np.isfinite(gap)])
        if not len(finite):
            return None, True, known, 0, None
        width = float(finite[min(self.core_jobs, len(finite)) - 1]) * (1 + 1e-9) + tolerance
        largest = float((options - options.min(axis=0))[np.isfinite(options)].max(initial=0.0))
        best, found, nodes = known, None, 0
        result: SearchResult | None = None
        while True:
            width = min(width, max(best, tolerance)) if np.isfinite(best) else width
            core = np.flatnonzero(gap <= width)
            left = None if node_limit is None else max(0, node_limit - nodes)
            trial = 2000 if width < min(best, largest) else None
            budget = trial if left is None else left if trial is None else min(left, trial)
            result = branch_and_bound(
                market,
                prices,
                core,
                width,
                cutoff=min(best, 2.0 * width),
                tolerance=tolerance,
                stop_gap=self.gap * scale,
                node_limit=budget,
                stopped=stopped,  # type: ignore[arg-type]
            )
            nodes += result.nodes
            if result.option is not None:
                best, found = result.value, result.option
            lower = min(result.bound, width) if width < largest else result.bound
            if best - lower <= max(self.gap * scale, tolerance):
                return found, True, min(lower, best), nodes, result
            if stopped() or (node_limit is not None and nodes >= node_limit):  # type: ignore[operator]
                return found, False, max(0.0, min(lower, best)), nodes, result
            if result.option is not None and best > width:
                width = best * (1 + 1e-9) + tolerance
            elif width < best:
                width = min(width * 2.0, max(best, tolerance))
            else:
                return found, True, best, nodes, result


def _market(
    problem: RoundProblem, cost: CostModel, rule: WorkConservation, usage: Usage, active: NDArray[np.int64]
) -> Market:
    arrays = problem.arrays
    terms = problem.cost_terms(cost)
    total = terms["jct"] + terms["migration"] + terms["fairness"]
    matrix = np.where(arrays.allowed, total, np.inf)[active].T.copy()
    demand = arrays.demand[active].astype(np.float64)
    idle = None if rule is WorkConservation.NONE else float(int(arrays.count.sum()) - usage.value)
    must_run = rule is WorkConservation.MOST_GPUS and usage.value == int(arrays.demand[active].sum())
    return Market(matrix, demand, arrays.count.astype(np.float64), idle, must_run)


def _start_allocation(
    market: Market,
    usage: Usage,
    active: NDArray[np.int64],
    incumbent: Sequence[int | None] | None,
    rule: WorkConservation,
) -> NDArray[np.int64]:
    """Options of a first allocation: the warm start where it fits the rule, else one that uses the most GPUs (or none)."""
    types = market.types
    if incumbent is not None:
        given = np.array([types if incumbent[j] is None else incumbent[j] for j in active.tolist()], dtype=np.int64)
        used = np.bincount(given, weights=market.demand, minlength=types + 1)[:types]
        fits = (used <= market.count).all()
        if fits and (rule is WorkConservation.NONE or int(used.sum()) == usage.value):
            return given
    if rule is WorkConservation.NONE:
        return np.full(len(active), types, dtype=np.int64)
    placed = usage.gpu_type[active]
    return np.where(placed < 0, types, placed)


def _relative_value(market: Market, prices: NDArray[np.float64], option: NDArray[np.int64]) -> float:
    """Cost of an allocation above the Lagrangian value of the prices."""
    padded = np.vstack([market.cost, np.zeros(market.jobs)])
    return float(padded[option, np.arange(market.jobs)].sum()) - lagrangian(market, prices)
