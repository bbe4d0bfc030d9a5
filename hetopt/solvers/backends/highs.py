"""HiGHS through highspy: a linear model in, an answer out.

Each solve runs in a thread of its own.  HiGHS keeps its scheduler per calling thread, so a run with two
threads may be followed by one with one (in one thread the second would end as ``kNotset``), and
Ctrl-C reaches Python while HiGHS works.  Callbacks hand over incumbents and bounds and look whether to stop.

Presolve looks at the clock rarely.  So a large model with a time limit is solved in a fresh
process (:mod:`hetopt.solvers.backends.isolate`) that is killed when it overruns; the last incumbent survives.

Gap tolerances are 0, so ``kOptimal`` means that HiGHS has closed the gap within its feasibility tolerances; a
bound is still only REPORTED.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.status import Status, StopReason
from hetopt.models._native import load_highspy, version
from hetopt.models.base import LinearModel
from hetopt.solvers.backends.answer import Answer, Bounded, Improved, Reading, Request, read, without_columns
from hetopt.solvers.backends.isolate import (
    Channel,
    IsolatedError,
    IsolatedMemory,
    IsolatedStopped,
    IsolatedTimeout,
    run_isolated,
)

__all__ = ["OUTCOMES", "pass_model", "solve"]

LOGGER: Final = logging.getLogger("hetopt.highs")

ISOLATE_ENTRIES: Final = 100_000
"""Models with more entries run in a process of their own when there is a time limit."""

_S, _R = Status, StopReason

OUTCOMES: Final[dict[str, Reading]] = {
    "kNotset": Reading(_S.UNKNOWN, _R.ERROR),
    "kLoadError": Reading(_S.UNKNOWN, _R.ERROR),
    "kModelError": Reading(_S.UNKNOWN, _R.ERROR),
    "kPresolveError": Reading(_S.UNKNOWN, _R.ERROR),
    "kSolveError": Reading(_S.UNKNOWN, _R.ERROR),
    "kPostsolveError": Reading(_S.UNKNOWN, _R.ERROR),
    "kModelEmpty": Reading(_S.UNKNOWN, _R.ERROR),
    "kOptimal": Reading(_S.OPTIMAL, _R.PROVED, incumbent=True, bound=True),
    "kInfeasible": Reading(_S.INFEASIBLE, _R.PROVED),
    "kUnboundedOrInfeasible": Reading(_S.UNKNOWN, _R.ERROR),
    "kUnbounded": Reading(_S.UNBOUNDED, _R.PROVED),
    "kObjectiveBound": Reading(_S.UNKNOWN, _R.GAP, incumbent=True, bound=True),
    "kObjectiveTarget": Reading(_S.UNKNOWN, _R.GAP, incumbent=True, bound=True),
    "kTimeLimit": Reading(_S.UNKNOWN, _R.TIME, incumbent=True, bound=True),
    "kIterationLimit": Reading(_S.UNKNOWN, _R.WORK, incumbent=True, bound=True),
    "kSolutionLimit": Reading(_S.UNKNOWN, _R.WORK, incumbent=True, bound=True),
    "kInterrupt": Reading(_S.UNKNOWN, _R.INTERRUPTED, incumbent=True, bound=True),
    "kHighsInterrupt": Reading(_S.UNKNOWN, _R.INTERRUPTED, incumbent=True, bound=True),
    "kMemoryLimit": Reading(_S.UNKNOWN, _R.MEMORY, incumbent=True, bound=True),
    "kUnknown": Reading(_S.UNKNOWN, _R.ERROR),
}
"""Every model status of HiGHS: what it means, and whether its numbers exist.

An incumbent is read only if HiGHS also says that its primal solution is feasible.  ``kObjectiveTarget`` is
where the target was a bound from outside: that the gap is closed is for the caller to see.
"""

TIGHT: Final = 1e-9
"""Feasibility tolerances of a second try."""

FEASIBLE_POINT: Final = 2
"""HiGHS's ``kSolutionStatusFeasible``."""


