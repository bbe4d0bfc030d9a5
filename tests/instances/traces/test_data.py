"""Golden checks of the loaders on the public data, where it is at hand."""

from __future__ import annotations

import statistics
from collections import Counter
from pathlib import Path

import pytest

from hetopt.instances.traces import (
    load_alibaba_nodes,
    load_data_sheets,
    load_iteration_times,
    load_profile,
    load_service_samples,
    load_tiresias_cluster,
    load_worker_times,
    load_workload,
    throughput_table,
)


def test_shockwave(shared_data: Path) -> None:
    folder = shared_data / "shockwave"
    workload = load_workload(
        folder / "jobs120.trace", throughputs=folder / "tacc_throughputs.json", types=("v100",)
    ).workload
    assert len(workload) == 120
    for job in workload.jobs:
        assert job.duration(0) == pytest.approx(float(job.attribute("duration") or 0), rel=5e-4)
    scales = {
        "jobs120": (92, 20, 8, 0),
        "jobs220": (160, 49, 9, 2),
        "jobs460": (310, 106, 40, 4),
        "jobs900": (617, 208, 63, 12),
    }
    last = {"jobs120": 5011, "jobs220": 5956, "jobs460": 4749, "jobs900": 4400}
    for name, counts in scales.items():
        jobs = load_workload(folder / f"{name}.trace").workload.jobs
        found = Counter(job.demand for job in jobs)
        assert tuple(found[k] for k in (1, 2, 4, 8)) == counts
        assert max(job.arrival for job in jobs) == last[name]
        lengths = [float(job.attribute("duration") or 0) for job in jobs]
        assert 720 <= min(lengths) <= max(lengths) <= 18_000


@pytest.mark.slow
def test_philly(shared_data: Path) -> None:
    workload, report = load_workload(shared_data / "pollux" / "philly.csv")
    assert (report.rows, report.kept) == (82_247, 82_247)
    found = Counter(job.demand for job in workload.jobs)
    assert dict(sorted(found.items())) == {
        1: 76_627,
        2: 1_818,
        4: 1_870,
        8: 1_643,
        12: 7,
        16: 199,
        24: 7,
        32: 67,
        64: 6,
        128: 3,
    }
    assert round(statistics.median(job.work for job in workload.jobs)) == 1_144
    assert sum(job.work < 60 for job in workload.jobs) == 7_654
    assert len({job.attribute("cluster") for job in workload.jobs}) == 15
    small = [j for j in workload.jobs if j.attribute("cluster") == "795a4c"]
    assert sorted(j.work for j in small) == [1_771, 2_769, 13_786]


def test_pollux_workloads_and_profiles(shared_data: Path) -> None:
    folder = shared_data / "pollux"
    profile = load_profile(folder / "profiles_t4" / "bert", "T4")
    assert set(profile.iterations) == {12, 24, 48, 96, 192, 384}
    # bert 384 on 8 GPUs: local batch 48 = 4 sub-steps of 12, one sync
    one, four = profile.step_time(8, 96), profile.step_time(8, 384)
    assert four.step == pytest.approx(one.step + 3 * (one.step - one.sync))
    workload = load_workload(folder / "workloads" / "tuned-6.csv", profiles={"T4": folder / "profiles_t4"}).workload
    assert len(workload) == 160
    assert max(job.demand for job in workload.jobs) == 48
    assert max(job.arrival for job in workload.jobs) < 28_800


def test_tiresias(shared_data: Path) -> None:
    folder = shared_data / "tiresias"
    jobs = load_workload(folder / "60_job.csv").workload.jobs
    assert len(jobs) == 60
    assert {job.demand for job in jobs} == {1, 2, 4, 8}
    assert (min(j.work for j in jobs), max(j.work for j in jobs)) == (121, 1_800)
    assert len(load_workload(folder / "tf_job.csv").workload) == 2  # the same job_id twice
    assert [load_tiresias_cluster(folder / f"{n}.csv") for n in ("n1g4", "n32g4", "n160g8", "n256g8")] == [
        4,
        128,
        1_280,
        2_048,
    ]
    samples = load_service_samples(folder / "yarn-gput1000.csv")
    assert (len(samples), samples[0], samples[-1]) == (1_001, 121, 53_294_624)


def test_alibaba(shared_data: Path) -> None:
    folder = shared_data / "alibaba-gpu-2023"
    expected = {"G2": 4392, "T4": 842, "G3": 312, "P100": 265, "V100M32": 204, "V100M16": 195, "A10": 2}
    for name in ("openb_node_list_all_node", "openb_node_list_gpu_node"):
        assert load_alibaba_nodes(folder / f"{name}.csv") == expected
    workload, report = load_workload(folder / "openb_pod_list_gpuspec33.csv", strict=False)
    assert report.rows == 8_152
    assert report.reasons["needs no GPU"] == 1_088
    assert report.kept + sum(report.reasons.values()) == 8_152
    every = load_workload(folder / "openb_pod_list_gpuspec33.csv", strict=False, fractions="whole", failed=True)
    assert sum(job.demand > 1 for job in every.workload.jobs) <= 75
    assert any(None in job.throughput for job in workload.jobs)
    sizes = [
        [len(w.times) for w in load_worker_times(shared_data / "alibaba-gpu-2020" / f"job_{i}_norm.csv")]
        for i in (1, 2)
    ]
    assert sizes[1] == [250, 239, 239, 240, *[239] * 6]
    assert sum(map(sum, sizes)) == 5_402


def test_measurements(shared_data: Path) -> None:
    folder = shared_data / "pytorch-gpu-benchmark"
    files = [load_iteration_times(path) for path in sorted(folder.glob("*_1gpu_float.csv"))]
    table = throughput_table(files)
    assert len(table) == 15
    medians = {f.gpu: round(1000 * f.median("resnet50"), 1) for f in files}
    assert medians == {
        "a100sxm": 36.0,
        "gtx1080ti": 68.9,
        "rtx2080ti": 55.9,
        "titanrtx": 64.9,
        "titanv": 50.5,
        "titanxp": 75.0,
    }
    assert table["densenet121"]["titanv"] > table["densenet121"]["a100sxm"]
    sheets = {s.device: s for s in load_data_sheets(shared_data / "gpu-specs" / "habitat_devices.csv")}
    assert len(sheets) == 6
    assert [sheets[n].half for n in ("P4000", "T4", "V100")] == [None, None, None]
