"""Workloads: what they refuse, and how they become instances."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hetopt.core.errors import InputError
from hetopt.core.workload import TrainingJob, Workload
from hetopt.instances.traces import workload_to_instance

JOB = TrainingJob("a", arrival=1.5, work=100, demand=2, throughput=(10.0, None, 4.0), weight=2.5)
WORK = Workload("w", ("A", "B", "C"), (JOB, replace(JOB, name="b", throughput=(5.0, 2.0, None), weight=1)))


def test_to_an_instance():
    instance, report = workload_to_instance(WORK, {"c": 3, "a": 1}, rounds=5, sync=0.5)
    assert [(g.name, g.count) for g in instance.gpu_types] == [("c", 3), ("a", 1)]
    assert instance.jobs[0].rounds[0].processing_time == (3, 1)  # 100 / (5 x 4) = 5 s, half of it sync: 2.5, 2.5
    assert instance.jobs[0].rounds[0].sync_time == (3, 1)
    assert instance.jobs[1].rounds[0].processing_time == (None, 2)
    assert [job.weight for job in instance.jobs] == [5, 2]
    assert [job.release_date for job in instance.jobs] == [2, 2]
    assert report.rounding.weight_factor == 2


def test_a_job_that_runs_on_no_requested_type():
    only_b = replace(WORK, jobs=(*WORK.jobs, replace(JOB, name="c", throughput=(None, 1.0, None))))
    with pytest.raises(InputError, match="'c' has no rate on A, C"):
        workload_to_instance(only_b, {"A": 1, "C": 1}, rounds=1)
    instance, report = workload_to_instance(only_b, {"A": 1, "C": 1}, rounds=1, strict=False)
    assert instance.num_jobs == 2
    assert dict(report.reasons) == {"runs on no requested type": 1}
    with pytest.raises(InputError, match="at least one job"):
        workload_to_instance(replace(WORK, jobs=(JOB,)), {"B": 1}, rounds=1, strict=False)


def test_restricted_to_types():
    small = WORK.restricted(("C", "A"))
    assert small.gpu_types == ("C", "A")
    assert small.jobs[0].throughput == (4.0, 10.0)
    with pytest.raises(InputError, match="gpu_types\\[1\\]"):
        WORK.restricted(("A", "Z"))
    with pytest.raises(InputError, match="can run on at least one of"):
        WORK.restricted(("B",))


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"name": ""}, "name"),
        ({"arrival": -1.0}, "arrival"),
        ({"arrival": float("nan")}, "arrival"),
        ({"work": 0}, "work"),
        ({"work": float("inf")}, "work"),
        ({"weight": 0}, "weight"),
        ({"demand": 0}, "demand"),
        ({"demand": 1.0}, "demand"),
        ({"demand": True}, "demand"),
        ({"deadline": float("nan")}, "deadline"),
        ({"throughput": (1.0, 2.0)}, "throughput"),
        ({"throughput": (0.0, 2.0, None)}, "throughput[0]"),
        ({"throughput": (None, None, None)}, "throughput"),
    ],
)
def test_faults(change, where):
    with pytest.raises(InputError) as error:
        replace(WORK, jobs=(replace(JOB, **change),))
    assert [f.where for f in error.value.faults] == [f"jobs[0].{where}"]


def test_faults_all_at_once():
    with pytest.raises(InputError) as error:
        Workload("w", ("A", "A"), (JOB, JOB))
    assert [f.where for f in error.value.faults] == [
        "gpu_types",
        "jobs[0].throughput",
        "jobs[1].name",
        "jobs[1].throughput",
    ]
    with pytest.raises(InputError):
        Workload("w", (), ())
