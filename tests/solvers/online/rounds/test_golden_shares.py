"""Golden numbers of the share policies, computed independently of this code (three jobs on one fast and one slow GPU)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hetopt.core.seeds import generator
from hetopt.solvers.online.rounds.policies.allox import completion_matching
from hetopt.solvers.online.rounds.policies.finish_time import finish_time_shares
from hetopt.solvers.online.rounds.policies.linear import TieBreak, isolated_throughput, proportional_throughput
from hetopt.solvers.online.rounds.policies.makespan import makespan_shares
from hetopt.solvers.online.rounds.policies.max_min import max_min_shares, water_filling_levels
from hetopt.solvers.online.rounds.policies.min_jct import min_jct_shares
from hetopt.solvers.online.rounds.policies.oef import cooperative, non_cooperative
from hetopt.solvers.online.rounds.policies.sia import configuration_choice
from hetopt.solvers.online.rounds.policies.throughput import throughput_shares

RATE = np.array([[40.0, 10.0], [12.0, 4.0], [100.0, 50.0]])
COUNT = np.array([1, 1])
ONE = np.ones(3, dtype=np.int64)
WEIGHT = np.ones(3)
LEFT = np.array([4000.0, 2400.0, 5000.0])
AGE = np.array([100.0, 50.0, 0.0])


def in_polytope(x, count=COUNT, demand=ONE):
    return (x >= -1e-9).all() and (demand @ x <= count + 1e-6).all() and (x.sum(axis=1) <= 1 + 1e-6).all()


def test_normalisers():
    assert proportional_throughput(RATE, COUNT) == pytest.approx([25, 8, 75])
    assert isolated_throughput(RATE, COUNT, ONE) == pytest.approx([50 / 3, 16 / 3, 50])


@pytest.mark.parametrize("tie_break", TieBreak)
def test_max_min(tie_break):
    level, x = max_min_shares(RATE, COUNT, ONE, WEIGHT, perf=False, tie_break=tie_break)
    assert level == pytest.approx(2 / 3, abs=1e-9)
    assert in_polytope(x) and x.sum(axis=1).min() == pytest.approx(2 / 3, abs=1e-6)
    level, x = max_min_shares(RATE, COUNT, ONE, WEIGHT, perf=True, tie_break=tie_break)
    assert level == pytest.approx(8 / 11, abs=1e-9)
    assert x == pytest.approx(np.array([[5, 0], [5, 1], [1, 10]]) / 11, abs=1e-5)  # unique
    assert ((RATE * x).sum(axis=1) / [25, 8, 75]).min() == pytest.approx(8 / 11, abs=1e-6)


def test_water_filling_raises_those_that_can_rise():
    levels, x = water_filling_levels(RATE, COUNT, ONE, WEIGHT)
    assert levels == pytest.approx([8 / 11] * 3)
    # job 1 runs on the scarce type alone, jobs 2 and 3 can rise on the other one once it is fixed
    rate = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    levels, x = water_filling_levels(rate, np.array([1, 3]), np.ones(4, dtype=np.int64), np.ones(4), perf=False)
    assert levels == pytest.approx([0.5, 1.0, 1.0, 0.5])
    assert in_polytope(x, np.array([1, 3]), np.ones(4, dtype=np.int64))


def test_weights_and_demands_enter_max_min():
    rate = np.ones((2, 1))
    _, x = max_min_shares(rate, np.array([1]), np.ones(2, dtype=np.int64), np.array([3.0, 1.0]), perf=True)
    assert x[:, 0] == pytest.approx([0.75, 0.25], abs=1e-6)
    _, x = max_min_shares(rate, np.array([3]), np.array([3, 1]), np.ones(2), perf=True)
    # z x must be equal (3 x1 = x2) within 3 x1 + x2 <= 3 and x2 <= 1
    assert 3 * x[0, 0] == pytest.approx(x[1, 0], abs=1e-6) or x[1, 0] == pytest.approx(1, abs=1e-6)
    assert (np.array([3, 1]) * x[:, 0]).min() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_scaling_the_throughputs_of_a_job_changes_nothing(seed):
    draw = generator(seed, "scaling test")
    n, kinds = 12, 3
    rate = draw.uniform(1, 10, (n, kinds)) * (draw.random((n, kinds)) > 0.2)
    rate[:, 0] = np.maximum(rate[:, 0], 1.0)
    count, demand = np.array([4, 3, 5]), draw.integers(1, 4, n)
    scale = 10.0 ** draw.integers(-7, 8, n)
    left, age = draw.uniform(10, 100, n), draw.uniform(0, 5, n)
    scaled = rate * scale[:, None]
    base = max_min_shares(rate, count, demand, np.ones(n), perf=True)
    other = max_min_shares(scaled, count, demand, np.ones(n), perf=True)
    assert other[0] == pytest.approx(base[0], rel=1e-9)
    assert other[1] == pytest.approx(base[1], abs=1e-6)
    base = finish_time_shares(rate, count, demand, left, age, age)
    other = finish_time_shares(scaled, count, demand, left * scale, age, age)
    assert other[0] == pytest.approx(base[0], rel=1e-8)
    assert other[1] == pytest.approx(base[1], abs=1e-5)
    assert makespan_shares(scaled, count, demand, left * scale)[0] == pytest.approx(
        makespan_shares(rate, count, demand, left)[0], rel=1e-8
    )
    levels, _ = water_filling_levels(rate, count, demand, np.ones(n))
    assert water_filling_levels(scaled, count, demand, np.ones(n))[0] == pytest.approx(levels, abs=1e-6)


@pytest.mark.parametrize("tie_break", TieBreak)
def test_finish_time_fairness(tie_break):
    rho, x = finish_time_shares(RATE, COUNT, ONE, LEFT, AGE, AGE, tie_break)
    assert rho == pytest.approx(0.92743, abs=5e-6)
    assert in_polytope(x)
    reached = (AGE + LEFT / (RATE * x).sum(axis=1)) / (AGE + LEFT / isolated_throughput(RATE, COUNT, ONE))
    assert reached.max() == pytest.approx(rho, rel=1e-6)


def test_finish_time_of_a_job_alone_is_its_own_run():
    rho, x = finish_time_shares(
        np.array([[2.0, 4.0]]), np.array([1, 1]), np.array([1]), np.array([8.0]), np.zeros(1), np.zeros(1)
    )
    assert x[0] == pytest.approx([0, 1], abs=1e-6)
    assert rho == pytest.approx((8 / 4) / (8 / 3), rel=1e-6)  # alone on an equal share: half the time on each


def test_makespan():
    least, x = makespan_shares(RATE, COUNT, ONE, LEFT)
    assert least == pytest.approx(254.5455, abs=5e-5)
    assert in_polytope(x)
    assert ((RATE * x).sum(axis=1) * least) == pytest.approx(LEFT, rel=1e-9)
    # seconds or hundredths: never below 100 s, and no bisection
    tiny, _ = makespan_shares(RATE, COUNT, ONE, LEFT / 1e6)
    assert tiny == pytest.approx(least / 1e6, rel=1e-9)


def test_max_sum_throughput():
    value, x = throughput_shares(RATE, COUNT, ONE)
    assert value == pytest.approx(110)
    assert x == pytest.approx(np.array([[0, 1], [0, 0], [1, 0]]), abs=1e-9)


def test_min_jct_against_a_fine_grid():
    value, lower, x = min_jct_shares(RATE, COUNT, ONE, LEFT, 1e-6)
    assert in_polytope(x) and lower <= value <= lower * (1 + 1.1e-6)
    assert (LEFT / (RATE * x).sum(axis=1)).sum() == pytest.approx(value, rel=1e-6)
    draw = generator(0, "min jct grid")
    shares = draw.dirichlet(np.ones(3), size=(20_000, 2))  # fractions of each type, jobs in the last axis
    trial = np.swapaxes(shares, 1, 2)
    trial /= np.maximum(trial.sum(axis=2, keepdims=True), 1.0)
    assert value <= (LEFT / (RATE * trial).sum(axis=2)).sum(axis=1).min()


def test_allox_golden_and_brute_force():
    total, kind, place = completion_matching(LEFT[:, None] / RATE, COUNT)
    assert total == pytest.approx(500)
    assert kind.tolist() == [0, 0, 1] and place.tolist() == [2, 1, 1]  # fast runs 1 then 2
    draw = generator(1, "allox")
    for _ in range(5):
        seconds = draw.choice([0.1, 1 / 3, 7.0, 1e3, np.inf], size=(5, 2))
        seconds[:, 0] = np.where(np.isinf(seconds).all(axis=1), 1.0, seconds[:, 0])
        available = draw.choice([0.0, 0.5, 20.0], size=2)
        machines = np.array([1, 1])
        best = np.inf
        for choice in itertools.product((0, 1), repeat=5):
            lengths = [sorted(seconds[j, m] for j in range(5) if choice[j] == m) for m in (0, 1)]
            ends = [available[m] + np.cumsum(lengths[m]) for m in (0, 1)]
            best = min(best, sum(float(e.sum()) for e in ends))
        total, kind, place = completion_matching(seconds, machines, available)
        assert total == pytest.approx(best, rel=1e-6)
        assert np.isfinite(seconds[np.arange(5), kind]).all()


def test_allox_levels_are_added_until_enough():
    # one fast machine is so much better that all twelve jobs queue on it
    seconds = np.tile(np.array([[1.0, 1e4]]), (12, 1))
    total, kind, place = completion_matching(seconds, np.array([1, 6]))
    assert (kind == 0).all() and sorted(place.tolist()) == list(range(1, 13))
    assert total == pytest.approx(78)


def test_allox_leaves_out_what_runs_nowhere():
    total, kind, place = completion_matching(np.array([[np.inf], [2.0]]), np.array([1]))
    assert (total, kind.tolist(), place.tolist()) == (2.0, [-1, 0], [0, 1])


SIA_GPUS = np.array([1, 2, 1, 2, 4])
SIA_KIND = np.array([0, 0, 1, 1, 1])
SIA_COUNT = np.array([2, 4])


@pytest.mark.parametrize(("power", "value"), [(1.0, 5.6), (0.5, 3.31997), (-0.5, 1.22459)])
def test_sia_table(power, value):
    # goodputs 3.5 and 2.1 of the two chosen configurations follow from the three published values; others are ours
    goodput = np.array([[1.2, 2.2, 1.0, 1.9, 3.5], [1.1, 2.1, 1.0, 1.6, 2.0]])
    found, choice = configuration_choice(goodput, SIA_GPUS, SIA_KIND, SIA_COUNT, power, 1.1 if power < 0 else 0.0)
    assert choice.tolist() == [4, 1]
    assert found == pytest.approx(value, abs=5e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("power", [0.5, -0.5])
def test_sia_against_enumeration(seed, power):
    draw = generator(seed, "sia")
    goodput = draw.uniform(0.5, 4, (4, 5)) * (draw.random((4, 5)) > 0.2)
    idle = 1.1
    found, _choice = configuration_choice(goodput, SIA_GPUS, SIA_KIND, SIA_COUNT, power, idle)
    best = None
    for trial in itertools.product(range(-1, 5), repeat=4):
        used = np.zeros(2)
        total = 0.0
        for i, c in enumerate(trial):
            if c < 0:
                total += idle
            elif goodput[i, c] <= 0:
                break
            else:
                used[SIA_KIND[c]] += SIA_GPUS[c]
                total += goodput[i, c] ** power
        else:
            if (used <= SIA_COUNT).all():
                best = total if best is None else max(best, total) if power > 0 else min(best, total)
    assert found == pytest.approx(best)


OEF = np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 3.0]])
OEF_GPUS = np.array([2.0, 1.0])


def test_oef_non_cooperative():
    x = non_cooperative(OEF, OEF_GPUS)
    assert (OEF * x).sum(axis=1) == pytest.approx([1.8181818] * 3, abs=1e-6)
    assert (x.sum(axis=0) <= OEF_GPUS + 1e-9).all()


def test_oef_cooperative():
    x = cooperative(OEF, OEF_GPUS)
    own = (OEF * x).sum(axis=1)
    assert own == pytest.approx([1.4, 2.4, 1.8], abs=1e-6)
    assert (own[:, None] + 1e-7 >= OEF @ x.T).all()  # nobody envies anybody
    assert (own >= (OEF @ (OEF_GPUS / 3)) - 1e-7).all()  # nobody loses by sharing
