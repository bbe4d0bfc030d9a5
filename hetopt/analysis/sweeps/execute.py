"""One run: :func:`run_one` is what every engine calls, here or on another machine.

It always returns a record.  A run that breaks, whose solver is missing or that has nothing to show when its time
is over is recorded as such with the reason; only an interruption raises.
"""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final

from hetopt.analysis.sweeps.expand import RECORD_VERSION, Action, Run, load_problem, make_policy
from hetopt.analysis.sweeps.provenance import provenance
from hetopt.core.certificate import Bound
from hetopt.core.documents import fingerprint_of
from hetopt.core.errors import HetoptError, NoSolutionError, SolverUnavailableError, VerificationError
from hetopt.core.schedule import Schedule
from hetopt.core.simulation import PolicyOutcome
from hetopt.core.solver import Limits
from hetopt.core.status import StopReason

__all__ = ["RunInterrupted", "State", "make_record", "run_one", "sealed"]


class State(StrEnum):
    """How a run ended: with figures, without any, or without any when its time was over."""

    DONE = "done"
    FAILED = "failed"
    TIMED_OUT = "timed-out"


class RunInterrupted(Exception):
    """The user stopped the run: it leaves no record."""


class _TimedOut(Exception):
    """The time limit was reached with nothing to show."""


def sealed(record: dict[str, Any]) -> dict[str, Any]:
    """The record with its checksum: the SHA-256 of everything else in it."""
    body = {k: v for k, v in record.items() if k != "checksum"}
    return {**body, "checksum": fingerprint_of(body)}


def make_record(
    run: Run,
    state: State,
    *,
    reason: str = "",
    measures: dict[str, Any] | None = None,
    result: dict[str, Any] | None = None,
    started: str = "",
    seconds: float | None = None,
) -> dict[str, Any]:
    """A record (format ``hetopt/run``) of a run."""
    return sealed(
        {
            "format": "hetopt/run",
            "version": RECORD_VERSION,
            "key": run.key,
            "identity": run.identity,
            "state": str(state),
            "reason": reason,
            "measures": measures or {},
            "provenance": {
                **provenance(),
                "seed": run.seed,
                "limits": dict(run.limits),
                "started": started,
                "seconds": None if seconds is None else round(seconds, 6),
            },
            "result": result,
        }
    )


def run_one(run: Run, problem: Any = None) -> dict[str, Any]:
    """Execute a run.

    Parameters
    ----------
    run
        What to do.
    problem
        What it is about, where the files behind it cannot be read; None: it is loaded here.

    Raises
    ------
    RunInterrupted, KeyboardInterrupt
        The user stopped it.
    """
    started = datetime.now(UTC).isoformat(timespec="seconds")
    begin = time.perf_counter()
    result: dict[str, Any] | None = None
    measures: dict[str, Any] = {}
    state, reason = State.FAILED, ""
    try:
        loaded = load_problem(run.problem) if problem is None else problem
        _preload(run)
        measures, result = _ACTIONS[run.action](run, loaded)
        state = State.DONE
    except RunInterrupted:
        raise
    except (_TimedOut, NoSolutionError) as error:
        state, reason = State.TIMED_OUT, str(error)
    except SolverUnavailableError as error:
        reason = f"not available: {error}"
    except VerificationError as error:
        reason = f"verification failed: {error}"
    except MemoryError:
        reason = "out of memory"
    except HetoptError as error:
        reason = str(error) or type(error).__name__
    except Exception as error:  # a bug of the method: its record says so, the other runs are kept
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"broke: {type(error).__name__}: {error} ({where.filename.rsplit('/', 1)[-1]}:{where.lineno})"
    seconds = time.perf_counter() - begin
    return make_record(run, state, reason=reason, measures=measures, result=result, started=started, seconds=seconds)


def _preload(run: Run) -> None:
    """Import what the method needs, so that the first run of a process is not charged for it."""
    from hetopt.models import _native
    from hetopt.solvers.catalogue import SOLVERS
    from hetopt.solvers.online.catalogue import POLICIES

    if run.action is Action.CHECK:
        _native.load_highspy()
        return
    entry = (POLICIES if run.action in (Action.TASKS, Action.ROUNDS) else SOLVERS).entry(run.method)
    entry.load()
    for package, load in (
        ("cvxpy", _native.load_cvxpy),
        ("ortools", _native.load_cpsat),
        ("highspy", _native.load_highspy),
    ):
        if package in entry.requires:
            load()


