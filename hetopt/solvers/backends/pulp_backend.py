"""PuLP's solvers: CBC as a second opinion, HiGHS through PuLP, and Gurobi, CPLEX, SCIP where they are installed.

The whole of PuLP runs in a fresh process (:mod:`hetopt.solvers.backends.isolate`): its solvers write
temporary files, start executables and read limits loosely, and in a process of their own all that ends with
it.  What PuLP says is never taken at its word:

- its integer status is not read through ``LpStatus``: PuLP 3 calls a CBC or HiGHS run that a limit ended "Optimal", and
  only ``sol_status`` tells (:data:`PULP3_OUTCOMES`); PuLP 4 answers with an object (:data:`PULP4_OUTCOMES`);
- CBC's own log is read for why it stopped and for its bound (:data:`CBC_RESULTS`), which PuLP 3 does not hand over;
- a point is used only if it satisfies the rows; PuLP leaves zeros behind where there is none.
"""

from __future__ import annotations

import importlib.util
import inspect
import logging
import os
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import SolverUnavailableError, UsageError
from hetopt.core.status import Status, StopReason
from hetopt.models._native import installed, version
from hetopt.solvers.backends.answer import Answer, Reading, Request, read, without_columns
from hetopt.solvers.backends.isolate import (
    Channel,
    IsolatedError,
    IsolatedMemory,
    IsolatedStopped,
    IsolatedTimeout,
    run_isolated,
)

__all__ = [
    "CBC_RESULTS",
    "ENGINES",
    "PULP3_OUTCOMES",
    "PULP4_OUTCOMES",
    "Engine",
    "interpret",
    "parse_cbc_log",
    "solve",
]

LOGGER: Final = logging.getLogger("hetopt.pulp")

_S, _R = Status, StopReason


@dataclass(frozen=True)
class Engine:
    """A solver that PuLP can drive.

    Parameters
    ----------
    name
        Ours.
    classes
        PuLP's names for it, the preferred one first.
    module, executables
        What shows that it is installed: a Python module, or an executable on the path.
    install
        How to get it.
    """

    name: str
    classes: tuple[str, ...]
    module: str
    executables: tuple[str, ...]
    install: str

    def installed(self) -> bool:
        """Whether PuLP and the engine are here; nothing is imported."""
        if not installed("pulp"):
            return False
        if self.module and installed(self.module):
            return True
        if any(shutil.which(name) for name in self.executables):
            return True
        return self.name == "cbc" and bundled_cbc() is not None


ENGINES: Final = {
    engine.name: engine
    for engine in (
        Engine(
            "cbc", ("PULP_CBC_CMD", "COIN_CMD"), "cbcbox", ("cbc",), "pip install 'pulp<4' (CBC inside) or 'pulp[cbc]'"
        ),
        Engine("pulp-highs", ("HiGHS",), "highspy", (), "pip install 'highspy>=1.15,<2'"),
        Engine("gurobi", ("GUROBI", "GUROBI_CMD"), "gurobipy", ("gurobi_cl",), "pip install gurobipy, and a licence"),
        Engine("cplex", ("CPLEX_PY", "CPLEX_CMD"), "cplex", ("cplex",), "IBM ILOG CPLEX, and a licence"),
        Engine("scip", ("SCIP_PY", "SCIP_CMD", "FSCIP_CMD"), "pyscipopt", ("scip", "fscip"), "pip install pyscipopt"),
    )
}
"""Engines by name."""


def bundled_cbc() -> Path | None:
    """The CBC executable inside PuLP 3, if there is one for this machine; found without importing PuLP."""
    try:
        spec = importlib.util.find_spec("pulp")
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    if os.name == "posix":
        system = "osx" if os.uname().sysname == "Darwin" else "linux"
        machine = os.uname().machine
    else:
        system, machine = "win", "AMD64"
    folder = Path(spec.origin).parent / "solverdir" / "cbc" / system
    names = ("arm64",) if machine in ("arm64", "aarch64") else ("i64", "64")
    for name in names:
        for file in ("cbc", "cbc.exe"):
            path = folder / name / file
            if path.is_file() and os.access(path, os.X_OK):
                return path
    return None


