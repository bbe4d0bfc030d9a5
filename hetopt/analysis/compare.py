"""Run solvers on instances and put them side by side: nothing hidden, nothing unchecked.

Every run goes through :func:`hetopt.solvers.run.run`, which re-computes what a solver claims.  Here runs are held
against each other: the largest lower bound over all rows and the library of best known values is the reference of
every ratio, and a schedule that is better than a "proved" bound is an error.
"""

from __future__ import annotations

import json
import platform
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

from hetopt.analysis.certify import trusted_result
from hetopt.analysis.comparison import Comparison, ContradictionError, InstanceSummary, Row, SolverSummary
from hetopt.analysis.gaps import ratio, relative_gap
from hetopt.analysis.known import BestKnown, best_known
from hetopt.core.errors import HetoptError, SolverUnavailableError, UsageError, VerificationError
from hetopt.core.instance import Instance
from hetopt.core.result import HistoryPoint, Result
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Limits, Solver, make_limits
from hetopt.core.status import Objective, Status, StopReason, Trust
from hetopt.solvers.catalogue import SOLVERS
from hetopt.solvers.run import make_solver, run, was_interrupted

__all__ = ["Progress", "compare"]


@dataclass(frozen=True)
class Progress:
    """What a listener is told: run number ``index`` (from 1) of ``total``, and either a new point or the finished run.

    ``point`` and ``result`` are both None when the run starts; ``error`` says why a run has no result.
    """

    instance: str
    solver: str
    index: int
    total: int
    point: HistoryPoint | None = None
    result: Result | None = None
    error: str | None = None


Listener = Callable[[Progress], None]
Solvers = "str | Solver | Sequence[str | Solver] | Mapping[str, str | Solver]"


_TRUSTED = (Trust.REPORTED, Trust.DERIVED, None, Trust.VERIFIED)
"""Among equal bounds the better trusted one is named; None is a proof by hand in the library."""


@dataclass(frozen=True)
class _Entry:
    """A solver to run: its label, and the object or why there is none."""

    label: str
    name: str
    solver: Solver | None
    reason: str = ""


@dataclass
class _Run:
    """One finished run."""

    label: str
    result: Result | None
    error: str
    seconds: float | None


def compare(
    instances: Instance | Iterable[Instance],
    solvers: str | Solver | Sequence[str | Solver] | Mapping[str, str | Solver],
    *,
    objective: Objective | str = Objective.TOTAL_WEIGHTED_COMPLETION,
    time_limit: float | None = None,
    work_limit: int | None = None,
    seed: int = 0,
    threads: int = 1,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    warm_start: Schedule | Iterable[Schedule] | None = None,
    known: Callable[[Instance, Objective], BestKnown | None] | None = None,
    listener: Listener | None = None,
) -> Comparison:
    """Run each solver on each instance.

    A solver that is not installed, does not take the objective, or breaks becomes a row that says so; the other
    rows are not touched by it.  Ctrl-C ends the comparison after the run in progress and keeps the rows done.

    Parameters
    ----------
    instances
        One instance or several; equal names get a number behind them.
    solvers
        Names, solver objects, or a mapping from the labels of the table to either.
    objective, time_limit, work_limit, seed, threads
        As for :func:`hetopt.solve`; the limits are per run.
    params
        Parameters of solvers given by name: label (or name) to parameter to value.
    warm_start
        Schedules to start from; each is given to the runs on the instance whose fingerprint it carries.
    known
        Best known values of an instance; by default those of the shipped library.
    listener
        Called with :class:`Progress` as runs start, improve and end.

    Raises
    ------
    UsageError
        The call makes no sense: an unknown solver, parameter or objective, a limit out of range.
    ContradictionError
        A schedule is better than a bound that somebody claims to be proved.  All runs are done by then, and the
        error's ``comparison`` holds the whole table.
    """
    kind = _objective(objective)
    limits = make_limits(time_limit, work_limit, threads)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise UsageError(f"seed {seed!r}: a seed is a whole number")
    chosen = _instances(instances)
    entries = _entries(solvers, params or {})
    starts = _starts(warm_start, [instance for _, instance in chosen])
    lookup = known if known is not None else best_known
    done: dict[str, list[_Run]] = {name: [] for name, _ in chosen}
    total, index, interrupted = len(chosen) * len(entries), 0, False

    def tell(*values: Any, **more: Any) -> None:
        if listener is not None:
            listener(Progress(*values, **more))

    try:
        for name, instance in chosen:
            for entry in entries:
                place = (name, entry.label, index + 1, total)
                tell(*place)
                finished = _run_one(
                    entry,
                    instance,
                    kind,
                    limits,
                    seed,
                    starts.get(instance.fingerprint),
                    None if listener is None else lambda point, place=place: tell(*place, point=point),  # type: ignore[misc]
                )
                done[name].append(finished)
                index += 1
                tell(*place, result=finished.result, error=finished.error or None)
                if finished.result is not None and was_interrupted(finished.result):
                    raise KeyboardInterrupt
    except KeyboardInterrupt:
        interrupted = True

    comparison = _assemble(
        chosen, entries, done, kind, time_limit, work_limit, seed, threads, lookup, interrupted, total - index
    )
    if comparison.contradictions:
        raise ContradictionError(comparison)
    return comparison