_Done = tuple[dict[str, Any], dict[str, Any] | None]


def _limits(run: Run) -> Limits:
    return Limits(**run.limits)


def _number(value: Any) -> Any:
    """Fractions as floats, whole where they are."""
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    return value


def _size(instance: Any) -> dict[str, Any]:
    return {
        "fingerprint": instance.fingerprint,
        "jobs": instance.num_jobs,
        "tasks": instance.num_tasks,
        "gpus": instance.num_gpus,
        "gpu_types": len(instance.gpu_types),
    }


def _bound_measures(bound: Bound | None) -> dict[str, Any]:
    if bound is None:
        return {"bound": None, "bound_trust": None}
    return {"bound": bound.ceiling, "bound_trust": None if bound.trust is None else str(bound.trust)}


def _times(instance: Any, schedule: Schedule) -> dict[str, Any]:
    """Times in seconds, so that schedules and simulations compare."""
    from hetopt.analysis.metrics import summarise

    figures, tick = summarise(instance, schedule), instance.tick_seconds

    def seconds(value: Any) -> float | None:
        return None if value is None else float(value) * tick

    return {
        "mean_jct": seconds(figures.flow_time.mean),
        "median_jct": seconds(figures.flow_time.median),
        "p99_jct": seconds(figures.flow_time.p99),
        "makespan": seconds(figures.makespan),
        "slowdown_mean": _number(figures.slowdown.mean),
        "slowdown_worst": _number(figures.slowdown.largest),
        "jain_index": _number(figures.jain_index),
        "utilisation": _number(figures.overall_utilisation),
    }


def _solve(run: Run, instance: Any) -> _Done:
    from hetopt.solvers.run import run as solve

    result = solve(
        run.method, instance, objective=run.objective or "", limits=_limits(run), seed=run.seed, params=dict(run.params)
    )
    if result.stop_reason is StopReason.INTERRUPTED:
        raise RunInterrupted
    if result.objective is None and result.exact_bound is None:
        text = f"{result.status}, stopped by {result.stop_reason}: {result.message or 'neither a schedule nor a bound'}"
        if result.stop_reason in (StopReason.TIME, StopReason.WORK):
            raise _TimedOut(text)
        raise HetoptError(text)
    measures: dict[str, Any] = {
        **_size(instance),
        "status": str(result.status),
        "stop_reason": str(result.stop_reason),
        "objective": result.objective,
        **_bound_measures(result.exact_bound),
        "gap": _number(result.gap),
        "runtime_seconds": result.runtime_seconds,
        "work": result.work,
        "deterministic": result.deterministic,
        "solver_version": result.solver_version,
        "message": result.message,
    }
    if result.incumbent is not None:
        measures |= _times(instance, result.incumbent)
    return measures, result.to_dict() if run.keep_result else None


def _check(run: Run, instance: Any) -> _Done:
    from hetopt.analysis.bound_check import check_bound
    from hetopt.core.documents import parse_exact
    from hetopt.instances import library

    entry = library.by_fingerprint(instance.fingerprint)
    witness = None if entry is None else library.witness(entry.name)
    schedules = () if witness is None else (witness,)  # its feasibility is checked there
    begin = time.perf_counter()
    check = check_bound(instance, run.method, schedules=schedules, time_limit=run.limits["time"], seed=run.seed)
    ratios, constants = check.ratios, check.constants

    def value(text: Any) -> Any:
        return None if text is None else _number(parse_exact(text, "value"))

    broken = "; ".join(step.name for step in check.failed)
    measures = {
        **_size(instance),
        "ok": check.ok,
        "broken_steps": broken,
        "objective": value(ratios.list_value),
        "bound": math.ceil(parse_exact(ratios.lower_bound, "bound")),
        "bound_trust": "VERIFIED",
        "best_known": value(ratios.best_known),
        "ratio_to_lp": value(ratios.list_to_bound),
        "ratio_to_best_known": value(ratios.list_to_best_known),
        "guarantee_K": value(check.K),
        "guarantee_alpha_phi": value(check.alpha_phi),
        "guarantee_three_alpha": value(check.three_alpha),
        "published_alpha_2_plus_alpha": value(check.published),
        "alpha": value(constants.alpha),
        "runtime_seconds": round(time.perf_counter() - begin, 6),
    }
    return measures, None


