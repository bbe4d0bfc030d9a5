"""From a specification to runs: each with a key that its content alone decides.

The key of a run is the SHA-256 of the record format's version, the problem (fingerprint of a file's or library
instance's content, arguments of a generated one, hashes of a trace's files), the action, the method, its
parameters, seed, limits, objective and setting.  Names of files, labels and the name of the sweep do not count, so two
sweeps that ask for the same run agree on its key.
"""

from __future__ import annotations

import dataclasses
import glob
import hashlib
import itertools
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from hetopt.analysis.sweeps.spec import MethodEntry, ProblemEntry, SweepSpec, acts_on
from hetopt.core.documents import fingerprint_of
from hetopt.core.errors import Fault, HetoptError, InputError, SolverUnavailableError, UsageError
from hetopt.solvers.catalogue import SOLVERS
from hetopt.solvers.online.catalogue import POLICIES
from hetopt.solvers.run import make_solver

__all__ = ["RECORD_VERSION", "Action", "Problem", "Run", "expand", "load_problem", "make_policy", "shard"]

RECORD_VERSION: Final = 1
"""Part of every key: records of another version are other runs."""


class Action(StrEnum):
    """What a run does."""

    SOLVE = "solve"
    CHECK = "check"
    TASKS = "simulate-tasks"
    ROUNDS = "simulate-rounds"
    ROUND = "round"


