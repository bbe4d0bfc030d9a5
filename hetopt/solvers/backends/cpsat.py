"""CP-SAT behind one function: status table, limits, interrupts, history, silence.

The table from CP-SAT's word to ours; objective and bound are read only where it says that they exist
(elsewhere CP-SAT holds 0.0 in both):

=============  ======================  =========  =====
CP-SAT         stopped by              objective  bound
=============  ======================  =========  =====
OPTIMAL        proof                   yes        yes
FEASIBLE       time, work, interrupt   yes        yes
INFEASIBLE     proof (no solution)     no         no
UNKNOWN        time, work, interrupt   no         no (only what its callback has told)
MODEL_INVALID  an error of ours        no         no
=============  ======================  =========  =====

CP-SAT runs in a thread of its own, so that Python's signal handling goes on and Ctrl-C stops the search.
One worker: the same bytes each time (its search depends on the model, the seed and its own
deterministic clock only).  More workers: not.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hetopt.core.errors import OutputError, VerificationError
from hetopt.core.status import StopReason
from hetopt.models._native import load_cpsat, version

__all__ = ["WORK_UNIT", "CpAnswer", "solve_cp"]

WORK_UNIT: Final = 1e-3
"""One unit of work is this many of CP-SAT's deterministic seconds."""

_POLL: Final = 0.02


@dataclass(frozen=True)
class CpAnswer:
    """What CP-SAT says.

    Attributes
    ----------
    word
        Its status: ``OPTIMAL``, ``FEASIBLE``, ``INFEASIBLE`` or ``UNKNOWN``.
    stop_reason
        Why it stopped.
    value
        Value of a variable or literal in its solution; ``None`` without one.
    bound
        Bound on the model's objective, or ``None``.
    work
        Units of deterministic work.
    solver_version
        Version of OR-Tools.
    """

    word: str
    stop_reason: StopReason
    value: Callable[[Any], int] | None
    bound: float | None
    work: int
    solver_version: str


def solve_cp(
    model: Any,
    *,
    time_limit: float | None,
    work_limit: int | None,
    threads: int,
    seed: int,
    parameters: dict[str, Any],
    stop_requested: Callable[[], bool],
    on_solution: Callable[[Callable[[Any], int]], None],
    on_bound: Callable[[float], None],
    verbose: bool = False,
    log_file: str | None = None,
) -> CpAnswer:
    """Solve a ``CpModel``.

    Parameters
    ----------
    time_limit, work_limit
        Seconds from now; units of :data:`WORK_UNIT`.
    parameters
        More fields of ``SatParameters``.
    stop_requested
        Polled while CP-SAT runs.
    on_solution, on_bound
        Told each solution (with a reader of its values) and each better bound; called from CP-SAT's thread.
    verbose, log_file
        Where the search log goes: standard error, a file, or (default) nowhere.
    """
    cp = load_cpsat()
    solver = cp.CpSolver()
    solver.parameters.num_workers = threads
    solver.parameters.random_seed = seed % (2**31)
    solver.parameters.catch_sigint_signal = False
    if time_limit is not None:
        solver.parameters.max_time_in_seconds = max(0.0, time_limit)
    if work_limit is not None:
        solver.parameters.max_deterministic_time = work_limit * WORK_UNIT
    for key, value in parameters.items():
        setattr(solver.parameters, key, value)
    log: list[str] = []
    if verbose or log_file is not None:
        solver.parameters.log_search_progress = True
        solver.parameters.log_to_stdout = False
        solver.log_callback = _logger(log, verbose)
    told: list[float] = []

    def better_bound(value: float) -> None:
        told.append(value)
        on_bound(value)

    solver.best_bound_callback = better_bound

    class Watch(cp.CpSolverSolutionCallback):  # type: ignore[misc, name-defined]
        def on_solution_callback(self) -> None:
            on_solution(lambda variable: int(self.value(variable)))

    watch = Watch()
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(solver.solve(model, watch))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=work, name="cp-sat", daemon=True)
    thread.start()
    interrupted = False
    while thread.is_alive():
        thread.join(_POLL)
        if stop_requested():
            interrupted = True
            solver.stop_search()
    if log_file is not None:
        try:
            Path(log_file).write_text("\n".join(log) + "\n", encoding="utf-8")
        except OSError as error:
            raise OutputError(f"{log_file}: cannot write the log ({error.strerror})") from error
    if failure:
        raise failure[0]
    word = str(solver.status_name(outcome[0]))
    if word == "MODEL_INVALID":
        raise VerificationError(f"CP-SAT refuses the model: {str(model.validate()).strip() or 'no reason given'}")
    spent = math.ceil(solver.deterministic_time / WORK_UNIT)
    if word in ("OPTIMAL", "INFEASIBLE"):
        reason = StopReason.PROVED
    elif interrupted:
        reason = StopReason.INTERRUPTED
    elif work_limit is not None and (time_limit is None or spent >= work_limit):
        reason = StopReason.WORK
    elif time_limit is not None:  # it may end a little early
        reason = StopReason.TIME
    else:
        reason = StopReason.ERROR
    solved = word in ("OPTIMAL", "FEASIBLE")
    bound = float(solver.best_objective_bound) if solved else max(told, default=None)
    return CpAnswer(
        word=word,
        stop_reason=reason,
        value=(lambda variable: int(solver.value(variable))) if solved else None,
        bound=bound,
        work=spent,
        solver_version=f"ortools {version('ortools')}",
    )


def _logger(log: list[str], verbose: bool) -> Callable[[str], None]:
    def take(line: str) -> None:
        log.append(line)
        if verbose:
            import sys

            sys.stderr.write(line + "\n")

    return take
