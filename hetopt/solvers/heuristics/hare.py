r"""Hare: list scheduling in the order of LP midpoints; and its variant by earliest finish.

Problem: minimise the total weighted completion (or flow) time.  Both solvers solve the midpoint LP (up to
2,000 rounds to optimality, above that averaged midpoints with a certified gap; the message says which)
and report its lower bound with the evidence.

``hare``: the midpoint order with rule R1, the earliest available GPU.  Guarantee (theory pages, Theorem 2):
:math:`C_n \le K C_n^{LP}` for every job, so the value is at most K times the value of the midpoints in the
LP, which is the LP optimum where the LP is solved to optimality; where no GPU type is forbidden,
:math:`K \le \alpha \Phi(M)` with :math:`\Phi(1) = \Phi(2) = 3` and :math:`\Phi(M) < 4` (Corollary A).  It holds for
completion times; for flow times no constant exists (section 6.6).

``hare-eft``: earliest finish with a waste penalty, for several penalties, in the midpoint order and in
the order of the release-strengthened midpoints; the best is kept.  The schedule of ``hare`` is one of the candidates,
so the guarantee of ``hare`` carries over; of the others, no guarantee is known.  Measured on heterogeneous
batches: about half the value of ``hare``.

Complexity: that of the LP (O(R log R) an iteration) plus O(R log R + T (K + log M)) for each list schedule,
of which ``hare-eft`` makes 1 + 2 x (number of penalties).

References
----------
Hare (HPDC 2022; TCC 2024), our reading of public summaries.  A. Munier, M. Queyranne, A. S. Schulz,
*Approximation bounds for a general class of precedence constrained parallel machine scheduling problems*,
SIAM J. Comput. 35 (2006).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.certificate import Bound
from hetopt.core.instance import Instance, InstanceArrays
from hetopt.core.objectives import offset
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Exclusions, Limits, Observer, Outcome
from hetopt.core.status import Capability, Objective, SolverKind, Status, StopReason
from hetopt.solvers.heuristics.list_scheduling import PlacementRule, as_gamma, list_order, place, reserve
from hetopt.solvers.relaxations._evidence import midpoint_bound
from hetopt.solvers.relaxations.midpoint_lp import MidpointSolution, describe, solve_midpoint_lp

__all__ = ["GAMMAS", "Hare", "HareEft", "weighted_completion"]

GAMMAS: Final = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
"""Waste penalties that ``hare-eft`` tries unless told otherwise."""
_EVIDENCE: Final = "midpoint-lp"
"""The kind of certificate that the relaxation gives."""
_RELEASE_STEPS: Final = 1000
"""Steps of the release-strengthened relaxation at most: an order needs no more."""
_COMPLETION: Final = frozenset({Objective.TOTAL_WEIGHTED_COMPLETION, Objective.TOTAL_WEIGHTED_FLOW})
_CAPABILITIES: Final = frozenset(
    {Capability.HEURISTIC, Capability.LOWER_BOUND, Capability.CERTIFICATE, Capability.DETERMINISTIC}
)


def weighted_completion(a: InstanceArrays, gpu: NDArray[np.int64], start: NDArray[np.int64]) -> int:
    """Sum of weight x completion of a feasible placement; ``gpu``, ``start``: (T,) as from ``place``."""
    last = a.round_start[1:] - 1
    tasks = np.concatenate([np.arange(a.task_start[r], a.task_start[r + 1]) for r in last.tolist()])
    rounds = np.repeat(last, a.scale[last])
    types = a.gpu_type[gpu[tasks]]
    ends = start[tasks] + a.processing_time[rounds, types] + a.sync_time[rounds, types]
    first = np.concatenate(([0], np.cumsum(a.scale[last])[:-1]))
    completion = np.maximum.reduceat(ends, first)
    return sum(w * c for w, c in zip(a.weight.tolist(), completion.tolist(), strict=True))


def _usable(problem: Instance, limits: Limits) -> float | None:
    """The time limit without what making and checking the schedule takes."""
    return None if limits.time is None else max(0.2 * limits.time, limits.time - reserve(problem))


def _relaxation(
    problem: Instance, limits: Limits, observer: Observer, *, release: bool, share: float
) -> MidpointSolution:
    """The midpoints, in this share of the time limit (counted from the start of the run)."""
    seconds = _usable(problem, limits)
    within = Limits(None if seconds is None else share * seconds, limits.work, limits.threads)
    if release:
        return solve_midpoint_lp(problem, release=True, max_iterations=_RELEASE_STEPS, limits=within, observer=observer)
    return solve_midpoint_lp(problem, limits=within, observer=observer)


def _reason(found: MidpointSolution, limits: Limits) -> StopReason:
    """Why a run ended: the relaxation's limit if it met one, else the list schedules are the whole answer."""
    if found.stop_reason in (StopReason.TIME, StopReason.INTERRUPTED):
        return found.stop_reason
    met = found.stop_reason is StopReason.WORK and limits.work is not None and found.iterations >= limits.work
    return StopReason.WORK if met else StopReason.EXHAUSTED


