"""The shipped sweeps: they expand, and the quick one is what it says."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from hetopt.analysis.sweeps.expand import Action, expand
from hetopt.analysis.sweeps.spec import read_spec

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = sorted((ROOT / "analysis" / "sweeps").glob("*.toml"))


def test_all_are_there() -> None:
    assert {p.stem for p in SHIPPED} == {
        "quick", "heterogeneity", "load", "scale", "exact-versus-heuristic", "bound-tightness", "fairness-weights",
    }  # fmt: skip


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_each_expands_and_every_run_has_a_limit(path: Path) -> None:
    spec = read_spec(path)
    runs = expand(spec, path.parent, str(path))
    assert len(runs) >= 20
    assert spec.description
    assert all(run.limits["time"] for run in runs)
    assert spec.name == path.stem


def test_the_quick_one_takes_two_minutes_at_most_on_two_cores() -> None:
    """By its limits: every run of a solver is shorter than six seconds, and so many end by their limit only if they must."""
    path = ROOT / "analysis" / "sweeps" / "quick.toml"
    runs = expand(read_spec(path), path.parent)
    solves = [run for run in runs if run.action is Action.SOLVE]
    assert all(run.limits["time"] <= 6 for run in solves)
    assert sum(run.limits["time"] for run in runs) / 2 <= 240
    # local search never proves anything by itself and so uses its whole time; with auto and cpsat that makes at least twenty
    count = Counter(run.label for run in solves)
    assert count["local-search"] + count["auto"] + count["cpsat"] >= 20


def test_scale_goes_from_ten_to_a_hundred_thousand_tasks() -> None:
    path = ROOT / "analysis" / "sweeps" / "scale.toml"
    runs = expand(read_spec(path), path.parent)
    made = [run.problem.content["generate"] for run in runs]
    tasks = {a["jobs"] * a["rounds"] * a["scale"] for a in made}
    assert (min(tasks), max(tasks)) == (10, 100_000)


def test_the_make_target_asks_for_a_sweep() -> None:
    text = (ROOT / "Makefile").read_text()
    assert re.search(r"^sweep:.*\n(?:\t.*\n)*\t.*hetopt sweep \$\(SPEC\)", text, re.MULTILINE)
    made = subprocess.run(
        ["make", "-n", "sweep", "SPEC=analysis/sweeps/quick.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "--out out/sweeps/quick " in made.stdout, made.stderr
