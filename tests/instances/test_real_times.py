"""Real-valued times and weights: rounded up once, never to 0, reported exactly; automatic units; clear overflow."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetopt.core.errors import InputError, UsageError
from hetopt.instances.real_times import RealJob, RealRound, from_real_times
from hetopt.instances.rounding import exact, whole_weights

QUICK = settings(deadline=None, derandomize=True, max_examples=60)
TIMES = st.floats(1e-3, 1e4) | st.sampled_from([0.1 + 0.2, 1 / 3, 3600.37, 0.4, 1e-6, 7])


@QUICK
@given(
    times=st.lists(TIMES, min_size=1, max_size=5),
    weights=st.lists(st.sampled_from([1, 2.5, 0.1, 7, 1 / 3]), min_size=5, max_size=5),
    tick=st.sampled_from([None, 1, 0.25, "1/3", 1e-3]),
    release=st.floats(0, 1e4),
)
def test_every_number_is_rounded_up_by_less_than_a_tick_and_the_report_is_right(times, weights, tick, release):
    jobs = [
        RealJob(f"j{n}", [RealRound([t, None], sync_seconds=[t / 7, None])], w, release)
        for n, (t, w) in enumerate(zip(times, weights, strict=False))
    ]
    instance, report = from_real_times({"a": 1, "b": 2}, jobs, tick_seconds=tick)
    length = Fraction(report.tick_seconds) if tick in (None, 1, 0.25) else exact(tick)
    length = exact(instance.tick_seconds) if tick is None else length
    worst = Fraction(0)
    for t, job in zip(times, instance.jobs, strict=True):
        true, got = exact(t), job.rounds[0].processing_time[0] * length
        assert job.rounds[0].processing_time[0] >= 1
        assert true <= got < true + length
        worst = max(worst, (got - true) / true)
        assert exact(release) <= job.release_date * length < exact(release) + length
    assert report.processing_time.relative == worst
    if tick is None:
        assert worst <= Fraction(1, 1000)
    ratio = {Fraction(job.weight) / exact(w) for job, w in zip(instance.jobs, weights, strict=False)}
    if report.weight.relative == 0:
        assert ratio == {report.weight_factor}


def test_times_that_floats_write_badly():
    instance, report = from_real_times({"a": 1}, [RealJob("x", [RealRound([0.3])])], tick_seconds=0.1)
    assert instance.jobs[0].rounds[0].processing_time == (3,)
    assert report.largest.relative == 0 and report.largest_relative_error == 0.0
    assert "exact" in str(report)
    instance, _ = from_real_times({"a": 1}, [RealJob("x", [RealRound([0.4])])], tick_seconds=1)
    assert instance.jobs[0].rounds[0].processing_time == (1,)


def test_numpy_numbers_and_text_are_numbers():
    assert exact(np.float64(0.1)) == exact("0.1") == exact(np.float32(0.5)) / 5 == Fraction(1, 10)
    assert exact(np.int64(3)) == exact("6/2") == 3
    for bad in (
        True,
        np.bool_(True),
        None,
        "x",
        "",
        float("nan"),
        float("inf"),
        "1e999999999",
        10**400,
        "1/0",
        [],
        "0x1",
    ):
        assert exact(bad) is None, bad
    assert exact("0e999999999") == 0


def test_a_positive_time_never_becomes_0_and_sync_0_stays_0():
    jobs = [RealJob("x", [RealRound([1e-9], sync_seconds=[1e-12])]), RealJob("y", [RealRound([5], sync_seconds=[0])])]
    instance, report = from_real_times({"a": 1}, jobs, tick_seconds=1)
    assert [j.rounds[0].processing_time[0] for j in instance.jobs] == [1, 5]
    assert [j.rounds[0].sync_time[0] for j in instance.jobs] == [1, 0]
    assert report.sync_time.where == "job 'x' round 0.sync_time[a]"
    assert report.largest.relative == 10**12 - 1


def test_the_automatic_tick_is_the_longest_good_one():
    _, report = from_real_times({"a": 1}, [RealJob("x", [RealRound([120])]), RealJob("y", [RealRound([300])])])
    assert report.tick_seconds == 20  # 50 and 100 would round up
    _, report = from_real_times({"a": 1}, [RealJob("x", [RealRound([0.7])]), RealJob("y", [RealRound([1.3])])])
    assert report.tick_seconds == 0.1


@pytest.mark.parametrize("share", ["0.0001", "0.01", "0.1", "0.3", "0.7"])
def test_the_automatic_tick_keeps_its_promise_for_sync_times_too(share):
    times = [Fraction(n * n * 97 + 13, 7) for n in range(3, 9)]
    jobs = [
        RealJob(f"j{n}", [RealRound([t * (1 - exact(share))], sync_seconds=[t * exact(share)])], release_seconds="0.37")
        for n, t in enumerate(times)
    ]
    instance, report = from_real_times({"a": 1}, jobs)
    assert report.sync_time.relative <= Fraction(1, 1000)
    assert report.processing_time.relative <= Fraction(1, 1000)
    assert instance.horizon < 2**53
    none = from_real_times({"a": 1}, [RealJob("x", [RealRound([120], sync_seconds=[0])])])
    assert none.report.tick_seconds == 20 and none.report.largest.relative == 0, "no sync asks for no finer tick"


def test_large_and_tiny_times_together_choose_a_unit_that_fits():
    """Times of 1e9 s next to microseconds with weights of a million: the unit is chosen so that 2^53 holds."""
    jobs = [RealJob("long", [RealRound([1e9])], 1e6), RealJob("short", [RealRound([1e-6])], 1e6)]
    instance, report = from_real_times({"a": 1}, jobs)
    total = sum(j.weight for j in instance.jobs) * instance.horizon
    assert total < 2**53 <= total * 2.5
    assert report.largest.relative > 1  # and it says what that cost
    with pytest.raises(InputError) as error:
        from_real_times({"a": 1}, jobs, tick_seconds=1e-6)
    assert "2^53" in str(error.value) and "tick_seconds" in str(error.value)


def test_weights_that_no_tick_can_save():
    with pytest.raises(InputError, match="smaller weights"):
        from_real_times({"a": 1}, [RealJob("x", [RealRound([1])], 2**60)])


@pytest.mark.parametrize(
    ("given_weights", "whole", "factor"),
    [
        ([1, 2, 4], [1, 2, 4], 1),
        ([2.0, 4.0], [2, 4], 1),
        ([2.5, 1], [5, 2], 2),
        ([0.1, 0.2, 0.3], [1, 2, 3], 10),
        ([1.5, 4.5], [1, 3], Fraction(2, 3)),
        (["1/3", "1/2"], [2, 3], 6),
    ],
)
def test_weights_that_become_whole_exactly(given_weights, whole, factor):
    got, by, error = whole_weights(given_weights)
    assert (got, by, error.relative) == (whole, factor, 0)


@QUICK
@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=8))
def test_weights_keep_their_ratios_within_the_tolerance(weights):
    whole, factor, error = whole_weights(weights)
    assert all(w >= 1 for w in whole)
    errors = [abs(Fraction(w) / factor - exact(v)) / exact(v) for w, v in zip(whole, weights, strict=True)]
    assert max(errors) == error.relative <= Fraction(1, 1000)


def test_all_faults_at_once():
    jobs = [
        RealJob("x", [RealRound([0, -1, float("nan")], scale=0, repeat=1.5)], 0, -1),
        RealJob("y", [RealRound([1, 2], sync_seconds=[1, 2, -3])], "z", "soon"),
    ]
    with pytest.raises(InputError) as error:
        from_real_times({"a": 1, "b": 1, "c": 1}, jobs)
    assert [f.where for f in error.value.faults] == [
        "jobs[0].release_seconds",
        "jobs[0].rounds[0].scale",
        "jobs[0].rounds[0].repeat",
        "jobs[0].rounds[0].processing_seconds[0]",
        "jobs[0].rounds[0].processing_seconds[1]",
        "jobs[0].rounds[0].processing_seconds[2]",
        "jobs[1].release_seconds",
        "jobs[1].rounds[0].processing_seconds",
        "jobs[1].rounds[0].sync_seconds[2]",
        "jobs[0].weight",
        "jobs[1].weight",
    ]


@pytest.mark.parametrize(
    "bad",
    [{"tick_seconds": 0}, {"tick_seconds": "x"}, {"tolerance": 0}, {"tolerance": 1}, {"tick_seconds": float("inf")}],
)
def test_arguments(bad):
    with pytest.raises(UsageError):
        from_real_times({"a": 1}, [RealJob("x", [RealRound([1])])], **bad)


def test_report_as_plain_values():
    _, report = from_real_times({"a": 1}, [RealJob("x", [RealRound([1.5])], 0.5, 0.5)], tick_seconds=1)
    assert report.to_dict()["processing_time"] == {
        "relative": pytest.approx(1 / 3),
        "where": "job 'x' round 0.processing_time[a]",
        "true_value": 1.5,
        "rounded": 2.0,
    }
    assert report.weight_factor == 2
    assert "weights x 2" in str(report)