@dataclass(frozen=True)
class Hare:
    """The rule of Hare: midpoint order, earliest available GPU.  Guarantee and complexity: see the module.

    No parameters.  Work units: steps of the relaxation.
    """

    name: ClassVar[str] = "hare"
    kind: ClassVar = SolverKind.HEURISTIC
    capabilities: ClassVar = _CAPABILITIES
    objectives: ClassVar = _COMPLETION

    def solve(
        self,
        problem: Instance,
        *,
        objective: Objective,
        limits: Limits,
        seed: int,
        incumbent: Schedule | None,
        bound: Bound | None,
        exclusions: Exclusions | None,
        observer: Observer,
    ) -> Outcome:
        """Solve the LP, sort, place; the seed plays no part.  ``extra``: ``midpoint``, ``method``."""
        found = _relaxation(problem, limits, observer, release=False, share=0.9)
        a = problem.arrays
        schedule = Schedule.from_starts(problem, *place(a, list_order(problem, found.midpoint), PlacementRule.R1))
        value = weighted_completion(a, schedule.gpu, schedule.start) + offset(problem, objective)
        return Outcome(
            Status.FEASIBLE,
            _reason(found, limits),
            schedule,
            claimed=value,
            bound=midpoint_bound(problem, found.terms, found.split, _EVIDENCE, objective, found.lower_bound),
            work=found.iterations,
            message=describe(found),
            extra={"midpoint": found.midpoint, "method": found.method},
        )


@dataclass(frozen=True)
class HareEft:
    """Earliest finish with a waste penalty, best of several penalties and two orders; see the module.

    Parameters
    ----------
    gammas
        Waste penalties to try: ticks per tick of processing time above the least one.  Finite numbers
        >= 0 (taken as fractions with denominator at most 1000).
    orders
        Which orders to try: ``"midpoint"``, ``"release"`` (midpoints of the release-strengthened
        LP), or both.
    """

    gammas: tuple[float, ...] = GAMMAS
    orders: tuple[str, ...] = ("midpoint", "release")

    name: ClassVar[str] = "hare-eft"
    kind: ClassVar = SolverKind.HEURISTIC
    capabilities: ClassVar = _CAPABILITIES
    objectives: ClassVar = _COMPLETION

    def __post_init__(self) -> None:
        gammas = (self.gammas,) if isinstance(self.gammas, (int, float, str, Fraction)) else tuple(self.gammas)
        orders = (self.orders,) if isinstance(self.orders, str) else tuple(self.orders)
        if not gammas:
            raise ValueError("gammas is empty: at least one waste penalty is needed")
        for gamma in gammas:
            as_gamma(gamma)
        if not orders or any(order not in ("midpoint", "release") for order in orders):
            raise ValueError(f"orders {orders!r}: 'midpoint', 'release' or both are needed")
        object.__setattr__(self, "gammas", tuple(float(as_gamma(gamma)) for gamma in gammas))
        object.__setattr__(self, "orders", orders)

    def solve(
        self,
        problem: Instance,
        *,
        objective: Objective,
        limits: Limits,
        seed: int,
        incumbent: Schedule | None,
        bound: Bound | None,
        exclusions: Exclusions | None,
        observer: Observer,
    ) -> Outcome:
        """Place every candidate, keep the best.  ``extra``: ``midpoint``, ``gamma``, ``order`` (of the best)."""
        a, constant, usable = problem.arrays, offset(problem, objective), _usable(problem, limits)
        found = _relaxation(problem, limits, observer, release=False, share=0.4)
        own = midpoint_bound(problem, found.terms, found.split, _EVIDENCE, objective, found.lower_bound)
        work, reason, messages = found.iterations, _reason(found, limits), [describe(found)]

        def late() -> bool:
            spent = usable is not None and observer.elapsed() >= 0.9 * usable
            return spent or observer.stop_requested()

        def candidates() -> Iterator[tuple[str, float, NDArray[np.int64], PlacementRule]]:
            nonlocal own, work, reason
            order = list_order(problem, found.midpoint)
            yield "midpoint", math.nan, order, PlacementRule.R1
            if "midpoint" in self.orders:
                for gamma in self.gammas:
                    yield "midpoint", gamma, order, PlacementRule.EARLIEST_FINISH
            if "release" in self.orders and not late():
                strong = _relaxation(problem, limits, observer, release=True, share=0.8)
                other = midpoint_bound(problem, strong.terms, strong.split, _EVIDENCE, objective, strong.lower_bound)
                own = max(own, other, key=lambda b: b.value)
                work += strong.iterations
                reason = _reason(strong, limits) if reason is StopReason.EXHAUSTED else reason
                messages.append(f"release-strengthened: {describe(strong)}")
                order = list_order(problem, strong.midpoint)
                for gamma in self.gammas:
                    yield "release", gamma, order, PlacementRule.EARLIEST_FINISH

        best: tuple[int, NDArray[np.int64], NDArray[np.int64], str, float] | None = None
        for name, gamma, order, rule in candidates():
            if best is not None and late():
                reason = StopReason.INTERRUPTED if observer.stop_requested() else StopReason.TIME
                break
            gpu, start = place(a, order, rule, as_gamma(0.0 if math.isnan(gamma) else gamma))
            value = weighted_completion(a, gpu, start) + constant
            if best is None or value < best[0]:
                best = value, gpu, start, name, gamma
                observer.record(incumbent=value)
        assert best is not None
        value, gpu, start, name, gamma = best
        how = "earliest available GPU" if math.isnan(gamma) else f"earliest finish, gamma {gamma:g}"
        return Outcome(
            Status.FEASIBLE,
            reason,
            Schedule.from_starts(problem, gpu, start),
            claimed=value,
            bound=own,
            work=work,
            message=f"{name} order, {how}; {'; '.join(messages)}",
            extra={"midpoint": found.midpoint, "order": name, "gamma": None if math.isnan(gamma) else gamma},
        )
