"""Claims an objective that its schedule does not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from hetopt.core.instance import Instance
from hetopt.core.solver import Outcome
from hetopt.core.status import Capability, Objective, SolverKind, Status, StopReason
from hetopt_example.random_order import in_order


@dataclass(frozen=True)
class Liar:
    """``crash`` makes it fail with an exception that is no user's mistake."""

    crash: bool = False

    name: ClassVar[str] = "liar"
    kind: ClassVar[SolverKind] = SolverKind.HEURISTIC
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.HEURISTIC})
    objectives: ClassVar[frozenset[Objective]] = frozenset(Objective)

    def solve(self, problem: Instance, **_: Any) -> Outcome:
        if self.crash:
            raise ZeroDivisionError("a solver of a third party fell over")
        schedule = in_order(problem, range(problem.num_jobs))
        return Outcome(Status.FEASIBLE, StopReason.EXHAUSTED, schedule=schedule, claimed=1)
