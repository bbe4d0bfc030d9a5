"""Generated instances: valid, deterministic, within their knobs; silly knobs refused in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetopt.core.errors import InputError, UsageError
from hetopt.core.instance import Instance
from hetopt.core.registry import Entry
from hetopt.instances.generators import FAMILIES, KnobFamily, generate

QUICK = settings(deadline=None, derandomize=True, max_examples=60)


def ratios(instance):
    """(R,) largest ratio of processing times over allowed types per round, and the same for sync times, exactly."""
    out = []
    for job in instance.jobs:
        for part in job.rounds:
            p = [v for v in part.processing_time if v is not None]
            s = [v for v in part.sync_time if v is not None]
            sync = Fraction(1) if max(s) == 0 else Fraction(max(s), min(s)) if min(s) else None
            out.append((Fraction(max(p), min(p)), sync))
    return out


@QUICK
@given(
    jobs=st.integers(1, 12),
    seed=st.integers(-(2**40), 2**70),
    family=st.sampled_from(FAMILIES.names()),
    alpha=st.sampled_from([1, 1.0, 1.3, 2, 2.5, 3.14159, 10, "7/3", 1000]),
    rounds=st.sampled_from([1, (1, 3), [2, 5], {1: 0.5, 9: 0.5}, "2..4", "1,2", "1=1,3=2"]),
    sync=st.sampled_from([0, 0.1, "0.5", (0, 0.9), "0..0.3"]),
    forbidden=st.sampled_from([0, 0.5, 1]),
    types=st.integers(1, 4),
)
def test_valid_and_within_the_knobs(jobs, seed, family, alpha, rounds, sync, forbidden, types):
    one_type = family == "single-type"
    gpus = {f"g{k}": k + 1 for k in range(1 if one_type else types)}
    fixed = FAMILIES.load(family).fixed
    knobs = {"alpha": alpha, "rounds": rounds, "sync": sync, "forbidden": forbidden}
    instance = generate(jobs, gpus, seed, family=family, **{k: v for k, v in knobs.items() if k not in fixed})
    assert (
        Instance.from_json(instance.to_json()) == instance
    )  # the document's own checks, which the generator leaves out
    assert instance.num_jobs == jobs
    limit = Fraction(1) if "alpha" in fixed else Fraction(str(alpha))
    for p, s in ratios(instance):
        assert p <= limit
        assert s is not None and s <= limit
    top = {str((1, 3)): 3, str([2, 5]): 5}.get(str(rounds), 9)
    assert all(1 <= sum(part.repeat for part in job.rounds) <= top for job in instance.jobs)


@pytest.mark.parametrize("family", ["batch", "poisson", "related", "ordered-types", "memory-limited", "unlike-rounds"])
@pytest.mark.parametrize("alpha", [1, 1.5, 2, 2.5, 4, 10, 100])
@pytest.mark.parametrize("seed", range(3))
def test_alpha_is_attained_exactly_when_it_has_one_decimal(family, alpha, seed):
    instance = generate(6, {"a": 2, "b": 1, "c": 1}, seed, family=family, alpha=alpha)
    assert max(p for p, _ in ratios(instance)) == Fraction(str(alpha))


def test_alpha_with_more_decimals_is_attained_as_closely_as_ticks_allow():
    instance = generate(6, seed=2, alpha=1.2345, time=(1000, 2000))
    largest = max(p for p, _ in ratios(instance))
    assert Fraction("1.2345") - Fraction(1, 1000) < largest <= Fraction("1.2345")


def test_related_types_have_one_speed_for_all_jobs():
    instance = generate(20, {"a": 1, "b": 1, "c": 1}, 5, family="related", alpha=8, time=(500_000, 1_000_000))
    slow = np.array([part.processing_time for job in instance.jobs for part in job.rounds], dtype=float)
    slow /= slow.min(axis=1, keepdims=True)
    assert np.ptp(slow, axis=0).max() < 1e-5
    other = generate(20, {"a": 1, "b": 1, "c": 1}, 5, related=False, alpha=8)
    fastest = {int(np.argmin(job.rounds[0].processing_time)) for job in other.jobs}
    assert len(fastest) > 1


def test_ordered_types_are_ordered_alike_for_every_job():
    instance = generate(40, seed=3, family="ordered-types", alpha=5)
    assert [g.name for g in instance.gpu_types] == ["V100", "P100", "K80"]
    for job in instance.jobs:
        assert list(job.rounds[0].processing_time) == sorted(job.rounds[0].processing_time)
        assert list(job.rounds[0].sync_time) == sorted(job.rounds[0].sync_time)


def test_forbidden_types_leave_one_and_touch_no_other_draw():
    free = generate(30, {"a": 1, "b": 1, "c": 1}, 1)
    some = generate(30, {"a": 1, "b": 1, "c": 1}, 1, forbidden=0.6)
    nulls = 0
    for one, two in zip(free.jobs, some.jobs, strict=True):
        for p, q in zip(one.rounds[0].processing_time, two.rounds[0].processing_time, strict=True):
            assert q is None or q == p
            nulls += q is None
        assert any(q is not None for q in two.rounds[0].processing_time)
    assert nulls > 20
    every = generate(30, {"a": 1, "b": 1, "c": 1}, 1, forbidden=1)
    assert Counter(sum(q is not None for q in job.rounds[0].processing_time) for job in every.jobs) == {1: 29, 3: 1}


def test_changing_one_knob_leaves_the_draws_of_the_others():
    base = generate(10, seed=7)
    heavier = generate(10, seed=7, weights=(10, 20))
    assert [job.rounds for job in base.jobs] == [job.rounds for job in heavier.jobs]
    longer = generate(10, seed=7, rounds=(7, 9))
    assert [job.weight for job in base.jobs] == [job.weight for job in longer.jobs]
    assert generate(10, seed=8).jobs != base.jobs


def test_load_is_work_released_over_capacity():
    """The definition in the guide, recomputed plainly: cluster time needed by the jobs over the time of their arrivals."""
    for load in (0.5, 1.0, 2.0):
        instance = generate(4000, {"a": 3, "b": 5}, 11, family="poisson", load=load)
        need = 0.0
        for job in instance.jobs:
            for part in job.rounds:
                rate = sum(g.count / p for g, p in zip(instance.gpu_types, part.processing_time, strict=True))
                need += part.repeat * part.scale / rate
        span = instance.jobs[-1].release_date
        assert need / span == pytest.approx(load, rel=0.05)


def test_bursts_come_together_at_the_same_load():
    instance = generate(6000, {"a": 4}, 3, family="bursts", load=1, burst=5)
    sizes = Counter(job.release_date for job in instance.jobs)
    assert np.mean(list(sizes.values())) == pytest.approx(5, rel=0.1)
    need = sum(p.repeat * p.scale * p.processing_time[0] / 4 for job in instance.jobs for p in job.rounds)
    assert need / instance.jobs[-1].release_date == pytest.approx(1, rel=0.15)
    dates = [job.release_date for job in instance.jobs]
    assert dates == sorted(dates) and dates[0] == 0


def test_a_load_in_a_family_that_leaves_releases_open_makes_them_random():
    assert {job.release_date for job in generate(9, family="related").jobs} == {0}
    assert len({job.release_date for job in generate(9, family="related", load=0.5).jobs}) > 1
    with pytest.raises(UsageError, match="no effect"):
        generate(9, family="batch", load=0.5)
    with pytest.raises(UsageError, match="no effect"):
        generate(9, family="related", load=0.5, release="batch")


def test_distributions_of_whole_numbers():
    scales = Counter(job.rounds[0].scale for job in generate(4000, seed=1).jobs)
    assert {k: v / 4000 for k, v in scales.items()} == pytest.approx({1: 0.5, 2: 0.3, 4: 0.2}, abs=0.03)
    weights = Counter(job.weight for job in generate(4000, seed=1, weights="2..4").jobs)
    assert {k: v / 4000 for k, v in weights.items()} == pytest.approx({2: 1 / 3, 3: 1 / 3, 4: 1 / 3}, abs=0.03)
    rounds = Counter(job.rounds[0].repeat for job in generate(4000, seed=1, rounds=[3, 9]).jobs)
    assert {k: v / 4000 for k, v in rounds.items()} == pytest.approx({3: 0.5, 9: 0.5}, abs=0.03)
    assert {job.weight for job in generate(50, weights="unit").jobs} == {1}


def test_times_are_log_uniform_or_heavy_tailed():
    times = np.array(
        [min(job.rounds[0].processing_time) for job in generate(5000, seed=2, time=(10, 1000), alpha=1).jobs]
    )
    assert times.min() >= 10 and times.max() <= 1000
    assert np.mean(times <= 100) == pytest.approx(0.5, abs=0.03)
    heavy = np.array([min(job.rounds[0].processing_time) for job in generate(5000, seed=2, family="heavy-tailed").jobs])
    assert np.mean(heavy > 40) == pytest.approx(10**-1.2, abs=0.02)
    assert heavy.max() <= 20_000


def test_sync_is_a_share_of_the_whole_time():
    instance = generate(200, seed=4, sync=0.2, time=(1000, 2000))
    for job in instance.jobs:
        p, s = job.rounds[0].processing_time[0], job.rounds[0].sync_time[0]
        assert s / (p + s) == pytest.approx(0.2, abs=0.005)
    assert all(set(job.rounds[0].sync_time) == {0} for job in generate(20, sync=0).jobs)


def test_unlike_rounds_differ_within_a_job():
    instance = generate(5, seed=1, family="unlike-rounds", rounds=6)
    assert any(len({part.processing_time for part in job.rounds}) > 1 for job in instance.jobs)
    assert all(len(job.rounds) == 1 for job in generate(5, seed=1).jobs)


PROGRAM = """
from hetopt.instances.generators import FAMILIES, generate
for family in FAMILIES.names():
    print(family, generate(7, seed=12, family=family).fingerprint)
