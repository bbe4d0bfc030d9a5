"""Transformations: what they do to the data, and to the optimum (by exhaustive search)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetopt.core.errors import InputError, UsageError
from hetopt.instances import transform
from hetopt.instances.generators import generate
from tests.oracle import optimum

QUICK = settings(deadline=None, derandomize=True, max_examples=12)
SEEDS = st.integers(0, 10**6)


def tiny(seed, **knobs):
    given_knobs = {
        "rounds": (1, 2),
        "scale": (1, 2),
        "time": (1, 9),
        "sync": 0.2,
        "family": "poisson",
        "load": 2,
        **knobs,
    }
    for shift in range(100):
        instance = generate(2, {"a": 1, "b": 1}, seed + shift * 10**7, **given_knobs)
        if instance.num_tasks <= 5:
            return instance
    raise AssertionError("no tiny instance")


@QUICK
@given(SEEDS, st.integers(1, 4))
def test_scaling(seed, factor):
    instance = tiny(seed)
    best = optimum(instance)
    assert optimum(transform.scale_times(instance, factor)) == factor * best
    assert optimum(transform.scale_weights(instance, factor)) == factor * best
    assert transform.scale_times(instance, 4).tick_seconds == instance.tick_seconds / 4


@QUICK
@given(SEEDS)
def test_permuting_keeps_the_optimum(seed):
    instance = tiny(seed, forbidden=0.3)
    assert optimum(transform.permute_jobs(instance, [1, 0])) == optimum(instance)
    assert optimum(transform.permute_types(instance, [1, 0])) == optimum(instance)
    twice = transform.permute_types(transform.permute_types(instance, [1, 0]), [1, 0])
    assert twice == instance


@QUICK
@given(SEEDS)
def test_fewer_jobs_more_gpus_fewer_types(seed):
    instance = tiny(seed)
    best = optimum(instance)
    assert optimum(transform.restrict_jobs(instance, [0])) <= best
    assert optimum(transform.with_counts(instance, {"a": 2})) <= best
    assert optimum(transform.restrict_types(instance, ["b"])) >= best


@QUICK
@given(SEEDS)
def test_merging(seed):
    instance = tiny(seed)
    best = optimum(instance)
    slow, fast = (transform.merge_types(instance, ["a", "b"], "ab", rule) for rule in ("slowest", "fastest"))
    assert optimum(fast) <= best <= optimum(slow)
    assert [(g.name, g.count) for g in slow.gpu_types] == [("ab", 2)]
    for job, s, f in zip(instance.jobs, slow.jobs, fast.jobs, strict=True):
        for part, ps, pf in zip(job.rounds, s.rounds, f.rounds, strict=True):
            assert ps.processing_time == (max(part.processing_time),)
            assert pf.sync_time == (min(part.sync_time),)


def test_merging_some_of_the_types_with_nulls():
    instance = generate(6, {"a": 1, "b": 2, "c": 3}, 3, forbidden=0.4)
    merged = transform.merge_types(instance, ["c", "a"], "ca", "fastest")
    assert [(g.name, g.count) for g in merged.gpu_types] == [("b", 2), ("ca", 4)]
    for job, new in zip(instance.jobs, merged.jobs, strict=True):
        a, b, c = job.rounds[0].processing_time
        numbers = [t for t in (a, c) if t is not None]
        assert new.rounds[0].processing_time == (b, min(numbers) if numbers else None)
    with pytest.raises(UsageError, match="can run nowhere"):
        transform.merge_types(generate(6, {"a": 1, "b": 2}, 3, forbidden=1), ["a", "b"], "x")


@QUICK
@given(SEEDS, st.sampled_from([2, 3, 0.5, "1/3"]))
def test_change_of_tick(seed, tick):
    instance = tiny(seed, load=1000)
    changed, report = transform.change_tick(instance, tick)
    length = Fraction(str(tick))
    for job, new in zip(instance.jobs, changed.jobs, strict=True):
        for part, now in zip(job.rounds, new.rounds, strict=True):
            for old, fresh in zip(part.processing_time, now.processing_time, strict=True):
                assert old <= fresh * length < old + length
    before, after = optimum(instance), optimum(changed) * length
    assert before <= after
    if not report.release_date.relative:
        assert after <= before * (1 + report.largest.relative)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda i: transform.scale_times(i, 0.5), "whole number"),
        (lambda i: transform.scale_weights(i, 0), "whole number"),
        (lambda i: transform.permute_jobs(i, [0]), "order"),
        (lambda i: transform.permute_jobs(i, [0, 0, 1]), "order"),
        (lambda i: transform.restrict_jobs(i, ["jbo1"]), "did you mean job1"),
        (lambda i: transform.restrict_jobs(i, [7]), "there are 3"),
        (lambda i: transform.restrict_jobs(i, []), "none is left"),
        (lambda i: transform.restrict_jobs(i, [0, "job0"]), "named twice"),
        (lambda i: transform.restrict_jobs(i, [True]), "none of that name"),
        (lambda i: transform.restrict_types(i, ["T4"]), "can run on none of T4"),
        (lambda i: transform.with_counts(i, {"T4": 0}), "whole number >= 1"),
        (lambda i: transform.with_counts(i, {"A100": 1}), "none of that name"),
        (lambda i: transform.merge_types(i, ["V100"], "T4"), "another GPU type"),
        (lambda i: transform.merge_types(i, ["V100", "T4"], "x", "middling"), "no such rule"),
        (lambda i: transform.change_tick(i, 0), "tick"),
    ],
)
def test_calls_that_make_no_sense(call, message):
    only = generate(3, seed=1, forbidden=1)
    with pytest.raises(UsageError, match=message) as error:
        call(only)
    assert "\n" not in str(error.value)


def test_too_large_after_scaling():
    with pytest.raises(InputError, match="2\\^53"):
        transform.scale_times(generate(3), 10**15)


def test_names_and_instances_are_left_alone():
    instance = generate(3, seed=1)
    text = instance.to_json()
    transform.scale_times(instance, 2)
    transform.permute_jobs(instance, [2, 1, 0])
    assert instance.to_json() == text
    assert transform.permute_jobs(instance, [2, 1, 0]).jobs[0] == instance.jobs[2]
    assert transform.restrict_jobs(instance, ["job2", 0]).jobs == (instance.jobs[2], instance.jobs[0])
