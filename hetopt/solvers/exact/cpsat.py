"""``cpsat``: CP-SAT on the interval model per GPU type.

Problem: any objective, to optimality.  Guarantee: exact in integers; OPTIMAL rests on CP-SAT's word (trust REPORTED), the
schedule and its value are checked by ours.  Complexity: exponential in the worst case; some 60 congested
or 250 lightly loaded tasks are proved in seconds.

A schedule to start from is always at hand (the warm start, or a short list-scheduling search); it is
given as a complete hint together with "objective <= its value", so the result is never worse.

Determinism: with one thread the same bytes (unless the clock stops the run; take a work limit for that).  One
unit of work is 1/1000 of CP-SAT's deterministic second.  With more threads the value of a proved optimum is the same,
the schedule need not be.

References: L. Perron, F. Didier, S. Gay, "The CP-SAT-LP solver", CP 2023; the model's own in
:mod:`hetopt.models.clairvoyant.interval_cpsat`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final

from hetopt.core.certificate import Bound
from hetopt.core.errors import UsageError, VerificationError
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Exclusions, Limits, Observer, Outcome
from hetopt.core.status import Capability, Objective, SolverKind, Status, StopReason, Trust
from hetopt.models.base import BuildStopped
from hetopt.models.clairvoyant.interval_cpsat import BuiltCpModel, IntervalCpSat
from hetopt.models.clairvoyant.windows import first_schedule, left_shifted
from hetopt.solvers.backends.cpsat import CpAnswer, solve_cp
from hetopt.solvers.exact._size import refused, too_large
from hetopt.solvers.heuristics.local_search import anneal
from hetopt.solvers.relaxations.time_indexed_lagrangian import quick_schedule

__all__ = ["CpSat", "starting_schedule"]


HINT_TASKS: Final = 24
"""Instances with at most so many tasks are proved before a search for a hint pays."""
HINT_WORK: Final = 400_000
"""Decodes x tasks of the search for a hint."""
HINT_SECONDS: Final = 5.0
LARGE_TASKS: Final = 1_000
"""Past this the short annealing does not make up for a bad start, so a second list schedule is tried."""


def starting_schedule(instance: Instance, objective: Objective, seed: int, seconds: float | None) -> Schedule:
    """A list schedule, improved by a short annealing where the instance is neither tiny nor huge.

    ``seconds`` is what is left; without a limit the answer depends on the seed alone.
    """
    made = [first_schedule(instance, objective)]
    if instance.num_tasks > LARGE_TASKS:
        made.append(quick_schedule(instance))
    first = left_shifted(instance, min(made, key=lambda schedule: evaluate(instance, schedule, objective)))
    decodes = min(2_000, HINT_WORK // instance.num_tasks)
    if instance.num_tasks <= HINT_TASKS or decodes < 20:
        return first
    # a time limit also keeps the search from compiling its kernels first
    limit = None if seconds is None else min(HINT_SECONDS, 0.1 * seconds)
    schedule, _, _ = anneal(instance, objective, seed=seed, decodes=decodes, time=limit, start=first)
    return left_shifted(instance, schedule)


@dataclass(frozen=True)
class CpSat:
    """Parameters of the run and of the model.

    Parameters
    ----------
    symmetry, chain_cuts
        See :class:`~hetopt.models.clairvoyant.interval_cpsat.IntervalCpSat`.
    hint
        Start from a list schedule where no warm start is given.
    linearization_level
        CP-SAT's: 0, 1 or 2 (2: everything in the linear relaxation).
    verbose
        Search log to standard error.
    log_file
        Search log to a file.
    """

    name: ClassVar[str] = "cpsat"
    kind: ClassVar[SolverKind] = SolverKind.EXACT
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.EXACT,
            Capability.LOWER_BOUND,
            Capability.WARM_START,
            Capability.ANYTIME,
            Capability.DETERMINISTIC,
        }
    )
    objectives: ClassVar[frozenset[Objective]] = frozenset(Objective)
    formulation: ClassVar[type[IntervalCpSat]] = IntervalCpSat

    symmetry: bool = True
    chain_cuts: bool = True
    hint: bool = True
    linearization_level: int = 2
    verbose: bool = False
    log_file: str | None = None

    def __post_init__(self) -> None:
        for key in ("symmetry", "chain_cuts", "hint", "verbose"):
            if not isinstance(getattr(self, key), bool):
                raise UsageError(f"{key} {getattr(self, key)!r}: true or false is needed")
        if isinstance(self.linearization_level, bool) or self.linearization_level not in (0, 1, 2):
            raise UsageError(f"linearization_level {self.linearization_level!r}: 0, 1 or 2 is needed")
        if self.log_file is not None and not isinstance(self.log_file, str):
            raise UsageError(f"log_file {self.log_file!r}: the name of a file is needed")

    def solve(
        self,
        problem: Instance,
        *,
        objective: Objective,
        limits: Limits,
        seed: int = 0,
        incumbent: Schedule | None = None,
        bound: Bound | None = None,
        exclusions: Exclusions | None = None,
        observer: Observer,
    ) -> Outcome:
        """See :class:`~hetopt.core.solver.Solver`."""
        why = too_large(problem, limits)
        if why:
            return refused(problem, objective, limits, incumbent, observer, why)
        run = _Run(self, problem, objective, limits, seed, bound, exclusions, observer)
        return run.solve(incumbent)


class _Run:
    """One run: the best schedule and bound so far, and the clock."""

    def __init__(
        self,
        solver: CpSat,
        instance: Instance,
        objective: Objective,
        limits: Limits,
        seed: int,
        bound: Bound | None,
        exclusions: Exclusions | None,
        observer: Observer,
    ) -> None:
        self.began = time.perf_counter()
        self.solver, self.instance, self.objective = solver, instance, objective
        self.limits, self.seed, self.observer = limits, seed, observer
        self.outside, self.exclusions = bound, exclusions
        self.schedule: Schedule | None = None
        self.value: int | None = None
        self.bound: Bound | None = None

    def left(self) -> float | None:
        """Seconds left, ``None`` without a limit."""
        return None if self.limits.time is None else self.limits.time - (time.perf_counter() - self.began)

    def stopped(self) -> StopReason | None:
        """Why to stop now, if so."""
        if self.observer.stop_requested():
            return StopReason.INTERRUPTED
        left = self.left()
        if left is not None and left <= 0:
            return StopReason.TIME
        return StopReason.WORK if self.limits.work == 0 else None

    def take(self, schedule: Schedule) -> None:
        """Keep a schedule if it is better."""
        value = evaluate(self.instance, schedule, self.objective)
        if self.value is None or value < self.value:
            self.schedule, self.value = schedule, value
            self.observer.record(incumbent=value, schedule=schedule)

    def raise_bound(self, value: int | None) -> None:
        """Keep a bound of CP-SAT if it is better."""
        if value is not None and (self.bound is None or value > self.bound.value):
            self.bound = Bound(Fraction(value), self.solver.name, Trust.REPORTED)
            self.observer.record(bound=self.bound)

    def outcome(self, reason: StopReason, answer: CpAnswer | None = None, message: str = "") -> Outcome:
        """What is known now."""
        bounds = [b for b in (self.bound, self.outside) if b is not None]
        best = max(bounds, key=lambda b: b.value, default=None)
        if self.value is not None and best is not None and best.ceiling >= self.value:
            status, reason = Status.OPTIMAL, StopReason.PROVED
            if best.trust is Trust.REPORTED:
                message = message or f"optimality rests on the word of {best.source}"
        else:
            status = Status.UNKNOWN if self.schedule is None else Status.FEASIBLE
        return Outcome(
            status=status,
            stop_reason=reason,
            schedule=self.schedule,
            claimed=self.value,
            bound=best,
            work=0 if answer is None else answer.work,
            deterministic=self.limits.threads == 1,
            message=message,
            solver_version="" if answer is None else answer.solver_version,
        )

    def solve(self, incumbent: Schedule | None) -> Outcome:
        if incumbent is not None:
            self.take(incumbent)
            self.take(left_shifted(self.instance, incumbent))
        reason = self.stopped()
        if reason is not None:
            return self.outcome(reason)
        start = self.schedule
        if start is None:
            start = starting_schedule(self.instance, self.objective, self.seed, self.left())
            if self.solver.hint:
                self.take(start)
        upper = evaluate(self.instance, start, self.objective)
        cutoff = upper
        usable = self.exclusions
        if usable is not None and usable.objective is self.objective:
            cutoff = min(cutoff, usable.upper_bound)
        if self.outside is not None and self.outside.ceiling >= upper and self.schedule is not None:
            return self.outcome(StopReason.PROVED)
        hint = self.schedule if self.value is not None and self.value <= cutoff else None
        model = self.solver.formulation(symmetry=self.solver.symmetry, chain_cuts=self.solver.chain_cuts)
        try:
            built = model.build(
                self.instance,
                self.objective,
                upper_bound=upper,
                bound=self.outside,
                exclusions=self.exclusions,
                hint=hint,
                stop=lambda: self.stopped() is not None,
            )
        except BuildStopped:
            return self.outcome(self.stopped() or StopReason.TIME, message="the limits ended while the model was built")
        reason = self.stopped()
        if reason is not None:
            return self.outcome(reason, message="the limits ended while the model was built")
        answer = self._search(model, built)
        if answer.value is not None:
            self.take(model.decode(built, answer.value))
        if answer.word == "INFEASIBLE":
            if hint is not None:
                raise VerificationError(
                    f"{self.solver.name}: CP-SAT calls the model infeasible, yet a schedule of value {self.value} "
                    "satisfies it"
                )
            if cutoff >= upper:
                raise VerificationError(
                    f"{self.solver.name}: CP-SAT calls the model infeasible, yet a list schedule of value {upper} "
                    "satisfies it"
                )
            self.raise_bound(cutoff + 1)
        elif answer.bound is not None:
            self.raise_bound(self._worth(built, answer.bound))
        return self.outcome(answer.stop_reason, answer)

    def _worth(self, built: BuiltCpModel, reported: float) -> int | None:
        """The true bound: schedules above the cutoff are not in the model, so never more than cutoff + 1."""
        value = built.lower_bound(reported)
        return None if value is None else min(value, built.cutoff + 1)

    def _search(self, model: IntervalCpSat, built: BuiltCpModel) -> CpAnswer:
        def on_solution(values: Callable[[Any], int]) -> None:
            self.take(model.decode(built, values))

        def on_bound(reported: float) -> None:
            if math.isfinite(reported) and self.value is not None:
                self.raise_bound(min(self._worth(built, reported) or 0, self.value))

        parameters: dict[str, Any] = {"linearization_level": self.solver.linearization_level}
        if built.wide:
            parameters["presolve_inclusion_work_limit"] = 0
        return solve_cp(
            built.proto,
            time_limit=self.left(),
            work_limit=self.limits.work,
            threads=self.limits.threads,
            seed=self.seed,
            parameters=parameters,
            stop_requested=self.observer.stop_requested,
            on_solution=on_solution,
            on_bound=on_bound,
            verbose=self.solver.verbose,
            log_file=self.solver.log_file,
        )
