"""``fft-fast``: the per-round cost problem solved exactly by prices, a reduced-cost core and a proof.

1. U*, the most GPUs usable (:mod:`~hetopt.solvers.rounds.usage`).
2. Prices: coordinate ascent on the K-dimensional Lagrangian dual, finished by a small linear
   programme (:mod:`~hetopt.solvers.rounds.prices`); their value is the LP bound.
3. Core: with prices known, an option whose reduced cost exceeds (upper bound - lower bound) is in no better
   allocation.  An integer programme over the options that are left (:mod:`~hetopt.solvers.rounds.core`),
   first with a guess of the width, then with the width that the best allocation found demands.
4. On request a certificate (kind ``fft-round``): a branch and bound of our own (:mod:`~hetopt.solvers.rounds.branch`) with the optimum
   known, whose tree with prices at its leaves anybody can check.

Guarantee: exact (to 1e-9, relatively) on the word of HiGHS for the core; with a certificate the bound is what that proves, on
nobody's word.  Complexity: O(K n log n) a sweep of the prices; the core is exponential in the worst case.
The dual-price core idea is that of solver studies of multiple-choice knapsacks (Pisinger, EJOR 83, 1995); this
combination for FFT rounds is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from hetopt.solvers.rounds.branch import branch_and_bound
from hetopt.solvers.rounds.core import solve_core
from hetopt.solvers.rounds.prices import Market, lagrangian, margins, optimal_prices, reduced_costs
from hetopt.solvers.rounds.usage import Usage, most_gpus

__all__ = ["FftFast"]

_RELATIVE = 1e-9
_LEAP = 8
"""The core may grow so much at once to the width that the best allocation demands; beyond that it doubles."""


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
    certificate_nodes
        Nodes of the certificate's tree, at most; an unfinished tree proves less.
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
    core_jobs: int = 160
    prices: tuple[float, ...] = ()
    certify: bool = False
    certificate_nodes: int = 4000

    def __post_init__(self) -> None:
        if not 0 <= self.gap < 1:
            raise UsageError(f"gap {self.gap}: a relative gap is at least 0 and below 1")
        if self.core_jobs < 1:
            raise UsageError(f"core_jobs {self.core_jobs}: at least one job is needed")
        if self.certificate_nodes < 1:
            raise UsageError(f"certificate_nodes {self.certificate_nodes}: at least one node is needed")
        object.__setattr__(self, "prices", tuple(float(p) for p in self.prices))
        if not np.isfinite(self.prices).all():
            raise UsageError(f"prices {self.prices}: finite numbers are needed")

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

        def stopped() -> bool:
            late = limits.time is not None and observer.elapsed() >= limits.time
            return late or observer.stop_requested()

        def left() -> float | None:
            return None if limits.time is None else limits.time - observer.elapsed()

        prices, value = optimal_prices(market, start, stopped=stopped)
        option = _start_allocation(market, usage, active, incumbent, rule)
        tolerance = _tolerance(market, option, value)
        found = self._search(market, prices, _relative_value(market, prices, option), value, stopped, left, limits.work)
        if found.option is not None:
            option = found.option
            tolerance = _tolerance(market, option, value)
        chosen: list[int | None] = [None] * len(problem.jobs)
        for position, pick in zip(active.tolist(), option.tolist(), strict=True):
            chosen[position] = pick if pick < types else None
        absolute = value + found.bound
        safe = Fraction(absolute) - Fraction(tolerance) / 4
        status = Status.OPTIMAL if found.proved and self.gap == 0 else Status.FEASIBLE
        if found.proved:
            stop = StopReason.PROVED if self.gap == 0 else StopReason.GAP
        elif observer.stop_requested():
            stop = StopReason.INTERRUPTED
        else:
            stop = StopReason.TIME if stopped() else StopReason.WORK
        notes = []
        if rule is WorkConservation.MOST_GPUS and usage.cut is None:
            notes.append(f"that no allocation uses more than {usage.value} GPUs rests on the word of HiGHS")
        certificate = None
        unproved = rule is WorkConservation.MOST_GPUS and usage.cut is None
        if unproved and self.certify:
            notes.append("so there is no certificate")
        if self.certify and not unproved:
            from hetopt.solvers.rounds.evidence import build_certificate

            core = np.flatnonzero(margins(reduced_costs(market, prices)) <= found.bound)
            tree = None
            if found.bound > tolerance:
                tree = branch_and_bound(
                    market,
                    prices,
                    core,
                    found.bound,
                    cutoff=found.bound + tolerance / 16,
                    tolerance=tolerance / 8,
                    node_limit=self.certificate_nodes,
                    stopped=stopped,
                )
            certificate = build_certificate(problem, cost, rule, usage, market, active, prices, tree, safe)
            if certificate.bound < safe - Fraction(tolerance) / 2:
                notes.append(
                    f"the certificate proves {float(certificate.bound)!r}; the bound {float(safe)!r} rests on the word of HiGHS"
                )
                safe = certificate.bound
                if status is Status.OPTIMAL:
                    status, stop = Status.FEASIBLE, StopReason.WORK
        return RoundOutcome(
            status=status,
            stop_reason=stop,
            gpu_type=tuple(chosen),
            bound=safe if certificate is None else certificate.bound,
            certificate=certificate,
            work=found.nodes,
            message="; ".join(notes),
            extra={"prices": tuple(prices.tolist()), "lp_bound": value, "most_gpus": usage.value, "nodes": found.nodes},
        )

    def _search(
        self,
        market: Market,
        prices: NDArray[np.float64],
        known: float,
        value: float,
        stopped: Callable[[], bool],
        left: Callable[[], float | None],
        node_limit: int | None,
    ) -> _Found:
        """Grow the core until it holds every option that a better allocation could use.

        Costs are relative to the Lagrangian ``value`` of ``prices``; ``known`` is that of the allocation at hand.
        """
        options = reduced_costs(market, prices)
        gap = np.sort(margins(options))
        gap = gap[: int(np.searchsorted(gap, np.inf))]
        best, found, nodes, lower = known, None, 0, 0.0

        def closed() -> bool:
            scale = abs(value + best) if np.isfinite(best) else 0.0
            return best - lower <= max(self.gap * scale, _RELATIVE / 4 * scale, 1e-13 * abs(value))

        if not len(gap) or closed():  # nothing to decide
            return _Found(None, True, min(known, max(0.0, lower)) if len(gap) else known, 0)
        options -= options.min(axis=0)
        largest = float(options[np.isfinite(options)].max(initial=0.0))
        size = min(self.core_jobs, len(gap))
        width = float(gap[size - 1])
        least = 1e-12 * max(abs(value), abs(value + best))
        while True:
            width = max(min(width, best), least)
            size = int(np.searchsorted(gap, width, side="right"))
            scale = abs(value + best) if found is not None else abs(value)
            answer = solve_core(
                market,
                prices,
                width,
                unit=_RELATIVE * max(scale, 1e-3 * abs(value), width, 1e-300),
                stop_gap=self.gap * scale * 0.5,
                seconds=left(),
                node_limit=None if node_limit is None else max(0, node_limit - nodes),
                stopped=stopped,
                start=found,
            )
            nodes += answer.nodes
            if answer.option is not None:
                reached = _relative_value(market, prices, answer.option)
                if reached < best:
                    best, found = reached, answer.option
            covered = width >= largest
            lower = max(lower, min(answer.bound, np.inf if covered else width, best))
            if closed():
                return _Found(found, True, lower, nodes)
            if not answer.complete or stopped() or (node_limit is not None and nodes >= node_limit):
                return _Found(found, False, lower, nodes)
            if covered or width >= best:  # HiGHS has solved all that matters: what is left is its rounding
                return _Found(found, True, best, nodes)
            enough = best - 0.999 * self.gap * abs(value + best) if np.isfinite(best) else np.inf
            more = int(np.searchsorted(gap, enough, side="right")) if np.isfinite(best) else len(gap)
            following = float(gap[min(2 * size, len(gap) - 1)])
            width = enough if more <= _LEAP * size else max(following, 2.0 * width)
            if size == len(gap):
                width = max(width, min(best, largest))


@dataclass(frozen=True, eq=False)
class _Found:
    """Outcome of the search; ``bound`` is relative to the Lagrangian value."""

    option: NDArray[np.int64] | None
    proved: bool
    bound: float
    nodes: int


def _tolerance(market: Market, option: NDArray[np.int64], value: float) -> float:
    """1e-9 of an allocation's cost, or 1e-12 of its parts where they cancel; see ``optimality_tolerance``."""
    padded = np.vstack([market.cost, np.zeros(market.jobs)])
    parts = padded[option, np.arange(market.jobs)]
    return max(_RELATIVE * abs(float(parts.sum())), 1e-12 * float(np.abs(parts).sum()), 1e-13 * abs(value))


def _market(
    problem: RoundProblem, cost: CostModel, rule: WorkConservation, usage: Usage, active: NDArray[np.int64]
) -> Market:
    arrays = problem.arrays
    terms = problem.cost_terms(cost)
    total = terms["jct"] + terms["migration"] + terms["fairness"]
    matrix = np.where(arrays.allowed, total, np.inf)[active].T.copy()
    demand = arrays.demand[active].astype(np.float64)
    idle = None if rule is WorkConservation.NONE else float(int(usage.room.sum()) - usage.value)
    must_run = rule is WorkConservation.MOST_GPUS and usage.value == int(arrays.demand[active].sum())
    return Market(matrix, demand, usage.room.astype(np.float64), idle, must_run)


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
