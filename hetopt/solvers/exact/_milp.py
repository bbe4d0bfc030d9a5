"""What the MILP solvers share: a first schedule, the model in its windows, a backend, and an honest reading of the answer.

The model is built for schedules of value at most a cutoff U (``windows``), so a backend's bound b proves
min(b, U + 1): every schedule cut off is worth more than U.  An infeasible model proves U + 1.

A backend that says "optimal" and whose point is worth more than it says contradicts itself (tolerances that big-M rows
magnify; presolve together with a start, which HiGHS 1.16 gets wrong now and then).  The model is then solved again,
more carefully each time: without a start, then without presolve and with the tightest tolerances.  Only when
that is of no avail does the run end with an open gap.
"""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.certificate import Bound
from hetopt.core.errors import UsageError, VerificationError
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate, offset
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Exclusions, Limits, Observer, Outcome
from hetopt.core.status import Objective, Status, StopReason, Trust
from hetopt.models._native import version
from hetopt.models.base import BuildStopped, BuiltModel
from hetopt.models.clairvoyant.disjunctive_milp import DisjunctiveMilp
from hetopt.models.clairvoyant.time_indexed_milp import TimeIndexedMilp
from hetopt.models.clairvoyant.windows import first_schedule, left_shifted, start_windows
from hetopt.solvers.backends import highs, pulp_backend
from hetopt.solvers.backends.answer import Answer, Request, whole_bound
from hetopt.solvers.exact._size import refused, too_large

__all__ = ["BACKENDS", "check_backend", "solve_milp"]

BACKENDS: Final = ("highs", *pulp_backend.ENGINES)
"""Values of the parameter ``backend``."""

MAX_SIZE: Final = 20_000_000
"""Rows or entries beyond which a model is not even built: it would not fit usual memory."""

MilpFormulation = DisjunctiveMilp | TimeIndexedMilp


def check_backend(backend: str) -> None:
    """Raise ``UsageError`` for a backend that does not exist."""
    if backend not in BACKENDS:
        raise UsageError(f"no backend is called {backend!r}; known: {', '.join(BACKENDS)}")


class _Clock:
    """Time left and the wish to stop."""

    def __init__(self, limits: Limits, observer: Observer) -> None:
        self._began = time.perf_counter()
        self._limit, self._observer = limits.time, observer

    def left(self) -> float | None:
        return None if self._limit is None else self._limit - (time.perf_counter() - self._began)

    def over(self) -> bool:
        left = self.left()
        return self._observer.stop_requested() or (left is not None and left <= 0)

    def reason(self) -> StopReason:
        return StopReason.INTERRUPTED if self._observer.stop_requested() else StopReason.TIME


def solve_milp(
    formulation: MilpFormulation,
    backend: str,
    log_file: str,
    instance: Instance,
    *,
    objective: Objective,
    limits: Limits,
    seed: int,
    incumbent: Schedule | None,
    bound: Bound | None,
    exclusions: Exclusions | None,
    observer: Observer,
) -> Outcome:
    """Solve an instance through a linear formulation; see ``Solver.solve``."""
    clock = _Clock(limits, observer)
    why = too_large(instance, limits)
    if why:
        return refused(instance, objective, limits, incumbent, observer, why)
    best, value = _first(instance, objective, incumbent)
    alone = _critical_path(instance, objective, value)
    observer.record(incumbent=value, schedule=best, bound=alone)
    if bound is None and alone.ceiling == value:
        bound = alone
    library = version("highspy") if backend == "highs" else version("pulp")

    def early(stop: StopReason, message: str) -> Outcome:
        return Outcome(Status.FEASIBLE, stop, best, value, message=message, solver_version=library)

    if bound is not None and bound.ceiling >= value:
        proved = Outcome(Status.OPTIMAL, StopReason.PROVED, best, value, bound, solver_version=library)
        return proved if bound.ceiling == value else early(StopReason.EXHAUSTED, "")
    size = _size(formulation, instance, objective, value, exclusions)
    if size > MAX_SIZE:
        return early(StopReason.MEMORY, f"the model was not built: about {size} rows or entries, {MAX_SIZE} at most")
    try:
        built = formulation.build(instance, objective, upper_bound=value, exclusions=exclusions, stop=clock.over)
    except BuildStopped:
        return early(clock.reason(), "the limit came while the model was being built")
    start, warm = _start(formulation, built, best, incumbent)
    model = built.linear if bound is None else built.linear.with_floor(bound.ceiling)
    request = Request(
        model,
        seconds=clock.left(),
        nodes=limits.work,
        threads=limits.threads,
        seed=seed,
        start=start,
        target=None if bound is None else float(bound.ceiling),
        log_file=log_file,
    )

    def improved(values: NDArray[np.float64], _: float) -> None:
        try:
            schedule = formulation.decode(built, values)
        except ValueError:  # within tolerances only, or an error of the backend: the answer at the end is judged anew
            return
        observer.record(incumbent=evaluate(instance, schedule, objective), schedule=schedule)

    def bounded(reported: float) -> None:
        observer.record(bound=_bound(min(whole_bound(reported), _most(built)), backend))

    def solved(asked: Request) -> Answer:
        if backend == "highs":
            return highs.solve(asked, stop=observer.stop_requested, on_incumbent=improved, on_bound=bounded)
        return pulp_backend.solve(asked, backend, stop=observer.stop_requested)

    nodes = 0
    for more in ({}, {"start": None, "strict": 1}, {"start": None, "strict": 2}):
        left = None if limits.work is None else limits.work - nodes
        if more and (clock.over() or (left is not None and left <= 0)):
            break
        answer = solved(replace(request, seconds=clock.left(), nodes=left, **more))  # type: ignore[arg-type]
        nodes += answer.nodes or 0
        known = _decoded(formulation, built, answer)
        if known is not None and known[1] < value:
            best, value = known
        if not _contradicts(built, answer, value):
            break
    if answer.nodes is not None:
        answer = replace(answer, nodes=nodes)
    return _read(built, answer, best, value, backend, warm, limits, library)


