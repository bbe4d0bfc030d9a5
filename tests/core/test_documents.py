"""Strict JSON, all faults at once, stable bytes, safe writing."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetopt.core.documents import (
    canonical_json,
    exact_text,
    json_path,
    parse_exact,
    read_json,
    write_text,
    written_json,
)
from hetopt.core.errors import InputError, OutputError
from hetopt.core.instance import GpuType, Instance, Job, SyncRound
from hetopt.core.text import one_line, visible

GOOD = (
    '{"format": "hetopt/clairvoyant", "version": 1, "name": "t", "gpu_types": [{"name": "A", "count": 2}], '
    '"jobs": [{"name": "j", "rounds": [{"scale": 1, "processing_time": [3]}]}]}'
)


def faults(text: str) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        Instance.from_json(text, "f.json")
    assert all(fault.source == "f.json" and fault.rule for fault in caught.value.faults)
    assert "\n" not in "".join(str(fault) for fault in caught.value.faults)
    return {fault.where: f"{fault.found}; {fault.rule}; {fault.remedy}" for fault in caught.value.faults}


@pytest.mark.parametrize(
    ("old", "new", "where", "word"),
    [
        ('"count": 2', '"count": 0', "gpu_types[0].count", ">= 1"),
        ('"count": 2', '"count": "2"', "gpu_types[0].count", "whole number"),
        ('"count": 2', '"count": true', "gpu_types[0].count", "whole number"),
        ('"count": 2', '"count": 2.0', "gpu_types[0].count", "whole number"),
        ('"scale": 1', '"scale": NaN', "jobs[0].rounds[0].scale", "NaN"),
        ('"scale": 1', '"scale": -Infinity', "jobs[0].rounds[0].scale", "NaN and Infinity"),
        ('"scale": 1', '"scale": 1e999', "jobs[0].rounds[0].scale", "too large"),
        ('"scale": 1', '"scale": ' + "9" * 500, "jobs[0].rounds[0].scale", "500 digits"),
        ('"scale": 1', '"scale": 1, "scale": 2', "jobs[0].rounds[0].scale", "twice"),
        ('"scale": 1', '"scale": 1, "size": 2', "jobs[0].rounds[0].size", "not known"),
        ("[3]", "[0]", "jobs[0].rounds[0].processing_time[0]", ">= 1 tick"),
        ("[3]", "[-3]", "jobs[0].rounds[0].processing_time[0]", ">= 0"),
        ("[3]", "[null]", "jobs[0].rounds[0].processing_time", "at least one GPU type"),
        ("[3]", "[3, 4]", "jobs[0].rounds[0].processing_time", "one entry per GPU type"),
        ("[3]", "[]", "jobs[0].rounds[0].processing_time", "must not be empty"),
        ("[3]", '[3], "sync_time": [null]', "jobs[0].rounds[0].sync_time[0]", "exactly where"),
        ("[3]", f"[{2**53}]", "jobs", "at least"),
        ('"name": "j"', '"name": "j", "weight": 2.5', "jobs[0].weight", "multiply all weights by 2"),
        ('"name": "j"', '"name": "j", "weight": 0.2', "jobs[0].weight", "multiply all weights by 5"),
        ('"name": "j"', '"name": "j", "weight": 0', "jobs[0].weight", ">= 1"),
        ('"name": "j"', '"name": ""', "jobs[0].name", "not be empty"),
        ('"name": "j"', '"name": "j", "release_date": -1', "jobs[0].release_date", ">= 0"),
        ('"rounds": [', '"rounds": {}, "x": [', "jobs[0].rounds", "list"),
        ('"version": 1', '"version": 2', "version", "version 1"),
        ('"version": 1', '"version": true', "version", "version 1"),
        ('"version": 1', '"version": 1.0', "version", "version 1"),
        ('"version": 1', '"version": 1, "tick_seconds": ' + "9" * 390, "tick_seconds", "too large"),
        ('"name": "j"', r'"name": "j\ud800"', "jobs[0].name", "surrogate"),
        ('"name": "t"', r'"name": "t\uDC00\ud800"', "name", "surrogate"),
        ('"name": "t"', r'"name": "t", "\ud800": 1', r'["\\ud800"]', "surrogate"),
        ('"format": "hetopt/clairvoyant"', '"format": "hetopt/x"', "format", "hetopt/clairvoyant"),
        ('"name": "t"', '"name": "t", "tick_seconds": 0', "tick_seconds", "> 0"),
        ('"name": "t"', '"name": "t", "tick_seconds": "1"', "tick_seconds", "number"),
    ],
)
def test_each_rule_of_an_instance(old: str, new: str, where: str, word: str) -> None:
    assert old in GOOD
    found = faults(GOOD.replace(old, new, 1))
    assert where in found
    assert word in found[where]


def test_a_weight_that_is_not_whole_is_one_line_with_the_factor() -> None:
    with pytest.raises(InputError) as caught:
        Instance.from_json(GOOD.replace('"name": "j"', '"name": "j", "weight": 2.5'), "f.json")
    (fault,) = caught.value.faults
    assert fault.remedy == "multiply all weights by 2"


def test_a_huge_tick_of_a_huge_instance_is_refused_in_words() -> None:
    assert set(faults(GOOD.replace('"name": "t"', f'"tick_seconds": {"9" * 390}').replace("[3]", f"[{2**53}]"))) == {
        "jobs",
        "tick_seconds",
    }


def test_whole_surrogate_pairs_are_characters_and_halves_are_refused_in_python_too() -> None:
    assert Instance.from_json(GOOD.replace('"name": "j"', r'"name": "\ud83d\ude00"')).jobs[0].name == "\U0001f600"
    with pytest.raises(InputError, match="surrogate"):
        GpuType(name="\ud800", count=1)


@pytest.mark.parametrize("name", ["\0", "\x01", "\ufffe", "\n", "\x1b[2J", "\x85", "\u2028", "\x7f"])
def test_names_are_any_text_and_are_shown_on_one_visible_line(name: str) -> None:
    made = Instance.from_json(GOOD.replace('"name": "j"', f'"name": {json.dumps(name)}'))
    assert made.jobs[0].name == name
    assert Instance.from_json(made.to_json()) == made
    shown = one_line(name)
    assert shown.isprintable() and shown.splitlines() == [shown] and shown != name
    ElementTree.fromstring(f"<a>{visible(name)}</a>")


def test_text_with_half_a_surrogate_pair_is_written_as_an_escape(tmp_path: Path) -> None:
    write_text(tmp_path / "x.json", json.dumps({"path": "\udcff"}, ensure_ascii=False))
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8")) == {"path": "\udcff"}


def test_all_faults_at_once() -> None:
    text = (
        GOOD.replace('"count": 2', '"count": 0')
        .replace("[3]", "[0]")
        .replace('"name": "j"', '"name": "j", "weight": 1.5, "y": 0')
    )
    assert {"gpu_types[0].count", "jobs[0].rounds[0].processing_time[0]", "jobs[0].weight", "jobs[0].y"} <= set(
        faults(text)
    )


def test_duplicate_names_are_named_with_their_twin() -> None:
    text = GOOD.replace('"jobs": [', '"jobs": [{"name": "j", "rounds": [{"scale": 1, "processing_time": [3]}]}, ')
    assert "jobs[0] has this one" in faults(text)["jobs[1].name"]


@pytest.mark.parametrize("text", ["", "{", "[1, 2", "{'a': 1}", "nul", '{"a": 1,}', "[" * 100_000])
def test_what_is_not_json_is_one_line(text: str) -> None:
    with pytest.raises(InputError) as caught:
        Instance.from_json(text, "f.json")
    assert len(str(caught.value).splitlines()) == 1
    assert str(caught.value).startswith("f.json: ")


def test_a_list_or_number_is_no_document() -> None:
    assert list(faults("[1]")) == ["(top level)"]
    assert list(faults("7")) == ["(top level)"]


def test_bad_files_are_input_errors(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b'{"name": "\xe9"}')
    for place in (tmp_path / "absent", tmp_path, tmp_path / "latin"):
        with pytest.raises(InputError, match=str(place)):
            Instance.load(place)


def test_errors_of_objects_made_in_python_are_the_same() -> None:
    with pytest.raises(InputError, match="names are unique"):
        Instance(
            gpu_types=(GpuType(name="A", count=1), GpuType(name="A", count=1)),
            jobs=(Job(name="j", rounds=(SyncRound(scale=1, processing_time=(1, 1)),)),),
        )


def test_fingerprint_ignores_name_spelling_and_defaults(two_jobs: Instance) -> None:
    plain = json.loads(two_jobs.to_json())
    renamed = {**plain, "name": "other"}
    assert Instance.from_dict(renamed).fingerprint == two_jobs.fingerprint
    split = json.loads(json.dumps(plain))
    split["jobs"][0]["rounds"] = [{"scale": 2, "processing_time": [4, 9], "sync_time": [1, 1]}] * 3
    assert Instance.from_dict(split).fingerprint == two_jobs.fingerprint
    bare = json.loads(json.dumps(plain))
    del bare["tick_seconds"], bare["jobs"][0]["weight"], bare["jobs"][1]["rounds"][1]["sync_time"]
    assert Instance.from_dict(bare).fingerprint == two_jobs.fingerprint
    whole_tick = {**plain, "tick_seconds": 1}
    assert Instance.from_dict(whole_tick).fingerprint == two_jobs.fingerprint
    heavier = json.loads(json.dumps(plain))
    heavier["jobs"][0]["weight"] = 2
    assert Instance.from_dict(heavier).fingerprint != two_jobs.fingerprint


def test_the_fingerprint_is_the_published_recipe(two_jobs: Instance) -> None:
    import hashlib

    content = two_jobs.to_dict()
    del content["name"]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert two_jobs.fingerprint == hashlib.sha256(text.encode()).hexdigest()
    assert canonical_json(content) == text


def test_a_file_has_one_job_a_line_and_reads_back(two_jobs: Instance, tmp_path: Path) -> None:
    two_jobs.save(tmp_path / "i.json")
    text = (tmp_path / "i.json").read_text()
    assert text.startswith('{"format": "hetopt/clairvoyant", "version": 1, ')
    assert sum(line.startswith('{"name"') for line in text.splitlines()) == 4
    assert Instance.load(tmp_path / "i.json") == two_jobs


def test_copies_are_validated_and_drop_caches(two_jobs: Instance) -> None:
    before = two_jobs.fingerprint
    assert two_jobs.model_copy(update={"tick_seconds": 2.0}).fingerprint != before
    with pytest.raises(InputError):
        two_jobs.model_copy(update={"gpu_types": two_jobs.gpu_types[:1]})


def test_writing_is_all_or_nothing(tmp_path: Path) -> None:
    target = tmp_path / "x.json"
    write_text(target, "old")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        write_text(tmp_path / "file" / "x.json", "new")
    write_text(target, "new")
    assert target.read_text() == "new"
    assert sorted(os.listdir(tmp_path)) == ["file", "x.json"]
    if os.path.exists("/dev/full"):
        with pytest.raises(OutputError, match="No space left"):
            write_text("/dev/full", "x")


@given(st.fractions())
@settings(deadline=None, max_examples=60, derandomize=True)
def test_exact_numbers_round_trip(value: Fraction) -> None:
    assert parse_exact(exact_text(value), "x") == value


@pytest.mark.parametrize("value", ["1/0", "1.5", "", "a", "1/-2", 1.0, None, True, "½", "1/2/3", " 1"])
def test_what_is_no_exact_number(value: object) -> None:
    with pytest.raises(InputError):
        parse_exact(value, "x")


def test_paths_with_odd_keys() -> None:
    assert json_path(("jobs", 3, "a b", "c")) == 'jobs[3]["a b"].c'


def test_repeated_keys_deep_down_have_their_path() -> None:
    _, found = read_json('{"a": [{"b": 1, "b": 2}]}')
    assert [f.where for f in found] == ["a[0].b"]


def _rows(**changed):
    row = {"job": 0, "round": 0, "task": 0, "gpu": 0, "start": 0, "end": 3, "sync_end": 4}
    return [dict(row), {**row, **changed}]


@pytest.mark.parametrize(
    "rows",
    [
        _rows(start=True),
        _rows(start=1.0),
        _rows(start="1"),
        _rows(start=None),
        _rows(start=2**53 + 1),
        _rows(start=-(2**63)),
        _rows(start=2**70),
        _rows(extra=1),
        [{k: v for k, v in _rows()[0].items() if k != "gpu"}],
        [{**{k: v for k, v in _rows()[0].items() if k != "gpu"}, "gpus": 0}],
        [[0, 0, 0, 0, 0, 3, 4]],
        {"job": 0},
        None,
    ],
)
def test_rows_read_by_columns_have_the_faults_of_rows_read_one_by_one(rows):
    from hetopt.core.schedule import Schedule, ScheduleDocument

    raw = {"format": "hetopt/schedule", "version": 1, "instance": "i", "fingerprint": "f", "tasks": rows, "odd": 1}
    texts = []
    for reader in (Schedule, ScheduleDocument):
        with pytest.raises(InputError) as caught:
            reader.from_dict(raw, "here")
        texts.append(str(caught.value))
    assert texts[0] == texts[1] and "odd" in texts[0] and "tasks" in texts[0]


def test_rows_are_written_as_objects_are_and_marks_inside_them_are_seen():
    from hetopt.core.schedule import Schedule

    raw = {"format": "hetopt/schedule", "version": 1, "instance": 'i"\n', "fingerprint": "f", "tasks": _rows(start=2)}
    read = Schedule.from_dict(raw)
    assert read.to_json() == written_json(read.to_dict()) == written_json(raw)
    assert Schedule.from_json(read.to_json()) == read
    empty = Schedule.from_dict({**raw, "tasks": []})
    assert len(empty) == 0 and Schedule.from_json(empty.to_json()) == empty
    assert empty.to_json() == written_json(empty.to_dict())
    for text, found in (('"start": 1e999', "1e999"), ('"start": NaN', "NaN"), ('"start": 2, "start": 3', "twice")):
        with pytest.raises(InputError, match=found):
            Schedule.from_json(read.to_json().replace('"start": 2', text))
