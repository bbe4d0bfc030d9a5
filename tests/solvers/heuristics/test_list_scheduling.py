from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from hetopt.core.errors import UsageError
from hetopt.core.feasibility import violations
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.schedule import Schedule
from hetopt.solvers import _kernels
from hetopt.solvers.heuristics import list_scheduling
from hetopt.solvers.heuristics.list_scheduling import PlacementRule, as_gamma, list_order, list_schedule, place
from tests.conftest import make_instance
from tests.solvers.heuristics import naive

RULES = ("R1", "R2", "R3", "earliest-finish")


def increasing_key(instance: Instance, seed: int) -> list[float]:
    rng = random.Random(seed)
    key: list[float] = []
    for parts in naive.expanded(instance):
        # few distinct values, so that ties happen
        key += sorted(rng.randint(0, 6) * instance.horizon / 10 for _ in parts)
    return key


def rows(schedule: Schedule) -> list[tuple]:
    columns = (schedule.job, schedule.round, schedule.task, schedule.gpu, schedule.start)
    return sorted(zip(*(c.tolist() for c in columns), strict=True))


@pytest.fixture(params=["compiled", "plain"])
def twin(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(list_scheduling, "WORTH_COMPILING", 0)
    if request.param == "compiled":
        pytest.importorskip("numba")
        monkeypatch.delenv(_kernels.SWITCH, raising=False)
    else:
        monkeypatch.setenv(_kernels.SWITCH, "1")
    return request.param


@pytest.mark.parametrize("rule", RULES)
def test_agrees_with_the_rule_as_written(rule: str, twin: str) -> None:
    for seed in range(60):
        instance = naive.random_instance(seed)
        key = increasing_key(instance, seed)
        gamma = Fraction(random.Random(seed).choice((0, 1, 5, 7)), 4) if rule == "earliest-finish" else Fraction(0)
        schedule = list_schedule(instance, key, rule, gamma=gamma)
        assert rows(schedule) == sorted(naive.list_schedule(instance, key, rule, gamma)), seed
        assert violations(instance, schedule) == []


@pytest.mark.parametrize("rule", RULES[:2] + RULES[3:])
def test_twins_give_the_same_bytes(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(list_scheduling, "WORTH_COMPILING", 0)
    for seed in range(25):
        huge = seed % 2 == 1
        instance = naive.random_instance(seed, jobs=12, types=5, most=40, largest=2**40 if huge else 12)
        order = list_order(instance, increasing_key(instance, seed))
        gamma = as_gamma(0.37) if rule == "earliest-finish" else Fraction(0)
        found = []
        for switch in ("0", "1"):
            monkeypatch.setenv(_kernels.SWITCH, switch)
            found.append(place(instance.arrays, order, PlacementRule(rule), gamma))
        for fast, plain in zip(*found, strict=True):
            assert fast.dtype == plain.dtype == np.int64
            assert fast.tobytes() == plain.tobytes()


def test_scores_too_large_for_64_bits_take_the_plain_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(_kernels.SWITCH, raising=False)
    monkeypatch.setattr(list_scheduling, "WORTH_COMPILING", 0)
    instance = make_instance({"A": 1, "B": 2}, [(1, 0, [(4, (2**47, 2**46), (0, 0))])])
    gamma = Fraction(10**6) + Fraction(1, 997)
    assert not list_scheduling._fits(instance.arrays, gamma)
    schedule = list_schedule(instance, [0.0], "earliest-finish", gamma=gamma)
    assert rows(schedule) == naive.list_schedule(instance, [0.0], "earliest-finish", gamma)
    assert set(schedule.gpu.tolist()) == {1, 2}


def test_ties_go_to_the_lowest_index_and_to_job_round_task_order() -> None:
    instance = make_instance(
        {"A": 2, "B": 2}, [(1, 0, [(1, (3, 3), (0, 0))]), (1, 0, [(3, (3, 3), (0, 0)), (1, (1, 1), (0, 0))])]
    )
    # keys within the same grid point count as equal
    step = 1e-6 * instance.horizon
    for rule in RULES:
        schedule = list_schedule(instance, [0.4 * step, 0.0, 0.2 * step], rule)
        assert schedule.gpu.tolist()[:4] == [0, 1, 2, 3], rule
        assert schedule.start.tolist() == [0, 0, 0, 0, 3], rule


def test_lowest_index_free_by_the_start_not_the_first_to_be_free() -> None:
    # GPU 0 is free at 5, GPU 1 at 2; the last job is ready at 9: index decides for earliest finish, time for R1
    jobs = [(1, 0, [(1, (5,), (0,))]), (1, 0, [(1, (2,), (0,))]), (1, 9, [(1, (4,), (0,))])]
    instance = make_instance({"A": 2}, jobs)
    assert list_schedule(instance, [0, 1, 2], "earliest-finish").gpu.tolist() == [0, 1, 0]
    assert list_schedule(instance, [0, 1, 2], "R1").gpu.tolist() == [0, 1, 1]


def test_keys_that_fall_along_a_job_are_raised() -> None:
    instance = make_instance({"A": 1}, [(1, 0, [(1, (2,), (0,)), (1, (2,), (0,))]), (1, 0, [(1, (2,), (0,))])])
    horizon = instance.horizon
    assert list_order(instance, [horizon, 0, horizon / 2]).tolist() == [2, 0, 1]


@pytest.mark.parametrize("bad", [[0.0], [0.0, float("nan"), 1.0], [[0.0, 1.0, 2.0]]])
def test_bad_keys_are_refused(bad: list) -> None:
    instance = make_instance({"A": 1}, [(1, 0, [(1, (2,), (0,)), (1, (2,), (0,))]), (1, 0, [(1, (2,), (0,))])])
    with pytest.raises(ValueError, match="key"):
        list_order(instance, bad)


def test_wrong_rules_and_penalties_are_usage_errors() -> None:
    instance = make_instance({"A": 1}, [(1, 0, [(1, (2,), (0,))])])
    with pytest.raises(UsageError, match="known: R1"):
        list_schedule(instance, [0.0], "R9")
    with pytest.raises(UsageError, match="waste penalty"):
        list_schedule(instance, [0.0], "R1", gamma=1)
    for bad in (-1, float("nan"), float("inf"), "much"):
        with pytest.raises(UsageError, match="gamma"):
            as_gamma(bad)  # type: ignore[arg-type]
    assert list_schedule(instance, [0.0], "earliest-available") == list_schedule(instance, [0.0], "R1")


@pytest.mark.parametrize("rule", RULES)
def test_scaling_all_times_scales_the_schedule(rule: str) -> None:
    for seed in range(10):
        instance = naive.random_instance(seed)
        key = np.array(increasing_key(instance, seed))
        raw = instance.to_dict()
        for job in raw["jobs"]:
            job["release_date"] *= 7
            for part in job["rounds"]:
                for name in ("processing_time", "sync_time"):
                    part[name] = [None if t is None else 7 * t for t in part[name]]
        longer = Instance.from_dict(raw)
        gamma = 1.5 if rule == "earliest-finish" else 0
        one, seven = list_schedule(instance, key, rule, gamma=gamma), list_schedule(longer, 7 * key, rule, gamma=gamma)
        assert (seven.start == 7 * one.start).all()
        assert (seven.gpu == one.gpu).all()


@pytest.mark.parametrize("rule", RULES)
def test_splitting_a_type_in_two_alike_changes_nothing(rule: str) -> None:
    for seed in range(10):
        instance = naive.random_instance(seed)
        key = increasing_key(instance, seed)
        raw = instance.to_dict()
        last = raw["gpu_types"][-1]
        raw["gpu_types"][-1:] = [{"name": "last", "count": last["count"]}, {"name": "more", "count": 2}]
        for job in raw["jobs"]:
            for part in job["rounds"]:
                for name in ("processing_time", "sync_time"):
                    part[name] = [*part[name], part[name][-1]]
        split = Instance.from_dict(raw)
        raw = instance.to_dict()
        raw["gpu_types"][-1]["count"] += 2
        joined = Instance.from_dict(raw)
        one, two = list_schedule(split, key, rule), list_schedule(joined, key, rule)
        assert (one.start == two.start).all()
        assert (one.gpu == two.gpu).all()


# (GPUs, [(weight, release, rounds as (scale, p))], exact midpoints, value of the Hare list schedule)
THEORY = {
    "three-jobs-m4-small": (
        4,
        [(1, 29, [(4, 1)]), (1000, 0, [(1, 60), (3, 1), (1, 1)]), (1, 0, [(4, 97)])],
        ["59/2", "30", "121/2", "123/2", "23831/388"],
        188218,
    ),
    "tight-m1": (1, [(1, 1000, [(1, 1)]), (1, 0, [(1, 2002)]), (100000, 1002, [(1, 1)])], None, 300404004),
}


def test_golden_values_of_the_counterexample() -> None:
    gpus, jobs, midpoints, value = THEORY["three-jobs-m4-small"]
    instance = make_instance({"G": gpus}, [(w, a, [(d, (p,), (0,)) for d, p in rounds]) for w, a, rounds in jobs])
    schedule = list_schedule(instance, [float(Fraction(h)) for h in midpoints], "R1")
    assert evaluate(instance, schedule) == value


def test_golden_values_of_the_tight_instance_on_one_gpu() -> None:
    gpus, jobs, _, value = THEORY["tight-m1"]
    instance = make_instance({"G": gpus}, [(w, a, [(d, (p,), (0,)) for d, p in rounds]) for w, a, rounds in jobs])
    # one GPU: the order Y, B, z is forced by H_Y = 1000.5 < H_B <= H_z
    assert evaluate(instance, list_schedule(instance, [1000.5, 1001.4, 1002.6], "R1")) == value


def test_no_list_schedule_ends_after_the_horizon() -> None:
    for seed in range(30):
        instance = naive.random_instance(seed)
        for rule in RULES:
            gamma = 50 if rule == "earliest-finish" else 0
            schedule = list_schedule(instance, increasing_key(instance, seed), rule, gamma=gamma)
            assert schedule.makespan <= instance.horizon
