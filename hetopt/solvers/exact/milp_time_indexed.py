"""``milp-time-indexed``: the time-indexed MILP aggregated by GPU type and round.

Problem: clairvoyant scheduling, all three objectives.  Guarantee: an optimal schedule when it says OPTIMAL,
within the feasibility tolerances of the backend (the bound is REPORTED).  Complexity: exponential, in a model that grows with
the number of ticks: a coarse tick helps, and so do exclusions from a relaxation, which drop columns.
Formulation and references: :mod:`hetopt.models.clairvoyant.time_indexed_milp`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hetopt.core.certificate import Bound
from hetopt.core.instance import Instance
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Exclusions, Limits, Observer, Outcome
from hetopt.core.status import Capability, Objective, SolverKind
from hetopt.models.clairvoyant.time_indexed_milp import TimeIndexedMilp
from hetopt.solvers.exact._milp import check_backend, solve_milp

__all__ = ["MilpTimeIndexed"]


@dataclass(frozen=True)
class MilpTimeIndexed:
    """The solver of this module.

    Parameters
    ----------
    backend
        ``highs`` (direct), ``cbc``, ``pulp-highs``, ``gurobi``, ``cplex`` or ``scip`` (through PuLP).
    log_file
        File for the backend's log.

    Notes
    -----
    The work limit counts branch-and-bound nodes.  The warm start is left-shifted and given to the backend; the
    answer is never worse.  A bound from outside becomes a row, and the run stops when it is met.
    """

    name: ClassVar[str] = "milp-time-indexed"
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

    backend: str = "highs"
    log_file: str = ""

    def __post_init__(self) -> None:
        check_backend(self.backend)

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
        """See :meth:`hetopt.core.solver.Solver.solve`."""
        return solve_milp(
            TimeIndexedMilp(),
            self.backend,
            self.log_file,
            problem,
            objective=objective,
            limits=limits,
            seed=seed,
            incumbent=incumbent,
            bound=bound,
            exclusions=exclusions,
            observer=observer,
        )