def pass_model(highs: Any, model: LinearModel) -> None:
    """Give a linear model to a ``Highs`` object; ``ValueError`` if it is refused."""
    highspy = load_highspy()
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = model.num_columns, model.num_rows
    lp.col_cost_, lp.offset_ = model.cost, model.offset
    lp.col_lower_, lp.col_upper_ = model.lower, model.upper
    lp.row_lower_, lp.row_upper_ = model.row_lower, model.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = model.num_columns, model.num_rows
    lp.a_matrix_.start_ = model.row_start
    lp.a_matrix_.index_ = model.column
    lp.a_matrix_.value_ = model.value
    if model.integer.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[whole] for whole in model.integer.astype(int).tolist()]
    if highs.passModel(lp) == highspy.HighsStatus.kError:
        raise ValueError("HiGHS refuses the model")


def solve(
    request: Request,
    *,
    stop: Callable[[], bool] | None = None,
    on_incumbent: Improved | None = None,
    on_bound: Bounded | None = None,
) -> Answer:
    """Solve a linear model.

    Parameters
    ----------
    request
        What to solve, and the limits.
    stop
        Polled; once True the run ends with what it has.
    on_incumbent, on_bound
        Progress; called in another thread than the caller's, one at a time.

    Raises
    ------
    SolverUnavailableError
        highspy is not installed.
    """
    load_highspy()
    known = without_columns(request.model)
    if known is not None:
        return known
    if request.seconds is not None and request.seconds <= 0:
        return Answer(Status.UNKNOWN, StopReason.TIME, native="kTimeLimit", version=version("highspy"))
    if request.seconds is not None and request.model.num_entries > ISOLATE_ENTRIES:
        return _solve_isolated(request, stop, on_incumbent, on_bound)
    return _solve_here(request, stop, on_incumbent, on_bound)


def _solve_isolated(
    request: Request, stop: Callable[[], bool] | None, on_incumbent: Improved | None, on_bound: Bounded | None
) -> Answer:
    assert request.seconds is not None
    best: dict[str, Any] = {"values": None, "objective": None, "bound": None}

    def progress(news: dict[str, Any]) -> None:
        best.update(news)
        if on_incumbent is not None and news["values"] is not None:
            on_incumbent(news["values"], news["objective"])
        if on_bound is not None and news["bound"] is not None:
            on_bound(news["bound"])

    try:
        answer: Answer = run_isolated(
            f"{__name__}:_in_child",
            (request, time.time() + request.seconds, LOGGER.isEnabledFor(logging.INFO)),
            time_limit=request.seconds + max(0.3, 0.03 * request.seconds),
            stop=stop,
            on_report=progress,
        )
        for line in answer.log.splitlines():
            LOGGER.info("%s", line)
        return answer
    except IsolatedError as error:
        outcome = {
            IsolatedTimeout: "kTimeLimit",
            IsolatedStopped: "kInterrupt",
            IsolatedMemory: "kMemoryLimit",
        }.get(type(error), "kSolveError")
        message = "" if outcome in ("kTimeLimit", "kInterrupt") else f"HiGHS: {error}"
        return read(OUTCOMES[outcome], native=outcome, message=message, version=version("highspy"), **best)


def _in_child(channel: Channel, payload: tuple[Request, float, bool]) -> Answer:
    """The same in a process of its own; start-up counts as time."""
    request, deadline, logged = payload
    log = channel.folder / "log"
    if logged and not request.log_file:
        request = replace(request, log_file=str(log))
    state: dict[str, Any] = {"values": None, "objective": None, "bound": None}

    def improved(values: NDArray[np.float64], objective: float) -> None:
        state.update(values=values, objective=objective)
        channel.report(dict(state))

    def bounded(bound: float) -> None:
        state.update(bound=bound)
        channel.report(dict(state))

    left = replace(request, seconds=max(0.0, deadline - time.time()))
    answer = _solve_here(left, channel.stop_requested, improved, bounded)
    return replace(answer, log=log.read_text(encoding="utf-8", errors="replace")) if log.is_file() else answer


def _solve_here(
    request: Request, stop: Callable[[], bool] | None, on_incumbent: Improved | None, on_bound: Bounded | None
) -> Answer:
    began = time.perf_counter()
    box: dict[str, Any] = {}
    interrupted = threading.Event()

    def asked() -> bool:
        return interrupted.is_set() or (stop is not None and stop())

    def work() -> None:
        try:
            box["answer"] = _run(request, began, asked, on_incumbent, on_bound, box)
        except BaseException as error:  # handed over to the caller's thread
            box["error"] = error

    thread = threading.Thread(target=work, name="hetopt-highs", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.05)
    except BaseException:
        interrupted.set()
        thread.join(2.0)
        raise
    error = box.get("error") or box.get("callback_error")
    if error is not None:
        raise error
    answer: Answer = box["answer"]
    return answer


