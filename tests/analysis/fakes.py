"""Small solvers that do what a test needs, independent of the real ones."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np

from hetopt.analysis.compare import compare
from hetopt.core.certificate import Bound
from hetopt.core.errors import SolverUnavailableError
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Outcome
from hetopt.core.status import Capability, Objective, SolverKind, Status, StopReason, Trust

compare_alone = partial(compare, known=lambda instance, objective: None)
"""Comparisons that do not look into the library, whose best known values may change."""


def list_schedule(instance: Instance, order: list[int]) -> Schedule:
    """Jobs one after the other in ``order``, each task on the allowed GPU where it ends first."""
    a = instance.arrays
    free = np.zeros(a.num_gpus, dtype=np.int64)
    gpu, start = np.zeros(a.num_tasks, dtype=np.int64), np.zeros(a.num_tasks, dtype=np.int64)
    for n in order:
        ready = int(a.release_date[n])
        for r in range(a.round_start[n], a.round_start[n + 1]):
            done = ready
            for t in range(a.task_start[r], a.task_start[r + 1]):
                ends = [
                    (max(int(free[m]), ready) + int(a.processing_time[r, k]), m, int(k))
                    for m, k in enumerate(a.gpu_type)
                    if a.allowed[r, k]
                ]
                end, m, k = min(ends)
                gpu[t], start[t], free[m] = m, end - int(a.processing_time[r, k]), end
                done = max(done, end + int(a.sync_time[r, k]))
            ready = done
    return Schedule.from_starts(instance, gpu, start)


@dataclass(frozen=True)
class _Fake:
    kind: ClassVar[SolverKind] = SolverKind.HEURISTIC
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.HEURISTIC})
    objectives: ClassVar[frozenset[Objective]] = frozenset(Objective)


@dataclass(frozen=True)
class Ordered(_Fake):
    """List scheduling in job order, or reversed; steps of improvement are recorded."""

    name: ClassVar[str] = "ordered"
    reverse: bool = False

    def solve(self, problem: Instance, **kw: Any) -> Outcome:
        order = list(range(problem.num_jobs))
        first = list_schedule(problem, order)
        kw["observer"].record(incumbent=evaluate(problem, first, kw["objective"]), schedule=first)
        return Outcome(
            Status.FEASIBLE, StopReason.EXHAUSTED, list_schedule(problem, order[::-1] if self.reverse else order)
        )


@dataclass(frozen=True)
class Bounding(_Fake):
    """A lower bound: value given, or the sum over jobs of weight x (release + time alone)."""

    name: ClassVar[str] = "bounding"
    value: int | None = None
    kind: ClassVar[SolverKind] = SolverKind.RELAXATION

    def solve(self, problem: Instance, **kw: Any) -> Outcome:
        a = problem.arrays
        ends = a.release_date + np.add.reduceat(a.min_task_time, a.round_start[:-1])
        kinds = {
            Objective.MAKESPAN: int(ends.max()),
            Objective.TOTAL_WEIGHTED_COMPLETION: int((a.weight * ends).sum()),
            Objective.TOTAL_WEIGHTED_FLOW: int((a.weight * (ends - a.release_date)).sum()),
        }
        value = kinds[kw["objective"]] if self.value is None else self.value
        bound = Bound(Fraction(value), self.name, Trust.DERIVED)
        kw["observer"].record(bound=bound)
        return Outcome(Status.UNKNOWN, StopReason.EXHAUSTED, bound=bound, message="a bound only")


@dataclass(frozen=True)
class Claiming(_Fake):
    """The list schedule with a bound equal to its value: claims to be optimal (rightly or wrongly)."""

    name: ClassVar[str] = "claiming"
    kind: ClassVar[SolverKind] = SolverKind.EXACT

    def solve(self, problem: Instance, **kw: Any) -> Outcome:
        schedule = list_schedule(problem, list(range(problem.num_jobs)))
        bound = Bound(Fraction(evaluate(problem, schedule, kw["objective"])), self.name, Trust.REPORTED)
        kw["observer"].record(bound=bound)
        return Outcome(Status.OPTIMAL, StopReason.PROVED, schedule, bound=bound, solver_version="7.7")


@dataclass(frozen=True)
class Broken(_Fake):
    """Raises."""

    name: ClassVar[str] = "broken"

    def solve(self, problem: Instance, **kw: Any) -> Outcome:
        return Outcome(Status.FEASIBLE, StopReason.EXHAUSTED, [][1])


@dataclass(frozen=True)
class Lying(_Fake):
    """Claims a value that its schedule does not have."""

    name: ClassVar[str] = "lying"

    def solve(self, problem: Instance, **kw: Any) -> Outcome:
        schedule = list_schedule(problem, list(range(problem.num_jobs)))
        return Outcome(Status.FEASIBLE, StopReason.EXHAUSTED, schedule, claimed=1)


@dataclass(frozen=True)
class Absent(_Fake):
    """Needs something that is not there."""

    name: ClassVar[str] = "absent"

    def solve(self, problem: Instance, **kw: Any) -> Outcome:
        raise SolverUnavailableError("absent needs gurobipy, not installed here; get it with: pip install gurobipy")


@dataclass(frozen=True)
class SpanOnly(Ordered):
    """Takes the makespan only."""

    name: ClassVar[str] = "span-only"
    objectives: ClassVar[frozenset[Objective]] = frozenset({Objective.MAKESPAN})


@dataclass(frozen=True)
class Interrupting(Ordered):
    """Presses Ctrl-C while it runs, then answers as if nothing had happened."""

    name: ClassVar[str] = "interrupting"

    def solve(self, problem: Instance, **kw: Any) -> Outcome:
        signal.raise_signal(signal.SIGINT)
        while not kw["observer"].stop_requested():
            time.sleep(0.001)
        return super().solve(problem, **kw)


@dataclass(frozen=True)
class Impossible(_Fake):
    """Claims that there is no schedule."""

    name: ClassVar[str] = "impossible"

    def solve(self, problem: Instance, **kw: Any) -> Outcome:
        return Outcome(Status.INFEASIBLE, StopReason.PROVED)


@dataclass(frozen=True)
class Nothing(_Fake):
    """Ran out of time with nothing in hand."""

    name: ClassVar[str] = "nothing"

    def solve(self, problem: Instance, **kw: Any) -> Outcome:
        return Outcome(Status.UNKNOWN, StopReason.TIME)
