"""The Gavel loader on small hand-written files: both dialects, every quirk of the real ones, every kind of bad row."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

from hetopt.core.errors import InputError, UsageError
from hetopt.instances.traces import load_gavel, load_gavel_workload
from hetopt.instances.traces.gavel import load_throughputs

TABLE = {
    "v100": {
        "('ResNet-18 (batch size 32)', 1)": {"null": 30.0, "('LM (batch size 5)', 1)": [10.0, 12.0]},
        "('ResNet-18 (batch size 32)', 2)": {"null": 94.2},
        "('LM (batch size 5)', 1)": {"null": 0.3, "('ResNet-18 (batch size 32)', 1)": [12.0, 0.0]},
        "('A3C', 1)": {"null": 7.0},
    },
    "v100_unconsolidated": {"('LM (batch size 5)', 1)": {"null": 0.5}},
    "k80": {
        "('ResNet-18 (batch size 32)', 1)": {"null": 8.0},
        "('ResNet-18 (batch size 32)', 2)": {"null": 0.0},
        "('A3C', 1)": {"null": 0},
    },
}


def ten(model="ResNet-18 (batch size 32)", steps="600", scale="1", weight="1", slo="-1.000000", arrival="0"):
    return "\t".join([model, "python3 main.py --a %s/b c", "dir", "--steps", "1", steps, scale, weight, slo, arrival])


def seven(model="ResNet-18 (batch size 32)", steps="600", arrival="0.000000", scale="1"):
    return "\t".join([model, "cd %s && python3 main.py", "--steps", "1", steps, arrival, scale])


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.json"
    path.write_text(json.dumps(TABLE))
    return path


@pytest.fixture
def trace(tmp_path):
    def write(*lines, end="\n", newline="\n", bom=False):
        path = tmp_path / "jobs.trace"
        text = newline.join(lines) + end
        path.write_bytes((b"\xef\xbb\xbf" if bom else b"") + text.encode())
        return path

    return write


def test_ten_fields(trace, table):
    loaded = load_gavel(trace(ten(steps="600", scale="2", weight="3", arrival="12.5")), table, {"V100": 4}, rounds=2)
    job = loaded.instance.jobs[0]
    assert job.weight == 3
    assert job.release_date == 13
    assert [(p.repeat, p.scale) for p in job.rounds] == [(2, 2)]
    assert job.rounds[0].processing_time == (math.ceil(600 / (2 * 94.2)),)
    assert job.rounds[0].sync_time == (0,)
    assert "ResNet-18 (batch size 32)" in job.name


def test_seven_fields_have_arrival_before_scale(trace, table):
    """Fields 6 and 7 are arrival and scale factor here, scale factor and weight in the other dialect."""
    loaded = load_gavel(
        trace(seven(arrival="2.000000", scale="1"), seven(arrival="1.0", scale="2")), table, {"v100": 1}, 1
    )
    first, second = loaded.instance.jobs
    assert (first.release_date, first.rounds[0].scale, first.weight) == (2, 1, 1)
    assert (second.release_date, second.rounds[0].scale, second.weight) == (1, 2, 1)


def test_the_dialect_is_told_by_the_number_of_fields_of_each_line(trace, table):
    loaded = load_gavel(trace(seven(arrival="5", scale="1"), ten(arrival="7")), table, {"v100": 1}, 1)
    assert [job.release_date for job in loaded.instance.jobs] == [5, 7]


def test_types_match_ignoring_case_and_keep_the_spelling_asked_for(trace, table):
    loaded = load_gavel(trace(ten()), table, {"K80": 3, "V100": 1}, rounds=1)
    assert [(g.name, g.count) for g in loaded.instance.gpu_types] == [("K80", 3), ("V100", 1)]
    assert loaded.instance.jobs[0].rounds[0].processing_time == (75, 20)


@pytest.mark.parametrize("text", [{"end": ""}, {"newline": "\r\n"}, {"bom": True}, {"end": "\n\n  \n"}])
def test_line_ends_bom_and_blank_lines(trace, table, text):
    plain = load_gavel(trace(ten(), ten(arrival="3")), table, {"V100": 1}, rounds=1).instance
    other = load_gavel(trace(ten(), ten(arrival="3"), **text), table, {"V100": 1}, rounds=1).instance
    assert other.to_json() == plain.to_json()


def test_blank_lines_count_in_line_numbers(trace, table):
    with pytest.raises(InputError, match="line 3 field 6"):
        load_gavel(trace(ten(), "", ten(steps="0")), table, {"V100": 1}, rounds=1)


def test_a_zero_rate_or_no_key_is_null(trace, table):
    loaded = load_gavel(trace(ten(scale="2")), table, {"V100": 1, "K80": 1}, rounds=1)
    assert loaded.instance.jobs[0].rounds[0].processing_time == (math.ceil(600 / 94.2), None)
    lm = load_gavel(trace(ten(model="LM (batch size 5)", steps="3")), table, {"V100": 1, "K80": 1}, rounds=1)
    assert lm.instance.jobs[0].rounds[0].processing_time == (10, None)
    assert lm.instance.jobs[0].rounds[0].sync_time == (0, None)


def test_rates_are_the_decimals_that_the_file_wrote(trace, table):
    """3 steps at 0.3 a second are 10 s; in binary 0.3 is a little less, and 10.000000000000000555 would become 11."""
    assert Fraction(3) / Fraction(0.3) > 10
    loaded = load_gavel(trace(ten(model="LM (batch size 5)", steps="3")), table, {"V100": 1}, rounds=1)
    assert loaded.instance.jobs[0].rounds[0].processing_time == (10,)
    assert loaded.report.rounding.largest.relative == 0


@pytest.mark.parametrize("rounds", [1, 3, 7, 1000])
@pytest.mark.parametrize("tick", ["1", 0.25, 60])
@pytest.mark.parametrize("sync", [0, 0.1, "0.25"])
def test_contract_of_times(trace, table, rounds, tick, sync):
    loaded = load_gavel(trace(ten(steps="1234", scale="2")), table, {"V100": 1}, rounds, tick_seconds=tick, sync=sync)
    time = Fraction(1234) / (rounds * Fraction("94.2")) / Fraction(str(tick))
    share = Fraction(str(sync))
    part = loaded.instance.jobs[0].rounds[0]
    assert part.repeat == rounds
    assert part.processing_time == (math.ceil(time * (1 - share)),)
    assert part.sync_time == (math.ceil(time * share),)
    assert loaded.instance.tick_seconds == float(tick)


def test_rounding_report_names_the_worst_time(trace, table):
    loaded = load_gavel(trace(ten(steps="600"), ten(steps="31")), table, {"V100": 1, "K80": 1}, rounds=1)
    worst = loaded.report.rounding.processing_time
    assert worst.relative == Fraction(2) / Fraction(31, 30) - 1
    assert "#2" in worst.where and "V100" in worst.where
    assert worst.true_value == Fraction(31, 30) and worst.rounded == 2
    assert "rounding" in str(loaded.report)


def test_identical_lines_are_different_jobs(trace, table):
    loaded = load_gavel(trace(ten(), ten(), ten()), table, {"V100": 1}, rounds=1)
    assert len({job.name for job in loaded.instance.jobs}) == 3


def test_first_jobs_only(trace, table):
    path = trace(ten(arrival="0"), ten(arrival="1"), ten(arrival="2"))
    assert load_gavel(path, table, {"V100": 1}, rounds=1, jobs=2).instance.num_jobs == 2
    with pytest.raises(UsageError, match="has 3 jobs"):
        load_gavel(path, table, {"V100": 1}, rounds=1, jobs=4)
    for bad in (0, -1, 1.5, True):
        with pytest.raises(UsageError, match="jobs"):
            load_gavel(path, table, {"V100": 1}, rounds=1, jobs=bad)


def test_strict_reports_every_job_that_cannot_run_with_its_reason(trace, table):
    path = trace(
        ten(), ten(scale="2"), ten(model="A3C"), ten(model="A3C", scale="8"), ten(model="ResNet-19 (batch size 32)")
    )
    with pytest.raises(InputError) as error:
        load_gavel(path, table, {"K80": 1}, rounds=1)
    text = str(error.value).splitlines()
    assert [line.split(";")[0].split(": ")[1] for line in text] == ["line 2", "line 3", "line 4", "line 5"]
    assert "rate 0" in text[0] and "it runs on v100" in text[0]
    assert "scale factors 1, not for 8" in text[2]
    assert "did you mean ResNet-18" in text[3]


def test_lenient_drops_and_counts_by_reason(trace, table):
    path = trace(ten(), ten(scale="2"), ten(model="A3C"), ten(model="A3C", scale="8"), ten(model="X"), "a\tb")
    loaded = load_gavel(path, table, {"K80": 1}, rounds=1, strict=False)
    assert loaded.instance.num_jobs == 1
    assert loaded.report.rows == 6 and loaded.report.kept == 1
    assert dict(loaded.report.reasons) == {
        "malformed row": 1,
        "no rate for the scale factor": 1,
        "rate 0 on every type": 2,
        "unknown model": 1,
    }
    assert loaded.report.kept + len(loaded.report.dropped) == loaded.report.rows


def test_nothing_left_is_an_error_even_in_lenient_mode(trace, table):
    with pytest.raises(InputError, match="at least one job"):
        load_gavel(trace(ten(model="A3C")), table, {"K80": 1}, rounds=1, strict=False)
    with pytest.raises(InputError, match="at least one job"):
        load_gavel(trace(end=""), table, {"K80": 1}, rounds=1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (ten(steps="x"), "field 6 (total_steps): found 'x'"),
        (ten(steps="0"), "field 6 (total_steps): found '0'"),
        (ten(steps="1.5"), "field 6 (total_steps): found '1.5'"),
        (ten(steps="nan"), "field 6 (total_steps): found 'nan'"),
        (ten(scale="0"), "field 7 (scale_factor): found '0'"),
        (ten(scale="-1"), "field 7 (scale_factor): found '-1'"),
        (ten(weight="0"), "field 8 (priority_weight): found '0'"),
        (ten(slo=""), "field 9 (SLO): found ''"),
        (ten(arrival="-3"), "field 10 (arrival_time): found '-3'"),
        (ten(arrival="inf"), "field 10 (arrival_time): found 'inf'"),
        (ten(arrival="1/2"), "field 10 (arrival_time): found '1/2'"),
        (ten(model=" "), "field 1 (job_type)"),
        (seven(steps=""), "field 5 (total_steps): found ''"),
        (seven(arrival="1e999"), "field 6 (arrival_time)"),
        (seven(scale="2.5"), "field 7 (scale_factor): found '2.5'"),
        (ten() + "\t1", "found 11 fields"),
        (ten().replace("\t", " "), "found 1 fields"),
    ],
)
def test_bad_rows(trace, table, line, message):
    with pytest.raises(InputError) as error:
        load_gavel(trace(ten(), line, ten()), table, {"V100": 1}, rounds=1)
    assert "line 2" in str(error.value)
    assert message in str(error.value)
    assert len(error.value.faults) == 1


def test_all_bad_rows_at_once_in_order(trace, table):
    path = trace(ten(steps="x", scale="y", arrival="z"), ten(model="X"), "short", ten())
    with pytest.raises(InputError) as error:
        load_gavel(path, table, {"V100": 1}, rounds=1)
    assert [int(f.where.split()[1]) for f in error.value.faults] == [1, 1, 1, 2, 3]
    assert all(f.source.endswith("jobs.trace") for f in error.value.faults)


@pytest.mark.parametrize(
    ("gpus", "message"),
    [({"A100": 1}, "not in the file"), ({"v10": 1}, "did you mean v100"), ({"V100": 1, "v100": 2}, "ignoring case")],
)
def test_unknown_types(trace, table, gpus, message):
    with pytest.raises((InputError, UsageError), match=message):
        load_gavel(trace(ten()), table, gpus, rounds=1)


@pytest.mark.parametrize("arguments", [{"rounds": 0}, {"rounds": 1.5}, {"rounds": 1, "sync": 1}, {"rounds": 1, "sync": -0.1},
                                       {"rounds": 1, "sync": "x"}, {"rounds": 1, "tick_seconds": 0}, {"rounds": 1, "tick_seconds": "nan"}])  # fmt: skip
def test_arguments_out_of_range(trace, table, arguments):
    with pytest.raises(UsageError) as error:
        load_gavel(trace(ten()), table, {"V100": 1}, **arguments)
    assert "\n" not in str(error.value)


def test_types_that_differ_only_in_case_need_the_exact_spelling(trace, tmp_path):
    path = tmp_path / "two.json"
    path.write_text(json.dumps({"v100": TABLE["v100"], "V100": {"('ResNet-18 (batch size 32)', 1)": {"null": 1.0}}}))
    assert load_gavel(trace(ten()), path, {"V100": 1}, rounds=1).instance.jobs[0].rounds[0].processing_time == (600,)
    assert load_gavel(trace(ten()), path, {"v100": 1}, rounds=1).instance.jobs[0].rounds[0].processing_time == (20,)
    folded = tmp_path / "folded.json"
    folded.write_text(json.dumps({"gpuA": TABLE["v100"], "GPUa": TABLE["v100"]}))
    with pytest.raises(InputError, match="matches 'gpuA', 'GPUa' ignoring case"):
        load_gavel(trace(ten()), folded, {"gpua": 1}, rounds=1)


def test_workload_has_the_table_types_that_are_packed(trace, table):
    workload = load_gavel_workload(trace(ten(slo="1.2", arrival="4")), table).workload
    assert workload.gpu_types == ("v100", "k80")
    job = workload.jobs[0]
    assert (job.arrival, job.work, job.demand, job.throughput) == (4.0, 600, 1, (30.0, 8.0))
    assert job.attribute("slo") == "1.2" and job.attribute("line") == "1"
    assert job.duration(0) == 20.0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[]", "an object with a key per worker type"),
        ("{}", "an object with a key per worker type"),
        ('{"v100": 1}', "v100"),
        ('{"v100": {"ResNet, 1": {"null": 1}}}', "keys read"),
        ('{"v100": {"(\'R\', 0)": {"null": 1}}}', "keys read"),
        ('{"v100": {"(\'R\', 1)": {"null": -1}}}', "finite number >= 0"),
        ('{"v100": {"(\'R\', 1)": {"null": NaN}}}', "NaN"),
        ('{"v100": {"(\'R\', 1)": {"null": [1, 2]}}}', "finite number >= 0"),
        ('{"v100": {"(\'R\', 1)": {"null": true}}}', "finite number >= 0"),
        ('{"v100": {"(\'R\', 1)": 3}}', "an object"),
        ('{"v100": {"(\'R\', 1)": {"null": 1}, "(\'R\', 1)": {"null": 2}}}', "twice"),
        ("{", "not JSON"),
    ],
)
def test_bad_tables(tmp_path, table, message):
    path = tmp_path / "bad.json"
    path.write_text(table)
    with pytest.raises(InputError) as error:
        load_throughputs(path)
    assert message in str(error.value)
    assert all(f.source.endswith("bad.json") for f in error.value.faults)


def test_table_faults_all_at_once(tmp_path):
    path = tmp_path / "bad.json"
    path.write_text('{"v100": {"(\'R\', 1)": {"null": -1}, "(\'S\', 1)": {"null": "x"}, "T": {}}, "k80": []}')
    with pytest.raises(InputError) as error:
        load_throughputs(path)
    assert len(error.value.faults) == 4


def test_model_names_with_parentheses_commas_and_quotes(tmp_path, trace):
    path = tmp_path / "odd.json"
    keys = [repr((name, 1)) for name in ("a (b), 3)", "it's", "(', 2)")]
    path.write_text(json.dumps({"g": {key: {"null": 2.0} for key in keys}}))
    table = load_throughputs(path)
    for name in ("a (b), 3)", "it's", "(', 2)"):
        assert table.rate("g", name, 1) == 2.0
        assert load_gavel(trace(ten(model=name)), table, {"G": 1}, rounds=1).instance.num_tasks == 1


def test_files_that_cannot_be_read(trace, table, tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load_gavel(tmp_path / "none.trace", table, {"V100": 1}, rounds=1)
    with pytest.raises(InputError, match="cannot be read"):
        load_gavel(trace(ten()), tmp_path / "none.json", {"V100": 1}, rounds=1)
    (tmp_path / "latin.trace").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        load_gavel(tmp_path / "latin.trace", table, {"V100": 1}, rounds=1)
