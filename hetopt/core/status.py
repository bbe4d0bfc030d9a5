"""Outcome vocabulary: what is known, why a run stopped, and how far a bound is to be trusted."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

__all__ = ["CUT_OFF", "Capability", "Objective", "SolverKind", "Status", "StopReason", "Trust"]


class Status(StrEnum):
    """What is known about a problem after a run; says nothing about why the run ended.

    ``OPTIMAL`` needs an incumbent and a bound of equal value, ``FEASIBLE`` an incumbent,
    ``UNKNOWN`` has neither incumbent nor proof of infeasibility (it may still carry a bound).
    """

    OPTIMAL = "OPTIMAL"
    FEASIBLE = "FEASIBLE"
    INFEASIBLE = "INFEASIBLE"
    UNBOUNDED = "UNBOUNDED"
    UNKNOWN = "UNKNOWN"


class StopReason(StrEnum):
    """Why a run ended; says nothing about what is known."""

    PROVED = "PROVED"
    GAP = "GAP"
    TIME = "TIME"
    MEMORY = "MEMORY"
    WORK = "WORK"
    EXHAUSTED = "EXHAUSTED"
    INTERRUPTED = "INTERRUPTED"
    ERROR = "ERROR"


CUT_OFF: Final = frozenset(
    {StopReason.TIME, StopReason.MEMORY, StopReason.WORK, StopReason.INTERRUPTED, StopReason.ERROR}
)
"""Reasons that never go with OPTIMAL: whoever had proved optimality had finished."""


class Trust(StrEnum):
    """How far a bound can be trusted.

    ``REPORTED``: a solver said so, within its floating-point tolerances.  ``DERIVED``: computed by
    us from a dual vector, rounded to the safe side.  ``VERIFIED``: a certificate was checked in
    exact arithmetic; only ``hetopt.analysis.certify`` hands this one out.
    """

    REPORTED = "REPORTED"
    DERIVED = "DERIVED"
    VERIFIED = "VERIFIED"


class Objective(StrEnum):
    """Objectives of clairvoyant scheduling; all are integers and all are minimised."""

    TOTAL_WEIGHTED_COMPLETION = "total-weighted-completion"
    TOTAL_WEIGHTED_FLOW = "total-weighted-flow"
    MAKESPAN = "makespan"


class SolverKind(StrEnum):
    """What sort of answer a solver gives."""

    EXACT = "exact"
    HEURISTIC = "heuristic"
    RELAXATION = "relaxation"
    ROUND = "round"
    ONLINE = "online"


class Capability(StrEnum):
    """What a solver declares that it can do; checked by tests, shown by ``hetopt solvers``."""

    EXACT = "EXACT"
    LOWER_BOUND = "LOWER_BOUND"
    HEURISTIC = "HEURISTIC"
    ONLINE = "ONLINE"
    WARM_START = "WARM_START"
    ANYTIME = "ANYTIME"
    DETERMINISTIC = "DETERMINISTIC"
    CERTIFICATE = "CERTIFICATE"
