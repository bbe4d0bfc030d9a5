"""What a MILP backend is asked and what it answers, and the shape of the tables of native outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.status import Status, StopReason
from hetopt.models.base import LinearModel

__all__ = ["Answer", "Reading", "Request", "read", "safe_floor", "whole_bound", "without_columns"]

RELATIVE: Final = 1e-9
ABSOLUTE: Final = 1e-5


@dataclass(frozen=True)
class Request:
    """A linear model to be solved to a proof.

    Parameters
    ----------
    model
        The model; minimised.
    seconds
        Time left, ``None`` for no limit.
    nodes
        Branch-and-bound nodes, ``None`` for no limit.
    threads, seed
        Passed on.
    start
        A feasible point to start from.
    target
        Stop once an incumbent of at most this value is known (a lower bound from outside).
    log_file
        File for the backend's log, ``""`` for none.
    strict
        1: the tightest feasibility tolerances; 2: and no presolve.  For a second try, where an answer contradicts itself.
    """

    model: LinearModel
    seconds: float | None = None
    nodes: int | None = None
    threads: int = 1
    seed: int = 0
    start: NDArray[np.float64] | None = None
    target: float | None = None
    log_file: str = ""
    strict: int = 0


@dataclass(frozen=True)
class Answer:
    """What a backend found; numbers are None unless its table says that they exist.

    Attributes
    ----------
    status, stop_reason
        As everywhere.
    values : (n,) float64
        The incumbent.
    objective, bound
        Value of the incumbent and lower bound, offset included, as the backend reports them.
    nodes
        Branch-and-bound nodes.
    native
        The backend's own word for the outcome.
    message, version
        For the result.
    log
        The backend's log, where it ran in another process and somebody wants it.
    """

    status: Status
    stop_reason: StopReason
    values: NDArray[np.float64] | None = None
    objective: float | None = None
    bound: float | None = None
    nodes: int | None = None
    native: str = ""
    message: str = ""
    version: str = ""
    log: str = ""


@dataclass(frozen=True)
class Reading:
    """One row of a table of outcomes: what a native outcome means, and which numbers exist then.

    Parameters
    ----------
    status
        Status when there is no incumbent to read; OPTIMAL here means that one must be there.
    stop_reason
        Why it stopped.
    incumbent, bound
        Whether an incumbent, and a bound, may exist; where not, the backend's fields hold stand-ins.
    """

    status: Status
    stop_reason: StopReason
    incumbent: bool = False
    bound: bool = False


def read(
    reading: Reading,
    *,
    native: str,
    values: NDArray[np.float64] | None,
    objective: float | None,
    bound: float | None,
    nodes: int | None = None,
    message: str = "",
    version: str = "",
) -> Answer:
    """An answer from a table's row; what the row does not allow to be read is dropped.

    An outcome that the backend calls optimal but gives no point for is UNKNOWN with an ERROR.
    """
    if not reading.incumbent:
        values = objective = None
    if values is None or not np.isfinite(values).all():
        values = objective = None
    if objective is not None and not math.isfinite(objective):
        objective = None
    if not reading.bound or bound is None or not math.isfinite(bound) or abs(bound) >= 1e49:
        bound = None
    status, stop = reading.status, reading.stop_reason
    if status is Status.OPTIMAL and values is None:
        status, stop, bound = Status.UNKNOWN, StopReason.ERROR, None
        message = message or f"the backend says {native} and hands over no solution"
    elif status is Status.UNKNOWN and values is not None:
        status = Status.FEASIBLE
    return Answer(status, stop, values, objective, bound, nodes, native, message, version)


def without_columns(model: LinearModel) -> Answer | None:
    """The answer to a model that has no columns left, for which backends have no common word; else None."""
    if model.num_columns:
        return None
    nothing = np.zeros(0)
    if model.broken(nothing):
        return Answer(Status.INFEASIBLE, StopReason.PROVED, native="no columns")
    return Answer(Status.OPTIMAL, StopReason.PROVED, nothing, model.offset, model.offset, native="no columns")


def safe_floor(bound: float) -> Fraction:
    """A reported bound, moved to the safe side by what floating-point solvers may be off."""
    return Fraction(bound) - Fraction(ABSOLUTE + RELATIVE * abs(bound))


def whole_bound(bound: float) -> int:
    """The bound for an objective that takes whole values only: the safe floor, rounded up."""
    return math.ceil(safe_floor(bound))


Improved = Callable[[NDArray[np.float64], float], None]
"""Called with each better incumbent: column values and objective."""

Bounded = Callable[[float], None]
"""Called with each better bound."""