# LpStatus and LpSolution of PuLP 3 as plain numbers
PULP3_OUTCOMES: Final[dict[tuple[int, int], Reading]] = {
    (1, 1): Reading(_S.OPTIMAL, _R.PROVED, incumbent=True, bound=True),
    (1, 2): Reading(_S.UNKNOWN, _R.TIME, incumbent=True, bound=True),
    (1, 0): Reading(_S.UNKNOWN, _R.ERROR),
    (1, -1): Reading(_S.UNKNOWN, _R.ERROR),
    (1, -2): Reading(_S.UNKNOWN, _R.ERROR),
    (0, 0): Reading(_S.UNKNOWN, _R.TIME, bound=True),
    (0, 1): Reading(_S.UNKNOWN, _R.ERROR),
    (0, 2): Reading(_S.UNKNOWN, _R.TIME, incumbent=True, bound=True),
    (0, -1): Reading(_S.UNKNOWN, _R.ERROR),
    (0, -2): Reading(_S.UNKNOWN, _R.ERROR),
    (-1, -1): Reading(_S.INFEASIBLE, _R.PROVED),
    (-1, 0): Reading(_S.INFEASIBLE, _R.PROVED),
    (-1, 1): Reading(_S.UNKNOWN, _R.ERROR),
    (-1, 2): Reading(_S.UNKNOWN, _R.ERROR),
    (-1, -2): Reading(_S.UNKNOWN, _R.ERROR),
    (-2, -2): Reading(_S.UNBOUNDED, _R.PROVED),
    (-2, 0): Reading(_S.UNBOUNDED, _R.PROVED),
    (-2, 1): Reading(_S.UNKNOWN, _R.ERROR),
    (-2, 2): Reading(_S.UNKNOWN, _R.ERROR),
    (-2, -1): Reading(_S.UNKNOWN, _R.ERROR),
    (-3, 0): Reading(_S.UNKNOWN, _R.ERROR),
    (-3, 1): Reading(_S.UNKNOWN, _R.ERROR),
    (-3, 2): Reading(_S.UNKNOWN, _R.ERROR),
    (-3, -1): Reading(_S.UNKNOWN, _R.ERROR),
    (-3, -2): Reading(_S.UNKNOWN, _R.ERROR),
}
"""(status, sol_status) of PuLP 3.  (1, 2) is PuLP's "Optimal" for a run that some limit ended."""

PULP4_OUTCOMES: Final[dict[str, Reading]] = {
    "NotSolved": Reading(_S.UNKNOWN, _R.ERROR),
    "Optimal": Reading(_S.OPTIMAL, _R.PROVED, incumbent=True, bound=True),
    "Infeasible": Reading(_S.INFEASIBLE, _R.PROVED),
    "Unbounded": Reading(_S.UNBOUNDED, _R.PROVED),
    "Undefined": Reading(_S.UNKNOWN, _R.ERROR),
    "TimeLimit": Reading(_S.UNKNOWN, _R.TIME, incumbent=True, bound=True),
    "MemoryLimit": Reading(_S.UNKNOWN, _R.MEMORY, incumbent=True, bound=True),
    "NodeLimit": Reading(_S.UNKNOWN, _R.WORK, incumbent=True, bound=True),
    "GapLimit": Reading(_S.UNKNOWN, _R.GAP, incumbent=True, bound=True),
    "IterationLimit": Reading(_S.UNKNOWN, _R.WORK, incumbent=True, bound=True),
    "SolutionLimit": Reading(_S.UNKNOWN, _R.WORK, incumbent=True, bound=True),
    "Interrupted": Reading(_S.UNKNOWN, _R.INTERRUPTED, incumbent=True, bound=True),
    "Stopped": Reading(_S.UNKNOWN, _R.TIME, incumbent=True, bound=True),
    "NumericalError": Reading(_S.UNKNOWN, _R.ERROR),
}
"""``LpSolveStatus`` of PuLP 4, by name."""

