"""The inventory of solvers (document ``hetopt/solvers``): what is installed, its version and what it can do."""

from __future__ import annotations

import dataclasses
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from hetopt.core.documents import Document, Part
from hetopt.core.errors import SolverUnavailableError
from hetopt.core.registry import Entry
from hetopt.solvers.catalogue import SOLVERS

__all__ = ["Parameter", "SolverInfo", "SolversDocument", "inventory"]


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


class Parameter(Part):
    """A parameter of a solver; ``default`` as text, None where it has to be given."""

    name: str
    type: str
    default: str | None


class SolverInfo(Part):
    """One solver.

    ``installed`` is false when a package that it needs is absent or its module fails to load;
    ``problem`` then says why and ``install`` what to do.
    """

    name: str
    kind: str
    summary: str
    installed: bool
    version: str | None
    requires: Annotated[tuple[str, ...], BeforeValidator(_tuple)]
    capabilities: Annotated[tuple[str, ...], BeforeValidator(_tuple)]
    objectives: Annotated[tuple[str, ...], BeforeValidator(_tuple)]
    parameters: Annotated[tuple[Parameter, ...], BeforeValidator(_tuple)]
    install: str | None
    problem: str | None


class SolversDocument(Document):
    """What ``hetopt solvers --json`` prints."""

    format: Literal["hetopt/solvers"] = "hetopt/solvers"
    version: Literal[1] = 1
    solvers: Annotated[tuple[SolverInfo, ...], BeforeValidator(_tuple)]


@cache
def _owners(package: str) -> tuple[str, ...]:
    """Distributions that an import name may belong to, the likeliest first; reading them all is slow."""
    try:
        version(package)
    except PackageNotFoundError:
        return tuple(packages_distributions().get(package, ()))
    return (package,)


def _library_version(requires: tuple[str, ...]) -> str | None:
    """Versions of the libraries behind a solver, read from their metadata; nothing is imported."""
    found = [f"{owner} {version(owner)}" for package in requires for owner in _owners(package)[:1]]
    return ", ".join(found) or None


def _parameters(solver: Any) -> tuple[Parameter, ...]:
    if not dataclasses.is_dataclass(solver):
        return ()
    out = []
    for field in dataclasses.fields(solver):
        default: str | None = None
        if field.default is not dataclasses.MISSING:
            default = str(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            default = str(field.default_factory())
        kind = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))
        out.append(Parameter(name=field.name, type=kind, default=default))
    return tuple(out)


def _info(entry: Entry) -> SolverInfo:
    absent, problem, solver = entry.missing(), None, None
    if absent:
        problem = f"not installed: {', '.join(absent)}"
    else:
        try:
            solver = entry.load()
        except SolverUnavailableError as error:  # a plug-in that fails
            problem = str(error)
    get = (entry.install or f"pip install {' '.join(absent)}") if absent else None
    return SolverInfo(
        name=entry.name,
        kind=str(getattr(solver, "kind", entry.kind)),
        summary=entry.summary,
        installed=problem is None,
        version=_library_version(entry.requires),
        requires=tuple(entry.requires),
        capabilities=tuple(sorted(str(c) for c in getattr(solver, "capabilities", ()))),
        objectives=tuple(sorted(str(o) for o in getattr(solver, "objectives", ()))),
        parameters=() if solver is None else _parameters(solver),
        install=get,
        problem=problem,
    )


def inventory(name: str | None = None) -> SolversDocument:
    """Every solver of the catalogue and of the plug-ins, or the one called ``name``.

    Raises
    ------
    UsageError
        There is none of that name.
    """
    entries = SOLVERS if name is None else [SOLVERS.entry(name)]
    return SolversDocument(solvers=tuple(_info(entry) for entry in entries))
