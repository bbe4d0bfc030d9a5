"""Comparisons: what is shown, what is hidden (nothing), and what is an error."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from fractions import Fraction

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetopt.analysis.compare import Progress
from hetopt.analysis.comparison import Comparison, ComparisonDocument, ContradictionError
from hetopt.analysis.known import BestKnown
from hetopt.analysis.tables import DASH, escape_latex
from hetopt.core.errors import OutputError, UsageError
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.status import Objective, Status, StopReason, Trust
from tests.analysis import fakes
from tests.analysis.fakes import compare_alone as compare
from tests.conftest import make_instance


@pytest.fixture
def tight() -> Instance:
    """One job on one GPU: the list schedule is optimal and the simple bound tight."""
    return make_instance({"A": 1}, [(2, 1, [(1, [3], [1]), (1, [2], [0])])], name="tight")


def test_rows_ratios_and_best_bounds(two_jobs: Instance, tight: Instance) -> None:
    table = compare([two_jobs, tight], [fakes.Ordered(), fakes.Ordered(reverse=True), fakes.Bounding()])
    assert len(table) == 6
    assert [r.instance for r in table.rows] == ["two-jobs"] * 3 + ["tight"] * 3
    first = table.rows_of("two-jobs")
    assert [r.solver for r in first][-1] == "bounding"
    assert [r.objective for r in first[:2]] == sorted(r.objective for r in first[:2])
    assert first[-1].objective is None and first[-1].gap is None and first[-1].ratio_to_bound is None
    bound = (5 + 5 + 5) * 1 + 3 * (3 + 9 + 5)
    for row in first[:2]:
        value = evaluate(two_jobs, table.results["two-jobs", row.solver].schedule)
        assert (row.objective, row.best_bound, row.lower_bound) == (value, bound, None)
        assert row.ratio_to_bound == Fraction(value, bound) and row.gap == Fraction(value - bound, value)
        assert row.ratio_to_optimum is None and row.bound_trust is None
    summary = table.instances[1]
    assert (summary.best_bound, summary.best_bound_source, summary.best_bound_trust) == (14, "bounding", Trust.DERIVED)
    assert (summary.best_objective, summary.optimum) == (14, 14)
    assert {r.ratio_to_optimum for r in table.rows_of("tight")} == {Fraction(1), None}
    assert {s.label for s in table.solvers} == {"ordered", "ordered (reverse=True)", "bounding"}


def test_objective_and_seed_reach_the_runs(two_jobs: Instance) -> None:
    table = compare(two_jobs, [fakes.Ordered()], objective="total-weighted-flow", seed=5, time_limit=3, work_limit=9)
    result = table.results["two-jobs", "ordered"]
    assert result.objective_kind is Objective.TOTAL_WEIGHTED_FLOW and result.seed == 5
    assert table.rows[0].objective == evaluate(two_jobs, result.schedule, Objective.TOTAL_WEIGHTED_FLOW)
    assert table.command() == (
        "hetopt compare two-jobs --solvers ordered --objective total-weighted-flow --time-limit 3 "
        "--work-limit 9 --seed 5 --threads 1"
    )


def test_failures_are_rows_with_their_reason(two_jobs: Instance) -> None:
    solvers = [fakes.Broken(), fakes.Absent(), fakes.Lying(), fakes.SpanOnly(), fakes.Nothing(), fakes.Ordered()]
    table = compare(two_jobs, solvers)
    rows = {r.solver: r for r in table.rows}
    assert rows["ordered"].objective is not None and len(table.failures) == 4
    for name, text in {
        "broken": "broke: IndexError: list index out of range (fakes.py:",
        "absent": "pip install gurobipy",
        "lying": "verification failed: lying claims",
        "span-only": "does not take the objective total-weighted-completion; it takes makespan",
    }.items():
        row = rows[name]
        assert text in row.message
        assert (row.status, row.stop_reason) == (Status.UNKNOWN, StopReason.ERROR)
        assert (row.objective, row.lower_bound, row.gap, row.ratio_to_bound) == (None,) * 4
    assert rows["nothing"].stop_reason is StopReason.TIME
    shown = table._repr_html_() + table.to_latex() + table.to_csv()
    assert "nan" not in shown.lower().replace("name", "") and "inf" not in shown.lower() and "None" not in shown
    assert DASH in table._repr_html_()


def test_missing_library_of_a_catalogue_solver_is_a_row(two_jobs: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    from hetopt.core.registry import Entry
    from hetopt.solvers.catalogue import SOLVERS

    entry = Entry("ghost", "no.such:Thing", requires=("no_such_package",), install="pip install no-such-package")
    monkeypatch.setitem(SOLVERS.entries, "ghost", entry)
    table = compare(two_jobs, ["ghost", fakes.Ordered()])
    assert [r.solver for r in table.rows] == ["ordered", "ghost"]
    assert "pip install no-such-package" in table.rows[1].message


def test_schedule_below_a_claimed_bound_is_an_error_that_keeps_the_table(two_jobs: Instance) -> None:
    with pytest.raises(
        ContradictionError, match=r"lower bound 100000 of bounding \(value=100000\) is above the value"
    ) as caught:
        compare(two_jobs, [fakes.Ordered(), fakes.Bounding(value=100000)])
    assert len(caught.value.comparison.rows) == 2
    assert caught.value.exit_code == 5
    with pytest.raises(ContradictionError, match="impossible claims that the instance is infeasible"):
        compare(two_jobs, [fakes.Ordered(), fakes.Impossible()])


def test_optimality_claims_are_held_against_each_other(two_jobs: Instance) -> None:
    values = {r.solver: r.objective for r in compare(two_jobs, [fakes.Ordered(), fakes.Ordered(reverse=True)]).rows}
    assert values["ordered"] != values["ordered (reverse=True)"]
    if values["ordered (reverse=True)"] < values["ordered"]:
        with pytest.raises(ContradictionError, match="claiming"):
            compare(two_jobs, [fakes.Claiming(), fakes.Ordered(reverse=True)])
    else:
        table = compare(two_jobs, [fakes.Claiming(), fakes.Ordered(reverse=True)])
        worse = table.rows_of("two-jobs")[1]
        assert worse.ratio_to_optimum == Fraction(worse.objective, values["ordered"]) > 1


def test_library_values_count_and_are_named(two_jobs: Instance) -> None:
    def known(instance: Instance, objective: Objective) -> BestKnown:
        return BestKnown(80, "proved by hand", Trust.VERIFIED, 80, "solved by hand")

    table = compare(two_jobs, fakes.Ordered(), known=known)
    summary = table.instances[0]
    assert summary.best_bound_source == "library: proved by hand" and summary.best_bound_trust is Trust.VERIFIED
    assert summary.optimum == 80
    assert table.rows[0].ratio_to_optimum == Fraction(table.rows[0].objective, 80)
    with pytest.raises(ContradictionError, match="library: wrong"):
        compare(two_jobs, fakes.Ordered(), known=lambda i, o: BestKnown(10**6, "wrong"))
    with pytest.raises(ContradictionError, match="library: too good"):
        compare(two_jobs, fakes.Bounding(), known=lambda i, o: BestKnown(objective=3, objective_source="too good"))


def test_among_equal_bounds_the_better_trusted_is_named(two_jobs: Instance) -> None:
    first = compare(two_jobs, fakes.Bounding()).instances[0]
    for trust, source in ((Trust.REPORTED, "bounding"), (None, "library: x"), (Trust.VERIFIED, "library: x")):
        table = compare(two_jobs, fakes.Bounding(), known=lambda i, o, t=trust: BestKnown(first.best_bound, "x", t))
        assert table.instances[0].best_bound_source == source


def test_ctrl_c_keeps_the_rows_done(two_jobs: Instance, tight: Instance) -> None:
    table = compare([two_jobs, tight], [fakes.Ordered(), fakes.Interrupting(), fakes.Bounding()])
    assert table.interrupted and table.not_run == 4
    assert sorted(r.solver for r in table.rows) == ["interrupting", "ordered"]
    assert "interrupted" in repr(table)
    assert table.to_dict()["interrupted"] is True


def test_ctrl_c_in_a_listener_keeps_the_rows_done(two_jobs: Instance) -> None:
    def listener(event: Progress) -> None:
        if event.index == 2 and event.point is None:
            raise KeyboardInterrupt

    table = compare(two_jobs, [fakes.Ordered(), fakes.Bounding()], listener=listener)
    assert [r.solver for r in table.rows] == ["ordered"] and table.interrupted and table.not_run == 1


def test_options_that_json_has_no_word_for_are_text(two_jobs: Instance) -> None:
    @dataclass(frozen=True)
    class Strange(fakes.Ordered):
        share: Fraction = Fraction(1, 3)
        names: tuple[str, ...] = ("a",)

    options = json.loads(compare(two_jobs, Strange()).to_json())["solvers"][0]["options"]
    assert options == {"reverse": False, "share": "1/3", "names": ["a"]}


def test_listener_hears_start_points_and_end(two_jobs: Instance) -> None:
    heard: list[Progress] = []
    compare(two_jobs, [fakes.Ordered(), fakes.Broken()], listener=heard.append)
    assert [(e.solver, e.index, e.total) for e in heard if (e.point, e.result, e.error) == (None,) * 3] == [
        ("ordered", 1, 2),
        ("broken", 2, 2),
    ]
    assert any(e.point is not None and e.solver == "ordered" for e in heard)
    assert heard[-1].error is not None and "IndexError" in heard[-1].error


def test_warm_starts_go_to_their_instance(two_jobs: Instance, tight: Instance) -> None:
    best = min(
        (fakes.list_schedule(two_jobs, order) for order in ([0, 1], [1, 0])), key=lambda s: evaluate(two_jobs, s)
    )
    table = compare([two_jobs, tight], [fakes.Nothing()], warm_start=best)
    assert table.rows_of("two-jobs")[0].objective == evaluate(two_jobs, best)
    assert table.rows_of("tight")[0].objective is None
    with pytest.raises(UsageError, match="none of the instances"):
        compare(tight, [fakes.Nothing()], warm_start=best)


def test_equal_and_empty_names_are_told_apart() -> None:
    made = [make_instance({"A": 1}, [(1, 0, [(1, [n], [0])])], name=name) for n, name in enumerate(("a", "a", ""), 1)]
    table = compare(made, [fakes.Ordered(), fakes.Ordered()])
    assert [i.name for i in table.instances] == ["a", "a (2)", "instance 3"]
    assert {r.solver for r in table.rows} == {"ordered", "ordered (2)"}
    assert len(table.results) == 6


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"objective": "speed"}, "no objective is called 'speed'"),
        ({"time_limit": -1}, "time limit -1"),
        ({"time_limit": float("nan")}, "time limit nan"),
        ({"threads": 0}, "threads 0"),
        ({"work_limit": 1.5}, "work limit 1.5"),
        ({"seed": "x"}, "seed 'x'"),
        ({"solvers": []}, "at least one solver"),
        ({"solvers": ["no-such-solver"]}, "no solver is called 'no-such-solver'"),
        ({"solvers": [3]}, "neither a solver's name nor a solver"),
        ({"instances": []}, "at least one instance"),
        ({"instances": ["a.json"]}, "hetopt.load"),
        ({"params": {"other": {}}}, "none of the solvers"),
    ],
)
def test_calls_that_make_no_sense_are_refused_before_anything_runs(two_jobs: Instance, change: dict, text: str) -> None:
    call = {"instances": two_jobs, "solvers": [fakes.Ordered()], **change}
    with pytest.raises(UsageError, match=text):
        compare(call.pop("instances"), call.pop("solvers"), **call)


# -------------------------------------------------------------------------------------- documents


@pytest.fixture
def table(two_jobs: Instance, tight: Instance) -> Comparison:
    return compare([two_jobs, tight], [fakes.Ordered(), fakes.Claiming(), fakes.Bounding(), fakes.Broken()])


def test_document_round_trip_and_schema(table: Comparison, tmp_path) -> None:
    table.save(tmp_path / "c.json")
    text = (tmp_path / "c.json").read_text()
    assert text.startswith('{"format": "hetopt/comparison", "version": 1,')
    document = ComparisonDocument.load(tmp_path / "c.json")
    assert document.to_dict() == json.loads(text)
    jsonschema.validate(json.loads(text), ComparisonDocument.model_json_schema())
    assert text.count('{"instance"') == sum(line.startswith('{"instance"') for line in text.split("\n")) == len(table)


def test_csv_and_pandas_agree_with_the_rows(table: Comparison, tmp_path) -> None:
    read = list(csv.DictReader(io.StringIO(table.to_csv(tmp_path / "c.csv"))))
    assert (tmp_path / "c.csv").read_text() == table.to_csv()
    frame = table.to_pandas()
    for row, cells, record in zip(table.rows, read, frame.to_dict("records"), strict=True):
        assert cells["objective"] == ("" if row.objective is None else str(row.objective))
        assert cells["message"] == row.message
        if row.ratio_to_bound is None:
            assert cells["ratio_to_bound"] == "" and frame["ratio_to_bound"].isna().any()
        else:
            assert float(cells["ratio_to_bound"]) == record["ratio_to_bound"] == float(row.ratio_to_bound)
    assert str(frame["objective"].dtype) == "Int64"


def test_latex_is_booktabs_and_escaped(two_jobs: Instance) -> None:
    nasty = two_jobs.model_copy(update={"name": r"a_b & 50% $x^2$ \input{~} #1 --[y]"})
    text = compare(nasty, [fakes.Ordered()]).to_latex(caption="A & B", label="tab:a")
    assert r"a\_b \& 50\% \$x\textasciicircum{}2\$ \textbackslash{}input\{\textasciitilde{}\} \#1" in text
    assert r"\toprule" in text and r"\midrule" in text and r"\bottomrule" in text and r"\caption{A \& B}" in text
    rows = [line for line in text.split("\n") if line.endswith(r"\\")]
    assert {line.replace(r"\&", "").count("&") for line in rows} == {10}
    with pytest.raises(UsageError, match="no column is called 'speed'"):
        compare(nasty, [fakes.Ordered()]).to_latex(columns=["solver", "speed"])


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.text(max_size=30))
def test_no_special_character_survives_latex_escaping(text: str) -> None:
    out = escape_latex(text)
    for command in (r"\textbackslash{}", r"\textasciitilde{}", r"\textasciicircum{}", r"\textless{}", r"\textgreater{}",
                    r"\textbar{}", r"\textquotedbl{}", r"\&", r"\%", r"\$", r"\#", r"\_", r"\{", r"\}", r"\,"):  # fmt: skip
        out = out.replace(command, "")
    assert not set(out.replace("{[}", "").replace("{]}", "").replace("-{}", "")) & set('&%$#_~^\\{}<>|"\n')


def test_html_of_notebooks_is_escaped(two_jobs: Instance) -> None:
    nasty = two_jobs.model_copy(update={"name": "<script>alert(1)</script>"})
    text = compare(nasty, [fakes.Ordered()])._repr_html_()
    assert "<script>" not in text and "&lt;script&gt;" in text


def test_same_call_same_bytes_without_times(two_jobs: Instance) -> None:
    def text() -> str:
        d = compare(two_jobs, [fakes.Ordered(), fakes.Bounding()]).to_dict()
        for row in d["rows"]:
            row["seconds"] = None
        return json.dumps(d)

    assert text() == text()


def test_unwritable_places_are_reported(table: Comparison) -> None:
    for write in (table.to_csv, table.to_latex, table.save):
        with pytest.raises(OutputError):
            write("/proc/no/such/file")