def _decoded(formulation: MilpFormulation, built: BuiltModel, answer: Answer) -> tuple[Schedule, int] | None:
    """The schedule of the answer and its worth, exactly; None where there is none."""
    if answer.values is None:
        return None
    schedule = formulation.decode(built, answer.values)
    return schedule, evaluate(built.instance, schedule, built.objective)


def _contradicts(built: BuiltModel, answer: Answer, value: int) -> bool:
    """Whether the backend says that it is done, and the best schedule known says that it cannot be."""
    if answer.status is Status.INFEASIBLE:
        return value < _most(built)
    done = answer.status is Status.OPTIMAL and answer.bound is not None
    return done and whole_bound(answer.bound or 0.0) != value and value <= _most(built)


def _first(instance: Instance, objective: Objective, incumbent: Schedule | None) -> tuple[Schedule, int]:
    candidates = [first_schedule(instance, objective)]
    if incumbent is not None:
        candidates.insert(0, left_shifted(instance, incumbent))
    best = min(candidates, key=lambda schedule: evaluate(instance, schedule, objective))
    return best, evaluate(instance, best, objective)


def _critical_path(instance: Instance, objective: Objective, value: int) -> Bound:
    """Every job alone on the fastest GPUs: exact, and there before the backend has any bound."""
    ends = start_windows(instance, objective, value).completion_earliest.tolist()
    if objective is Objective.MAKESPAN:
        least = max(ends)
    else:
        least = sum(job.weight * end for job, end in zip(instance.jobs, ends, strict=True)) + offset(
            instance, objective
        )
    return Bound(Fraction(least), "critical-path", Trust.DERIVED)


def _size(
    formulation: MilpFormulation, instance: Instance, objective: Objective, value: int, exclusions: Exclusions | None
) -> int:
    if isinstance(formulation, DisjunctiveMilp):
        return formulation.size(instance)
    return formulation.size(instance, start_windows(instance, objective, value, exclusions))


def _start(
    formulation: MilpFormulation, built: BuiltModel, best: Schedule, incumbent: Schedule | None
) -> tuple[NDArray[np.float64] | None, str | None]:
    try:
        return formulation.encode(built, best), None if incumbent is None else "accepted"
    except ValueError as error:  # a relaxation has excluded it, which it may: it is kept all the same
        return None, None if incumbent is None else f"rejected: {error} (kept as the incumbent)"


def _most(built: BuiltModel) -> int:
    """No bound above this follows from the model: schedules worth more than the cutoff may be cut off."""
    assert built.cutoff is not None
    return built.cutoff + 1


def _bound(value: int, backend: str) -> Bound:
    return Bound(Fraction(value), backend, Trust.REPORTED)


def _read(
    built: BuiltModel,
    answer: Answer,
    best: Schedule,
    value: int,
    backend: str,
    warm: str | None,
    limits: Limits,
    library: str,
) -> Outcome:
    """The outcome that the answer justifies; numbers are recomputed from the schedule."""
    message = answer.message
    if answer.status is Status.UNBOUNDED:
        raise VerificationError(f"{backend} calls a model unbounded whose objective is bounded below")
    reported: int | None = None
    if answer.status is Status.INFEASIBLE:
        if value < _most(built):
            raise VerificationError(f"{backend} calls the model infeasible; a schedule of value {value} satisfies it")
        reported = _most(built)
    elif answer.bound is not None:
        reported = min(whole_bound(answer.bound), _most(built))
    if _contradicts(built, answer, value) and answer.objective is not None:
        message = (
            f"{backend} reports {answer.objective:.6g} within its tolerances, also when asked to be careful; "
            f"the best schedule, in whole ticks, is worth {value}"
        )
    closed = reported is not None and reported == value
    stop = answer.stop_reason
    if closed:
        stop = StopReason.PROVED
        message = f"optimality rests on the word of {backend}"
    elif stop is StopReason.PROVED:
        stop = StopReason.GAP
    extra: dict[str, Any] = {
        "native": answer.native,
        "columns": built.linear.num_columns,
        "rows": built.linear.num_rows,
    }
    return Outcome(
        status=Status.OPTIMAL if closed else Status.FEASIBLE,
        stop_reason=stop,
        schedule=best,
        claimed=value,
        bound=None if reported is None else _bound(reported, backend),
        work=answer.nodes,
        deterministic=limits.threads == 1,
        warm_start=warm,
        message=message,
        solver_version=answer.version or library,
        extra=extra,
    )