# --------------------------------------------------------------------------------------- arguments


def _objective(objective: Objective | str) -> Objective:
    try:
        return Objective(objective)
    except ValueError:
        raise UsageError(f"no objective is called {objective!r}; known: {', '.join(Objective)}") from None


def _distinct(labels: Iterable[str]) -> list[str]:
    """The labels, with a number behind each repetition; no two are equal afterwards."""
    given = list(labels)
    taken, out = set(given), []
    seen: set[str] = set()
    for label in given:
        candidate, number = label, 2
        while candidate in seen or (candidate != label and candidate in taken):
            candidate, number = f"{label} ({number})", number + 1
        seen.add(candidate)
        out.append(candidate)
    return out


def _instances(instances: Instance | Iterable[Instance]) -> list[tuple[str, Instance]]:
    given = [instances] if isinstance(instances, Instance) else list(instances)
    wrong = [type(i).__name__ for i in given if not isinstance(i, Instance)]
    if wrong:
        raise UsageError(
            f"instances: {', '.join(wrong)} given where an Instance is needed; read files with hetopt.load"
        )
    if not given:
        raise UsageError("instances: nothing to compare on; give at least one instance")
    names = _distinct(i.name or f"instance {n}" for n, i in enumerate(given, 1))
    return list(zip(names, given, strict=True))


def _entries(
    solvers: str | Solver | Sequence[str | Solver] | Mapping[str, str | Solver],
    params: Mapping[str, Mapping[str, Any]],
) -> list[_Entry]:
    if isinstance(solvers, Mapping):
        labels, given = [str(k) for k in solvers], list(solvers.values())
    else:
        given = list(solvers) if isinstance(solvers, (list, tuple)) else [solvers]  # type: ignore[list-item]
        labels = _distinct(s if isinstance(s, str) else _label(s) for s in given)
    if not given:
        raise UsageError("solvers: nothing to compare; name at least one solver")
    names = [s if isinstance(s, str) else getattr(s, "name", type(s).__name__) for s in given]
    strange = [k for k in params if k not in labels and k not in names]
    if strange:
        raise UsageError(f"params: {', '.join(map(repr, strange))} is none of the solvers {', '.join(labels)}")
    entries = []
    for label, name, solver in zip(labels, names, given, strict=True):
        if not isinstance(solver, str) and not isinstance(solver, Solver):
            raise UsageError(f"solvers: {solver!r} is neither a solver's name nor a solver")
        options = dict(params.get(label, params.get(name, {})))
        try:
            entries.append(_Entry(label, name, make_solver(solver, options)))
        except SolverUnavailableError as error:
            entries.append(_Entry(label, name, None, f"not available: {error}"))
    return entries


