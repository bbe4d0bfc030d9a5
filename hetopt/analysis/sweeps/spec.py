"""Sweep specifications: TOML files that say what to run (format ``hetopt/sweep``), checked with all faults at once."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from hetopt.core.documents import Document, Part, read_text
from hetopt.core.errors import Fault, HetoptError, InputError, shown
from hetopt.core.status import Objective
from hetopt.solvers.catalogue import SOLVERS
from hetopt.solvers.online.catalogue import POLICIES

__all__ = ["CheckEntry", "LimitsPart", "MethodEntry", "ProblemEntry", "SettingPart", "SweepSpec", "read_spec"]

_Names = Annotated[tuple[str, ...], Field(min_length=1)]
_Table = dict[str, Any]

SOURCES: Final = {
    "instances": ("files", "library", "generate", "trace"),
    "workloads": ("generate", "trace"),
    "rounds": ("files", "generate"),
}
"""Where each sort of problem may come from."""

_TRACE_KEYS: Final = {
    "workloads": ("format", "file", "throughputs", "gpus", "jobs"),
    "instances": ("format", "file", "throughputs", "gpus", "jobs", "rounds", "tick_seconds", "sync"),
}
_TRACE_NEEDS: Final = {
    "workloads": ("file", "throughputs", "gpus"),
    "instances": ("file", "throughputs", "gpus", "rounds"),
}


class LimitsPart(Part):
    """Limits of a run: seconds, deterministic work, threads of the solver."""

    time: Annotated[float, Field(ge=0)] | None = None
    work: Annotated[int, Field(ge=0)] | None = None
    threads: Annotated[int, Field(ge=1)] = 1


class ProblemEntry(Part):
    """One ``[[instances]]``, ``[[workloads]]`` or ``[[rounds]]`` table: exactly one source, and a grid over its arguments.

    ``library`` is a pattern or tag of the shipped library; ``files`` are paths (patterns allowed) relative to the spec;
    ``generate`` holds arguments of the generator and ``trace`` those of a loader; ``grid`` gives lists of
    values for arguments, every combination of which is used.
    """

    files: _Names | None = None
    library: str | None = None
    generate: _Table | None = None
    trace: _Table | None = None
    grid: dict[str, tuple[Any, ...]] = Field(default_factory=dict)


class MethodEntry(Part):
    """A solver or policy: catalogue name, parameters (a named file of ``solvers/`` and on top of it a table), limits of its own."""

    name: str
    label: str | None = None
    params: _Table = Field(default_factory=dict)
    params_file: str | None = None
    limits: LimitsPart | None = None


class CheckEntry(Part):
    """An exact check of the approximation bound on every instance, for one placement rule."""

    rule: Literal["R1", "R2", "R3"] = "R1"


class SettingPart(Part):
    """Rules of simulations: rounds for round-based policies, switching and noise for task policies."""

    round_seconds: Annotated[float, Field(gt=0)] = 300.0
    migration_seconds: Annotated[float, Field(ge=0)] = 0.0
    max_rounds: Annotated[int, Field(ge=1)] | None = None
    switch_ticks: Annotated[int, Field(ge=0)] = 0
    noise: Annotated[float, Field(ge=0, le=3)] = 0.0


class SweepSpec(Document):
    """What a sweep runs: solvers and checks on instances, task policies on instances, round policies on workloads, round solvers on rounds."""

    format: Literal["hetopt/sweep"] = "hetopt/sweep"
    version: Literal[1] = 1
    name: Annotated[str, Field(min_length=1)]
    description: str = ""
    objective: str = str(Objective.TOTAL_WEIGHTED_COMPLETION)
    seeds: Annotated[tuple[int, ...], Field(min_length=1)] = (0,)
    keep_results: bool = False
    limits: LimitsPart = Field(default_factory=LimitsPart)
    setting: SettingPart = Field(default_factory=SettingPart)
    instances: tuple[ProblemEntry, ...] = ()
    workloads: tuple[ProblemEntry, ...] = ()
    rounds: tuple[ProblemEntry, ...] = ()
    solvers: tuple[MethodEntry, ...] = ()
    policies: tuple[MethodEntry, ...] = ()
    checks: tuple[CheckEntry, ...] = ()

    @classmethod
    def cross_faults(cls, raw: Any) -> Iterator[Fault]:
        """Sources, names of solvers and policies, and whether each table has something to act on."""
        objective = raw.get("objective")
        if isinstance(objective, str) and objective not in set(Objective):
            yield Fault("objective", shown(objective), f"one of {', '.join(Objective)}", "correct the name")
        for key, sources in SOURCES.items():
            for where, entry in _tables(raw, key):
                yield from _source_faults(key, where, entry, sources)
        kinds: dict[str, bool] = {}
        seen: dict[str, str] = {}
        for key, registry in (("solvers", SOLVERS), ("policies", POLICIES)):
            for where, entry in _tables(raw, key):
                name = entry.get("name")
                if not isinstance(name, str):
                    continue
                try:
                    kind = registry.entry(name).kind
                except HetoptError as error:
                    yield Fault(f"{where}.name", shown(name), str(error), "")
                    continue
                kinds[_acts_on(key, kind)] = True
                label = entry.get("label", name)
                if isinstance(label, str):
                    if label in seen:
                        rule = f"labels are unique and {seen[label]} has this one"
                        yield Fault(f"{where}.label", shown(label), rule, "give one of them another label")
                    seen.setdefault(label, where)
        if raw.get("checks"):
            kinds["instances"] = True
        if not kinds and not seen:
            if not any(raw.get(k) for k in ("solvers", "policies")):
                yield Fault(
                    "solvers", "nothing", "a sweep runs at least one solver, policy or check", "add [[solvers]]"
                )
            return
        for key in kinds:
            if not raw.get(key):
                what = {"instances": "solvers, checks or task policies", "workloads": "round-based policies"}
                rule = f"{what.get(key, 'round solvers')} need something to run on"
                yield Fault(key, "nothing", rule, f"add a [[{key}]] table")
        for key in SOURCES:
            if raw.get(key) and key not in kinds:
                yield Fault(
                    key, f"{len(raw[key])} tables", "nothing in this sweep runs on them", "add a method or remove them"
                )


def _acts_on(key: str, kind: str) -> str:
    if key == "policies":
        return "workloads" if kind == "rounds" else "instances"
    return "rounds" if kind == "round" else "instances"


def acts_on(key: str, name: str) -> str:
    """``instances``, ``workloads`` or ``rounds``: what a solver (key ``solvers``) or policy (``policies``) runs on."""
    registry = SOLVERS if key == "solvers" else POLICIES
    return _acts_on(key, registry.entry(name).kind)


def _tables(raw: dict[str, Any], key: str) -> Iterator[tuple[str, dict[str, Any]]]:
    items = raw.get(key)
    for i, item in enumerate(items if isinstance(items, (list, tuple)) else ()):
        if isinstance(item, dict):
            yield f"{key}[{i}]", item


def _source_faults(key: str, where: str, entry: dict[str, Any], sources: tuple[str, ...]) -> Iterator[Fault]:
    given = [s for s in ("files", "library", "generate", "trace") if s in entry]
    if len(given) != 1:
        yield Fault(
            where,
            shown(given),
            f"exactly one of {', '.join(sources)}",
            "keep one and put others into tables of their own",
        )
    for source in given:
        if source not in sources:
            yield Fault(
                f"{where}.{source}", shown(entry[source]), f"{key} come from {', '.join(sources)}", "use one of those"
            )
    grid = entry.get("grid")
    grid = grid if isinstance(grid, dict) else {}
    base = next((entry[s] for s in ("generate", "trace") if isinstance(entry.get(s), dict)), None)
    if grid and base is None:
        yield Fault(f"{where}.grid", shown(grid), "a grid goes with generate or trace", "remove it")
    for name, values in grid.items():
        if isinstance(base, dict) and name in base:
            yield Fault(f"{where}.grid.{name}", shown(values), "the argument is fixed already", "give it once")
        if isinstance(values, (list, tuple)) and not values:
            yield Fault(f"{where}.grid.{name}", "an empty list", "a grid needs at least one value", "add one")
    trace = entry.get("trace")
    if isinstance(trace, dict) and key in _TRACE_KEYS:
        if trace.get("format", "gavel") != "gavel":
            yield Fault(
                f"{where}.trace.format", shown(trace["format"]), "traces are read in the format gavel", 'write "gavel"'
            )
        for name in (*trace, *grid):
            if name not in _TRACE_KEYS[key]:
                rule = f"a trace has {', '.join(_TRACE_KEYS[key])}"
                yield Fault(f"{where}.trace.{name}", shown(trace.get(name, grid.get(name))), rule, "correct the name")
        for name in _TRACE_NEEDS[key]:
            if name not in trace and name not in grid:
                yield Fault(f"{where}.trace.{name}", "nothing", "the loader needs it", "add it")


def read_spec(path: str | os.PathLike[str]) -> SweepSpec:
    """Read a TOML file.

    Raises
    ------
    InputError
        Unreadable, not TOML, or rules are broken: every fault with file and key path.
    """
    text, label = read_text(Path(path))
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(Fault("", "", f"not TOML: {error}", "correct the syntax there", label)) from None
    raw.setdefault("format", "hetopt/sweep")
    raw.setdefault("version", 1)
    return SweepSpec.from_dict(raw, label)
