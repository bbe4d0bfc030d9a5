"""The named parameter files in ``solvers/``: each builds its solver, and is documented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hetopt.cli._options import params_of
from hetopt.solvers.run import make_solver

FILES = sorted((Path(__file__).resolve().parents[2] / "solvers").glob("*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_file_builds_its_solver(path: Path) -> None:
    solver = path.name.partition(".")[0]
    params = params_of(None, str(path))
    made: Any = make_solver(solver, {k: tuple(v) if isinstance(v, list) else v for k, v in params.items()})
    assert made.name == solver
    assert made != make_solver(solver), "a file of defaults is of no use"
    assert path.read_text().startswith("# ")


def test_a_file_from_the_command_line(hetopt: Any, instance_file: Path) -> None:
    path = next(p for p in FILES if p.name.startswith("hare-eft."))
    ran = hetopt("solve", instance_file, "--solver", "hare-eft", "--params", path, "--json")
    assert ran.code == 0, ran.err
    assert len(ran.document["options"]["gammas"]) == 10
    ran = hetopt("solve", instance_file, "--solver", "hare-eft", "--params", path, "--param", "gammas=[1.0]", "--json")
    assert ran.document["options"]["gammas"] == [1.0]


def test_there_are_files() -> None:
    assert FILES
