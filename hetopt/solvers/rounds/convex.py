"""``fft-convex``: the linear relaxation of a round (HiGHS) or its form with a fairness utility (Clarabel), and a rounding.

Problem: one FFT round.  Formulation and references: :mod:`hetopt.models.rounds.fft_convex`.  Three things come back:

* **bound**: the Lagrangian value of the relaxation's dual prices, evaluated by our own code (:mod:`~hetopt.solvers.rounds.prices`), whatever the
  engine thinks of its accuracy; with a utility, that of the linear relaxation's prices all the same, because only they bound the cost;
* **shares** (``extra["shares"]``): the time-shared allocation itself, and ``extra["rents"]``, what a GPU of each type is worth;
* **allocation**: jobs that have a type to themselves keep it; what the others' shares say is rounded by largest share and cost into what is left.
  Where the rule asks for the most GPUs, the allocation that uses them and agrees most with the shares (GPUs weighted by share) is found by
  the integer programme over the core of ``fft-fast``.

Guarantee: the bound holds; the allocation obeys the rule and has no proved ratio (without a utility at most K + 1 jobs have split shares, so it is
usually within 1e-3).  Complexity: one LP, or one exponential-cone program, of n K variables.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hetopt.core.round_problem import CostModel, RoundProblem
from hetopt.core.round_solver import RoundOutcome, WorkConservation
from hetopt.core.solver import Limits, Observer
from hetopt.core.status import Capability, SolverKind, Status, StopReason
from hetopt.models.rounds.fft_convex import ConvexRound, FftConvex
from hetopt.models.rounds.fft_milp import round_costs
from hetopt.solvers.rounds.core import solve_core
from hetopt.solvers.rounds.prices import Market, lagrangian, margins, optimal_prices, reduced_costs
from hetopt.solvers.rounds.usage import Usage, most_gpus

__all__ = ["FftConvexSolver"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FftConvexSolver:
    """The solver of this module.

    Parameters
    ----------
    fairness
        Weight of the fairness utility; 0: the linear relaxation.
    alpha
        Exponent of the utility: 1 is proportional fairness.
    """

    name: ClassVar[str] = "fft-convex"
    kind: ClassVar[SolverKind] = SolverKind.ROUND
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.LOWER_BOUND, Capability.HEURISTIC, Capability.DETERMINISTIC}
    )
    rules: ClassVar[frozenset[WorkConservation]] = frozenset(WorkConservation)

    fairness: float = 0.0
    alpha: float = 1.0

    def __post_init__(self) -> None:
        FftConvex(self.fairness, self.alpha)

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
        """Solve one round; see :class:`~hetopt.core.round_solver.RoundOutcome`."""
        usage = most_gpus(problem.arrays)

        def left() -> float | None:
            return None if limits.time is None else max(0.0, limits.time - observer.elapsed())

        linear = FftConvex().build(problem, cost, rule, most_gpus=usage.value)
        said = _solve(linear, "HIGHS", left())
        market = _market(problem, round_costs(problem, cost), rule, usage)
        prices, bound = _bound(market, linear.prices(), said == "")
        shares, rents = linear.shares(), linear.rents()[0]
        notes = [said] if said else []
        if self.fairness > 0:
            utility = FftConvex(self.fairness, self.alpha).build(problem, cost, rule, most_gpus=usage.value)
            trouble = _solve(utility, "CLARABEL", left())
            if trouble:
                notes.append(trouble)
            else:
                shares, rents = utility.shares(), utility.rents()[0]
        finished = shares is not None
        if shares is None:
            shares = np.zeros(problem.arrays.allowed.shape)
        chosen = _rounded(problem, cost, rule, usage, shares, left, observer)
        extra: dict[str, Any] = {"shares": shares, "rents": tuple(rents.tolist()), "prices": tuple(prices.tolist())}
        late = limits.time is not None and observer.elapsed() >= limits.time
        stop = StopReason.EXHAUSTED if finished and not late else StopReason.TIME if late else StopReason.ERROR
        if observer.stop_requested():
            stop = StopReason.INTERRUPTED
        return RoundOutcome(Status.FEASIBLE, stop, chosen, bound, message="; ".join(notes), extra=extra)


def _solve(built: ConvexRound, engine: str, seconds: float | None) -> str:
    """Solve in place; returns what went wrong, if anything."""
    if built._x is None:
        return ""
    if seconds is not None and seconds <= 0:
        return f"no time left for {engine}"
    options: dict[str, Any] = {} if seconds is None else {"time_limit": seconds}
    if engine == "HIGHS":
        options["threads"] = 1
    box: dict[str, Exception] = {}

    def work() -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a solution is inaccurate is told by the status
                built.program.solve(solver=engine, **options)
        except Exception as error:  # handed to the caller's thread
            box["error"] = error

    # HiGHS keeps its number of threads per calling thread: a thread of our own never meets another number
    thread = threading.Thread(target=work, name="hetopt-convex", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.05)
    error = box.get("error")
    if error is not None:
        if type(error).__name__ != "SolverError":  # cvxpy's own
            raise error
        return f"{engine} gave up: {' '.join(str(error).split())}"
    status = str(built.program.status)
    return "" if status in ("optimal", "optimal_inaccurate") else f"{engine} says {status}"


def _market(problem: RoundProblem, costs: Floats, rule: WorkConservation, usage: Usage) -> Market:
    a = problem.arrays
    active = np.flatnonzero(a.allowed.any(axis=1))
    matrix = np.where(a.allowed, costs, np.inf)[active].T.copy()
    most = rule is WorkConservation.MOST_GPUS
    idle = float(int(usage.room.sum()) - usage.value) if most else None
    must_run = most and usage.value == int(a.demand[active].sum())
    return Market(matrix, a.demand[active].astype(np.float64), usage.room.astype(np.float64), idle, must_run)


def _bound(market: Market, prices: Floats, solved: bool) -> tuple[Floats, Fraction]:
    """The Lagrangian bound of the prices, less what summation in floating point may be off."""
    if market.idle is None:
        prices = np.maximum(prices, 0.0)
    value = lagrangian(market, prices) if solved else -math.inf
    if not solved:  # no prices from the engine: waiting or the cheapest option for each job
        prices = np.zeros(market.types)
        value = lagrangian(market, prices)
    size = float(np.abs(reduced_costs(market, prices).min(axis=0)).sum() + np.abs(prices) @ market.count)
    return prices, Fraction(value) - Fraction(1e-12 * size)


def _rounded(
    problem: RoundProblem,
    cost: CostModel,
    rule: WorkConservation,
    usage: Usage,
    shares: Floats,
    left: Any,
    observer: Observer,
) -> tuple[int | None, ...]:
    """An allocation that obeys the rule and follows the shares."""
    a = problem.arrays
    costs = round_costs(problem, cost)
    chosen = _by_share(problem, costs, shares, maximal=rule is WorkConservation.MAXIMAL)
    if rule is not WorkConservation.MOST_GPUS:
        return chosen
    used = sum(job.demand for job, i in zip(problem.jobs, chosen, strict=True) if i is not None)
    if used == usage.value:
        return chosen
    # agreement in GPUs first, cost to tell ties apart
    finite = np.where(a.allowed, costs, 0.0)
    span = float(np.abs(finite).max(initial=0.0)) or 1.0
    market = _market(problem, -a.demand[:, None] * shares + 1e-4 * finite / span, rule, usage)
    active = np.flatnonzero(a.allowed.any(axis=1))

    def late() -> bool:
        seconds = left()
        return observer.stop_requested() or (seconds is not None and seconds <= 0)

    prices, _ = optimal_prices(market, stopped=late)
    gap = np.sort(margins(reduced_costs(market, prices)))
    size = min(200, len(gap))
    fallback = tuple(int(i) if i >= 0 else None for i in usage.gpu_type.tolist())
    while size and not late():
        width = float(gap[size - 1]) + 1e-9
        answer = solve_core(
            market, prices, width, unit=1e-6, stop_gap=1e-3 * usage.value, seconds=left(), node_limit=200, stopped=late
        )
        if answer.option is not None:
            out: list[int | None] = [None] * len(problem.jobs)
            for j, o in zip(active.tolist(), answer.option.tolist(), strict=True):
                out[j] = o if o < market.types else None
            return tuple(out)
        if size == len(gap):
            break
        size = min(2 * size, len(gap))
    return fallback


def _by_share(problem: RoundProblem, costs: Floats, shares: Floats, *, maximal: bool) -> tuple[int | None, ...]:
    """Pairs by falling share, then rising cost per GPU, while they fit; with ``maximal`` every job that fits is placed."""
    a = problem.arrays
    job, kind = np.nonzero(a.allowed & ((shares > 1e-6) | maximal))
    order = np.lexsort((job, costs[job, kind] / a.demand[job], -np.round(shares[job, kind], 6)))
    room = a.count.tolist()
    out: list[int | None] = [None] * len(problem.jobs)
    for j, i in zip(job[order].tolist(), kind[order].tolist(), strict=True):
        worth = maximal or shares[j, i] > 0.5 or costs[j, i] < 0
        if out[j] is None and a.demand[j] <= room[i] and worth:
            out[j] = i
            room[i] -= int(a.demand[j])
    return tuple(out)
