"""The one wrapper round every solver: it measures, re-computes, re-checks, and makes the Result.

Guarantees, whatever the solver does: the incumbent is feasible by the independent checker; the
objective is recomputed from it; the incumbent is never worse than the warm start; OPTIMAL means
that bound and objective are equal; a disagreement is an error, never a warning.
"""

from __future__ import annotations

import dataclasses
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from hetopt.core.certificate import Bound
from hetopt.core.errors import UsageError, VerificationError
from hetopt.core.feasibility import violations
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.result import HistoryPoint, Result
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Exclusions, Limits, Outcome, Solver
from hetopt.core.status import CUT_OFF, Capability, Objective, Status, StopReason
from hetopt.solvers.catalogue import SOLVERS

__all__ = ["Monitor", "checked_limits", "interrupts", "make_solver", "plain_options", "run", "was_interrupted"]

Listener = Callable[[HistoryPoint], None]


class Monitor:
    """The observer of a run: clock, history, best schedule so far, and the wish to stop.

    Parameters
    ----------
    listener
        Called with each new point of the history (progress displays).
    """

    def __init__(self, listener: Listener | None = None) -> None:
        self._start = time.perf_counter()
        self._listener = listener
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self.history: list[HistoryPoint] = []
        self.incumbent: int | None = None
        self.bound: Bound | None = None
        self.schedule: Schedule | None = None

    def elapsed(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self._start

    def record(
        self, *, incumbent: int | None = None, bound: Bound | None = None, schedule: Schedule | None = None
    ) -> None:
        """Keep what is better than what is known; anything else is ignored."""
        with self._lock:
            changed = False
            if incumbent is not None and (self.incumbent is None or incumbent < self.incumbent):
                self.incumbent, changed = incumbent, True
                if schedule is not None:
                    self.schedule = schedule
            if bound is not None and (self.bound is None or bound.value > self.bound.value):
                self.bound, changed = bound, True
            if not changed:
                return
            point = HistoryPoint(
                round(self.elapsed(), 6), self.incumbent, None if self.bound is None else self.bound.ceiling
            )
            self.history.append(point)
        if self._listener is not None:
            self._listener(point)

    def request_stop(self) -> None:
        """Ask the solver to stop at its next step."""
        self._stop.set()

    def stop_requested(self) -> bool:
        """True once somebody asked to stop."""
        return self._stop.is_set()


@contextmanager
def interrupts(monitor: Monitor) -> Iterator[None]:
    """First Ctrl-C asks the solver to stop, the second one raises; outside the main thread nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.getsignal(signal.SIGINT)

    def handler(number: int, frame: FrameType | None) -> None:
        if monitor.stop_requested():
            raise KeyboardInterrupt
        monitor.request_stop()

    try:
        signal.signal(signal.SIGINT, handler)
    except ValueError:  # a host without signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def was_interrupted(result: Result) -> bool:
    """Whether the user asked the run to stop, also where the solver was done before it noticed."""
    return result.stop_reason is StopReason.INTERRUPTED or bool(result.extra.get("interrupted"))


def make_solver(solver: str | Solver, params: dict[str, Any] | None = None) -> Solver:
    """A solver from its name and parameters.

    Raises
    ------
    UsageError
        Unknown name or parameter, or a value that the solver refuses.
    SolverUnavailableError
        A library that it needs is not installed.
    """
    if not isinstance(solver, str):
        if params:
            raise UsageError("params go with a solver's name; give a solver object its parameters directly")
        return solver
    cls = SOLVERS.load(solver)
    known = [f.name for f in dataclasses.fields(cls)] if dataclasses.is_dataclass(cls) else []
    for key in params or {}:
        if key not in known:
            raise UsageError(f"{solver} has no parameter {key!r}; it has: {', '.join(known) or 'none'}")
    try:
        made: Solver = cls(**(params or {}))
    except (TypeError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{solver}: {error}") from None
    return made


def plain_options(solver: object) -> dict[str, Any]:
    """The parameters of a solver as plain JSON values, for the record of a run."""
    if not dataclasses.is_dataclass(solver) or isinstance(solver, type):
        return {}
    return {f.name: _plain(getattr(solver, f.name)) for f in dataclasses.fields(solver)}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    return str(value)


def checked_limits(limits: Limits | None) -> Limits:
    """The limits, or none at all; refuses what makes no sense."""
    limits = limits or Limits()
    if limits.time is not None and not limits.time >= 0:
        raise UsageError(f"time limit {limits.time}: a time limit is a number of seconds >= 0")
    if limits.threads < 1:
        raise UsageError(f"threads {limits.threads}: at least one thread is needed")
    if limits.work is not None and limits.work < 0:
        raise UsageError(f"work limit {limits.work}: a work limit is a whole number >= 0")
    return limits


def run(
    solver: str | Solver,
    instance: Instance,
    *,
    objective: Objective | str = Objective.TOTAL_WEIGHTED_COMPLETION,
    limits: Limits | None = None,
    seed: int = 0,
    warm_start: Schedule | None = None,
    bound: Bound | None = None,
    exclusions: Exclusions | None = None,
    params: dict[str, Any] | None = None,
    listener: Listener | None = None,
) -> Result:
    """Run a solver and make a checked :class:`~hetopt.core.result.Result`.

    Parameters
    ----------
    solver
        Name in the catalogue, or a solver object.
    instance
        The instance.
    objective
        Objective, in ticks (x weight).
    limits
        Time, work and threads.
    seed
        Seed of every random choice.
    warm_start
        A schedule to start from; an infeasible one is reported in ``Result.warm_start`` and left out.
    bound
        A valid lower bound from outside, in ``objective``.
    exclusions
        Choices that a relaxation has excluded; see :class:`~hetopt.core.solver.Exclusions`.
    params
        Parameters for a solver given by name.
    listener
        Called with each new point of the history.

    Raises
    ------
    UsageError, SolverUnavailableError
        The call makes no sense here, or something is not installed.
    VerificationError
        The solver's claims do not survive the check: a bug of the solver or of hetopt.
    """
    limits = checked_limits(limits)
    try:
        objective = Objective(objective)
    except ValueError:
        raise UsageError(f"no objective is called {objective!r}; known: {', '.join(Objective)}") from None
    made = make_solver(solver, params)
    if not isinstance(made, Solver):
        raise UsageError(f"{solver} does not solve clairvoyant instances; rounds go to solve_round")
    if objective not in made.objectives:
        raise UsageError(
            f"{made.name} does not take the objective {objective}; it takes {', '.join(sorted(made.objectives))}"
        )

    fate: str | None = None
    incumbent: Schedule | None = None
    if warm_start is not None:
        broken = violations(instance, warm_start)
        if broken:
            fate = f"rejected: {broken[0]}" + (f" (and {len(broken) - 1} more)" if len(broken) > 1 else "")
        else:
            incumbent = warm_start
    monitor = Monitor(listener)
    if incumbent is not None:
        monitor.record(incumbent=evaluate(instance, incumbent, objective), schedule=incumbent)
    if bound is not None:
        monitor.record(bound=bound)
    with interrupts(monitor):
        try:
            outcome = made.solve(
                instance,
                objective=objective,
                limits=limits,
                seed=seed,
                incumbent=incumbent,
                bound=bound,
                exclusions=exclusions,
                observer=monitor,
            )
        except KeyboardInterrupt:
            status = Status.UNKNOWN if monitor.schedule is None else Status.FEASIBLE
            outcome = Outcome(
                status, StopReason.INTERRUPTED, monitor.schedule, deterministic=False, message="interrupted"
            )
    if monitor.stop_requested() and outcome.stop_reason in (StopReason.TIME, StopReason.WORK, StopReason.EXHAUSTED):
        outcome = dataclasses.replace(outcome, stop_reason=StopReason.INTERRUPTED)
    return _checked(made, instance, outcome, monitor, objective, limits, seed, incumbent, fate)


def _checked(
    solver: Solver,
    instance: Instance,
    outcome: Outcome,
    monitor: Monitor,
    objective: Objective,
    limits: Limits,
    seed: int,
    incumbent: Schedule | None,
    fate: str | None,
) -> Result:
    schedule, value = outcome.schedule, None
    if schedule is not None:
        broken = violations(instance, schedule)
        if broken:
            raise VerificationError(
                f"{solver.name} returned an infeasible schedule ({len(broken)} violations): {broken[0]}"
            )
        value = evaluate(instance, schedule, objective)
        if outcome.claimed is not None and outcome.claimed != value:
            raise VerificationError(f"{solver.name} claims {objective} {outcome.claimed}; its schedule has {value}")
    for other in (incumbent, monitor.schedule):  # never worse than the warm start, or than what was recorded
        if other is not None and other is not schedule:
            worth = evaluate(instance, other, objective)
            if (value is None or worth < value) and (other is incumbent or not violations(instance, other)):
                schedule, value = other, worth
    bound = outcome.bound
    if monitor.bound is not None and (bound is None or monitor.bound.value > bound.value):
        bound = monitor.bound
    status, stop = outcome.status, outcome.stop_reason
    if status is Status.INFEASIBLE and schedule is not None:
        raise VerificationError(
            f"{solver.name} claims that the instance is infeasible; a feasible schedule of value {value} is known"
        )
    if value is not None and bound is not None and bound.ceiling > value:
        raise VerificationError(
            f"the lower bound {bound.value} of {bound.source} is above the value {value} of a feasible schedule"
        )
    if status is Status.OPTIMAL and (value is None or bound is None or bound.ceiling != value):
        shown = None if bound is None else bound.ceiling
        raise VerificationError(f"{solver.name} claims OPTIMAL with objective {value} and bound {shown}")
    if value is not None and status is not Status.OPTIMAL:
        closed = bound is not None and bound.ceiling == value
        status = Status.OPTIMAL if closed else Status.FEASIBLE
        stop = StopReason.PROVED if closed else stop
    if status is Status.OPTIMAL and stop in CUT_OFF:  # it had finished when the limit or the user came
        stop = StopReason.PROVED
    seconds = monitor.elapsed()  # the checks above are part of the run
    history = list(monitor.history)
    last = HistoryPoint(round(seconds, 6), value, None if bound is None else bound.ceiling)
    if not history or (history[-1].incumbent, history[-1].bound) != (last.incumbent, last.bound):
        history.append(last)
    warm = fate or outcome.warm_start
    if warm is None and incumbent is not None:
        takes = Capability.WARM_START in solver.capabilities
        warm = "accepted" if takes else f"rejected: {solver.name} takes no warm start"
    stopped_by_clock = stop in (StopReason.TIME, StopReason.MEMORY, StopReason.INTERRUPTED)
    return Result(
        status=status,
        stop_reason=stop,
        objective_kind=objective,
        incumbent=schedule,
        objective=value,
        exact_bound=bound,
        solver=solver.name,
        fingerprint=instance.fingerprint,
        solver_version=outcome.solver_version,
        options=plain_options(solver),
        seed=seed,
        threads=limits.threads,
        deterministic=outcome.deterministic and not stopped_by_clock,
        runtime_seconds=round(seconds, 6),
        work=outcome.work,
        history=tuple(history),
        warm_start=warm,
        message=outcome.message,
        extra={**outcome.extra, "interrupted": True} if monitor.stop_requested() else outcome.extra,
    )
