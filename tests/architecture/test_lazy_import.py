"""What imports load is looked at in fresh processes: by module names, never by the clock."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import hetopt

ROOT = Path(hetopt.__file__).parent
NATIVE = {"pulp", "ortools", "cvxpy", "highspy"}
HEAVY = NATIVE | {
    "scipy",
    "pandas",
    "matplotlib",
    "plotly",
    "numba",
    "networkx",
    "joblib",
    "distributed",
    "pyarrow",
    "jinja2",
}


def loaded(code: str) -> set[str]:
    """Top-level names of the modules that a fresh interpreter has after ``code``."""
    tail = "import sys as _s; print(); print(' '.join(sorted({m.partition('.')[0] for m in _s.modules})))"
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\n{tail}"], capture_output=True, text=True, timeout=120, check=True
    )
    return set(run.stdout.rsplit("\n", 2)[-2].split())


def test_import_hetopt_loads_next_to_nothing() -> None:
    modules = loaded("import hetopt")
    assert not modules & (HEAVY | {"numpy", "pydantic", "typer", "rich"})


def test_the_check_can_fail() -> None:
    assert "json" in loaded("import json")
    assert "scipy" in loaded("import scipy")


@pytest.mark.parametrize(
    "code",
    [
        "import hetopt; hetopt.Instance, hetopt.Schedule, hetopt.Result, hetopt.Status",
        "import hetopt; dir(hetopt); hetopt.solve, hetopt.compare, hetopt.load",
        "import hetopt.solvers.run, hetopt.solvers.catalogue; hetopt.solvers.catalogue.SOLVERS.names()",
        "from hetopt.core import result, certificate, feasibility, objectives",
    ],
)
def test_the_vocabulary_loads_no_solver_and_no_table_library(code: str) -> None:
    assert not loaded(code) & HEAVY


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["solve", "--help"], ["compare", "--help"], ["schema"]]
)
def test_help_loads_no_solver_library(arguments: list[str]) -> None:
    code = f"""
import contextlib, io
from hetopt.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    assert main({arguments!r}) == 0
"""
    modules = loaded(code)
    assert not modules & HEAVY
    assert "rich" not in modules  # drawn on terminals only


def test_listing_the_solvers_loads_no_native_library() -> None:
    code = """
import contextlib, io
from hetopt.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    assert main(["solvers", "--json"]) == 0
"""
    assert not loaded(code) & NATIVE


def test_public_names_resolve_and_agree_with_what_type_checkers_see() -> None:
    tree = ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8"))
    typed: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("hetopt"):
            for alias in node.names:
                typed[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    lazy = {name: f"{module}.{name}" for name, module in hetopt._MODULE_OF.items()} | dict(hetopt._SUBMODULES)
    assert typed == lazy
    assert set(hetopt.__all__) == {*lazy, "__version__"}
    for name in hetopt.__all__:
        assert getattr(hetopt, name) is not None


def test_unknown_names_are_refused_with_the_nearest_one() -> None:
    with pytest.raises(AttributeError, match="did you mean 'compare'"):
        _ = hetopt.compere  # type: ignore[attr-defined]
    assert not hasattr(hetopt, "pandas")