CBC_RESULTS: Final[dict[str, Reading]] = {
    "Optimal solution found": Reading(_S.OPTIMAL, _R.PROVED, incumbent=True, bound=True),
    "Optimal solution found (within gap tolerance)": Reading(_S.UNKNOWN, _R.GAP, incumbent=True, bound=True),
    "Problem proven infeasible": Reading(_S.INFEASIBLE, _R.PROVED),
    "Linear relaxation infeasible": Reading(_S.INFEASIBLE, _R.PROVED),
    "Linear relaxation unbounded": Reading(_S.UNKNOWN, _R.ERROR),
    "Stopped on time limit": Reading(_S.UNKNOWN, _R.TIME, incumbent=True, bound=True),
    "Stopped on node limit": Reading(_S.UNKNOWN, _R.WORK, incumbent=True, bound=True),
    "Stopped on solution limit": Reading(_S.UNKNOWN, _R.WORK, incumbent=True, bound=True),
    "User ctrl-cuser ctrl-c": Reading(_S.UNKNOWN, _R.INTERRUPTED, incumbent=True, bound=True),
    "User ctrl-c": Reading(_S.UNKNOWN, _R.INTERRUPTED, incumbent=True, bound=True),
    "Difficulties but feasible": Reading(_S.UNKNOWN, _R.ERROR, incumbent=True),
    "Difficulties": Reading(_S.UNKNOWN, _R.ERROR),
}
"""What CBC writes after ``Result -`` in its log; it outranks what PuLP makes of the solution file."""


@dataclass(frozen=True)
class Native:
    """What comes back from the process that ran PuLP."""

    pulp: int
    """Major version of PuLP."""
    status: int | str
    """PuLP 3: the integer; PuLP 4: the name."""
    sol_status: int | None
    values: NDArray[np.float64] | None
    bound: float | None
    log: str
    version: str


def parse_cbc_log(log: str) -> tuple[str | None, float | None, int | None]:
    """Result line, lower bound and node count in a log of CBC; None where it does not say."""

    def last(pattern: str) -> str | None:
        found = re.findall(pattern, log, flags=re.MULTILINE)
        return found[-1].strip() if found else None

    result = last(r"^Result - (.+)$")
    bound = last(r"^Lower bound:\s+(\S+)\s*$")
    nodes = last(r"^Enumerated nodes:\s+(\d+)\s*$")
    return result, None if bound is None else float(bound), None if nodes is None else int(nodes)


def interpret(native: Native, request: Request, engine: str) -> Answer:
    """What the native outcome means, by the tables; the point is checked against the rows."""
    nodes, bound, word = None, native.bound, f"{native.status}"
    if native.pulp < 4:
        assert isinstance(native.status, int) and native.sol_status is not None
        word = f"{native.status}/{native.sol_status}"
        reading = PULP3_OUTCOMES.get((native.status, native.sol_status), Reading(_S.UNKNOWN, _R.ERROR))
    else:
        reading = PULP4_OUTCOMES.get(str(native.status), Reading(_S.UNKNOWN, _R.ERROR))
    if engine == "cbc":
        result, of_log, nodes = parse_cbc_log(native.log)
        if result is not None:
            word, bound = result, of_log if bound is None else bound
            reading = CBC_RESULTS.get(result, Reading(_S.UNKNOWN, _R.ERROR))
    values, objective = native.values, None
    if values is not None and (not np.isfinite(values).all() or request.model.broken(values, 1e-4)):
        values = None
    if values is not None:
        objective = request.model.objective(values)
    if bound is None and reading.status is _S.OPTIMAL:
        bound = objective
    if reading.stop_reason is _R.TIME and request.seconds is None:  # no clock was set: something else ended it
        reading = replace(reading, stop_reason=_R.ERROR if request.nodes is None else _R.WORK)
    return read(
        reading,
        native=word,
        values=values,
        objective=objective,
        bound=bound,
        nodes=nodes,
        version=native.version,
    )


