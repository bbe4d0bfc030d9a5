"""Exceptions with an exit code each, and the fault record that input errors are made of.

Whatever a user can cause is a :class:`HetoptError`; the command line prints its text (one line a
fault) and exits with its code.  Anything else that escapes is a bug of ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

__all__ = [
    "ExitCode",
    "Fault",
    "HetoptError",
    "InfeasibleError",
    "InputError",
    "NoSolutionError",
    "OutputError",
    "SolverUnavailableError",
    "UnboundedError",
    "UsageError",
    "VerificationError",
    "shown",
]


class ExitCode(IntEnum):
    """Exit codes of the command line (``formats.md``)."""

    DONE = 0
    INVALID = 2
    INFEASIBLE = 3
    NO_SOLUTION = 4
    VERIFICATION_FAILED = 5
    MISSING = 6
    INTERRUPTED = 130


def shown(value: Any, limit: int = 60) -> str:
    """One-line text of a value for a message; long values are cut."""
    text = "null" if value is None else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with an input.

    Parameters
    ----------
    where
        JSON path, argument name or option (``jobs[3].rounds[0].processing_time[1]``).
    found
        The value found there, as text.
    rule
        The rule that it breaks.
    remedy
        What to do about it.
    source
        File name, or ``""`` for an object made in Python.
    """

    where: str
    found: str
    rule: str
    remedy: str
    source: str = ""

    def __str__(self) -> str:
        place = ": ".join(part for part in (self.source, self.where) if part)
        said = [f"found {self.found}"] if self.found else []
        text = "; ".join([*said, self.rule, *([self.remedy] if self.remedy else [])])
        return f"{place}: {text}" if place else text


class HetoptError(Exception):
    """Base of every error that a user can cause or meet."""

    exit_code: ExitCode = ExitCode.INVALID


class InputError(HetoptError, ValueError):
    """An input breaks a rule.  ``faults`` holds every fault found, one a line in the text."""

    def __init__(self, faults: Iterable[Fault] | Fault) -> None:
        found = (faults,) if isinstance(faults, Fault) else tuple(faults)
        self.faults: tuple[Fault, ...] = found
        super().__init__("\n".join(str(fault) for fault in found))

    def at(self, source: str) -> InputError:
        """The same faults with the name of the file that they are in."""
        return InputError(replace(fault, source=fault.source or source) for fault in self.faults)


class UsageError(HetoptError, ValueError):
    """A call that makes no sense: an unknown name, an option out of range, a wrong combination."""


class OutputError(HetoptError, OSError):
    """Something could not be written (unwritable path, full disk); nothing was left half-written."""


class InfeasibleError(HetoptError):
    """The problem has no feasible solution."""

    exit_code = ExitCode.INFEASIBLE


class UnboundedError(HetoptError):
    """The problem has solutions of arbitrarily small value."""

    exit_code = ExitCode.INFEASIBLE


class NoSolutionError(HetoptError):
    """No solution was found within the limits; reading one is refused."""

    exit_code = ExitCode.NO_SOLUTION


class VerificationError(HetoptError):
    """Two independent computations of one number disagree, or a claim does not hold."""

    exit_code = ExitCode.VERIFICATION_FAILED


class SolverUnavailableError(HetoptError):
    """A solver, library or extra is not installed; the text says how to get it."""

    exit_code = ExitCode.MISSING
