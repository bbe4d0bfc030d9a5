"""The Gavel loader on the public files: every quirk that their README lists (skipped where the data is absent)."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from hetopt.core.errors import InputError
from hetopt.instances.traces import load_gavel, load_gavel_workload
from hetopt.instances.traces.gavel import load_throughputs

ALL = {"V100": 4, "P100": 2, "K80": 2}


@pytest.fixture(scope="module")
def gavel(shared_data):
    return shared_data / "gavel"


@pytest.fixture(scope="module")
def table(gavel):
    return load_throughputs(gavel / "simulation_throughputs.json")


@pytest.mark.parametrize(
    ("trace", "jobs", "scales"),
    [
        ("physical_cluster/small_test", 20, {1: 17, 2: 3}),
        ("physical_cluster/debug", 14, {1: 11, 2: 3}),
        ("physical_cluster/medium_test", 20, {1: 20}),
        ("physical_cluster/artifact_evaluation", 15, {1: 12, 2: 3}),
        ("physical_cluster/minimize_makespan", 100, {1: 71, 2: 6, 4: 23}),
        ("physical_cluster/max_min_fairness", 96, {1: 59, 2: 19, 4: 18}),
    ],
)
def test_the_table_of_traces(gavel, table, trace, jobs, scales):
    loaded = load_gavel(gavel / f"{trace}.trace", table, ALL, rounds=4)
    assert loaded.report.rows == loaded.instance.num_jobs == jobs
    assert Counter(job.rounds[0].scale for job in loaded.instance.jobs) == scales
    assert loaded.instance.num_rounds == 4 * jobs


def test_every_time_by_the_contract(gavel, table):
    path = gavel / "physical_cluster" / "max_min_fairness.trace"
    instance = load_gavel(path, table, ALL, rounds=3).instance
    lines = path.read_text().splitlines()
    for line, job in zip(lines, instance.jobs, strict=True):
        fields = line.split("\t")
        for kind, got in zip(("v100", "p100", "k80"), job.rounds[0].processing_time, strict=True):
            rate = table.rate(kind, fields[0], int(fields[6]))
            assert got == (None if rate is None else math.ceil(int(fields[5]) / (3 * rate)))
        assert job.release_date == math.ceil(float(fields[9]))


def test_counts_of_keys(table):
    for kind in ("v100", "p100", "k80", "v100_unconsolidated", "p100_unconsolidated"):
        pairs = set(table.rates[kind]) | table.zeros[kind]
        assert Counter(k for _, k in pairs) == {1: 26, 2: 19, 4: 19, 8: 19}
    assert len(set(table.rates["k80_unconsolidated"]) | table.zeros["k80_unconsolidated"]) == 77


def test_quirk_1_zero_rates(gavel, table):
    model = "ResNet-50 (batch size 128)"
    assert [table.rate("k80", model, k) is None for k in (1, 2, 4, 8)] == [False, True, True, True]
    physical = load_throughputs(gavel / "physical_cluster_throughputs.json")
    assert physical.rate("k80", model, 1) is None


def test_quirk_4_not_monotone_in_type(table):
    model = "Recommendation (batch size 512)"
    assert table.rate("k80", model, 1) > table.rate("v100", model, 1)
    slower = sum(
        table.rates["p100"][key] > rate for key, rate in table.rates["v100"].items() if key in table.rates["p100"]
    )
    assert slower == 20


def test_quirk_5_not_monotone_in_scale(table):
    rates = [table.rate("v100", "LM (batch size 10)", k) for k in (1, 2, 4, 8)]
    assert [round(r, 1) for r in rates] == [81.7, 163.1, 121.5, 615.1]


def test_quirk_8_scales_without_a_key(gavel, table):
    path = gavel / "msr_seed0" / "925e2b.trace"
    with pytest.raises(InputError, match="line 2"):
        load_gavel(path, table, ALL, rounds=2)
    loaded = load_gavel(path, table, ALL, rounds=2, strict=False)
    assert [d.where for d in loaded.report.dropped] == ["line 2"]
    assert dict(loaded.report.reasons) == {"no rate for the scale factor": 1}
    for name in ("51b7ef", "23dbec"):
        dropped = load_gavel(gavel / "msr_seed0" / f"{name}.trace", table, ALL, rounds=2, strict=False).report.dropped
        assert "line 9" in [d.where for d in dropped]


@pytest.mark.parametrize(
    ("trace", "rows", "dropped", "lines"), [("2869ce", 533, 179, (21,)), ("e13805", 607, 103, (199, 227))]
)
def test_quirk_9_scales_larger_than_a_server(gavel, table, trace, rows, dropped, lines):
    report = load_gavel(gavel / "msr_seed0" / f"{trace}.trace", table, ALL, rounds=2, strict=False).report
    assert (report.rows, len(report.dropped)) == (rows, dropped)
    assert {f"line {n}" for n in lines} <= {d.where for d in report.dropped}


def test_quirk_10_a_job_that_fits_in_part(gavel, table):
    path = gavel / "physical_cluster" / "max_min_fairness.trace"
    part = load_gavel(path, table, ALL, rounds=2).instance.jobs[90].rounds[0]
    assert part.scale == 2
    assert [p is None for p in part.processing_time] == [False, False, True]
    with pytest.raises(InputError, match="line 91"):
        load_gavel(path, table, {"K80": 8}, rounds=2)


def test_quirk_11_identical_lines(gavel, table):
    path = gavel / "physical_cluster" / "minimize_makespan.trace"
    lines = path.read_text().splitlines()
    assert len(lines) - len(set(lines)) == 15
    assert load_gavel(path, table, ALL, rounds=1).instance.num_jobs == len(lines)


def test_quirk_12_gaps_of_weeks(gavel, table):
    jobs = load_gavel_workload(gavel / "msr_seed0" / "51b7ef.trace", table, strict=False).workload.jobs
    arrival = {job.attribute("line"): job.arrival for job in jobs}
    assert round((arrival["13"] - arrival["12"]) / 86_400, 2) == 16.65


def test_unconsolidated_types_can_be_asked_for(gavel, table):
    loaded = load_gavel(gavel / "physical_cluster" / "small_test.trace", table, {"V100_Unconsolidated": 2}, rounds=1)
    assert loaded.instance.gpu_types[0].name == "V100_Unconsolidated"


def test_makespan_trace_has_durations_as_drawn(gavel, table):
    """Total steps are duration x V100 rate there: 3,600 to 18,000 s, up to the rounding of the step count."""
    workload = load_gavel_workload(gavel / "physical_cluster" / "minimize_makespan.trace", table, ["V100"]).workload
    durations = [job.duration(0) for job in workload.jobs]
    assert min(durations) > 3_590 and max(durations) < 18_001


def test_both_seeds_have_the_same_arrivals(gavel, table):
    seeds = [load_gavel_workload(gavel / f"msr_seed{s}" / "795a4c.trace", table).workload for s in (0, 1)]
    assert next([(j.arrival, j.demand) for j in w.jobs] for w in seeds) == [
        (j.arrival, j.demand) for j in seeds[1].jobs
    ]
