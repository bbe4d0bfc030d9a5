"""The midpoint LP of the Hare heuristic (solver ``midpoint-lp``): bound and midpoints.

Problem: minimise sum w_n C_n over midpoints that respect chains, releases and the load inequalities with the
number of GPUs as capacity (theory page, section 1).  Guarantee: the LP is at most the optimum, and list scheduling
in the order of any feasible midpoints is within the constants of Theorems 1 and 2.

Method.  Up to ``exact_rounds`` rounds the LP is solved to optimality (cuts over completion times, started from the
weight-splitting Lagrangian); above that, averaged midpoints of the Lagrangian with a certified primal-dual gap.  The
bound is evaluated exactly from a rounded split, so no tolerance of any solver enters it.

Complexity: O(R log R) an iteration; memory O(R), and O(cuts x jobs) with HiGHS.

References
----------
Hare (HPDC 2022; TCC 2024), our reading of public summaries; M. Queyranne (1993); A. Munier, M. Queyranne, A. S. Schulz,
"Approximation bounds for a general class of precedence constrained parallel machine scheduling problems", SIAM J. Comput. 35 (2006).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.certificate import Bound
from hetopt.core.errors import UsageError
from hetopt.core.instance import Instance
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Exclusions, Limits, Observer, Outcome
from hetopt.core.status import Capability, Objective, SolverKind, Status, StopReason
from hetopt.models.clairvoyant.round_terms import Tail, Terms, capacity_of, round_terms, task_work
from hetopt.solvers.relaxations._cutting import Load, exact_densities, solve_cutting
from hetopt.solvers.relaxations._evidence import Family, Split, evaluate_split, midpoint_bound, round_split
from hetopt.solvers.relaxations._preemptive import mean_busy_oracle
from hetopt.solvers.relaxations._splitting import Game, Saddle, solve_saddle

__all__ = ["MidpointLp", "MidpointSolution", "solve_midpoint_lp"]

EXACT_ROUNDS: Final = 2000
_WARM_GAP: Final = 1e-4
_WARM_STEPS: Final = (150, 1500)
_MANY_JOBS: Final = 200
_SOLVED: Final = 2e-7
COMPLETION: Final = frozenset({Objective.TOTAL_WEIGHTED_COMPLETION, Objective.TOTAL_WEIGHTED_FLOW})


@dataclass(frozen=True, eq=False)
class MidpointSolution:
    """Midpoints and a certified bound.

    Attributes
    ----------
    midpoint : (R,) float64
        Midpoint of (every task of) each round, ticks; respects chains and releases of the LP.
    lower_bound
        Exact bound on the total weighted completion time, proved by ``split``.
    primal
        Value of the midpoints in the LP, in floating point: the LP lies between the two.
    method
        ``"cutting-plane"`` (solved to 1e-9 by cuts) or ``"averaged"`` (Lagrangian; gap as stated).
    iterations
        Lagrangian steps and LPs solved.
    split, terms
        The evidence, and the numbers that it refers to.
    optimal
        Whether the LP is solved: lower_bound and primal agree to 1e-6 relative (2e-7 for averaged midpoints), and every
        load inequality holds to 1e-9.
    """

    midpoint: NDArray[np.float64]
    lower_bound: Fraction
    primal: float
    method: str
    iterations: int
    split: Split
    terms: Terms
    optimal: bool
    stop_reason: StopReason

    @property
    def gap(self) -> float:
        """Relative distance of the bound and the value of the midpoints."""
        return _gap(self.lower_bound, self.primal)


class Clock:
    """Remembers why a run has to end."""

    def __init__(self, limits: Limits | None, observer: Observer | None, reserve: float = 0.0) -> None:
        self.limits, self.observer = limits or Limits(), observer
        if self.limits.time is not None:
            # seconds kept for the exact evaluation at the end
            self.limits = replace(self.limits, time=max(0.7 * self.limits.time, self.limits.time - reserve))
        self._start = time.perf_counter()
        self.reason: StopReason | None = None

    def used(self) -> float:
        """Seconds since the start of the run."""
        own = time.perf_counter() - self._start
        return own if self.observer is None else max(own, self.observer.elapsed())

    def left(self) -> float | None:
        """Seconds left, None without a limit."""
        return None if self.limits.time is None else max(0.0, self.limits.time - self.used())

    def __call__(self, *_: Any) -> bool:
        if self.observer is not None and self.observer.stop_requested():
            self.reason = StopReason.INTERRUPTED
        elif self.limits.time is not None and self.used() >= self.limits.time:
            self.reason = StopReason.TIME
        return self.reason is not None


def make_game(instance: Instance, terms: Terms, work: NDArray[np.int64], capacity: Fraction) -> Game:
    """Floating-point data; ``work`` (R,) is P_g, in the units of ``capacity``."""
    a = instance.arrays
    return Game(
        work=work.astype(np.float64) / float(capacity),
        tail=terms.tail_ticks,
        path=terms.path.astype(np.float64),
        weight=a.weight.astype(np.float64),
        job=a.round_job,
        start=a.round_start[:-1],
    )


def densities(game: Game, state: Saddle, work: NDArray[np.int64]) -> NDArray[np.float64]:
    """Weight per unit of P_g, (R,)."""
    out: NDArray[np.float64] = game.weight[game.job] * state.share / work
    return out


def forward(instance: Instance, terms: Terms, midpoint: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least midpoints above the given ones that respect releases and chains, (R,).

    Measured from where it would be if its job never waited, a midpoint may not fall along its job (and not below 0): a
    running maximum within each job, by doubling the distance looked back.
    """
    a = instance.arrays
    alone = terms.head + terms.length - (terms.tail_ticks - terms.later)
    lag = np.maximum(midpoint - alone, 0.0)
    rounds = np.arange(a.num_rounds) - a.round_start[a.round_job]
    back, longest = 1, int(rounds.max())
    while back <= longest:
        lag[back:] = np.where(rounds[back:] >= back, np.maximum(lag[back:], lag[:-back]), lag[back:])
        back *= 2
    out: NDArray[np.float64] = alone + lag
    return out