def _label(solver: Any) -> str:
    """The name of a solver object with the parameters that differ from their defaults."""
    name = str(getattr(solver, "name", type(solver).__name__))
    if not is_dataclass(solver) or isinstance(solver, type):
        return name
    try:
        plain = type(solver)()
    except TypeError:  # it has parameters without defaults
        return name
    changed = [f"{k}={v}" for k, v in asdict(solver).items() if getattr(plain, k) != getattr(solver, k)]
    return f"{name} ({', '.join(changed)})" if changed else name


def _starts(warm_start: Schedule | Iterable[Schedule] | None, instances: list[Instance]) -> dict[str, Schedule]:
    if warm_start is None:
        return {}
    given = [warm_start] if isinstance(warm_start, Schedule) else list(warm_start)
    known = {i.fingerprint for i in instances}
    for schedule in given:
        if not isinstance(schedule, Schedule):
            raise UsageError(f"warm_start: {type(schedule).__name__} given where a Schedule is needed")
        if schedule.fingerprint not in known:
            raise UsageError(f"warm_start: the schedule for {schedule.instance!r} is of none of the instances")
    return {schedule.fingerprint: schedule for schedule in given}


# ------------------------------------------------------------------------------------------- runs


def _run_one(
    entry: _Entry,
    instance: Instance,
    objective: Objective,
    limits: Limits,
    seed: int,
    start: Schedule | None,
    listener: Callable[[HistoryPoint], None] | None,
) -> _Run:
    if entry.solver is None:
        return _Run(entry.label, None, entry.reason, None)
    if objective not in entry.solver.objectives:
        takes = ", ".join(sorted(entry.solver.objectives))
        return _Run(entry.label, None, f"does not take the objective {objective}; it takes {takes}", None)
    began = time.perf_counter()
    try:
        found = run(
            entry.solver,
            instance,
            objective=objective,
            limits=limits,
            seed=seed,
            warm_start=start,
            listener=listener,
        )
        result = trusted_result(instance, found)
    except SolverUnavailableError as error:
        return _Run(entry.label, None, f"not available: {error}", None)
    except VerificationError as error:
        return _Run(entry.label, None, f"verification failed: {error}", time.perf_counter() - began)
    except (HetoptError, MemoryError) as error:
        return _Run(entry.label, None, str(error) or type(error).__name__, time.perf_counter() - began)
    except Exception as error:  # a bug of the solver: its row says so, the others are kept
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"broke: {type(error).__name__}: {error} ({where.filename.rsplit('/', 1)[-1]}:{where.lineno})"
        return _Run(entry.label, None, text, time.perf_counter() - began)
    return _Run(entry.label, result, "", result.runtime_seconds)


# --------------------------------------------------------------------------------------- assembly


def _assemble(
    chosen: list[tuple[str, Instance]],
    entries: list[_Entry],
    done: dict[str, list[_Run]],
    objective: Objective,
    time_limit: float | None,
    work_limit: int | None,
    seed: int,
    threads: int,
    lookup: Callable[[Instance, Objective], BestKnown | None],
    interrupted: bool,
    not_run: int,
) -> Comparison:
    rows: list[Row] = []
    summaries: list[InstanceSummary] = []
    contradictions: list[str] = []
    for name, instance in chosen:
        runs = done[name]
        summary, faults = _summary(name, instance, runs, lookup(instance, objective))
        summaries.append(summary)
        contradictions += faults
        rows += sorted(
            (_row(summary, r) for r in runs), key=lambda r: (r.objective is None, r.objective or 0, r.solver)
        )
    versions = {r.label: r.result.solver_version for runs in done.values() for r in runs if r.result is not None}
    return Comparison(
        objective=objective,
        time_limit=time_limit,
        work_limit=work_limit,
        seed=seed,
        threads=threads,
        rows=tuple(rows),
        instances=tuple(summaries),
        solvers=tuple(
            SolverSummary(e.label, e.name, _kind(e), versions.get(e.label, ""), _options(e.solver)) for e in entries
        ),
        versions=_versions(),
        sources=tuple(instance for _, instance in chosen),
        results={(name, r.label): r.result for name, runs in done.items() for r in runs if r.result is not None},
        interrupted=interrupted,
        not_run=not_run,
        contradictions=tuple(contradictions),
    )