@dataclass(frozen=True)
class Problem:
    """What a run is about.

    Attributes
    ----------
    sort
        ``instances``, ``workloads`` or ``rounds``.
    source
        ``files``, ``library``, ``generate`` or ``trace``.
    name
        For tables.
    content
        What decides it: part of the key.
    place
        Where to find it; not part of the key.
    varied
        Grid arguments, for tables.
    """

    sort: str
    source: str
    name: str
    content: Mapping[str, Any]
    place: Mapping[str, Any] = field(default_factory=dict)
    varied: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """One run, as plain data that any process can execute."""

    action: Action
    problem: Problem
    method: str
    label: str
    params: Mapping[str, Any]
    seed: int
    limits: Mapping[str, Any]
    objective: str | None
    setting: Mapping[str, Any]
    keep_result: bool = False

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What the key is the hash of."""
        return {
            "record": RECORD_VERSION,
            "action": str(self.action),
            "problem": {"sort": self.problem.sort, **self.problem.content},
            "method": self.method,
            "params": _plain(self.params),
            "seed": self.seed,
            "limits": dict(self.limits),
            "objective": self.objective,
            "setting": dict(self.setting),
            "keep_result": self.keep_result,
        }

    @cached_property
    def key(self) -> str:
        """64 hexadecimal digits."""
        return fingerprint_of(self.identity)

    @property
    def title(self) -> str:
        """One line for people."""
        return f"{self.label} on {self.problem.name}, seed {self.seed}"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def expand(spec: SweepSpec, folder: str | os.PathLike[str], source: str = "") -> list[Run]:
    """All runs of a specification, in its order, each once.

    Parameters
    ----------
    spec
        What to run.
    folder
        The folder that paths in it are relative to.
    source
        Name of the specification's file, for messages.

    Raises
    ------
    InputError
        Files that are not there, parameters that a solver refuses, ...: all faults at once.
    """
    base, faults = Path(folder), list[Fault]()
    problems = {
        sort: _distinct(_problems(getattr(spec, sort), sort, base, faults))
        for sort in ("instances", "workloads", "rounds")
    }
    runs: list[Run] = []
    for action, name, label, params, limits, objective, sort in _methods(spec, base, faults):
        keys = {"action": action, "method": name, "label": label, "params": params, "limits": limits}
        setting = _setting(spec, action)
        for problem, seed in itertools.product(problems[sort], spec.seeds):
            keep = spec.keep_results and action in (Action.SOLVE, Action.ROUND)
            runs.append(Run(**keys, problem=problem, seed=seed, objective=objective, setting=setting, keep_result=keep))
    if faults:
        raise InputError(dataclasses.replace(f, source=f.source or source) for f in faults)
    return list({run.key: run for run in reversed(runs)}.values())[::-1]


def _methods(spec: SweepSpec, base: Path, faults: list[Fault]) -> Iterator[tuple[Any, ...]]:
    for key in ("solvers", "policies"):
        for i, entry in enumerate(getattr(spec, key)):
            where = f"{key}[{i}]"
            params = _params(entry, base, where, faults)
            limits = (entry.limits or spec.limits).model_dump()
            sort = acts_on(key, entry.name)
            try:
                _try(key, sort, entry.name, params)
            except SolverUnavailableError:
                pass  # its runs are recorded as failed, with this reason
            except HetoptError as error:
                faults.append(Fault(f"{where}.params", "", str(error), "see hetopt solvers"))
            if key == "solvers":
                action = Action.ROUND if sort == "rounds" else Action.SOLVE
                objective = None if sort == "rounds" else spec.objective
            else:
                action, objective = (Action.ROUNDS if sort == "workloads" else Action.TASKS), None
            yield action, entry.name, entry.label or entry.name, params, limits, objective, sort
    for check in spec.checks:
        label = f"check {check.rule}"
        yield Action.CHECK, check.rule, label, {}, spec.limits.model_dump(), None, "instances"


def _try(key: str, sort: str, name: str, params: dict[str, Any]) -> None:
    if key == "policies":
        make_policy(name, params)
    else:
        make_solver(name, params)


def make_policy(name: str, params: Mapping[str, Any]) -> Any:
    """A policy by name and parameters.

    Raises
    ------
    UsageError, SolverUnavailableError
        As for solvers.
    """
    cls = POLICIES.load(name)
    known = [f.name for f in dataclasses.fields(cls) if f.init] if dataclasses.is_dataclass(cls) else []
    for key in params:
        if key not in known:
            raise UsageError(f"{name} has no parameter {key!r}; it has: {', '.join(known) or 'none'}")
    try:
        return cls(**params)
    except (TypeError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{name}: {error}") from None


def _setting(spec: SweepSpec, action: Action) -> dict[str, Any]:
    all_of = spec.setting.model_dump()
    mine = {
        Action.ROUNDS: ("round_seconds", "migration_seconds", "max_rounds"),
        Action.TASKS: ("switch_ticks", "noise"),
    }.get(action, ())
    return {k: all_of[k] for k in mine}


def _params(entry: MethodEntry, base: Path, where: str, faults: list[Fault]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if entry.params_file is not None:
        path = _named_params(entry.params_file, base)
        if path is None:
            rule = "a path, or the name of a file in a folder solvers/ beside or above the specification"
            faults.append(Fault(f"{where}.params_file", repr(entry.params_file), rule, "correct the name"))
        else:
            try:
                out = tomllib.loads(path.read_text(encoding="utf-8"))
            except (tomllib.TOMLDecodeError, OSError, UnicodeDecodeError) as error:
                faults.append(
                    Fault(f"{where}.params_file", repr(entry.params_file), f"not TOML: {error}", "correct it")
                )
    return {**out, **_plain(entry.params)}


def _named_params(name: str, base: Path) -> Path | None:
    here = base.resolve()
    candidates = [here / name, *(parent / "solvers" / f"{name}.toml" for parent in (here, *here.parents))]
    candidates.append(Path("solvers") / f"{name}.toml")
    return next((path for path in candidates if path.is_file()), None)


# --------------------------------------------------------------------------------------- problems


def _problems(entries: tuple[ProblemEntry, ...], sort: str, base: Path, faults: list[Fault]) -> Iterator[Problem]:
    for i, entry in enumerate(entries):
        where = f"{sort}[{i}]"
        try:
            if entry.library is not None:
                yield from _library(entry.library)
            elif entry.files is not None:
                yield from _files(entry.files, sort, base)
            elif entry.generate is not None:
                yield from _generated(entry.generate, entry.grid, sort)
            elif entry.trace is not None:
                yield from _traces(entry.trace, entry.grid, sort, base)
        except InputError as error:
            faults.extend(
                dataclasses.replace(f, where=f"{where}: {f.where}" if f.where else where) for f in error.faults
            )
        except HetoptError as error:
            faults.append(Fault(where, "", str(error), ""))


def _distinct(problems: Iterator[Problem]) -> list[Problem]:
    """Each problem once, and no two with one name: tables tell problems apart by it."""
    out: dict[str, Problem] = {}
    names: set[str] = set()
    for problem in problems:
        content = fingerprint_of(dict(problem.content))
        if content in out:
            continue
        name, number = problem.name, 2
        while name in names:
            name, number = f"{problem.name} ({number})", number + 1
        names.add(name)
        out[content] = dataclasses.replace(problem, name=name)
    return list(out.values())


def _library(pattern: str) -> Iterator[Problem]:
    from hetopt.instances import library

    names = library.names(pattern)
    if not names:
        raise UsageError(f"library {pattern!r}: no shipped instance has that name, pattern or tag")
    for name in names:
        content = {"fingerprint": library.entry(name).fingerprint}
        yield Problem("instances", "library", name, content, {"name": name})


def _files(patterns: tuple[str, ...], sort: str, base: Path) -> Iterator[Problem]:
    for pattern in patterns:
        found = sorted(glob.glob(str(base / pattern)))
        if not found:
            raise UsageError(f"files {pattern!r}: no such file beside the specification")
        for path in found:
            document = _load_file(path, sort)
            content = {"fingerprint": document.fingerprint}
            yield Problem(sort, "files", document.name or Path(path).stem, content, {"path": os.path.abspath(path)})


def _load_file(path: str, sort: str) -> Any:
    if sort == "rounds":
        from hetopt.core.round_problem import RoundProblem

        return RoundProblem.load(path)
    from hetopt.core.instance import Instance

    return Instance.load(path)


def _combinations(fixed: Mapping[str, Any], grid: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for values in itertools.product(*grid.values()):
        varied = dict(zip(grid, map(_plain, values), strict=True))
        yield {**_plain(fixed), **varied}, varied


def _suffix(varied: Mapping[str, Any]) -> str:
    return " ".join(f"{k}={_short(v)}" for k, v in varied.items())


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return "+".join(f"{k}:{v}" for k, v in value.items())
    return str(value)


def _generated(fixed: Mapping[str, Any], grid: Mapping[str, Any], sort: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for arguments, varied in _combinations(fixed, grid):
        small = {**arguments, "jobs": 1}
        shape = fingerprint_of({k: v for k, v in small.items() if k != "seed"})
        if shape not in seen:  # one job shows whether the arguments are good; the runs make the whole
            seen.add(shape)
            _generator(sort)(**_called(small, sort))
        jobs = arguments.get("jobs")
        if "jobs" in arguments and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
            raise UsageError(f"jobs {jobs!r}: a whole number >= 1 is needed")
        family = str(arguments.get("family", {"workloads": "workload", "rounds": "round"}.get(sort, "batch")))
        name = f"{family} {_suffix(varied)}".strip()
        yield Problem(sort, "generate", name, {"generate": arguments}, {}, varied)


def _generator(sort: str) -> Any:
    if sort == "workloads":
        from hetopt.instances.workloads import generate_workload

        return generate_workload
    if sort == "rounds":
        from hetopt.instances.rounds import generate_round

        return generate_round
    from hetopt.instances.generators import generate

    return generate


def _called(arguments: Mapping[str, Any], sort: str) -> dict[str, Any]:
    """Arguments as the generator takes them: a pair of numbers under ``instances`` stays a list, as documented there."""
    import inspect

    parameters = inspect.signature(_generator(sort)).parameters
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for key in arguments:
        if key not in parameters and not open_ended:
            raise UsageError(f"the generator of {sort} has no argument {key!r}; it has: {', '.join(parameters)}")
    return dict(arguments)


def _traces(fixed: Mapping[str, Any], grid: Mapping[str, Any], sort: str, base: Path) -> Iterator[Problem]:
    for arguments, varied in _combinations(fixed, grid):
        place, content = dict(arguments), {"trace": dict(arguments)}
        for key in ("file", "throughputs"):
            path = base / str(arguments[key])
            if not path.is_file():
                raise UsageError(f"trace.{key} {arguments[key]!r}: no such file beside the specification")
            place[key] = os.path.abspath(path)
            content["trace"][key] = hashlib.sha256(path.read_bytes()).hexdigest()
        name = (
            f"{Path(str(arguments['file'])).stem} {_suffix({k: v for k, v in varied.items() if k != 'file'})}".strip()
        )
        yield Problem(sort, "trace", name, content, place, varied)


def load_problem(problem: Problem) -> Any:
    """The instance, the round, or (workload, GPUs of each type) behind a problem; checked against its fingerprint."""
    if problem.source == "generate":
        arguments = _called(problem.content["generate"], problem.sort)
        made = _generator(problem.sort)(**arguments)
        return (made, arguments.get("gpus") or _counts(made)) if problem.sort == "workloads" else made
    if problem.source == "trace":
        return _load_trace(problem)
    if problem.source == "library":
        from hetopt.instances import library

        made = library.load(problem.place["name"])
    else:
        made = _load_file(problem.place["path"], problem.sort)
    if made.fingerprint != problem.content["fingerprint"]:
        raise UsageError(f"{problem.name}: the file has changed since the sweep was expanded; start it again")
    return made


def _counts(workload: Any) -> dict[str, int]:
    return dict.fromkeys(workload.gpu_types, 12)  # the default of generate_workload


def _load_trace(problem: Problem) -> Any:
    from hetopt.instances.traces import load_gavel, load_gavel_workload

    a = dict(problem.place)
    gpus = dict(a["gpus"])
    if problem.sort == "workloads":
        loaded = load_gavel_workload(a["file"], a["throughputs"], tuple(gpus), jobs=a.get("jobs"), strict=False)
        return loaded.workload, gpus
    extra = {k: a[k] for k in ("tick_seconds", "sync", "jobs") if k in a}
    return load_gavel(a["file"], a["throughputs"], gpus, a["rounds"], strict=False, **extra).instance


def shard(runs: list[Run], number: int, of: int) -> list[Run]:
    """The runs of shard ``number`` (from 1) of ``of``: every run is in exactly one, whatever the order of the specification.

    Raises
    ------
    UsageError
        The number is not from 1 to ``of``.
    """
    if not 1 <= number <= of:
        raise UsageError(f"shard {number}/{of}: the number is from 1 to {of}")
    ranked = sorted(range(len(runs)), key=lambda i: runs[i].key)
    mine = set(ranked[number - 1 :: of])
    return [run for i, run in enumerate(runs) if i in mine]


def kinds_of(runs: list[Run]) -> dict[str, str]:
    """Kind of every solver and policy in use, for reports."""
    out: dict[str, str] = {}
    for run in runs:
        registry = POLICIES if run.action in (Action.TASKS, Action.ROUNDS) else SOLVERS
        if run.action is not Action.CHECK:
            out[run.label] = registry.entry(run.method).kind
    return out
