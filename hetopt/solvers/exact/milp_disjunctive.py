"""``milp-disjunctive``: the disjunctive big-M MILP per GPU, the literature's baseline.

Problem: clairvoyant scheduling, all three objectives.  Guarantee: an optimal schedule when it says OPTIMAL,
within the feasibility tolerances of the backend (the bound is REPORTED).  Complexity: exponential; useful to about
25 tasks.  Formulation and references: :mod:`hetopt.models.clairvoyant.disjunctive_milp`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hetopt.core.certificate import Bound
from hetopt.core.instance import Instance
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Exclusions, Limits, Observer, Outcome
from hetopt.core.status import Capability, Objective, SolverKind
from hetopt.models.clairvoyant.disjunctive_milp import DisjunctiveMilp
from hetopt.solvers.exact._milp import check_backend, solve_milp

__all__ = ["MilpDisjunctive"]


@dataclass(frozen=True)
class MilpDisjunctive:
    """The solver of this module.

    Parameters
    ----------
    backend
        ``highs`` (direct), ``cbc``, ``pulp-highs``, ``gurobi``, ``cplex`` or ``scip`` (through PuLP).
    symmetry_breaking
        Whether the tasks of a round are numbered by start.
    log_file
        File for the backend's log.

    Notes
    -----
    The work limit counts branch-and-bound nodes.  The warm start is left-shifted and given to the backend; the
    answer is never worse.  A bound from outside becomes a row, and the run stops when it is met.
    """

    name: ClassVar[str] = "milp-disjunctive"
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
    symmetry_breaking: bool = True
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
            DisjunctiveMilp(self.symmetry_breaking),
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