def _summary(
    name: str, instance: Instance, runs: list[_Run], known: BestKnown | None
) -> tuple[InstanceSummary, list[str]]:
    bounds: list[tuple[int, str, Trust | None]] = []
    values: list[tuple[int, str]] = []
    impossible: list[str] = []
    for r in runs:
        if r.result is None:
            continue
        if r.result.bound is not None:
            bounds.append((r.result.bound, r.label, r.result.bound_trust))
        if r.result.objective is not None:
            values.append((r.result.objective, r.label))
        if r.result.status is Status.INFEASIBLE:
            impossible.append(r.label)
    if known is not None and known.lower_bound is not None:
        bounds.append((known.lower_bound, f"library: {known.lower_source}", known.trust))
    if known is not None and known.objective is not None:
        values.append((known.objective, f"library: {known.objective_source}"))
    bound = max(bounds, key=lambda b: (b[0], _TRUSTED.index(b[2])), default=None)  # on full ties the first one given
    value = min(values, key=lambda v: v[0], default=None)
    faults = [
        f"{name}: the lower bound {b} of {source} is above the value {v} of the feasible schedule of {by}"
        for b, source, _ in bounds
        for v, by in values
        if b > v
    ]
    faults += [
        f"{name}: {label} claims that the instance is infeasible; {value[1]} has a schedule of value {value[0]}"
        for label in impossible
        if value is not None
    ]
    return InstanceSummary(
        name=name,
        fingerprint=instance.fingerprint,
        jobs=instance.num_jobs,
        rounds=instance.num_rounds,
        tasks=instance.num_tasks,
        gpus=tuple((g.name, g.count) for g in instance.gpu_types),
        best_bound=None if bound is None else bound[0],
        best_bound_source=None if bound is None else bound[1],
        best_bound_trust=None if bound is None else bound[2],
        best_objective=None if value is None else value[0],
        best_objective_source=None if value is None else value[1],
        optimum=value[0] if value is not None and bound is not None and value[0] == bound[0] else None,
    ), faults


def _row(summary: InstanceSummary, finished: _Run) -> Row:
    result = finished.result
    objective = None if result is None else result.objective
    return Row(
        instance=summary.name,
        tasks=summary.tasks,
        solver=finished.label,
        objective=objective,
        lower_bound=None if result is None else result.bound,
        best_bound=summary.best_bound,
        gap=relative_gap(objective, summary.best_bound),
        ratio_to_bound=ratio(objective, summary.best_bound),
        ratio_to_optimum=ratio(objective, summary.optimum),
        seconds=None if finished.seconds is None else round(finished.seconds, 6),
        status=Status.UNKNOWN if result is None else result.status,
        stop_reason=StopReason.ERROR if result is None else result.stop_reason,
        bound_trust=None if result is None else result.bound_trust,
        message=" ".join((finished.error if result is None else result.message).split()),
    )


def _kind(entry: _Entry) -> str:
    """The solver's own word; for one that is not installed, what the catalogue says."""
    if entry.solver is not None:
        return str(entry.solver.kind)
    return SOLVERS.entry(entry.name).kind


def _options(solver: Solver | None) -> dict[str, Any]:
    """Its parameters as JSON values; what JSON has no word for, as text."""
    if not is_dataclass(solver) or isinstance(solver, type):
        return {}
    options: dict[str, Any] = json.loads(json.dumps(asdict(solver), default=str))
    return options


def _versions() -> dict[str, str]:
    import numpy as np

    package = sys.modules["hetopt"]  # loaded since we are in it; importing the public face from here would be a cycle
    return {"hetopt": package.__version__, "python": platform.python_version(), "numpy": np.__version__}