"""


def test_the_same_in_every_process():
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM], env={**os.environ, "PYTHONHASHSEED": h}, capture_output=True, check=True
        ).stdout
        for h in ("0", "1", "77")
    }
    assert len(outputs) == 1


def test_the_same_for_ever():
    """A change of these fingerprints changes published experiments: bump the release and say so."""
    assert generate(4, seed=0).fingerprint[:16] == "58314a8715b31f09"
    assert generate(4, seed=0, family="poisson", load=0.7).fingerprint[:16] == "39e4bc1b0d4567a7"


def test_a_million_rounds():
    instance = generate(1000, {"a": 64, "b": 64}, 0, rounds=1000)
    assert instance.num_rounds == 10**6
    assert sum(len(job.rounds) for job in instance.jobs) == 1000  # one part a job: size does not cost


@pytest.mark.slow
def test_a_million_unlike_rounds():
    instance = generate(1000, {"a": 64, "b": 64}, 0, rounds=1000, family="unlike-rounds")
    assert instance.num_rounds == 10**6
    assert len(instance.arrays.scale) == 10**6
    distinct = {id(part) for job in instance.jobs for part in job.rounds}
    assert len(distinct) < 300_000  # equal rounds share one object


BAD = [
    ({"jobs": 0}, "jobs 0"),
    ({"jobs": 2.5}, "jobs 2.5"),
    ({"jobs": True}, "jobs True"),
    ({"jobs": 2**28}, "jobs"),
    ({"jobs": 10**6, "rounds": 10**6}, "2\\^27 tasks"),
    ({"jobs": 10**5, "rounds": 10**5, "alike": False}, "2\\^27 tasks"),
    ({"seed": 1.5}, "seed 1.5"),
    ({"seed": None}, "seed"),
    ({"family": "batsh"}, "did you mean batch"),
    ({"gpus": {}}, "gpus"),
    ({"gpus": {"a": 0}}, "gpus 'a'"),
    ({"gpus": {"a": 1, "A": 1}}, "ignoring case"),
    ({"gpus": ["a"]}, "gpus"),
    ({"alpha": 0.5}, "alpha 0.5"),
    ({"alpha": float("nan")}, "alpha nan"),
    ({"alpha": float("inf")}, "alpha inf"),
    ({"alpha": "x"}, "alpha 'x'"),
    ({"family": "poisson", "load": 0}, "load 0"),
    ({"family": "poisson", "load": -1}, "load -1"),
    ({"family": "poisson", "burst": 3}, "burst 3"),
    ({"family": "bursts", "burst": 0.5}, "burst 0.5"),
    ({"rounds": 0}, "rounds 0"),
    ({"rounds": 1.5}, "rounds 1.5"),
    ({"rounds": (3, 2)}, "rounds"),
    ({"rounds": (1, 2, 3)}, "rounds"),
    ({"rounds": "3-1"}, "rounds"),
    ({"rounds": {}}, "rounds"),
    ({"scale": -1}, "scale -1"),
    ({"scale": "1=a"}, "scale"),
    ({"scale": {1: -1}}, "scale"),
    ({"scale": {1: 0}}, "scale"),
    ({"scale": []}, "scale"),
    ({"sync": 1}, "sync 1"),
    ({"sync": -0.1}, "sync -0.1"),
    ({"sync": (0.3, 0.1)}, "sync"),
    ({"weights": 2.5}, "multiply all weights by 2"),
    ({"weights": 0}, "weights 0"),
    ({"related": "maybe"}, "related 'maybe'"),
    ({"related": True, "times": "related"}, "related and times"),
    ({"times": "odd"}, "times 'odd'"),
    ({"release": "later"}, "release 'later'"),
    ({"tick_seconds": 0}, "tick_seconds 0"),
    ({"tick_seconds": -1}, "tick_seconds -1"),
    ({"time": [1, 2]}, "time"),
    ({"time": 10**7}, "time"),
    ({"tail": 0}, "tail 0"),
    ({"forbidden": 1.5}, "forbidden 1.5"),
    ({"alike": 3}, "alike 3"),
    ({"colour": 3}, "knob 'colour'"),
    ({"family": "identical", "alpha": 2}, "fixes alpha to 1"),
    ({"family": "related", "related": False}, "fixes times to related"),
    ({"family": "single-type", "gpus": {"a": 1, "b": 1}}, "one GPU type"),
    ({"family": "unlike-rounds", "alike": True}, "fixes alike to False"),
    ({"family": "poisson", "load": 1e-300}, "load"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_silly_knobs_are_refused_in_one_line(arguments, message):
    with pytest.raises(UsageError, match=message) as error:
        generate(**arguments)
    assert "\n" not in str(error.value)
    assert ";" in str(error.value)


def test_too_large_numbers_name_the_coarser_tick():
    with pytest.raises(InputError, match="2\\^53"):
        generate(100, weights=2**40, rounds=10_000, time=(900_000, 1_000_000))


def test_a_family_from_elsewhere():
    """The registry takes an entry point's object: defaults of one's own, or another generator altogether."""
    entry = Entry(name="mine-here", target="tests.instances.test_generators:MINE", kind="plug-in")
    FAMILIES.add(entry)
    try:
        instance = generate(3, family="mine-here", seed=1)
        assert [g.name for g in instance.gpu_types] == ["H100"]
        assert all(part.scale == 7 for job in instance.jobs for part in job.rounds)
        with pytest.raises(UsageError, match="is taken by"):
            FAMILIES.add(entry)
    finally:
        del FAMILIES.entries["mine-here"]


MINE = KnobFamily("mine-here", "rounds of seven tasks", fixed={"scale": 7}, gpus={"H100": 3})