def solve(request: Request, engine: str, *, stop: Callable[[], bool] | None = None) -> Answer:
    """Solve a linear model with one of PuLP's solvers.

    Raises
    ------
    UsageError
        No engine has this name.
    SolverUnavailableError
        PuLP or the engine is not installed; the text says how to get it.
    """
    if engine not in ENGINES:
        raise UsageError(f"no backend is called {engine!r}; known: highs, {', '.join(ENGINES)}")
    chosen = ENGINES[engine]
    if not chosen.installed():
        absent = "pulp" if not installed("pulp") else engine
        how = "pip install 'pulp>=3.3.2,<5'" if absent == "pulp" else chosen.install
        have = ", ".join(["highs", *(e.name for e in ENGINES.values() if e.installed())])
        raise SolverUnavailableError(f"{absent} is not installed here; get it with: {how} (installed: {have})")
    known = without_columns(request.model)
    if known is not None:
        return known
    if request.seconds is not None and request.seconds <= 0:
        return Answer(_S.UNKNOWN, _R.TIME, native="no time left", version=version("pulp"))
    deadline = None if request.seconds is None else time.time() + request.seconds
    limit = None if request.seconds is None else request.seconds + max(0.5, 0.05 * request.seconds)
    try:
        native = run_isolated(
            f"{__name__}:_in_child", (request, chosen, deadline), time_limit=limit, stop=stop, stop_grace=5.0
        )
    except IsolatedTimeout:
        return Answer(_S.UNKNOWN, _R.TIME, native="killed", version=version("pulp"))
    except IsolatedStopped:
        return Answer(_S.UNKNOWN, _R.INTERRUPTED, native="killed", version=version("pulp"))
    except IsolatedMemory as error:
        return Answer(_S.UNKNOWN, _R.MEMORY, native="killed", message=str(error), version=version("pulp"))
    except IsolatedError as error:
        text = str(error).strip().splitlines()[-1]
        return Answer(
            _S.UNKNOWN, _R.ERROR, native="failed", message=f"{engine} through PuLP: {text}", version=version("pulp")
        )
    if not request.log_file:
        for line in native.log.splitlines():
            LOGGER.info("%s", line)
    answer = interpret(native, request, engine)
    if stop is not None and stop() and answer.stop_reason in (_R.ERROR, _R.TIME):
        answer = replace(answer, stop_reason=_R.INTERRUPTED)
    return answer


def _in_child(channel: Channel, payload: tuple[Request, Engine, float | None]) -> Native:
    """Build the problem in PuLP and solve it; alone in its process."""
    request, engine, deadline = payload
    from hetopt.models.pulp_problem import to_pulp

    problem = to_pulp(request.model, alone=True)
    from hetopt.models._native import load_pulp

    pulp = load_pulp(alone=True)
    by_name = {variable.name: variable for variable in problem.variables()}
    ordered = [by_name[name] for name in request.model.column_names]
    if request.start is not None:
        for variable, value in zip(ordered, request.start.tolist(), strict=True):
            variable.setInitialValue(value, check=False)
        if request.model.offset:
            by_name["objective_constant"].setInitialValue(1.0, check=False)
    log_path = request.log_file or str(channel.folder / "log")
    seconds = None if deadline is None else max(0.1, deadline - time.time())
    solver = _solver(pulp, engine, request, seconds, log_path)
    outcome = problem.solve(solver)
    major = int(version("pulp").split(".")[0])
    log = Path(log_path)
    text = log.read_text(encoding="utf-8", errors="replace")[-20_000:] if log.is_file() else ""
    found = [variable.value() for variable in ordered]
    values = None if any(value is None for value in found) else np.array(found, dtype=np.float64)
    label = f"{type(solver).__name__} of PuLP {version('pulp')}"
    if major < 4:
        return Native(major, int(outcome), int(problem.sol_status), values, None, text, label)
    if not outcome.has_solution:
        values = None
    return Native(major, outcome.status.name, None, values, outcome.best_bound, text, label)


def _solver(pulp: Any, engine: Engine, request: Request, seconds: float | None, log_path: str) -> Any:
    """The PuLP solver object with the options that its class has."""
    wanted: dict[str, Any] = {
        "msg": False,
        "timeLimit": seconds,
        "threads": request.threads,
        "gapRel": 0.0,
        "gapAbs": 0.0 if engine.name != "cbc" else None,
        "maxNodes": request.nodes,
        "warmStart": request.start is not None,
        "logPath": log_path,
    }
    if request.strict and engine.name == "cbc":
        off = ["presolve off", "preprocess off"] if request.strict > 1 else []
        wanted["options"] = ["primalTolerance 1e-9", "integerTolerance 1e-9", *off]
    wanted = {key: value for key, value in wanted.items() if value is not None}
    refused = []
    for name in engine.classes:
        kind = getattr(pulp, name, None)
        if kind is None:
            continue
        known = inspect.signature(kind.__init__).parameters
        try:
            solver = kind(**{key: value for key, value in wanted.items() if key in known})
            if solver.available():
                return solver
        except Exception as error:  # a licence that is missing shows itself here
            refused.append(f"{name}: {error}")
    raise SolverUnavailableError(
        f"PuLP finds no working {engine.name} ({'; '.join(refused) or 'none of ' + ', '.join(engine.classes)}); "
        f"get it with: {engine.install}"
    )
