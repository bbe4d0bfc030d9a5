"""Habits that a machine can check: names, sizes, marks left behind, things that must not be in the repository."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from hetopt.solvers.catalogue import SOLVERS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "hetopt"


def tracked() -> list[Path]:
    """Text files of the repository (of the folder, where git does not know it)."""
    run = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if run.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in run.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def test_solver_names_are_lower_case_with_dashes() -> None:
    names = SOLVERS.names()
    assert [n for n in names if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", n)] == []


def test_modules_are_short() -> None:
    long = {str(p.relative_to(ROOT)): n for p in PACKAGE.rglob("*.py") if (n := len(p.read_text().splitlines())) > 600}
    assert long == {}


def test_no_unfinished_marks() -> None:
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|NotImplementedError")
    left = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in (*PACKAGE.rglob("*.py"), *(ROOT / "docs").rglob("*.md"))
        if (match := marks.search(path.read_text(encoding="utf-8")))
    ]
    assert left == []


def test_no_machine_paths_or_registry_hosts_in_the_repository() -> None:
    here = Path(__file__).resolve()
    forbidden = re.compile(
        "|".join(
            [
                r"/home/[a-z]+/",
                r"/Users/[A-Za-z]+/",
                r"(?<![\w.])/work/",
                r"pypi" + r"\.org",
                r"files\.python" + r"hosted",
                r"registry\.npm" + r"js",
                r"--index-" + r"url",
                r"--find-" + r"links",
            ]
        )
    )
    found = []
    for path in tracked():
        if path == here:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {m.group()}" for m in forbidden.finditer(text)]
    assert found == []


def test_each_root_folder_says_first_what_it_is_for() -> None:
    for name in ("models", "instances", "solvers", "analysis"):
        lines = (ROOT / name / "README.md").read_text(encoding="utf-8").splitlines()
        first = next(line for line in lines if line and not line.startswith("#"))
        assert len(first.split()) > 5, name
        assert not (ROOT / name / "__init__.py").exists()


def test_requirements_name_the_seven_packages_and_metadata_agrees() -> None:
    import tomllib

    listed = [line for line in (ROOT / "requirements.txt").read_text().split("\n") if line and not line.startswith("#")]
    assert listed == ["numpy", "scipy", "networkx", "pulp", "ortools", "cvxpy", "pytest"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {re.split(r"[<>=\[; ]", d)[0].lower() for d in project["dependencies"]}
    declared |= {re.split(r"[<>=\[; ]", d)[0].lower() for d in project["optional-dependencies"]["test"]}
    assert set(listed) <= declared


@pytest.mark.parametrize("path", sorted((ROOT / "constraints").glob("*.txt")), ids=lambda p: p.name)
def test_constraints_are_exact_and_cover_what_is_required(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)] == []
    names = {re.sub(r"[-_.]+", "-", line.split("==")[0]).lower() for line in lines}
    assert len(names) == len(lines)
    assert {"numpy", "scipy", "networkx", "pulp", "ortools", "cvxpy", "pytest", "highspy", "pip", "numba"} <= names