def _gap(value: Fraction, primal: float) -> float:
    return max(0.0, 1.0 - float(value) / primal) if primal else 0.0


def solve_midpoint_lp(
    instance: Instance,
    *,
    release: bool = False,
    prices: tuple[int, ...] | None = None,
    tail: Tail | str = Tail.BASE,
    speed: bool | None = None,
    tolerance: float = 1e-4,
    max_iterations: int = 5000,
    exact_rounds: int = EXACT_ROUNDS,
    limits: Limits | None = None,
    observer: Observer | None = None,
    start: NDArray[np.float64] | None = None,
) -> MidpointSolution:
    """Solve the midpoint LP, or a strengthened form of it.

    Parameters
    ----------
    instance
        The instance.
    release
        Release-strengthened load inequalities (S5): no work of a round before its head.  Always "averaged".
    prices
        Positive price of each GPU type (S3); ``None``: all 1.
    tail
        Lengths and ends: of the LP as published (base), S1 (chain), or S6 and S7 (round).
    speed
        Capacity V instead of the number of GPUs; default: only when prices are given.
    tolerance
        Relative gap at which "averaged" ends.
    max_iterations
        Lagrangian steps at most; ``limits.work`` lowers it.
    exact_rounds
        Instances with at most so many rounds are solved to optimality.
    limits, observer
        Time, work, and the wish to stop.
    start : (R,) float64
        Shares of the jobs' weights to begin with.

    Returns
    -------
    Midpoints are ``C_n - tail_g`` of optimal completion times ("cutting-plane"), or averages moved up to respect the chains.
    """
    clock = Clock(limits, observer, (6e-6 if release else 2e-6) * instance.num_rounds)
    speed = prices is not None if speed is None else speed
    price = (1,) * len(instance.gpu_types) if prices is None else prices
    if not speed and any(p != 1 for p in price):
        raise UsageError("prices other than 1 go with the speed capacity")
    terms = round_terms(instance, Tail(tail))
    a = instance.arrays
    per_task = task_work(instance, price)
    work = a.scale * per_task
    capacity = capacity_of(instance, per_task) if speed else Fraction(a.num_gpus)
    game = make_game(instance, terms, work, capacity)
    exact = not release and a.num_rounds <= exact_rounds
    # with many jobs the LPs are slow, and a closed gap is good enough
    solved = _SOLVED if a.num_jobs > _MANY_JOBS else 1e-12
    most = max_iterations if clock.limits.work is None else max(1, min(max_iterations, clock.limits.work))
    state = solve_saddle(
        game,
        tolerance=_WARM_GAP if exact else tolerance,
        max_iterations=min(most, _WARM_STEPS[a.num_jobs > _MANY_JOBS]) if exact else most,
        stop=clock,
        oracle=mean_busy_oracle(game.work, terms.head) if release else None,
        start=start,
    )

    def rounded(density: NDArray[np.float64]) -> tuple[Split, Fraction]:
        split = round_split(instance, [(price, speed, release, density)])
        return split, evaluate_split(instance, terms, split)

    split, value = rounded(densities(game, state, work))
    midpoint, primal, method, steps = state.midpoint, state.upper, "averaged", state.iterations
    if exact and _gap(value, primal) > solved and not clock() and steps < most:
        cut = solve_cutting(
            game, [Load(game.work)], state.midpoint, stop=clock, left=clock.left, most_rounds=min(2000, most - steps)
        )
        steps += cut.rounds
        better, its_value = rounded(cut.densities[0] / float(capacity))
        if its_value > value:
            split, value = better, its_value
        if cut.upper <= primal:
            primal, midpoint = cut.upper, cut.completion[game.job] - game.tail
        if cut.optimal:
            method = "cutting-plane"
            sharp = _sharpened(instance, terms, work, cut.active, cut.completion, price, speed)
            if sharp is not None and sharp[1] >= value:
                split, value = sharp
    midpoint = forward(instance, terms, midpoint)
    gap = _gap(value, primal)
    # averaged midpoints satisfy every load inequality, so a closed gap is optimality, too
    optimal = gap <= (1e-6 if method == "cutting-plane" else _SOLVED)
    if clock.reason is not None:
        reason = clock.reason
    elif gap <= tolerance or optimal:
        reason = StopReason.GAP
    else:
        reason = StopReason.WORK if steps >= most else StopReason.EXHAUSTED
    return MidpointSolution(midpoint, value, primal, method, steps, split, terms, optimal, reason)


