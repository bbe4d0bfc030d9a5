"""hetopt: optimisation of deep-learning training schedules on heterogeneous GPU clusters.

The public names below are imported when they are first used (PEP 562), so that ``import hetopt``
loads no solver library, no pandas and no matplotlib.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hetopt.analysis import plots as plot
    from hetopt.api import (
        bound,
        check_bound,
        compare,
        generate,
        load,
        reproduce,
        simulate,
        solve,
        solve_round,
        sweep,
        verify,
    )
    from hetopt.core.allocation import Allocation
    from hetopt.core.certificate import Bound, Certificate
    from hetopt.core.errors import (
        Fault,
        HetoptError,
        InfeasibleError,
        InputError,
        NoSolutionError,
        OutputError,
        SolverUnavailableError,
        UnboundedError,
        UsageError,
        VerificationError,
    )
    from hetopt.core.feasibility import Violation, violations
    from hetopt.core.instance import GpuType, Instance, Job, SyncRound
    from hetopt.core.objectives import completion_times, evaluate, flow_times
    from hetopt.core.result import HistoryPoint, Result
    from hetopt.core.round_problem import CostModel, RoundProblem
    from hetopt.core.schedule import Schedule
    from hetopt.core.solver import Limits, Outcome, Solver
    from hetopt.core.status import Capability, Objective, SolverKind, Status, StopReason, Trust

__version__ = "0.1.0"

_HOME: Final[dict[str, tuple[str, ...]]] = {
    "hetopt.api": (
        "bound",
        "check_bound",
        "compare",
        "generate",
        "load",
        "reproduce",
        "simulate",
        "solve",
        "solve_round",
        "sweep",
        "verify",
    ),
    "hetopt.core.certificate": ("Bound", "Certificate"),
    "hetopt.core.errors": (
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
    ),
    "hetopt.core.feasibility": ("Violation", "violations"),
    "hetopt.core.instance": ("GpuType", "Instance", "Job", "SyncRound"),
    "hetopt.core.objectives": ("completion_times", "evaluate", "flow_times"),
    "hetopt.core.result": ("HistoryPoint", "Result"),
    "hetopt.core.round_problem": ("CostModel", "RoundProblem"),
    "hetopt.core.allocation": ("Allocation",),
    "hetopt.core.schedule": ("Schedule",),
    "hetopt.core.solver": ("Limits", "Outcome", "Solver"),
    "hetopt.core.status": ("Capability", "Objective", "SolverKind", "Status", "StopReason", "Trust"),
}
_MODULE_OF: Final = {name: module for module, names in _HOME.items() for name in names}
_SUBMODULES: Final = {"plot": "hetopt.analysis.plots"}

__all__ = [
    "Allocation",
    "Bound",
    "Capability",
    "Certificate",
    "CostModel",
    "Fault",
    "GpuType",
    "HetoptError",
    "HistoryPoint",
    "InfeasibleError",
    "InputError",
    "Instance",
    "Job",
    "Limits",
    "NoSolutionError",
    "Objective",
    "Outcome",
    "OutputError",
    "Result",
    "RoundProblem",
    "Schedule",
    "Solver",
    "SolverKind",
    "SolverUnavailableError",
    "Status",
    "StopReason",
    "SyncRound",
    "Trust",
    "UnboundedError",
    "UsageError",
    "VerificationError",
    "Violation",
    "__version__",
    "bound",
    "check_bound",
    "compare",
    "completion_times",
    "evaluate",
    "flow_times",
    "generate",
    "load",
    "plot",
    "reproduce",
    "simulate",
    "solve",
    "solve_round",
    "sweep",
    "verify",
    "violations",
]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    elif name in _SUBMODULES:
        value = importlib.import_module(_SUBMODULES[name])
    else:
        import difflib

        near = difflib.get_close_matches(name, __all__, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"module 'hetopt' has no attribute {name!r}{hint}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
