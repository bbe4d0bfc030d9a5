"""Every mistake is one line per fault on standard error, with the exit code for it, and never a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hetopt.core.instance import Instance

LINE_LIMIT = 400


def refused(ran: Any, *expected: str, code: int = 2) -> None:
    """The command ended with ``code``, printed nothing on standard output, and said what is expected."""
    assert ran.code == code, (ran.code, ran.err)
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert "internal error" not in ran.err
    for text in expected:
        assert text in ran.err
    assert all(line for line in ran.err.splitlines())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["slove", "i"], "Did you mean"),
        (["solve"], "INSTANCE"),
        (["solve", "i", "--sover", "x"], "--solver"),
        (["solve", "@", "--solver", "wspd"], "wspt"),
        (["solve", "@", "--solver", "wspt", "--objective", "makspan"], "did you mean makespan"),
        (["solve", "@", "--solver", "wspt", "--time-limit", "nan"], "finite"),
        (["solve", "@", "--solver", "wspt", "--time-limit", "inf"], "finite"),
        (["solve", "@", "--solver", "wspt", "--time-limit", "-1"], ">= 0"),
        (["solve", "@", "--solver", "wspt", "--time-limit", "soon"], "soon"),
        (["solve", "@", "--solver", "wspt", "--work-limit", "1.5"], "1.5"),
        (["solve", "@", "--solver", "wspt", "--work-limit", "-3"], "-3"),
        (["solve", "@", "--solver", "wspt", "--threads", "0"], "0"),
        (["solve", "@", "--solver", "wspt", "--seed", "x"], "x"),
        (["solve", "@", "--solver", "wspt", "--param", "a"], "key=value"),
        (["solve", "@", "--solver", "wspt", "--param", "=1"], "key=value"),
        (["solve", "@", "--solver", "wspt", "--param", "a=1", "--param", "a=2"], "twice"),
        (["solve", "@", "--solver", "wspt", "--param", "speed=1"], "no parameter 'speed'"),
        (["solve", "@", "--solver", "wspt", "--params", "none.toml"], "none.toml"),
        (["solve", "@", "--solver", "wspt", "--warm-start", "none.json"], "none.json"),
        (["solve", "@", "--solver", "wspt", "--json", "--schedule-out", "-"], "standard output"),
        (["solve", "no-such-file.json"], "no-such-file.json: cannot be read"),
        (["solve", "no-such-instance"], "no-such-instance"),
        (["solve", "."], "cannot be read"),
        (["generate", "--jobs", "0"], "--jobs"),
        (["generate", "--jobs", "two"], "two"),
        (["generate", "--gpus", "V100"], "TYPE=COUNT"),
        (["generate", "--gpus", "V100=0"], ">= 1"),
        (["generate", "--gpus", "V100=1,V100=2"], "twice"),
        (["generate", "--gpus", ""], "TYPE=COUNT"),
        (["generate", "--family", "poison"], "poisson"),
        (["generate", "--alpha", "0.5"], "alpha"),
        (["generate", "--load", "nan"], "load"),
        (["generate", "--rounds", "5..2"], "range"),
        (["generate", "--param", "nothing=1"], "nothing"),
        (["generate", "--param", "alpha=1", "--alpha", "2"], "twice"),
        (["generate", "--tick", "0"], "tick"),
        (["convert", "gavel", "none.trace", "--throughputs", "none.json", "--gpus", "V100=1", "--rounds", "1"], "none"),
        (["convert", "table", "none.csv"], "none.csv"),
        (["convert", "tabel", "x"], "Did you mean"),
        (["verify", "@", "none.json"], "none.json"),
        (["verify", "@", "@"], "schedule, result or certificate"),
        (["compare", "@", "--solvers", "wspt,fifoo"], "fifo"),
        (["compare", "@", "--solvers", "wspt,,fifo"], "empty name"),
        (["compare", "@", "--solvers", "wspt,wspt"], "twice"),
        (["compare", "--solvers", "wspt"], "INSTANCE"),
        (["compare", "@"], "--solvers"),
        (["compare", "@", "--solvers", "wspt", "--param", "hare.x=1"], "hare"),
        (["compare", "@", "--solvers", "wspt", "--param", "x=1"], "'x'"),
        (["compare", "@", "--solvers", "wspt", "--csv", "a", "--latex", "a"], "same place"),
        (["plot", "@", "@", "-o", "x.svg"], "schedule or result"),
        (["schema", "resut"], "result"),
        (["solvers", "fifi"], "fifo"),
    ],
)
def test_wrong_usage(hetopt: Any, instance_file: Path, words: list[str], expected: str) -> None:
    refused(hetopt(*(instance_file if word == "@" else word for word in words)), expected)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "not JSON"),
        (b"{", "line 1"),
        (b"[]", "a document is a JSON object"),
        (b"3", "a document is a JSON object"),
        (b"{}", "format"),
        (b'{"format": "hetopt/unknown", "version": 1}', "hetopt/unknown"),
        (b'{"format": ["hetopt/result"], "version": 1}', "format"),
        (b'{"format": "hetopt/clairvoyant", "version": 2}', "version"),
        (b'{"format": "hetopt/clairvoyant", "version": 1}', "gpu_types"),
        (b'{"format": "hetopt/result", "version": 1}', "status"),
        (b"\xff\xfe{}", "UTF-8"),
        (b'{"a": NaN}', "NaN"),
        (b"[" * 100000, "nested"),
    ],
)
def test_files_that_are_no_instance(hetopt: Any, tmp_path: Path, content: bytes, expected: str) -> None:
    (tmp_path / "x.json").write_bytes(content)
    for words in (("solve", "x.json"), ("compare", "x.json", "--solvers", "fifo"), ("verify", "x.json", "x.json")):
        refused(hetopt(*words), "x.json", expected)
    refused(hetopt("solve", "-", stdin=content), "<stdin>", expected)


def test_a_schedule_is_no_instance(hetopt: Any, instance_file: Path) -> None:
    hetopt("solve", instance_file, "--solver", "fifo", "--schedule-out", "s.json")
    refused(hetopt("solve", "s.json"), "an instance (hetopt/clairvoyant) is needed")


def test_all_faults_at_once_a_line_each(hetopt: Any, two_jobs: Instance, tmp_path: Path) -> None:
    raw = two_jobs.to_dict()
    raw["jobs"][0]["weight"] = 2.5
    raw["jobs"][0]["rounds"][0]["processing_time"][1] = -4
    raw["jobs"][1]["release_date"] = "soon"
    raw["gpu_types"][0]["colour"] = "blue"
    text = json.dumps(raw).replace('"name": "bert"', '"name": "bert", "name": "bert"')
    (tmp_path / "x.json").write_text(text)
    ran = hetopt("solve", "x.json")
    refused(
        ran,
        "x.json: jobs[0].weight: found 2.5",
        "multiply all weights by 2",
        "jobs[0].rounds[0].processing_time[1]: found -4",
        "jobs[1].release_date: found 'soon'",
        "gpu_types[0].colour",
        "jobs[1].name: found the key twice",
    )
    assert len(ran.err.splitlines()) <= 6
    assert all(line.startswith("hetopt: x.json: ") for line in ran.err.splitlines())


def test_parameter_files(hetopt: Any, instance_file: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("a = = 1\n")
    refused(hetopt("solve", instance_file, "--solver", "wspt", "--params", "bad.toml"), "bad.toml", "not TOML")
    (tmp_path / "flat.toml").write_text("a = 1\n")
    refused(hetopt("solve", instance_file, "--solver", "wspt", "--params", "flat.toml"), "no parameter 'a'")
    refused(hetopt("compare", instance_file, "--solvers", "wspt", "--params", "flat.toml"), "[a]")
    (tmp_path / "other.toml").write_text("[hare]\na = 1\n")
    refused(hetopt("compare", instance_file, "--solvers", "wspt", "--params", "other.toml"), "hare")


def test_failed_verification(hetopt: Any, instance_file: Path, tmp_path: Path) -> None:
    result = hetopt("solve", instance_file, "--solver", "wspt", "--json").document
    result["objective"] -= 1
    (tmp_path / "r.json").write_text(json.dumps(result))
    ran = hetopt("verify", instance_file, "r.json", "--json")
    assert ran.code == 5
    assert ran.document["valid"] is False
    assert ran.document["violations"][0]["kind"] == "wrong-objective"
    assert "wrong-objective" in ran.err
    other = hetopt("generate", "--jobs", "2", "-o", "other.json")
    assert other.code == 0
    assert hetopt("verify", "other.json", "r.json").code == 5


def test_places_that_cannot_be_written(hetopt: Any, instance_file: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = hetopt("solve", instance_file, "--solver", "wspt", "-o", "file/r.json")
    assert ran.code == 2
    assert "file/r.json: cannot be written" in ran.err
    assert ran.document["status"] == "FEASIBLE", "what was solved is printed rather than lost"
    ran = hetopt("solve", instance_file, "--solver", "wspt", "--schedule-out", str(tmp_path))
    assert ran.code == 2
    assert ran.document["format"] == "hetopt/schedule"
    ran = hetopt("compare", instance_file, "--solvers", "wspt", "--csv", "file/t.csv", "--latex", "t.tex")
    assert ran.code == 2
    assert ran.document["format"] == "hetopt/comparison"
    assert (tmp_path / "t.tex").exists(), "one place that cannot be written does not keep the others from being written"
    refused(hetopt("generate", "--jobs", "1", "-o", "file/i.json"), "cannot be written")
    refused(hetopt("solve", instance_file, "--solver", "wspt", "--log-file", "file/log"), "file/log")
    refused(hetopt("plot", instance_file, instance_file, "-o", "x.gif"), "schedule or result")


def test_unknown_is_shown_as_a_dash_and_never_as_a_number(hetopt: Any, instance_file: Path) -> None:
    ran = hetopt("solve", instance_file, "--solver", "fifo", "--json")
    assert (ran.document["bound"], ran.document["gap"], ran.document["bound_trust"]) == (None, None, None)
    lines = {line.split("  ")[0]: line.split()[-1] for line in ran.err.splitlines()}
    assert lines["gap"] == "-"
    assert lines["lower bound"] == "-"
