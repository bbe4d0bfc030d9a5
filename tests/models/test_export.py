"""Exports: data for MiniZinc and FJSPLIB, name maps, refusals."""

from __future__ import annotations

import json

import pytest

from hetopt.core.errors import InputError, OutputError, UsageError
from hetopt.models.export import export, render
from tests.conftest import make_instance


@pytest.fixture
def shop():
    return make_instance(
        {"a": 2, "b": 1}, [(1, 0, [(1, [3, None], [0, None]), (1, [2, 5], [0, 0])]), (1, 0, [(1, [4, 1], [0, 0])])]
    )


def test_fjs_is_the_flexible_job_shop(shop):
    assert render(shop, "disjunctive-milp", "fjs").text.splitlines() == [
        "2 3 2.67",
        "2 2 1 3 2 3 3 1 2 2 2 3 5",
        "1 3 1 4 2 4 3 1",
    ]


def test_fjs_refuses_what_it_cannot_say_and_lists_all_of_it():
    instance = make_instance({"a": 1}, [(1, 3, [(2, [3], [1])])])
    with pytest.raises(InputError) as caught:
        render(instance, "disjunctive-milp", "fjs")
    assert [fault.where for fault in caught.value.faults] == [
        "jobs[0].release_date",
        "jobs[0].rounds[0].scale",
        "jobs[0].rounds[0].sync_time",
    ]


def test_dzn_holds_the_whole_instance(two_jobs):
    text = render(two_jobs, "disjunctive-milp", "dzn", "makespan").text
    lines = dict(line.rstrip(";").split(" = ") for line in text.splitlines())
    assert lines["objective_kind"] == "3"
    assert lines["gpu_count"] == "[2, 1]"
    assert lines["last_round"] == "[3, 5]"
    assert lines["scale"] == "[2, 2, 2, 1, 3]"
    assert lines["processing_time"] == "[| 4, 9 | 4, 9 | 4, 9 | 7, -1 | 5, -1 |]"
    assert lines["sync_time"] == "[| 1, 1 | 1, 1 | 1, 1 | 2, -1 | 0, -1 |]"


def test_the_data_and_the_minizinc_model_name_the_same_things(two_jobs):
    from pathlib import Path

    model = (Path(__file__).resolve().parents[2] / "models" / "jct.mzn").read_text(encoding="utf-8")
    declared = {
        line.split("%")[0].strip().rstrip(";").split(":")[-1].strip()
        for line in model.splitlines()
        if line.startswith(("int:", "array[")) and "=" not in line and "var" not in line
    }
    given = {line.split(" = ")[0] for line in render(two_jobs, "disjunctive-milp", "dzn").text.splitlines()}
    assert declared == given


@pytest.mark.parametrize("format", ["lp", "mps", "dzn", "fjs"])
def test_a_name_map_lies_beside_the_file(shop, format, tmp_path):
    path = tmp_path / f"out.{format}"
    written = export(shop, "milp-time-indexed", format, path)
    assert written == (str(path), f"{path}.names.json")
    names = json.loads((tmp_path / f"out.{format}.names.json").read_text())
    assert names["fingerprint"] == shop.fingerprint
    assert names["jobs"] == ["job0", "job1"]
    assert names["gpus"] == ["a", "a", "b"]


def test_unknown_names_are_refused(shop, tmp_path):
    with pytest.raises(UsageError, match="no model to export is called 'sudoku'; known: disjunctive-milp"):
        render(shop, "sudoku", "lp")
    with pytest.raises(UsageError, match="no export format is called 'xls'"):
        render(shop, "disjunctive-milp", "xls")
    with pytest.raises(UsageError, match="no objective is called 'profit'"):
        render(shop, "disjunctive-milp", "lp", "profit")
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(OutputError):
        export(shop, "disjunctive-milp", "lp", tmp_path / "file" / "out.lp")
