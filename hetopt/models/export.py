"""Formulations and instances as files for other solvers, each with a name map that leads back.

``lp`` and ``mps`` are written from a linear formulation, ``dzn`` and ``fjs`` from the instance alone.  Beside the file
goes ``FILE.names.json``, which says what each name or number in it stands for.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from typing import Any, Final

from hetopt.core.documents import write_text, written_json
from hetopt.core.errors import UsageError
from hetopt.core.instance import Instance
from hetopt.core.round_problem import CostModel, RoundProblem
from hetopt.core.round_solver import WorkConservation
from hetopt.core.status import Objective
from hetopt.models.base import BuiltModel
from hetopt.models.data_formats import dzn_text, fjs_text
from hetopt.models.writers import CONSTANT, lp_text, mps_text

__all__ = ["FORMATS", "MODELS", "ROUND_MODELS", "Exported", "export", "export_round", "render", "render_round"]

MODELS: Final = {
    "disjunctive-milp": "hetopt.models.clairvoyant.disjunctive_milp:DisjunctiveMilp",
    "time-indexed-milp": "hetopt.models.clairvoyant.time_indexed_milp:TimeIndexedMilp",
    "midpoint-lp": "hetopt.models.clairvoyant.midpoint_lp:MidpointLpModel",
}
"""Linear formulations by name; the names of the solvers behind them (``milp-disjunctive``) work as well."""

ROUND_MODELS: Final = {"fft-milp": False, "fft-convex": True}
"""Formulations of FFT rounds: whether the file is the linear relaxation (``fft-convex`` without a utility)."""

ALIASES: Final = {"milp-disjunctive": "disjunctive-milp", "milp-time-indexed": "time-indexed-milp"}

FORMATS: Final = ("lp", "mps", "dzn", "fjs")
"""File formats: CPLEX LP, free MPS, MiniZinc data, FJSPLIB flexible job shop."""


@dataclass(frozen=True)
class Exported:
    """Text of the file, and the name map as a document."""

    text: str
    names: dict[str, Any]


def render(
    instance: Instance,
    model: str,
    format: str,
    objective: Objective | str = Objective.TOTAL_WEIGHTED_COMPLETION,
) -> Exported:
    """The text of an export and its name map.

    Parameters
    ----------
    instance
        The instance.
    model
        A name of :data:`MODELS`; ``dzn`` and ``fjs`` describe the instance and take any of them.
    format
        One of :data:`FORMATS`.
    objective
        What the file minimises; ``fjs`` always means the makespan.

    Raises
    ------
    UsageError
        Unknown model, format or objective.
    InputError
        The format cannot express the instance.
    """
    try:
        kind = Objective(objective)
    except ValueError:
        raise UsageError(f"no objective is called {objective!r}; known: {', '.join(Objective)}") from None
    if format not in FORMATS:
        raise UsageError(f"no export format is called {format!r}; known: {', '.join(FORMATS)}")
    name = ALIASES.get(model, model)
    if name not in MODELS:
        raise UsageError(f"no model to export is called {model!r}; known: {', '.join(MODELS)}")
    if format == "dzn":
        return Exported(dzn_text(instance, kind), _names(instance, "jct.mzn", kind))
    if format == "fjs":
        return Exported(fjs_text(instance), _names(instance, "flexible job shop", Objective.MAKESPAN))
    module, _, attribute = MODELS[name].partition(":")
    built: BuiltModel = getattr(importlib.import_module(module), attribute)().build(instance, kind)
    text = lp_text(built.linear) if format == "lp" else mps_text(built.linear)
    return Exported(text, _linear_names(built))


def export(
    instance: Instance,
    model: str,
    format: str,
    path: str | os.PathLike[str],
    objective: Objective | str = Objective.TOTAL_WEIGHTED_COMPLETION,
) -> tuple[str, ...]:
    """Write an export and, beside it, ``PATH.names.json``; returns the files written.

    With ``-`` the text goes to standard output and no name map is written.  Parameters and errors as for :func:`render`.
    """
    return _written(render(instance, model, format, objective), path)


def render_round(
    problem: RoundProblem,
    model: str,
    format: str,
    *,
    rule: WorkConservation | str = WorkConservation.MOST_GPUS,
    cost: CostModel | None = None,
    most_gpus: int | None = None,
) -> Exported:
    """The text of an export of an FFT round and its name map.

    Parameters
    ----------
    problem
        The round.
    model
        A name of :data:`ROUND_MODELS`.
    format
        ``lp`` or ``mps``.
    rule, cost, most_gpus
        As for :meth:`hetopt.models.rounds.fft_milp.FftMilp.build`.

    Raises
    ------
    UsageError
        Unknown model, format or rule.
    """
    from hetopt.models.rounds.fft_milp import FftMilp

    if model not in ROUND_MODELS:
        raise UsageError(f"no model of a round is called {model!r}; known: {', '.join(ROUND_MODELS)}")
    if format not in ("lp", "mps"):
        raise UsageError(f"a round is exported as lp or mps, not as {format!r}; name one of them")
    if rule not in list(WorkConservation):
        raise UsageError(f"no work-conservation rule is called {rule!r}; known: {', '.join(WorkConservation)}")
    built = FftMilp(relaxed=ROUND_MODELS[model]).build(problem, cost, rule, most_gpus=most_gpus)
    names = {
        "format": "hetopt/name-map",
        "version": 1,
        "round": problem.name,
        "fingerprint": problem.fingerprint,
        "model": model,
        "rule": str(built.rule),
        "cost": built.cost.to_dict(),
        "jobs": [job.name for job in problem.jobs],
        "gpu_types": [gpu.name for gpu in problem.gpu_types],
        "symbols": [{"name": s.name, "indices": list(s.indices), "meaning": s.meaning} for s in built.names.symbols],
        "columns": [{"name": name, **built.names.original(name)} for name in built.linear.column_names],
    }
    return Exported(lp_text(built.linear) if format == "lp" else mps_text(built.linear), names)


def export_round(
    problem: RoundProblem, model: str, format: str, path: str | os.PathLike[str], **options: Any
) -> tuple[str, ...]:
    """Write an export of a round and, beside it, ``PATH.names.json``; see :func:`render_round` and :func:`export`."""
    return _written(render_round(problem, model, format, **options), path)


def _written(exported: Exported, path: str | os.PathLike[str]) -> tuple[str, ...]:
    name = os.fspath(path)
    write_text(name, exported.text)
    if name == "-":
        return (name,)
    write_text(f"{name}.names.json", written_json(exported.names))
    return name, f"{name}.names.json"


def _names(instance: Instance, model: str, objective: Objective) -> dict[str, Any]:
    return {
        "format": "hetopt/name-map",
        "version": 1,
        "instance": instance.name,
        "fingerprint": instance.fingerprint,
        "model": model,
        "objective": str(objective),
        "jobs": [job.name for job in instance.jobs],
        "gpu_types": [gpu.name for gpu in instance.gpu_types],
        "gpus": [gpu.name for gpu in instance.gpu_types for _ in range(gpu.count)],
    }


def _linear_names(built: BuiltModel) -> dict[str, Any]:
    offset = built.linear.offset
    return {
        **_names(built.instance, built.formulation, built.objective),
        "cutoff": built.cutoff,
        "objective_constant": {"column": CONSTANT if offset else None, "value": offset},
        "symbols": [{"name": s.name, "indices": list(s.indices), "meaning": s.meaning} for s in built.names.symbols],
        "columns": [{"name": name, **built.names.original(name)} for name in built.linear.column_names],
    }
