"""Gaps and measures against values worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetopt.analysis.gaps import excess, percentage, ratio, shortened
from hetopt.analysis.metrics import (
    busy_over_time,
    distribution,
    jain_index,
    job_metrics,
    jobs_to_pandas,
    summarise,
    utilisation,
)
from hetopt.core.errors import InputError
from hetopt.core.instance import Instance
from hetopt.core.schedule import Schedule
from tests.conftest import make_instance

GPU = [0, 1, 0, 1, 0, 2, 1, 0, 1, 1]
START = [0, 0, 12, 12, 17, 17, 5, 21, 17, 22]


@pytest.fixture
def schedule(two_jobs: Instance) -> Schedule:
    """V100s train on [0,4) [0,4) [12,16) [12,16) [17,21) | [5,12) [21,26) [17,22) [22,27); the T4 on [17,26)."""
    return Schedule.from_starts(two_jobs, GPU, START)


def test_ratio_is_exact_and_unknown_where_it_means_nothing() -> None:
    assert ratio(7, 3) == Fraction(7, 3) and excess(7, 3) == Fraction(4, 3)
    assert ratio(0, 0) == 1 and ratio(-3, -3) == 1
    for pair in ((None, 3), (3, None), (5, 0), (5, -1)):
        assert ratio(*pair) is None and excess(*pair) is None


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(1, 10**15), st.integers(1, 10**15), st.integers(0, 6))
def test_texts_never_hide_a_difference(objective: int, reference: int, digits: int) -> None:
    quotient = Fraction(objective, reference)
    text = shortened(quotient, digits)
    assert abs(Fraction(text) - quotient) <= Fraction(1, 2 * 10**digits) + quotient / 10**15
    if quotient != 1 and abs(quotient - 1) > Fraction(1, 10**11):
        assert Fraction(text) != 1 or digits == 0
    assert shortened(None, digits) is None and percentage(None) is None


def test_texts() -> None:
    assert shortened(Fraction(1), 4) == "1.0000" and shortened(Fraction(100001, 100000), 4) == "1.00001"
    assert percentage(Fraction(0)) == "0.00 %" and percentage(Fraction(1, 10**6)) == "0.0001 %"
    assert percentage(Fraction(1, 3)) == "33.33 %"


def test_job_metrics_by_hand(two_jobs: Instance, schedule: Schedule) -> None:
    resnet, bert = job_metrics(two_jobs, schedule)
    assert (resnet.completion_time, resnet.flow_time, resnet.alone_time) == (27, 27, 15)
    assert (bert.completion_time, bert.flow_time, bert.alone_time) == (27, 24, 14)
    assert resnet.slowdown == Fraction(9, 5) and bert.slowdown == Fraction(12, 7)
    frame = jobs_to_pandas(two_jobs, schedule)
    assert frame["name"].tolist() == ["resnet", "bert"] and frame["slowdown"].tolist() == [1.8, 12 / 7]


def test_utilisation_by_hand(two_jobs: Instance, schedule: Schedule) -> None:
    v100, t4 = utilisation(two_jobs, schedule)
    assert (v100.busy, v100.share) == (42, Fraction(42, 2 * 27))
    assert (t4.busy, t4.share) == (9, Fraction(9, 27))
    times, busy = busy_over_time(two_jobs, schedule)
    assert times.tolist() == [0, 4, 5, 12, 16, 17, 21, 22, 26, 27]
    assert busy.tolist() == [[2, 0], [0, 0], [1, 0], [2, 0], [0, 0], [2, 1], [2, 1], [2, 1], [1, 0], [0, 0]]
    widths = times[1:] - times[:-1]
    assert (busy[:-1] * widths[:, None]).sum(axis=0).tolist() == [42, 9]
    whole = summarise(two_jobs, schedule)
    assert whole.overall_utilisation == Fraction(51, 81) and whole.makespan == 27
    assert whole.flow_time.mean == Fraction(51, 2) and whole.flow_time.largest == 27


def test_distribution_is_nearest_rank() -> None:
    values = distribution(range(1, 101))
    assert (values.median, values.p90, values.p99, values.largest, values.mean) == (50, 90, 99, 100, Fraction(101, 2))
    assert distribution([5]).p99 == 5 and distribution([]).mean is None and distribution([]).count == 0


def test_jain_index() -> None:
    assert jain_index([3, 3, 3]) == 1 and jain_index([1, 0, 0, 0]) == Fraction(1, 4) and jain_index([]) is None


def test_schedules_of_another_instance_are_refused(two_jobs: Instance, schedule: Schedule) -> None:
    other = make_instance({"A": 3}, [(1, 0, [(1, [2], [0])])])
    with pytest.raises(InputError, match="must be of instance"):
        job_metrics(other, schedule)
    with pytest.raises(InputError, match="the instance has 3 GPUs"):
        utilisation(two_jobs, schedule.replace(gpu=[9] * 10))
    with pytest.raises(InputError, match="no row for the last round of job 0"):
        empty = {c: [] for c in ("job", "round", "task", "gpu", "start", "end", "sync_end")}
        job_metrics(two_jobs, Schedule("x", two_jobs.fingerprint, **empty))
