"""Tables, profiles and paired comparisons against numbers worked out by hand."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path
from typing import Any

import pytest

from hetopt.analysis.sweeps.collect import SweepTable, collect, percentile
from hetopt.analysis.sweeps.execute import State, make_record
from hetopt.analysis.sweeps.expand import Run, expand
from hetopt.analysis.sweeps.paired import bootstrap, compare_all, compare_pair
from hetopt.analysis.sweeps.profiles import performance_profiles
from hetopt.analysis.sweeps.report import html_of_sweep, trends, write_report
from hetopt.analysis.sweeps.spec import read_spec
from hetopt.analysis.sweeps.store import RunStore

SPEC = """
name = "hand <made>"
seeds = [0, 1]
[[instances]]
generate = { family = "batch", gpus = { V100 = 1 } }
grid = { jobs = [1, 2, 3] }
[[solvers]]
name = "fifo"
label = "a"
[[solvers]]
name = "wspt"
label = "b"
"""

VALUES = {  # (solver, jobs, seed): objective
    ("a", 1, 0): 10, ("a", 1, 1): 10, ("a", 2, 0): 10, ("a", 2, 1): 30, ("a", 3, 0): 10, ("a", 3, 1): 10,
    ("b", 1, 0): 20, ("b", 1, 1): 20, ("b", 2, 0): 10, ("b", 2, 1): 10, ("b", 3, 0): None, ("b", 3, 1): None,
}  # fmt: skip


def table_of(tmp_path: Path, change: Any = None) -> SweepTable:
    path = tmp_path / "s.toml"
    path.write_text(SPEC)
    spec = read_spec(path)
    runs, store = expand(spec, tmp_path), RunStore(tmp_path)
    for run in runs:
        value = VALUES[run.label, run.problem.varied["jobs"], run.seed]
        measures: dict[str, Any] = {"objective": value, "bound": 5, "mean_jct": value}
        state = State.FAILED if value is None else State.DONE
        store.write(make_record(run, state, reason="no" if value is None else "", measures=measures if value else {}))
    if change is not None:
        change(runs, store)
    return collect(spec, runs, store)


def test_tidy_table(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    assert len(table.rows) == 12
    assert table.columns[:7] == ("run", "action", "problem", "solver", "seed", "state", "reason")
    read = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert [int(r["arg.jobs"]) for r in read] == [r["arg.jobs"] for r in table.rows]
    assert {r["objective"] for r in read if r["state"] == "failed"} == {""}
    first = table.rows[0]
    assert (first["ratio_to_bound"], first["ratio_to_best"]) == (2.0, 1.0)
    frame = table.to_pandas()
    assert frame["objective"].dtype == "Int64"
    assert int(frame["objective"].isna().sum()) == 2
    assert table.states == {"done": 10, "failed": 2}
    summary = table.summary(["objective"])
    assert [(r["solver"], r["runs"], r["done"]) for r in summary] == [("a", 6, 6), ("b", 6, 4)]
    assert summary[0]["objective mean"] == pytest.approx(80 / 6)


def test_parquet_round_trip(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = table_of(tmp_path)
    table.to_parquet(tmp_path / "t.parquet")
    back = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert [r["objective"] for r in back] == [r.get("objective") for r in table.rows]


def test_latex_escapes(tmp_path: Path) -> None:
    text = table_of(tmp_path).to_latex(tmp_path / "t.tex")
    assert text == (tmp_path / "t.tex").read_text()
    assert text.count(r"\\") == 3
    assert re.search(r"^a & 6 & 6 & ", text, re.MULTILINE)


def test_unsound_and_missing_records_are_not_counted(tmp_path: Path) -> None:
    def spoil(runs: list[Run], store: RunStore) -> None:
        store.path(runs[0].key).write_text("{")
        store.path(runs[1].key).unlink()

    table = table_of(tmp_path, spoil)
    assert (len(table.rows), len(table.missing)) == (10, 2)
    assert table.states["missing"] == 2


def test_a_bound_above_a_schedule_is_a_contradiction(tmp_path: Path) -> None:
    assert table_of(tmp_path).contradictions == ()

    def lie(runs: list[Run], store: RunStore) -> None:
        store.write(make_record(runs[0], State.DONE, measures={"objective": 40, "bound": 11}))

    (text,) = table_of(tmp_path, lie).contradictions
    assert "claims the bound 11" in text
    assert "a has a schedule of value 10" in text


def test_profiles(tmp_path: Path) -> None:
    a, b = performance_profiles(table_of(tmp_path), "objective")
    assert (a.solver, a.problems, a.ratios) == ("a", 6, (1, 1, 1, 1, 1, 3))
    assert b.ratios == (1, 1, 2, 2)
    assert [b.share(tau) for tau in (1, 1.9, 2, 100)] == [2 / 6, 2 / 6, 4 / 6, 4 / 6]


def test_paired_comparison_averages_seeds_first_and_leaves_out_what_one_lacks(tmp_path: Path) -> None:
    pair = compare_pair(table_of(tmp_path), "objective", "a", "b")
    # problem 1: 20 / 10; problem 2: mean 10 over mean 20; problem 3: b has nothing
    assert pair.ratio is not None
    assert pair.ratio.estimate == pytest.approx(math.sqrt(2 * 0.5))
    assert (pair.wins, pair.ties, pair.losses, pair.left_out) == (1, 0, 1, 1)
    assert (pair.smallest, pair.largest) == (0.5, 2.0)
    (again,) = compare_all(table_of(tmp_path), "objective")
    assert again == pair


def test_bootstrap_is_seeded_and_covers() -> None:
    values = [1.0, 1.5, 2.0, 2.5, 3.0, 3.5]
    one, two = bootstrap(values, seed=3), bootstrap(values, seed=3)
    assert one == two
    assert bootstrap(values, seed=4) != one
    assert one.low is not None and one.high is not None
    assert min(values) < one.low < one.estimate < one.high < max(values)
    assert one.estimate == pytest.approx(math.prod(values) ** (1 / 6))
    wider = bootstrap(values, seed=3, level=0.99)
    assert wider.low is not None and wider.low < one.low
    assert bootstrap([2.0]).low is None


def test_bootstrap_covers_the_truth_about_as_often_as_it_says() -> None:
    import numpy as np

    draw = np.random.default_rng(5)
    hits = 0
    for trial in range(200):
        got = bootstrap(np.exp(draw.normal(0.3, 0.5, size=30)).tolist(), seed=trial, resamples=400)
        assert got.low is not None and got.high is not None
        hits += got.low <= math.exp(0.3) <= got.high
    assert 175 <= hits <= 199


def test_percentiles_interpolate() -> None:
    assert percentile([], 0.5) is None
    assert percentile([1.0, 2.0], 0.5) == 1.5
    assert percentile([1.0, 2.0, 4.0], 1.0) == 4.0


def test_report_needs_no_network_and_escapes(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    page = html_of_sweep(table, command="hetopt sweep <x>")
    assert "hand &lt;made&gt;" in page and "<made>" not in page
    assert "&lt;x&gt;" in page
    assert page.count("<svg") >= 4
    links = re.findall(r"""(?:src|href)=["']([^"'#][^"']*)""", page)
    assert [link for link in links if not link.startswith("data:")] == []
    assert "://" not in re.sub(r"http://www\.w3\.org/[\w/]+", "", page)
    identifiers = re.findall(r'\bid="([^"]+)"', page)
    assert len(identifiers) == len(set(identifiers))
    write_report(table, tmp_path / "r.html", command="x")
    assert trends(table, "arg.jobs", "objective")["a"][0] == (1.0, 10.0)
