"""What a solver is: parameters in a frozen dataclass, one ``solve`` method, an ``Outcome``.

A solver returns an :class:`Outcome`: what it found, in its own words.  The public
:class:`~hetopt.core.result.Result` is made by one wrapper (``hetopt.solvers.run``) that
re-computes and re-checks everything in it; no solver makes a ``Result`` itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hetopt.core.certificate import Bound
from hetopt.core.errors import UsageError
from hetopt.core.instance import Instance
from hetopt.core.schedule import Schedule
from hetopt.core.status import Capability, Objective, SolverKind, Status, StopReason

__all__ = ["Exclusions", "Limits", "NullObserver", "Observer", "Outcome", "Solver", "make_limits"]


@dataclass(frozen=True)
class Limits:
    """Limits of a run; ``None`` means no limit.

    Parameters
    ----------
    time
        Seconds from the call of ``solve``, model building included; kept to max(1 s, 10 %).
    work
        Deterministic units, documented per solver (iterations, nodes, decodes).
    threads
        Threads that the solver may use.
    """

    time: float | None = None
    work: int | None = None
    threads: int = 1


def make_limits(time_limit: float | None = None, work_limit: int | None = None, threads: int = 1) -> Limits:
    """Checked limits of a run.

    Raises
    ------
    UsageError
        A limit that is not a finite number >= 0, or threads that are not a whole number >= 1.
    """
    faults: list[str] = []
    if time_limit is not None:
        number = isinstance(time_limit, (int, float)) and not isinstance(time_limit, bool)
        if not number or not math.isfinite(time_limit) or time_limit < 0:
            faults.append(
                f"time limit {time_limit!r}: a time limit is a finite number of seconds >= 0; leave it out for no limit"
            )
    if work_limit is not None and (isinstance(work_limit, bool) or not isinstance(work_limit, int) or work_limit < 0):
        faults.append(f"work limit {work_limit!r}: a work limit is a whole number >= 0; leave it out for no limit")
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 1024:
        faults.append(f"threads {threads!r}: the number of threads is a whole number from 1 to 1024")
    if faults:
        raise UsageError("\n".join(faults))
    return Limits(time=time_limit, work=work_limit, threads=threads)


class Observer(Protocol):
    """Receives progress and says when to stop; the ``run`` wrapper passes one in."""

    def record(
        self, *, incumbent: int | None = None, bound: Bound | None = None, schedule: Schedule | None = None
    ) -> None:
        """Note a better incumbent value (with its schedule when at hand) or a better bound."""

    def stop_requested(self) -> bool:
        """True once the user has asked to stop (Ctrl-C); solvers look at it between steps."""

    def elapsed(self) -> float:
        """Seconds since the run began."""


class NullObserver:
    """Records nothing and never stops."""

    def record(
        self, *, incumbent: int | None = None, bound: Bound | None = None, schedule: Schedule | None = None
    ) -> None:
        """Ignore."""

    def stop_requested(self) -> bool:
        """Never."""
        return False

    def elapsed(self) -> float:
        """Always 0: nobody is measuring."""
        return 0.0


@dataclass(frozen=True)
class Exclusions:
    """(round, type, start) choices that no schedule of value <= ``upper_bound`` uses.

    Attributes
    ----------
    objective
        Objective that ``upper_bound`` is measured in.
    upper_bound
        Every schedule whose value is at most this survives.
    earliest, latest : (R, K) int64
        Smallest and largest remaining start tick of a task of the round on the type;
        ``earliest > latest`` means that the type is excluded for the round.
    allowed
        Optional finer information: for (round, type) the remaining starts as a sorted tuple of
        closed intervals within [earliest, latest].
    """

    objective: Objective
    upper_bound: int
    earliest: NDArray[np.int64]
    latest: NDArray[np.int64]
    allowed: dict[tuple[int, int], tuple[tuple[int, int], ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a solver says; the ``run`` wrapper checks it and makes the ``Result``.

    Attributes
    ----------
    status, stop_reason
        As in the format.
    schedule
        The incumbent, if any.
    claimed
        Objective value that the solver believes the incumbent has; compared with ours.
    bound
        Best lower bound of its own, in the objective that was asked for.
    work
        Units of deterministic work done.
    deterministic
        Whether the same call with one thread would give the same bytes.
    warm_start
        ``None`` (none given), ``"accepted"``, ``"repaired"`` or ``"rejected: why"``.
    message
        One line for a human; empty when there is nothing to say.
    solver_version
        Version of the library behind it.
    extra
        Solver-specific values (for example the midpoints of a relaxation); not in the format.
    """

    status: Status
    stop_reason: StopReason
    schedule: Schedule | None = None
    claimed: int | None = None
    bound: Bound | None = None
    work: int | None = None
    deterministic: bool = True
    warm_start: str | None = None
    message: str = ""
    solver_version: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


@runtime_checkable
class Solver(Protocol):
    """A solver: a frozen dataclass whose fields are its parameters."""

    name: ClassVar[str]
    kind: ClassVar[SolverKind]
    capabilities: ClassVar[frozenset[Capability]]
    objectives: ClassVar[frozenset[Objective]]

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
        """Solve; see :class:`Outcome`.

        ``incumbent`` is feasible (the wrapper has checked it) and ``bound`` is valid for
        ``objective``.  A solver without the matching capability may ignore both.
        """
