"""Adapters to solver libraries: a table of outcomes each, limits kept, nothing printed, nothing left behind."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Available", "available"]


@dataclass(frozen=True)
class Available:
    """One line of the table of ``hetopt solvers``.

    Attributes
    ----------
    name
        Name of the backend, as solvers take it in their ``backend`` parameter.
    library, version
        Python package that it comes through, and its installed version (``""`` if none).
    installed
        Whether it can be used here, as far as can be told without importing it.
    install
        How to get it.
    """

    name: str
    library: str
    version: str
    installed: bool
    install: str


def available() -> tuple[Available, ...]:
    """Every backend, installed or not; no solver library is imported."""
    from hetopt.models._native import PACKAGES, installed, version
    from hetopt.solvers.backends.pulp_backend import ENGINES

    own = {"highs": "highspy", "cpsat": "ortools", "cvxpy": "cvxpy"}
    rows = [
        Available(name, package, version(package), installed(package), f'pip install "{PACKAGES[package]}"')
        for name, package in own.items()
    ]
    rows.extend(
        Available(engine.name, "pulp", version("pulp"), engine.installed(), engine.install)
        for engine in ENGINES.values()
    )
    return tuple(rows)