def _run(
    request: Request,
    began: float,
    asked: Callable[[], bool],
    on_incumbent: Improved | None,
    on_bound: Bounded | None,
    box: dict[str, Any],
) -> Answer:
    highspy = load_highspy()
    highs = highspy.Highs()
    model = request.model
    _configure(highs, request)
    pass_model(highs, model)
    if request.start is not None:
        solution = highspy.HighsSolution()
        solution.col_value = request.start.tolist()
        highs.setSolution(solution)
    _subscribe(highs, model, asked, on_incumbent, on_bound, box)
    if request.seconds is not None:
        highs.setOptionValue("time_limit", max(0.0, request.seconds - (time.perf_counter() - began)))
    highs.run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kUnboundedOrInfeasible:
        highs.setOptionValue("presolve", "off")  # which of the two it is, presolve does not tell
        highs.run()
        status = highs.getModelStatus()
    info = highs.getInfo()
    whole = bool(model.integer.any())
    values = None
    if info.primal_solution_status == FEASIBLE_POINT:
        values = np.array(highs.getSolution().col_value, dtype=np.float64)
    objective = float(info.objective_function_value)
    bound = float(info.mip_dual_bound) if whole else objective
    if not whole and status != highspy.HighsModelStatus.kOptimal:
        bound = float("-inf")
    return read(
        OUTCOMES[status.name],
        native=status.name,
        values=values,
        objective=objective,
        bound=bound,
        nodes=max(0, int(info.mip_node_count)) if whole else None,
        version=version("highspy"),
    )


def _configure(highs: Any, request: Request) -> None:
    logging_wanted = bool(request.log_file) or LOGGER.isEnabledFor(logging.INFO)
    highs.setOptionValue("output_flag", logging_wanted)
    highs.setOptionValue("log_to_console", False)
    if request.log_file:
        highs.setOptionValue("log_file", request.log_file)
    if LOGGER.isEnabledFor(logging.INFO):
        highs.cbLogging += lambda event: LOGGER.info("%s", event.message.rstrip())
    highs.setOptionValue("threads", request.threads)
    highs.setOptionValue("random_seed", request.seed % 2**31)
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_abs_gap", 0.0)
    if request.nodes is not None:
        highs.setOptionValue("mip_max_nodes", request.nodes)
    if request.target is not None:
        highs.setOptionValue("objective_target", request.target)
    if request.strict:
        for name in ("mip_feasibility_tolerance", "primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            highs.setOptionValue(name, TIGHT)
    if request.strict > 1:
        highs.setOptionValue("presolve", "off")


def _subscribe(
    highs: Any,
    model: LinearModel,
    asked: Callable[[], bool],
    on_incumbent: Improved | None,
    on_bound: Bounded | None,
    box: dict[str, Any],
) -> None:
    best = {"objective": float("inf"), "bound": float("-inf")}

    def guarded(function: Callable[[Any], None]) -> Callable[[Any], None]:
        def call(event: Any) -> None:  # an exception must not travel through HiGHS
            try:
                function(event)
            except BaseException as error:
                box.setdefault("callback_error", error)

        return call

    def interrupt(event: Any) -> None:
        bound = float(event.data_out.mip_dual_bound)
        if on_bound is not None and "callback_error" not in box and best["bound"] < bound < 1e49:
            best["bound"] = bound
            on_bound(bound)
        if asked() or "callback_error" in box:
            event.interrupt()

    def stop_only(event: Any) -> None:
        if asked():
            event.interrupt()

    def improved(event: Any) -> None:
        objective = float(event.data_out.objective_function_value)
        if on_incumbent is not None and objective < best["objective"]:
            best["objective"] = objective
            on_incumbent(np.array(event.data_out.mip_solution, dtype=np.float64), objective)

    if model.integer.any():
        highs.cbMipInterrupt += guarded(interrupt)
        highs.cbMipImprovingSolution += guarded(improved)
    highs.cbSimplexInterrupt += guarded(stop_only)
    highs.cbIpmInterrupt += guarded(stop_only)
