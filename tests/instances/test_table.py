"""Throughput tables in CSV: columns by name, defaults, every kind of fault with line and column."""

from __future__ import annotations

import math

import pytest

from hetopt.core.errors import InputError, UsageError
from hetopt.instances.table import load_table


@pytest.fixture
def table(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "mine.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write


TIMES = "name,weight,release,rounds,scale,sync,time:V100,time:T4\nresnet,2,10,3,4,0.2,1.5,4\nbert,,,,,,20,\n"


def test_times(table):
    instance, report = load_table(table(TIMES), {"V100": 2, "T4": 1}, rounds=5, tick_seconds=0.1)
    resnet, bert = instance.jobs
    assert instance.name == "mine"
    assert (resnet.weight, resnet.release_date) == (2, 100)
    assert (resnet.rounds[0].repeat, resnet.rounds[0].scale) == (3, 4)
    assert resnet.rounds[0].processing_time == (12, 32)
    assert resnet.rounds[0].sync_time == (3, 8)
    assert (bert.weight, bert.release_date, bert.rounds[0].repeat, bert.rounds[0].scale) == (1, 0, 5, 1)
    assert bert.rounds[0].processing_time == (200, None)
    assert report.rows == report.kept == 2


def test_rates(table):
    instance, _ = load_table(table("name,steps,rounds,V100,rate:T4\nx,1000,4,30,0\ny,7,,2,1.5\n"), {"v100": 1, "t4": 2})
    assert instance.jobs[0].rounds[0].processing_time == (math.ceil(1000 / 120), None)
    assert instance.jobs[1].rounds[0].processing_time == (4, 5)
    assert [(g.name, g.count) for g in instance.gpu_types] == [("v100", 1), ("t4", 2)]


def test_bare_type_columns_are_times_without_steps(table):
    instance, _ = load_table(table("V100,name\n3,x\n"))
    assert instance.jobs[0].rounds[0].processing_time == (3,)
    assert instance.gpu_types[0].count == 1


@pytest.mark.parametrize("cell", ["", "-", "null", "None", "N/A", " na "])
def test_cells_that_say_cannot(table, cell):
    instance, _ = load_table(table(f"name,A,B\nx,3,{cell}\n"))
    assert instance.jobs[0].rounds[0].processing_time == (3, None)


def test_types_not_asked_for_are_left_out_and_noted(table):
    instance, report = load_table(table("name,A,B\nx,3,4\n"), {"b": 2})
    assert [g.name for g in instance.gpu_types] == ["b"]
    assert report.notes == ("GPU types not asked for: A",)


@pytest.mark.parametrize("text", [TIMES.replace(",", ";"), TIMES.replace(",", "\t"), TIMES.replace("\n", "\r\n"), "\ufeff" + TIMES,
                                  TIMES.rstrip("\n"), "\n" + TIMES.replace("\nbert", "\n\n ,,,,,,,\nbert"),
                                  TIMES.replace("name", '" Name "').replace("resnet", '"resnet"')])  # fmt: skip
def test_separators_line_ends_bom_blank_lines_and_quotes(table, text):
    plain = load_table(table(TIMES)).instance.to_json()
    assert load_table(table(text)).instance.to_json() == plain


def test_names_with_separators_and_line_ends(table):
    instance, _ = load_table(table('name,A\n"a, ""b""\nc",1\nz,2\n'))
    assert [job.name for job in instance.jobs] == ['a, "b"\nc', "z"]
    with pytest.raises(InputError, match="line 4 column 'A'"):
        load_table(table('name,A\n"a\nb",1\nz,x\n'))


def test_real_weights_become_whole(table):
    instance, report = load_table(table("name,weight,A\nx,0.5,1\ny,2,1\n"))
    assert [job.weight for job in instance.jobs] == [1, 4]
    assert report.rounding.weight_factor == 2


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("", "", "an empty file"),
        ("name,A\n", "", "no row"),
        ("A\n1\n", "line 1", "no column 'name'"),
        ("name\nx\n", "line 1", "no GPU type"),
        ("name,rate:A\nx,1\n", "line 1", "no column 'steps'"),
        ("name,A,a\nx,1,2\n", "line 1 column 3", "'a'"),
        ("name,A,name\nx,1,2\n", "line 1 column 3", "'name'"),
        ("name,A,\nx,1,2\n", "line 1 column 3", "''"),
        ("name,A,wieght\nx,1,2\n", "line 1 column 3", "'wieght'"),
        ("name,time:,A\nx,1,2\n", "line 1 column 2", "'time:'"),
        ("name,speed:A,B\nx,1,1\n", "line 1 column 2", "'speed:A'"),
        ("name,A\nx\n", "line 2", "1 cells"),
        ("name,A\nx,1,2\n", "line 2", "3 cells"),
        ("name,A\n,1\n", "line 2 column 'name'", "nothing"),
        ("name,A\nx,1\nx,2\n", "line 3 column 'name'", "'x'"),
        ("name,A\nx,0\n", "line 2 column 'A'", "'0'"),
        ("name,A\nx,-1\n", "line 2 column 'A'", "'-1'"),
        ("name,A\nx,fast\n", "line 2 column 'A'", "'fast'"),
        ("name,A\nx,nan\n", "line 2 column 'A'", "'nan'"),
        ("name,A\nx,1e999\n", "line 2 column 'A'", "'1e999'"),
        ("name,A\nx,\n", "line 2", "no time for any type"),
        ("name;A\nx;1,5\n", "line 2 column 'A'", "'1,5'"),
        ("name,A,weight\nx,1,0\n", "line 2 column 'weight'", "'0'"),
        ("name,A,release\nx,1,-1\n", "line 2 column 'release'", "'-1'"),
        ("name,A,rounds\nx,1,1.5\n", "line 2 column 'rounds'", "'1.5'"),
        ("name,A,scale\nx,1,0\n", "line 2 column 'scale'", "'0'"),
        ("name,A,sync\nx,1,1\n", "line 2 column 'sync'", "'1'"),
        ("name,A,sync\nx,1,-0.1\n", "line 2 column 'sync'", "'-0.1'"),
        ("name,A,steps\nx,1,\n", "line 2 column 'steps'", "''"),
        ("name,rate:A,steps\nx,-1,5\n", "line 2 column 'A'", "'-1'"),
        ('name,A\n"x,1\n', "", "not CSV"),
    ],
)
def test_faults(table, text, where, what):
    with pytest.raises(InputError) as error:
        load_table(table(text))
    assert len(error.value.faults) == 1, str(error.value)
    fault = error.value.faults[0]
    assert fault.where == where and what in str(fault)
    assert fault.source.endswith("mine.csv")


def test_all_faults_at_once(table):
    text = "name,weight,scale,A\nx,0,0,0\n,1,1,1\ny,1,1\nx,1,1,1\n"
    with pytest.raises(InputError) as error:
        load_table(table(text))
    assert len(error.value.faults) == 6


def test_unknown_types_and_bad_arguments(table):
    path = table("name,A\nx,1\n")
    with pytest.raises(InputError, match="not in the file"):
        load_table(path, {"B": 1})
    for bad in ({"rounds": 0}, {"sync": 1}, {"tick_seconds": 0}, {"gpus": {"A": 0}}, {"gpus": {}}):
        with pytest.raises(UsageError):
            load_table(path, **bad)
    with pytest.raises(InputError, match="cannot be read"):
        load_table("none.csv")
    with pytest.raises(InputError, match="UTF-8"):
        load_table(table("name,A\né,1\n", "latin-1"))