def _sharpened(
    instance: Instance,
    terms: Terms,
    work: NDArray[np.int64],
    active: tuple[NDArray[np.int64], ...],
    completion: NDArray[np.float64],
    prices: tuple[int, ...],
    speed: bool,
) -> tuple[Split, Fraction] | None:
    """The exact optimal dual, where the active cuts determine it and its numbers stay short."""
    a = instance.arrays
    tight = (completion <= terms.path * (1 + 1e-9) + 1e-9).tolist()
    density = exact_densities(active, work.tolist(), a.round_job.tolist(), a.weight.tolist(), tight)
    if density is None:
        return None
    common = math.lcm(*{x.denominator for x in density})
    if common.bit_length() > 256:
        return None
    whole = [int(x * common) for x in density]
    spent = [0] * a.num_jobs
    for n, p, d in zip(a.round_job.tolist(), work.tolist(), whole, strict=True):
        spent[n] += p * d
    if any(s > int(w) * common for s, w in zip(spent, a.weight.tolist(), strict=True)):
        return None
    split = Split(common, (Family(prices, speed, False, np.array(whole, dtype=object)),))
    return split, evaluate_split(instance, terms, split)


@dataclass(frozen=True)
class MidpointLp:
    """Solver ``midpoint-lp``.

    Parameters
    ----------
    release
        Release-strengthened load inequalities.
    tolerance
        Certified relative gap at which instances above ``exact_rounds`` rounds end.
    max_iterations
        Steps at most (the unit of the work limit: Lagrangian steps and LPs).
    exact_rounds
        Up to so many rounds the LP is solved to optimality.
    """

    name: ClassVar[str] = "midpoint-lp"
    kind: ClassVar[SolverKind] = SolverKind.RELAXATION
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.LOWER_BOUND, Capability.CERTIFICATE, Capability.DETERMINISTIC, Capability.ANYTIME}
    )
    objectives: ClassVar[frozenset[Objective]] = COMPLETION

    release: bool = False
    tolerance: float = 1e-4
    max_iterations: int = 5000
    exact_rounds: int = EXACT_ROUNDS

    def __post_init__(self) -> None:
        check_steps(self.tolerance, self.max_iterations)
        if self.exact_rounds < 0:
            raise ValueError(f"exact_rounds {self.exact_rounds}: a whole number >= 0 is needed")

    def solve(
        self,
        problem: Instance,
        *,
        objective: Objective = Objective.TOTAL_WEIGHTED_COMPLETION,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        seed: int = 0,
        incumbent: Schedule | None = None,
        bound: Bound | None = None,
        exclusions: Exclusions | None = None,
        observer: Observer | None = None,
    ) -> Outcome:
        """Bound and midpoints (``extra``: ``midpoint``, ``primal``, ``method``)."""
        found = solve_midpoint_lp(
            problem,
            release=self.release,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            exact_rounds=self.exact_rounds,
            limits=limits,
            observer=observer,
        )
        own = midpoint_bound(problem, found.terms, found.split, self.name, objective, found.lower_bound)
        return Outcome(
            status=Status.UNKNOWN,
            stop_reason=found.stop_reason,
            bound=own,
            work=found.iterations,
            message=describe(found),
            extra={
                "midpoint": found.midpoint,
                "primal": found.primal,
                "method": found.method,
                "optimal": found.optimal,
            },
        )


def check_steps(tolerance: float, max_iterations: int) -> None:
    """Refuse parameters that make no sense, in one line."""
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance {tolerance}: a number in [0, 1) is needed")
    if max_iterations < 1:
        raise ValueError(f"max_iterations {max_iterations}: a whole number >= 1 is needed")


def describe(found: MidpointSolution) -> str:
    """One line about how the midpoints were found."""
    if found.optimal:
        how = "cutting planes" if found.method == "cutting-plane" else "averaged midpoints"
        return f"midpoint LP solved to optimality ({how}, {found.iterations} steps)"
    return f"averaged midpoints, {found.iterations} steps, certified gap to the LP {max(found.gap, 0.0):.2g}"
