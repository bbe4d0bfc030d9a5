"""The strengthened midpoint LP (solver ``midpoint-lp-strong``).

The midpoint LP with true midpoints (H = start + p/2) and, on top of it: S1 and S7 (chains and round lengths on the best type),
S6 (ends of rounds with many tasks), S2 and S3 (capacity V, work measured at prices of the GPU types), S4 through the
capacity over the rounds that a family uses, S5 (no work before the head of a round).  All are valid for every schedule, so the
value is a lower bound; the certificate page has the proof in the form that is checked.

Method.  Prices: all alike, and the dual of the fractional assignment LP.  Up to ``exact_rounds`` rounds all families
together by cutting planes over completion times, then multiplicative weights with preemptive WSPT as the oracle; above
that, the better prices after a few steps, the splitting Lagrangian, then multiplicative weights from its split.  The
bound is the best of the exactly evaluated splits.

Guarantee: never below the certified value of its own plain form; no ratio to the optimum better than that of the midpoint LP
is claimed.  Complexity: O(R (K + log R)) a step.

References
----------
Theory page, section 5; M. X. Goemans et al. (2002) for mean busy times; M. Queyranne (1993).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.certificate import Bound
from hetopt.core.instance import Instance
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Exclusions, Limits, Observer, Outcome
from hetopt.core.status import Capability, Objective, SolverKind, Status, StopReason
from hetopt.models.clairvoyant.round_terms import Tail, Terms, capacity_of, round_terms, task_work
from hetopt.solvers.relaxations._cutting import Load, solve_cutting
from hetopt.solvers.relaxations._evidence import Split, evaluate_split, midpoint_bound, round_split
from hetopt.solvers.relaxations._preemptive import mean_busy_oracle
from hetopt.solvers.relaxations._prices import assignment_prices, single_type_prices, whole_prices
from hetopt.solvers.relaxations._splitting import Game, Saddle, solve_saddle
from hetopt.solvers.relaxations.midpoint_lp import COMPLETION, Clock, check_steps, forward, make_game

__all__ = ["MidpointLpStrong", "StrongSolution", "solve_midpoint_lp_strong"]

_TRIAL: Final = 8
_LEAST: Final = 50
"""Steps that are taken however late it is, ..."""
_LEAST_CELLS: Final = 100_000
"""... as long as steps x rounds stay below this: some tens of milliseconds."""


@dataclass(frozen=True, eq=False)
class StrongSolution:
    """A certified bound, and midpoints.

    Attributes
    ----------
    lower_bound
        Exact bound on the total weighted completion time.
    split, terms
        Its evidence.
    midpoint : (R,) float64
        Midpoints of the relaxation, ticks; a key for list scheduling.
    iterations
        Steps and LPs.
    prices
        Price vectors used.
    release
        Whether the best split uses releases.
    """

    lower_bound: Fraction
    split: Split
    terms: Terms
    midpoint: NDArray[np.float64]
    iterations: int
    prices: tuple[tuple[int, ...], ...]
    release: bool
    stop_reason: StopReason


class _Best:
    """Keeps the split of the largest exact value."""

    def __init__(self, instance: Instance, terms: Terms) -> None:
        self.instance, self.terms = instance, terms
        self.value: Fraction | None = None
        self.split = Split(1, ())
        self.release = False

    def offer(self, families: list[tuple[tuple[int, ...], bool, bool, NDArray[np.float64]]]) -> None:
        split = round_split(self.instance, [f for f in families if f[3].any()] or families[:1])
        value = evaluate_split(self.instance, self.terms, split)
        if self.value is None or value > self.value:
            self.value, self.split = value, split
            self.release = any(f.release for f in split.families)


class _Patient:
    """The clock, asked only once a few steps are done: they cost little, and without them the split is of no use."""

    def __init__(self, clock: Clock, num_rounds: int) -> None:
        self.clock, self.least = clock, min(_LEAST, _LEAST_CELLS // max(1, num_rounds))

    def __call__(self, state: Saddle) -> bool:
        return state.iterations >= self.least and self.clock(state)


def _game(instance: Instance, terms: Terms, prices: tuple[int, ...]) -> tuple[Game, float]:
    per_task = task_work(instance, prices)
    capacity = capacity_of(instance, per_task)
    return make_game(instance, terms, instance.arrays.scale * per_task, capacity), float(capacity)


def solve_midpoint_lp_strong(
    instance: Instance,
    *,
    tail: Tail | str = Tail.ROUND,
    priced: bool = True,
    release: bool = True,
    tolerance: float = 1e-3,
    max_iterations: int = 200,
    exact_rounds: int = 500,
    limits: Limits | None = None,
    observer: Observer | None = None,
) -> StrongSolution:
    """Bound by the strengthened midpoint LP.

    Parameters
    ----------
    tail
        Lengths and ends.
    priced
        Use prices of types other than 1.
    release
        Use heads of rounds.
    tolerance
        Relative gap at which the Lagrangian without releases ends.
    max_iterations
        Steps of each Lagrangian at most.
    exact_rounds
        Up to so many rounds cutting planes are used.
    """
    clock = Clock(limits, observer, 1e-5 * instance.num_rounds)
    terms = round_terms(instance, Tail(tail))
    job = instance.arrays.round_job
    best = _Best(instance, terms)
    most = max_iterations if clock.limits.work is None else max(1, min(max_iterations, clock.limits.work))
    patient = _Patient(clock, instance.num_rounds)
    candidates: list[tuple[int, ...]] = [(1,) * len(instance.gpu_types)]
    if priced and not clock() and len(instance.gpu_types) > 1:
        candidates.append(whole_prices(instance, assignment_prices(instance)))
    games = {prices: _game(instance, terms, prices) for prices in candidates}
    trial = {
        prices: solve_saddle(game, tolerance=tolerance, max_iterations=min(_TRIAL, most), stop=patient)
        for prices, (game, _) in games.items()
    }
    chosen = max(games, key=lambda prices: trial[prices].lower)
    game, capacity = games[chosen]
    weight = game.weight[job]

    def family(release: bool, share: NDArray[np.float64]) -> tuple[tuple[int, ...], bool, bool, NDArray[np.float64]]:
        return chosen, True, release, weight * share / (game.work * capacity)

    state = max(
        (trial[chosen], solve_saddle(game, tolerance=tolerance, max_iterations=most, stop=patient)),
        key=lambda known: known.lower,
    )
    steps = state.iterations
    best.offer([family(False, state.share)])
    midpoint, share = state.midpoint, state.share
    if instance.num_rounds <= exact_rounds and not clock.reason and steps < most:
        several = list(dict.fromkeys([*candidates, *(single_type_prices(instance) if priced else [])]))
        loads = [_game(instance, terms, prices) for prices in several]
        head = terms.head if release else None
        layers = 64 if instance.num_rounds <= 200 else 16
        cut = solve_cutting(
            game,
            [Load(g.work, head, layers) for g, _ in loads],
            state.midpoint,
            stop=clock,
            left=clock.left,
            most_rounds=300,
        )
        steps += cut.rounds
        best.offer([(p, True, release, d / c) for p, (_, c), d in zip(several, loads, cut.densities, strict=True)])
        midpoint = cut.completion[job] - game.tail
    if release and terms.head.any() and not clock.reason:
        busy = solve_saddle(
            game,
            tolerance=tolerance,
            max_iterations=most,
            stop=clock,
            oracle=mean_busy_oracle(game.work, terms.head),
            start=share,
        )
        steps += busy.iterations
        best.offer([family(True, busy.share)])
        if instance.num_rounds > exact_rounds:
            midpoint = busy.midpoint
    assert best.value is not None
    return StrongSolution(
        best.value,
        best.split,
        terms,
        forward(instance, terms, midpoint),
        steps,
        tuple(f.prices for f in best.split.families),
        best.release,
        clock.reason or StopReason.EXHAUSTED,
    )


@dataclass(frozen=True)
class MidpointLpStrong:
    """Solver ``midpoint-lp-strong``.

    Parameters
    ----------
    tail
        ``"base"``, ``"chain"`` (S1) or ``"round"`` (S6, S7).
    priced, release
        Prices of GPU types (S3); heads of rounds (S5).
    tolerance, max_iterations
        Of each Lagrangian (steps are the unit of the work limit).
    exact_rounds
        Up to so many rounds cutting planes are used.
    """

    name: ClassVar[str] = "midpoint-lp-strong"
    kind: ClassVar[SolverKind] = SolverKind.RELAXATION
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.LOWER_BOUND, Capability.CERTIFICATE, Capability.DETERMINISTIC, Capability.ANYTIME}
    )
    objectives: ClassVar[frozenset[Objective]] = COMPLETION

    tail: str = "round"
    priced: bool = True
    release: bool = True
    tolerance: float = 1e-3
    max_iterations: int = 200
    exact_rounds: int = 500

    def __post_init__(self) -> None:
        check_steps(self.tolerance, self.max_iterations)
        if self.tail not in tuple(Tail):
            raise ValueError(f"tail {self.tail!r}: one of {', '.join(Tail)} is needed")

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
        """Bound and midpoints (``extra``: ``midpoint``, ``prices``)."""
        found = solve_midpoint_lp_strong(
            problem,
            tail=self.tail,
            priced=self.priced,
            release=self.release,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            exact_rounds=self.exact_rounds,
            limits=limits,
            observer=observer,
        )
        return Outcome(
            status=Status.UNKNOWN,
            stop_reason=found.stop_reason,
            bound=midpoint_bound(problem, found.terms, found.split, self.name, objective, found.lower_bound),
            work=found.iterations,
            message=f"{len(found.prices)} load families{' with releases' if found.release else ''}, tail {self.tail}",
            extra={"midpoint": found.midpoint, "prices": found.prices},
        )
