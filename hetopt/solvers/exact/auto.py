"""``auto``: a portfolio that needs no licence, each stage feeding the next.

1. *Search*: list schedules, then annealing, for an upper bound U.
2. *Bound*: the time-indexed Lagrangian, steered by U; above some size the midpoint relaxation as well.  If it rounds
   up to U the schedule is optimal, with a certificate, and the run ends.
3. *Pruning*: the dual excludes every (round, type, start) that no schedule of value <= U uses.
4. *CP-SAT* on what is left, with U's schedule as hint and the bound posted; when it has found a better schedule
   and stalls, the search goes on.

With a short time limit (below 10 seconds) the search comes first and takes the larger part, because loading and
building a constraint model takes seconds that a schedule is worth more than; CP-SAT follows only where enough is left.
Instances too large for a constraint model stay with the search and the bounds.  A stage that fails (a library that is
missing, memory) is named in the message and the others go on; a wrong answer is never passed over.

Guarantee: the bound is valid; OPTIMAL carries the certificate where the certified bound closes, and says so where it
rests on CP-SAT's word.  Without limits: 60 seconds.

Determinism: with a work limit (and no time limit) and one thread the same bytes each time.  One unit of work is one unit
of CP-SAT (1/1000 deterministic second), ten decodes of the search, or one evaluation of the Lagrangian.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from hetopt.core.certificate import Bound
from hetopt.core.errors import SolverUnavailableError, UsageError, VerificationError
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Exclusions, Limits, Observer, Outcome
from hetopt.core.status import Capability, Objective, SolverKind, Status, StopReason, Trust
from hetopt.models._native import load_cpsat
from hetopt.models.clairvoyant.windows import first_schedule, left_shifted
from hetopt.solvers.catalogue import SOLVERS
from hetopt.solvers.heuristics.list_scheduling import reserve
from hetopt.solvers.heuristics.local_search import anneal
from hetopt.solvers.relaxations.pruning import exclusions as prune
from hetopt.solvers.relaxations.time_indexed_lagrangian import (
    Dual,
    TimeIndexedLagrangian,
    maximise,
    quick_schedule,
    suitable_problem,
)

__all__ = ["DEFAULT_SECONDS", "Auto"]

DEFAULT_SECONDS: Final = 60.0
MODEL_INTERVALS: Final = 20_000
"""Most (task, type) intervals of a constraint model that is still built."""
MIDPOINT_ROUNDS: Final = 2_000
"""Rounds from which the midpoint relaxation is asked as well: the Lagrangian converges slowly there."""
DECODES_A_UNIT: Final = 10
SEED_STEP: Final = 1_000_003
"""Each search of a run has a seed of its own."""
TINY_TASKS: Final = 24
"""Up to here the constraint model is proved before a search pays."""
TINY_EVALUATIONS: Final = 40
FIRST_DECODES: Final = 2_000
FIRST_EVALUATIONS: Final = 300
FIRST_MODEL_SHARE: Final = 0.2
SHORT_SECONDS: Final = 10.0
"""Below this limit a good schedule comes first: what is loaded and built has to pay."""
SHORT_SHARE: Final = 0.45
LARGE_SHARE: Final = 0.65
"""Part of a short limit for the first search, and where the bound takes long to be of use."""
MODEL_SECONDS: Final = 2.5
"""Loading OR-Tools, and a first look at a small model."""
MODEL_RATE: Final = 5_000
"""Intervals of a constraint model that are built and presolved in a second."""


@dataclass(frozen=True)
class Auto:
    """Parameters of the portfolio.

    Parameters
    ----------
    search_share, bound_share
        Parts of the limits that the first search and the bound may use at most.
    prune
        Use the exclusions.
    """

    name: ClassVar[str] = "auto"
    kind: ClassVar[SolverKind] = SolverKind.EXACT
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.EXACT,
            Capability.LOWER_BOUND,
            Capability.HEURISTIC,
            Capability.WARM_START,
            Capability.ANYTIME,
            Capability.DETERMINISTIC,
            Capability.CERTIFICATE,
        }
    )
    objectives: ClassVar[frozenset[Objective]] = frozenset(Objective)

    search_share: float = 0.15
    bound_share: float = 0.2
    prune: bool = True

    def __post_init__(self) -> None:
        for key in ("search_share", "bound_share"):
            share = getattr(self, key)
            if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
                raise UsageError(f"{key} {share!r}: a number from 0 to 1 is needed")
        if not isinstance(self.prune, bool):
            raise UsageError(f"prune {self.prune!r}: true or false is needed")

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
        portfolio = _Portfolio(self, problem, objective, limits, seed, bound, exclusions, observer)
        return portfolio.run(incumbent)


@dataclass
class _Portfolio:
    """The state of one run; also the observer of its stages."""

    solver: Auto
    instance: Instance
    objective: Objective
    limits: Limits
    seed: int
    bound: Bound | None
    exclusions: Exclusions | None
    observer: Observer
    schedule: Schedule | None = None
    value: int | None = None
    work: int = 0
    searches: int = 0
    deterministic: bool = True
    notes: list[str] = field(default_factory=list)
    dual: Dual | None = None
    version: str = ""

    def __post_init__(self) -> None:
        self.began = time.perf_counter()
        both_none = self.limits.time is None and self.limits.work is None
        self.seconds = DEFAULT_SECONDS if both_none else self.limits.time

    # ------------------------------------------------------------------ observer of the stages

    def record(
        self, *, incumbent: int | None = None, bound: Bound | None = None, schedule: Schedule | None = None
    ) -> None:
        """Keep what a stage has found and pass it on."""
        if incumbent is not None and schedule is not None and (self.value is None or incumbent < self.value):
            self.schedule, self.value = schedule, incumbent
            self.observer.record(incumbent=incumbent, schedule=schedule)
        if bound is not None and self._better(bound):
            self.bound = bound
            self.observer.record(bound=bound)

    def _better(self, bound: Bound) -> bool:
        """Higher once rounded up; a proof that comes with evidence is not given up for a word of the same value."""
        if self.bound is None or bound.ceiling > self.bound.ceiling:
            return True
        if bound.ceiling < self.bound.ceiling:
            return False
        if (bound.certificate is None) != (self.bound.certificate is None):
            return bound.certificate is not None
        return bound.value > self.bound.value

    def stop_requested(self) -> bool:
        """Whether the user, or a closed gap, says stop."""
        return self.closed() or self.observer.stop_requested()

    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self.observer.elapsed()

    # ------------------------------------------------------------------ limits

    def left(self) -> float | None:
        """Seconds left."""
        return None if self.seconds is None else self.seconds - (time.perf_counter() - self.began)

    def work_left(self) -> int | None:
        """Units of work left."""
        return None if self.limits.work is None else max(0, self.limits.work - self.work)

    def closed(self) -> bool:
        """Whether bound and value meet."""
        return self.value is not None and self.bound is not None and self.bound.ceiling >= self.value

    def over(self) -> StopReason | None:
        """Why to stop now, if so."""
        if self.closed():
            return StopReason.PROVED
        if self.observer.stop_requested():
            return StopReason.INTERRUPTED
        left = self.left()
        if left is not None and left <= 0.01 * (self.seconds or 0):
            return StopReason.TIME
        return StopReason.WORK if self.work_left() == 0 else None

    def share(self, part: float) -> Limits:
        """A part of the whole, but no more than is left."""
        left, work = self.left(), self.work_left()
        seconds = None if left is None or self.seconds is None else max(0.0, min(left, part * self.seconds))
        units = None if work is None or self.limits.work is None else min(work, max(1, int(part * self.limits.work)))
        return Limits(time=seconds, work=units, threads=self.limits.threads)

    def attempt(self, name: str, stage: Callable[[], None]) -> None:
        """Run a stage; what goes wrong in it is noted and the next one goes on.  Wrong answers are errors."""
        try:
            stage()
        except VerificationError:
            raise
        except SolverUnavailableError as error:
            self.notes.append(f"{name} left out: {error}")
        except MemoryError:
            self.notes.append(f"{name} stopped: out of memory")
        except Exception as error:
            self.notes.append(f"{name} failed: {type(error).__name__}: {error}")

    # ------------------------------------------------------------------ stages

    def run(self, incumbent: Schedule | None) -> Outcome:
        for schedule in () if incumbent is None else (incumbent, left_shifted(self.instance, incumbent)):
            self.record(incumbent=evaluate(self.instance, schedule, self.objective), schedule=schedule)
        reason = self.over()
        if reason is not None:
            return self.outcome(reason)
        if not self.hurried():
            self.attempt("list scheduling", self.list_schedules)
        for name, stage in self.stages():
            if self.over() is not None:
                break
            self.attempt(name, stage)
        reason = self.over()
        while reason is None and self.schedule is not None:
            if self.short_of(4 * reserve(self.instance)):  # a search that only starts is of no use
                reason = StopReason.TIME
                break
            before = self.work
            self.attempt("local search", lambda: self.search(self.share(1.0), None))
            reason = self.over() or (StopReason.EXHAUSTED if self.work == before else None)
        return self.outcome(reason or StopReason.ERROR)

    def stages(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Name and action of each stage: small doses first, so that easy instances end at once."""
        if self.hurried():
            yield from self.short_stages()
            return
        share = self.solver.search_share
        tiny = self.instance.num_tasks <= TINY_TASKS
        if not tiny:
            yield "local search", lambda: self.search(self.share(min(share, 0.05)), FIRST_DECODES)
        if self.objective is Objective.MAKESPAN:
            yield "combinatorial", lambda: self.relaxation("combinatorial", 0.05)
        else:
            if self.instance.num_rounds >= MIDPOINT_ROUNDS:
                yield "midpoint-lp-strong", lambda: self.relaxation("midpoint-lp-strong", 0.2)
            evaluations = TINY_EVALUATIONS if tiny else FIRST_EVALUATIONS
            yield "time-indexed-lagrangian", lambda: self.lagrangian(evaluations)
        if self.small():
            yield "cpsat", lambda: self.constraint_model(FIRST_MODEL_SHARE)
        yield "local search", lambda: self.search(self.share(share), None)
        if self.objective is not Objective.MAKESPAN:
            yield "time-indexed-lagrangian", lambda: self.lagrangian(None)
        if self.small():
            yield "cpsat", lambda: self.constraint_model(1.0)
        else:
            self.notes.append("too large for a constraint model")

    def short_stages(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """The same where time is short: a search, a bound, and a constraint model if there is time for one."""
        large = self.instance.num_rounds >= MIDPOINT_ROUNDS
        yield "local search", lambda: self.search(self.share(LARGE_SHARE if large else SHORT_SHARE), None)
        if self.objective is Objective.MAKESPAN:
            yield "combinatorial", lambda: self.relaxation("combinatorial", 0.2)
        elif large:
            yield "midpoint-lp-strong", lambda: self.relaxation("midpoint-lp-strong", 0.2)
        else:
            yield "time-indexed-lagrangian", lambda: self.lagrangian(FIRST_EVALUATIONS)
        intervals = self.instance.num_tasks * len(self.instance.gpu_types)
        if not self.small():
            self.notes.append("too large for a constraint model")
        elif self.short_of(MODEL_SECONDS + intervals / MODEL_RATE):
            self.notes.append("no time for a constraint model")
        else:
            yield "cpsat", lambda: self.constraint_model(1.0)

    def hurried(self) -> bool:
        """Whether the time limit is short for an instance that is not tiny."""
        return self.seconds is not None and self.seconds < SHORT_SECONDS and self.instance.num_tasks > TINY_TASKS

    def short_of(self, seconds: float) -> bool:
        """Whether less than this is left."""
        left = self.left()
        return left is not None and left < seconds

    def list_schedules(self) -> None:
        """Two list schedules, shifted to the left; one where that alone takes long."""
        schedules = [quick_schedule(self.instance)]
        if self.small():
            schedules.append(first_schedule(self.instance, self.objective))
            schedules = [left_shifted(self.instance, schedule) for schedule in schedules]
        for schedule in schedules:
            self.record(incumbent=evaluate(self.instance, schedule, self.objective), schedule=schedule)

    def small(self) -> bool:
        """Whether a constraint model is worth building."""
        return self.instance.num_tasks * len(self.instance.gpu_types) <= MODEL_INTERVALS

    def search(self, limits: Limits, decodes: int | None) -> None:
        """Annealing from the best schedule."""
        if limits.work is not None:
            decodes = min(decodes or limits.work * DECODES_A_UNIT, limits.work * DECODES_A_UNIT)
        schedule, value, used = anneal(
            self.instance,
            self.objective,
            seed=self.seed + SEED_STEP * self.searches,
            time=limits.time,
            decodes=decodes,
            start=self.schedule,
            observer=self,
        )
        self.searches += 1
        self.work += -(-used // DECODES_A_UNIT)
        self.record(incumbent=value, schedule=schedule)

    def relaxation(self, name: str, part: float) -> None:
        """A bound by the solver of that name."""
        made: Any = SOLVERS.load(name)()
        if self.objective not in made.objectives:
            return
        outcome = made.solve(
            self.instance,
            objective=self.objective,
            limits=self.share(part),
            seed=self.seed,
            incumbent=self.schedule,
            bound=None,
            exclusions=None,
            observer=self,
        )
        self.work += outcome.work or 0
        if outcome.bound is not None:
            self.record(bound=outcome.bound)

    def lagrangian(self, iterations: int | None) -> None:
        """The time-indexed bound, steered by the best schedule."""
        guide = self.schedule
        if guide is None:
            return
        limits = self.share(self.solver.bound_share)
        chain, window_limit = suitable_problem(self.instance, guide.makespan)
        most = iterations or TimeIndexedLagrangian.iterations
        ends = None if limits.time is None else time.perf_counter() + limits.time
        self.dual = maximise(
            self.instance,
            chain,
            window_limit,
            upper_bound=evaluate(self.instance, guide),
            iterations=most if limits.work is None else min(most, limits.work),
            seconds=limits.time,
            stop=lambda: self.observer.stop_requested() or (ends is not None and time.perf_counter() >= ends),
            on_better=lambda better: self.record(bound=better.bound(self.instance, self.objective)),
        )
        self.work += self.dual.iterations
        self.record(bound=self.dual.bound(self.instance, self.objective))

    def pruned(self) -> Exclusions | None:
        """Exclusions from the dual for the best value, or those from outside."""
        if self.dual is None or self.value is None or not self.solver.prune:
            return self.exclusions
        made = prune(self.instance, self.dual, self.value, self.objective, stop=lambda: self.over() is not None)
        return self.exclusions if made is None else made

    def constraint_model(self, part: float) -> None:
        """CP-SAT with everything that is known."""
        load_cpsat()  # the import is not part of the share
        made: Any = SOLVERS.load("cpsat")()
        outcome = made.solve(
            self.instance,
            objective=self.objective,
            limits=self.share(part),
            seed=self.seed,
            incumbent=self.schedule,
            bound=self.bound,
            exclusions=self.pruned(),
            observer=_Relay(self),
        )
        self.work += outcome.work or 0
        self.version = outcome.solver_version
        self.deterministic &= outcome.deterministic
        if outcome.schedule is not None and outcome.claimed is not None:
            self.record(incumbent=outcome.claimed, schedule=outcome.schedule)
        if outcome.bound is not None:
            self.record(bound=outcome.bound)
        if outcome.stop_reason is StopReason.ERROR:
            self.notes.append(f"cpsat stopped: {outcome.message or 'no reason given'}")

    def outcome(self, reason: StopReason) -> Outcome:
        """What is known at the end."""
        notes = list(self.notes)
        status = Status.UNKNOWN if self.schedule is None else Status.FEASIBLE
        if self.closed():
            status, reason = Status.OPTIMAL, StopReason.PROVED
            assert self.bound is not None
            if self.bound.trust is Trust.REPORTED:
                notes.insert(0, f"optimality rests on the word of {self.bound.source}")
            else:
                notes.insert(0, f"proved by the bound {self.bound.source}")
        extra: dict[str, Any] = {} if self.dual is None else {"dual": self.dual}
        return Outcome(
            status=status,
            stop_reason=reason,
            schedule=self.schedule,
            claimed=self.value,
            bound=self.bound,
            work=self.work,
            deterministic=self.deterministic and self.limits.threads == 1 and self.seconds is None,
            message="; ".join(notes),
            solver_version=self.version,
            extra=extra,
        )


class _Relay:
    """What CP-SAT reports to the portfolio; it stops only when the user says so, it sees a closed gap itself."""

    def __init__(self, portfolio: _Portfolio) -> None:
        self.portfolio = portfolio

    def record(
        self, *, incumbent: int | None = None, bound: Bound | None = None, schedule: Schedule | None = None
    ) -> None:
        """Pass on."""
        self.portfolio.record(incumbent=incumbent, bound=bound, schedule=schedule)

    def stop_requested(self) -> bool:
        """Whether the user says stop."""
        return self.portfolio.observer.stop_requested()

    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self.portfolio.elapsed()