class _Deadline:
    """An observer that asks to stop when a time is over."""

    def __init__(self, seconds: float | None) -> None:
        self.start = time.perf_counter()
        self.end = None if seconds is None else self.start + seconds

    def elapsed(self) -> float:
        """Seconds since it was made."""
        return time.perf_counter() - self.start

    def record(self, *, incumbent: int | None = None, bound: Bound | None = None, schedule: Any = None) -> None:
        """Simulations record nothing."""

    def stop_requested(self) -> bool:
        """Whether the time is over."""
        return self.end is not None and time.perf_counter() > self.end


def _outcome_measures(outcome: PolicyOutcome, seconds: float) -> dict[str, Any]:
    if outcome.interrupted:
        raise _TimedOut(f"the time limit was reached with {len(outcome.jcts)} of {len(outcome.jobs)} jobs finished")
    document = outcome.to_dict()
    spent = outcome.decision_seconds
    fairness = document["finish_time_fairness"]
    return {
        "jobs": len(outcome.jobs),
        "gpus": outcome.gpus,
        "finished": document["jobs"],
        "unfinished": document["unfinished"],
        "mean_jct": document["jct"]["mean"],
        "median_jct": document["jct"]["median"],
        "p99_jct": document["jct"]["p99"],
        "makespan": document["makespan"],
        "ftf_mean": fairness["mean"],
        "ftf_worst": fairness["worst"],
        "ftf_above_one": fairness["fraction_above_one"],
        "jain_index": document["jain_index"],
        "utilisation": document["utilisation"],
        "migrations": document["migrations"],
        "decisions": len(spent),
        "decision_seconds_mean": math.fsum(spent) / len(spent) if spent else None,
        "decision_seconds_max": max(spent, default=None),
        "runtime_seconds": round(seconds, 6),
        "message": outcome.message,
    }


def _simulate_rounds(run: Run, problem: Any) -> _Done:
    from hetopt.solvers.online.rounds import RoundSetting, simulate_rounds

    workload, gpus = problem
    policy = make_policy(run.method, run.params)
    setting = RoundSetting(gpus=gpus, **run.setting)
    begin = time.perf_counter()
    outcome = simulate_rounds(workload, policy, setting, seed=run.seed, observer=_Deadline(run.limits["time"]))
    return _outcome_measures(outcome, time.perf_counter() - begin), None


def _simulate_tasks(run: Run, instance: Any) -> _Done:
    from hetopt.solvers.online.tasks.engine import simulate_tasks
    from hetopt.solvers.online.tasks.setting import TaskSetting

    policy = make_policy(run.method, run.params)
    begin = time.perf_counter()
    done = simulate_tasks(
        instance, policy, TaskSetting(**run.setting), seed=run.seed, observer=_Deadline(run.limits["time"])
    )
    outcome = done.outcome()
    measures = _outcome_measures(outcome, time.perf_counter() - begin)
    return {**measures, **_size(instance)}, None


def _round(run: Run, problem: Any) -> _Done:
    from hetopt.solvers.rounds.run import run_round

    answer = run_round(run.method, problem, limits=_limits(run), seed=run.seed, params=dict(run.params))
    if answer.stop_reason is StopReason.INTERRUPTED:
        raise RunInterrupted
    document = answer.to_dict()
    if document["cost"] is None:
        raise _TimedOut(f"{answer.status}, stopped by {answer.stop_reason}: {answer.message or 'no allocation'}")
    measures = {
        "jobs": len(problem.jobs),
        "gpus": sum(kind.count for kind in problem.gpu_types),
        "gpu_types": len(problem.gpu_types),
        "status": document["status"],
        "stop_reason": document["stop_reason"],
        "cost": document["cost"]["total"],
        "cost_bound": document["bound"],
        "gap": document["gap"],
        "gpus_used": sum(document["gpus_used"]),
        "runtime_seconds": document["runtime_seconds"],
        "message": document["message"],
    }
    return measures, document if run.keep_result else None


_ACTIONS: Final[dict[Action, Callable[[Run, Any], _Done]]] = {
    Action.SOLVE: _solve,
    Action.CHECK: _check,
    Action.TASKS: _simulate_tasks,
    Action.ROUNDS: _simulate_rounds,
    Action.ROUND: _round,
}
