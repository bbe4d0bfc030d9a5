"""Finds one schedule, says so in a file, and then waits until somebody stops it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.solver import Limits, Observer, Outcome
from hetopt.core.status import Capability, Objective, SolverKind, Status, StopReason
from hetopt_example.random_order import in_order


@dataclass(frozen=True)
class Patient:
    """With ``deaf`` it does not even look whether it should stop, and loses what it found."""

    ready: str = ""
    deaf: bool = False
    empty: bool = False

    name: ClassVar[str] = "patient"
    kind: ClassVar[SolverKind] = SolverKind.HEURISTIC
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.ANYTIME})
    objectives: ClassVar[frozenset[Objective]] = frozenset(Objective)

    def solve(
        self, problem: Instance, *, objective: Objective, limits: Limits, observer: Observer, **_: Any
    ) -> Outcome:
        schedule = None if self.empty else in_order(problem, range(problem.num_jobs))
        if schedule is not None:
            observer.record(incumbent=evaluate(problem, schedule, objective), schedule=schedule)
        if self.ready:
            Path(self.ready).touch()
        stop = StopReason.INTERRUPTED
        while self.deaf or not observer.stop_requested():
            if limits.time is not None and observer.elapsed() >= limits.time:
                stop = StopReason.TIME
                break
            time.sleep(0.01)
        return Outcome(Status.UNKNOWN if schedule is None else Status.FEASIBLE, stop, schedule=schedule)
