"""``hetopt sweep`` and ``hetopt reproduce`` from outside."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

SPEC = """
name = "s"
limits = { time = 5.0 }
[[instances]]
library = "hand-*"
[[solvers]]
name = "fifo"
[[solvers]]
name = "wspt"
"""


@pytest.fixture
def spec(tmp_path: Path) -> str:
    (tmp_path / "s.toml").write_text(SPEC)
    return "s.toml"


def test_dry_run_prints_the_number_of_runs_and_writes_nothing(hetopt: Any, spec: str, tmp_path: Path) -> None:
    ran = hetopt("sweep", spec, "--out", "d", "--dry-run")
    assert ran.code == 0
    assert ran.out.startswith("10 runs, 10 to do, at most about ")
    assert not (tmp_path / "d").exists()
    ran = hetopt("sweep", spec, "--out", "d", "--dry-run", "--shard", "1/3")
    assert ran.out.startswith("4 runs")


def test_runs_resumes_and_writes_tables(hetopt: Any, spec: str, tmp_path: Path) -> None:
    first = hetopt("sweep", spec, "--out", "d", "--jobs", "1", "--shard", "2/2")
    assert first.code == 0, first.err
    assert first.out == ""
    assert "5 runs: 0 there already, 5 executed" in first.err
    assert "[1/5] done in " in first.err, "plain lines in a log"
    ran = hetopt("sweep", spec, "--out", "d", "--jobs", "1", "--csv", "t.csv", "--latex", "t.tex", "--report", "r.html")
    assert ran.code == 0, ran.err
    assert "10 runs: 5 there already, 5 executed" in ran.err
    rows = list(csv.DictReader((tmp_path / "t.csv").open()))
    assert len(rows) == 10
    assert {row["state"] for row in rows} == {"done"}
    assert "\\toprule" in (tmp_path / "t.tex").read_text()
    assert "<svg" in (tmp_path / "r.html").read_text()
    records = [json.loads(p.read_text()) for p in (tmp_path / "d" / "runs").iterdir()]
    assert sorted(r["key"][:12] for r in records) == sorted(row["run"] for row in rows)


def test_a_damaged_record_is_reported_and_made_again(hetopt: Any, spec: str, tmp_path: Path) -> None:
    hetopt("sweep", spec, "--out", "d", "--jobs", "1")
    path = sorted((tmp_path / "d" / "runs").iterdir())[0]
    sound = json.loads(path.read_text())["measures"]
    path.write_text("{}")
    ran = hetopt("sweep", spec, "--out", "d", "--jobs", "1")
    assert f"not trusted, put aside and run again: {path.name}" in ran.err
    again = json.loads(path.read_text())["measures"]
    assert again["objective"] == sound["objective"]


def test_a_contradiction_ends_with_code_five(hetopt: Any, spec: str, tmp_path: Path) -> None:
    from hetopt.analysis.sweeps.execute import sealed

    hetopt("sweep", spec, "--out", "d", "--jobs", "1")
    for path in (tmp_path / "d" / "runs").iterdir():
        record = json.loads(path.read_text())
        record["measures"]["bound"] = 10**9
        path.write_text(json.dumps(sealed(record)))
    ran = hetopt("sweep", spec, "--out", "d", "--csv", "t.csv")
    assert ran.code == 5
    assert "claims the bound 1000000000" in ran.err
    assert (tmp_path / "t.csv").exists(), "everything is written first"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sweep", "no.toml", "--out", "d"), "cannot be read"),
        (("sweep", "s.toml", "--out", "d", "--shard", "3/2"), "from 1 to 2"),
        (("sweep", "s.toml", "--out", "d", "--jobs", "0"), "less than 1"),
        (("sweep", "s.toml", "--out", "s.toml"), "cannot be written"),
        (("sweep", "s.toml", "--out", "d", "--csv", "x", "--latex", "x"), "same place"),
        (("sweep", "s.toml"), "--out"),
        (("reproduce",), "name a paper"),
        (("reproduce", "hare"), "checkout of the repository"),
    ],
)
def test_wrong_calls_are_one_line(words: tuple[str, ...], said: str, hetopt: Any, spec: str) -> None:
    ran = hetopt(*words)
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert len(ran.err.strip().splitlines()) == 1
