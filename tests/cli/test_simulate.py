"""``hetopt simulate`` from outside: document, table, CSV, report, one clear line for each mistake."""

from __future__ import annotations

import csv
import json

import pytest

TABLE = {
    kind: {f"('LM (batch size 5)', {scale})": {"null": speed * scale} for scale in (1, 2, 4)}
    for kind, speed in (("v100", 4.0), ("k80", 1.0))
}


def trace(*jobs):
    """Lines of the ten-field dialect from (steps, GPUs, arrival)."""
    return "".join(
        f"LM (batch size 5)\tcmd\tdir\t--steps\t1\t{steps}\t{scale}\t1\t-1.0\t{arrival}\n"
        for steps, scale, arrival in jobs
    )


@pytest.fixture
def files(tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(TABLE))
    (tmp_path / "t.trace").write_text(trace((4000, 1, 0), (8000, 2, 100), (400, 1, 700)))
    return tmp_path


ARGS = ("--throughputs", "t.json", "--gpus", "V100=2,K80=1")


def test_document_table_csv_and_report(hetopt, files):
    ran = hetopt(
        "simulate", "t.trace", "--policy", "fft,srtf-rounds,gavel-max-min-perf", *ARGS, "--json", "--csv", "o.csv",
        "--report", "o.html", "--migration-seconds", "5",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    doc = ran.document
    assert (doc["format"], doc["version"], doc["seed"]) == ("hetopt/simulation", 1, 0)
    assert [p["policy"] for p in doc["policies"]] == ["fft", "srtf-rounds", "gavel-max-min-perf"]
    for policy in doc["policies"]:
        assert policy["jobs"] == 3 and policy["unfinished"] == 0
        assert set(policy["jct"]) == {"mean", "median", "p99"}
        assert set(policy["finish_time_fairness"]) == {"mean", "worst", "fraction_above_one"}
        assert policy["jct"]["median"] <= policy["jct"]["p99"] <= policy["makespan"] and 0 < policy["utilisation"] <= 1
    # one job at 0: 4,000 steps at 4 steps a second
    srtf = doc["policies"][1]
    assert srtf["makespan"] >= 1000.0
    rows = list(csv.DictReader((files / "o.csv").open()))
    assert [r["policy"] for r in rows] == ["fft", "srtf-rounds", "gavel-max-min-perf"]
    assert float(rows[1]["mean_jct"]) == srtf["jct"]["mean"]
    page = (files / "o.html").read_text()
    assert page.count("<svg") == 4 and "http://" not in page.replace("http://www.w3.org", "") and "<script" not in page
    assert "mean JCT" in ran.err and "srtf-rounds" in ran.err


def test_the_same_seed_prints_the_same_bytes(hetopt, files):
    runs = [hetopt("simulate", "t.trace", "--policy", "fft,themis-like,gavel-fifo", *ARGS, "--json") for _ in range(2)]
    assert runs[0].code == 0 and runs[0].out == runs[1].out
    other = hetopt("simulate", "t.trace", "--policy", "gavel-fifo", *ARGS, "--json", "--seed", "5")
    assert other.document["seed"] == 5


def test_exact_times_by_hand(hetopt, files):
    (files / "one.trace").write_text(trace((4002, 1, 0)))
    ran = hetopt("simulate", "one.trace", "--policy", "srtf-rounds", *ARGS, "--round-seconds", "60", "--json")
    assert ran.document["policies"][0]["jct"] == {"mean": 1000.5, "median": 1000.5, "p99": 1000.5}
    late = hetopt(
        "simulate", "t.trace", "--policy", "fifo-rounds", *ARGS, "--round-seconds", "60", "--jobs", "1", "--json"
    )
    assert late.document["policies"][0]["jobs"] == 1 and late.document["policies"][0]["makespan"] == 1000.0


def test_parameters_reach_their_policy(hetopt, files):
    base = ("simulate", "t.trace", "--policy", "fft,allox", *ARGS, "--json")
    assert hetopt(*base, "--param", "fft.fairness=false", "--param", "alpha=0.5").code == 0
    wrong = hetopt(*base, "--param", "alpha=7")
    assert wrong.code == 2 and "alpha 7" in wrong.err and wrong.out == ""
    unknown = hetopt(*base, "--param", "speed=7")
    assert unknown.code == 2 and "speed" in unknown.err


def test_list(hetopt):
    ran = hetopt("simulate", "--list")
    assert ran.code == 0 and "fft" in ran.err and "max-min fair" in ran.err and ran.out == ""


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("nowhere.trace", "--policy", "fft", *ARGS), ["nowhere.trace"]),
        (("t.trace", "--policy", "fftt", *ARGS), ["no policy is called 'fftt'", "fft"]),
        (("t.trace", "--policy", "fft,fft", *ARGS), ["twice"]),
        (("t.trace", "--policy", "fft,", *ARGS), ["empty name"]),
        (("t.trace", "--policy", "fft", "--throughputs", "t.json", "--gpus", "V100=0"), ["whole number"]),
        (("t.trace", "--policy", "fft", "--throughputs", "t.json", "--gpus", "H100=1"), ["H100"]),
        (("t.trace", "--policy", "fft", "--throughputs", "t.json", "--gpus", "V100=1"), ["needs 2 GPUs", "#2"]),
        (("t.trace", "--policy", "fft", "--gpus", "V100=2"), ["throughput table"]),
        (("t.trace", "--policy", "fft", *ARGS, "--round-seconds", "0"), ["above 0"]),
        (("t.trace", "--policy", "fft", *ARGS, "--round-seconds", "nan"), ["finite"]),
        (("t.trace", "--policy", "fft", *ARGS, "--jobs", "9"), ["jobs 9"]),
        (("t.trace", "--policy", "fft", *ARGS, "--report", "x", "--csv", "x"), ["same place"]),
        (("t.trace", "--gpus", "V100=2"), ["--policy"]),
        (("empty.trace", "--policy", "fft", *ARGS), ["no job"]),
    ],
)
def test_mistakes_are_one_clear_line(hetopt, files, args, words):
    (files / "empty.trace").write_text("")
    ran = hetopt("simulate", *args)
    assert ran.code == 2 and ran.out == ""
    lines = [line for line in ran.err.splitlines() if line]
    assert len(lines) == 1 and all(word in ran.err for word in words), ran.err


def test_lenient_lets_large_jobs_wait(hetopt, files):
    ran = hetopt(
        "simulate",
        "t.trace",
        "--policy",
        "srtf-rounds",
        "--throughputs",
        "t.json",
        "--gpus",
        "V100=1",
        "--lenient",
        "--json",
    )
    assert ran.code == 0
    assert ran.document["policies"][0]["jobs"] == 2 and ran.document["policies"][0]["unfinished"] == 1
    assert "wait for ever" in ran.err
