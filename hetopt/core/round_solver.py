"""What a solver of FFT rounds is: parameters in a frozen dataclass, one ``solve`` method, an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar, Protocol, runtime_checkable

from hetopt.core.certificate import Certificate
from hetopt.core.round_problem import CostModel, RoundProblem
from hetopt.core.solver import Limits, Observer
from hetopt.core.status import Capability, SolverKind, Status, StopReason

__all__ = ["RoundOutcome", "RoundSolver", "WorkConservation"]


class WorkConservation(StrEnum):
    """Which allocations compete on cost.

    ``most-gpus``: those that use the most GPUs that any allocation can use (our replacement of the
    papers' equation (7), which can be infeasible; equal to it whenever (7) is feasible).
    ``maximal``: those in which no waiting job fits in what is left (weaker, always feasible).
    ``none``: all; with positive costs the empty allocation is then the cheapest.
    """

    MOST_GPUS = "most-gpus"
    MAXIMAL = "maximal"
    NONE = "none"


@dataclass(frozen=True)
class RoundOutcome:
    """What a round solver says; the ``run_round`` wrapper checks it and makes the ``Allocation``.

    Attributes
    ----------
    status, stop_reason
        As for any solver; OPTIMAL allows a relative difference of 1e-9 between cost and bound.
    gpu_type
        Type of each job of the round, in its order, or None where it waits; None: no allocation.
    bound
        Lower bound on the cost of every allocation that the rule admits.
    certificate
        Evidence for the bound, when there is some.
    work
        Units of deterministic work (nodes of the search).
    message
        One line for a human.
    extra
        Solver-specific values, for example the ``prices`` to warm-start the next round with.
    """

    status: Status
    stop_reason: StopReason
    gpu_type: tuple[int | None, ...] | None = None
    bound: Fraction | None = None
    certificate: Certificate | None = None
    work: int | None = None
    message: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


@runtime_checkable
class RoundSolver(Protocol):
    """A solver of FFT rounds."""

    name: ClassVar[str]
    kind: ClassVar[SolverKind]
    capabilities: ClassVar[frozenset[Capability]]
    rules: ClassVar[frozenset[WorkConservation]]

    def solve_round(
        self,
        problem: RoundProblem,
        *,
        cost: CostModel,
        rule: WorkConservation,
        limits: Limits,
        seed: int,
        incumbent: Sequence[int | None] | None,
        observer: Observer,
    ) -> RoundOutcome:
        """Solve one round; see :class:`RoundOutcome`."""
