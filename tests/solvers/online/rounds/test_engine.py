"""The round-based simulator by hand: exact times, moves, borders, gaps, limits, bad input, peeking."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hetopt.core.errors import InputError, UsageError, VerificationError
from hetopt.solvers.online.rounds import Clairvoyance, PeekError, RoundSetting, simulate_rounds
from hetopt.solvers.online.rounds.policies.ranked import FifoRounds, SrtfRounds
from tests.solvers.online.rounds.workloads import Script, job, make, random_workload

GPUS = {"A": 2, "B": 1}


def run(workload, *steps, **setting):
    options = {"gpus": GPUS, "round_seconds": 100.0, **setting}
    return simulate_rounds(workload, Script(steps or ({},)), RoundSetting(**options))


def test_a_job_finishes_at_its_exact_time_and_its_gpus_are_free_at_the_border():
    workload = make(job("a", 30, (2.0, 1.0)), job("b", 100, (2.0, 1.0)))
    both = run(workload, {"a": 0}, {"b": 0})
    a, b = both.jobs
    assert (a.first_start, a.finish, a.gpu_seconds) == (0.0, 15.0, 15.0)
    assert (b.first_start, b.finish, b.migrations) == (100.0, 150.0, 0)
    assert both.makespan == 150.0
    assert both.utilisation == pytest.approx((15 + 50) / (150 * 3))
    assert both.series["GPUs in use"] == ((0.0, 1.0), (15.0, 0.0), (100.0, 1.0), (150.0, 0.0))
    assert both.series["waiting jobs"] == ((0.0, 1.0), (100.0, 0.0))


def test_moves_and_resumptions_lose_their_time_and_first_starts_do_not():
    workload = make(job("a", 1000, (2.0, 1.0)))
    stay = run(workload, {"a": 0}, migration_seconds=10)
    assert (stay.jobs[0].finish, stay.jobs[0].migrations) == (500.0, 0)
    moved = run(workload, {"a": 0}, {"a": 1}, {"a": 0}, migration_seconds=10)
    # 200 in the first round, then 90 s at speed 1, then (710 left) 10 s and 355 s
    assert (moved.jobs[0].finish, moved.jobs[0].migrations) == (200.0 + 10 + 355, 2)
    paused = run(workload, {"a": 0}, {}, {"a": 0}, migration_seconds=10)
    assert (paused.jobs[0].finish, paused.jobs[0].migrations) == (200.0 + 10 + 400, 1)
    by_name = run(workload, {"a": 0}, {}, {"a": 0}, migration_seconds={"a": 20})
    assert by_name.jobs[0].finish == 620.0


def test_a_move_longer_than_a_round_is_carried_over():
    workload = make(job("a", 300, (1.0, 1.0)))
    out = run(workload, {"a": 0}, {"a": 1}, migration_seconds=150)
    assert out.jobs[0].finish == 100 + 150 + 200
    assert out.jobs[0].gpu_seconds == 450


def test_a_policy_that_moves_for_ever_is_stopped_with_a_message():
    workload = make(job("a", 300, (1.0, 1.0)))
    out = run(workload, *[{"a": k % 2} for k in range(50)], migration_seconds=100, stall_rounds=20)
    assert out.jobs[0].finish is None and "no work was done in 20 rounds" in out.message and "'a'" in out.message


def test_a_policy_that_never_runs_anything_is_stopped_with_a_message():
    out = run(make(job("a", 300, (1.0, 1.0))), {}, stall_rounds=5)
    assert out.jobs[0].first_start is None and "no work was done in 5 rounds" in out.message
    assert out.utilisation is None and out.jcts == []


def test_gaps_of_weeks_are_jumped_over():
    workload = make(job("a", 10, (1.0, 1.0)), job("b", 10, (1.0, 1.0), arrival=5e6 + 30))
    out = simulate_rounds(workload, FifoRounds(), RoundSetting(GPUS, round_seconds=1.0))
    assert len(out.decision_seconds) == 20  # 10 rounds of a second each, and none in between
    assert out.jobs[1].finish == 5e6 + 40
    on_grid = simulate_rounds(workload, FifoRounds(), RoundSetting(GPUS, round_seconds=300.0))
    assert on_grid.jobs[1].first_start == np.ceil((5e6 + 30) / 300) * 300
    at_once = simulate_rounds(workload, FifoRounds(), RoundSetting(GPUS, round_seconds=300.0, early_end=True))
    assert at_once.jobs[1].first_start == 5e6 + 30


def test_arrivals_out_of_order_and_in_a_storm():
    storm = make(*(job(f"j{n}", 50, (1.0, 2.0), arrival=float(1000 - n // 100)) for n in range(400)))
    out = simulate_rounds(storm, FifoRounds(), RoundSetting(GPUS, round_seconds=100.0))
    assert len(out.jcts) == 400
    assert out.jobs[399].first_start < out.jobs[0].first_start  # the last in the file arrived first


def test_rounds_that_end_early():
    workload = make(job("a", 30, (2.0, 1.0)), job("b", 100, (2.0, 1.0)))
    out = simulate_rounds(workload, Script(({"a": 0}, {"b": 0})), RoundSetting(GPUS, 100.0, early_end=True))
    assert [j.first_start for j in out.jobs] == [0.0, 15.0]
    assert out.makespan == 65.0


def test_whole_steps():
    # 0.7 steps a second: 70 steps in 100 s; 0.69: 69 steps in 100 s and the rest of the time is lost
    workload = make(job("a", 100, (0.695, 1.0)))
    exact = run(workload, {"a": 0})
    whole = run(workload, {"a": 0}, whole_steps=True)
    assert exact.jobs[0].finish == pytest.approx(100 / 0.695, abs=1e-5)
    assert whole.jobs[0].finish == pytest.approx(100 + 31 / 0.695, abs=1e-5)
    slow = run(make(job("a", 3, (0.001, 1.0))), {"a": 0}, whole_steps=True)  # a step takes ten rounds
    assert slow.jobs[0].finish is not None


def test_finish_time_fairness_denominators_by_hand():
    # alone all the time: rate on the share is (2 A at 2, 1 B at 1) / 3 = 5/3 for one job with one GPU
    alone = run(make(job("a", 100, (2.0, 1.0))), {"a": 0})
    assert alone.jobs[0].alone == pytest.approx(100 / (5 / 3))
    assert alone.jobs[0].finish_time_fairness == pytest.approx(50 / 60)
    # a pair that needs two GPUs each: m z = 4 > 3 GPUs while both are there, 3 after that; B cannot hold them
    pair = make(job("a", 100, (2.0, 1.0), demand=2), job("b", 200, (2.0, 1.0), demand=2))
    out = run(pair, {"a": 0}, {"b": 0})
    assert [j.finish for j in out.jobs] == [50.0, 200.0]
    assert out.jobs[0].alone == pytest.approx(100 / (2 * 2 / 4))
    mean = (50 * (4 / 4) + 150 * (4 / 3)) / 200
    assert out.jobs[1].alone == pytest.approx(200 / mean)


@pytest.mark.parametrize("seed", range(3))
def test_fairness_denominators_against_integration_step_by_step(seed):
    workload = random_workload(seed)
    gpus = {"A": 3, "B": 3, "C": 4}
    out = simulate_rounds(workload, SrtfRounds(), RoundSetting(gpus, 100.0))
    count = np.array([3, 3, 4])
    moments = sorted({j.arrival for j in out.jobs} | {j.finish for j in out.jobs})
    for spec, seen in zip(workload.jobs, out.jobs, strict=True):
        rate = np.array([r if r is not None and spec.demand <= c else 0.0 for r, c in zip(spec.throughput, count)])
        area = 0.0
        for start, end in itertools.pairwise(moments):
            if seen.arrival <= start and end <= seen.finish:
                m = sum(o.arrival <= start < o.finish for o in out.jobs)
                share = count / (m * spec.demand)
                area += (end - start) * float(rate @ (share / max(1.0, share.sum())))
        assert seen.alone == pytest.approx(spec.work / (area / (seen.finish - seen.arrival)), rel=1e-5)


def test_stopping():
    class Stop:
        calls = 0

        def stop_requested(self):
            self.calls += 1
            return self.calls > 3

        def record(self, **_):
            return None

        def elapsed(self):
            return 0.0

    workload = make(job("a", 50, (1.0, 1.0)), job("b", 1e6, (1.0, 1.0)))
    heard = []
    out = simulate_rounds(
        workload, FifoRounds(), RoundSetting(GPUS, 100.0), observer=Stop(), listener=lambda news: heard.append(news)
    )
    assert out.interrupted and out.jobs[0].finish == 50.0 and out.jobs[1].finish is None
    assert out.jobs[1].gpu_seconds == 300.0 and [n.round for n in heard] == [0, 1, 2]
    assert heard[1].finished == 1 and heard[1].total == 2
    limited = simulate_rounds(workload, FifoRounds(), RoundSetting(GPUS, 100.0, max_rounds=2))
    assert not limited.interrupted and "2 rounds" in limited.message and limited.jobs[0].finish == 50.0


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (job("big", 10, (1.0, 1.0), demand=3), ["'big'", "needs 3 GPUs", "A=2, B=1"]),
        (job("pair", 10, (None, 1.0), demand=2), ["'pair'", "needs 2 GPUs"]),
        (job("never", 10, (1e-300, None)), ["'never'", "run time"]),
    ],
)
def test_jobs_that_cannot_run_are_named(spec, words):
    with pytest.raises(InputError) as caught:
        run(make(job("fine", 10, (1.0, 1.0)), spec), {})
    text = str(caught.value)
    assert all(word in text for word in words) and "'fine'" not in text and len(text.splitlines()) == 1


def test_a_type_that_is_only_elsewhere_and_a_job_without_throughput_here():
    with pytest.raises(InputError, match="no throughput on any of A"):
        run(make(job("x", 10, (None, 1.0))), {}, gpus={"A": 1})
    with pytest.raises(InputError, match="the workload has throughputs for A, B"):
        run(make(job("x", 10, (1.0, 1.0))), {}, gpus={"Z": 1})


def test_a_job_that_is_too_large_can_wait_for_ever():
    workload = make(job("big", 10, (1.0, 1.0), demand=3), job("fine", 10, (1.0, 1.0)))
    out = simulate_rounds(workload, FifoRounds(), RoundSetting(GPUS, 100.0, unrunnable="wait"))
    assert out.jobs[0].finish is None and out.jobs[1].finish == 10.0 and "1 jobs need more GPUs" in out.message


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({"a": 5}, "does not exist"),
        ({"a": 0, "b": 0, "c": 0}, "3 GPUs of 'A' are used, there are 2"),
        ({"d": 1}, "job 'd' cannot run on 'B'"),
    ],
)
def test_allocations_are_checked(step, words):
    jobs = [job(name, 10, (1.0, 1.0)) for name in "abc"] + [job("d", 10, (1.0, None))]
    with pytest.raises(VerificationError, match=words):
        run(make(*jobs), step)


def test_an_allocation_of_another_shape_is_refused():
    class Wrong(Script):
        def decide(self, state, memory):
            return np.zeros(len(state) + 1, dtype=np.int64), None

    class Fractions(Script):
        def decide(self, state, memory):
            return np.zeros(len(state)), None

    for policy in (Wrong(), Fractions()):
        with pytest.raises(VerificationError, match="one whole number a job"):
            simulate_rounds(make(job("a", 1, (1.0, 1.0))), policy, RoundSetting(GPUS))


@pytest.mark.parametrize("knows", Clairvoyance)
def test_peeking_is_an_error(knows):
    seen = {}

    class Peek(Script):
        clairvoyance = knows

        def decide(self, state, memory):
            for what in ("work", "remaining", "future"):
                try:
                    seen.setdefault(what, []).append(getattr(state, what))
                except PeekError:
                    seen.setdefault(what, []).append(PeekError)
            try:
                seen.setdefault("job", []).append(state.job(0).work)
            except PeekError:
                seen.setdefault("job", []).append(PeekError)
            return super().decide(state, memory)

    workload = make(job("a", 7, (1.0, 1.0)), job("late", 9, (1.0, 2.0), arrival=150))
    simulate_rounds(workload, Peek(({"a": 0, "late": 0},)), RoundSetting(GPUS, 100.0))
    sizes, future = knows >= Clairvoyance.SIZES, knows is Clairvoyance.FULL
    for what in ("work", "remaining", "job"):
        assert all((value is not PeekError) == sizes for value in seen[what])
    if future:
        assert [[j.name for j in jobs] for jobs in seen["future"]] == [["late"], []]
        assert seen["future"][0][0].work == 9 and seen["future"][0][0].rate == (1.0, 2.0)
    else:
        assert seen["future"] == [PeekError, PeekError]


def test_what_a_policy_sees_cannot_be_changed():
    class Vandal(Script):
        def decide(self, state, memory):
            with pytest.raises(ValueError, match="read-only"):
                state.rate[0, 0] = 99.0
            with pytest.raises(ValueError, match="read-only"):
                state.count[0] = 99
            with pytest.raises(AttributeError):
                state.now = 0.0
            view = next(state.jobs())
            assert (view.name, view.demand, view.rate, view.age) == ("a", 1, (1.0, 1.0), state.now)
            return super().decide(state, memory)

    out = simulate_rounds(make(job("a", 7, (1.0, 1.0))), Vandal(({"a": 0},)), RoundSetting(GPUS))
    assert out.jobs[0].finish == 7.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gpus": {}}, "no type is given"),
        ({"gpus": {"A": 0}}, "whole number >= 1"),
        ({"round_seconds": 0.0}, "round_seconds"),
        ({"round_seconds": float("nan")}, "round_seconds"),
        ({"migration_seconds": -1.0}, "migration_seconds"),
        ({"max_rounds": 0}, "max_rounds"),
        ({"unrunnable": "maybe"}, "error, wait"),
        ({"migration_seconds": {"nobody": 3.0}}, "no job is called 'nobody'"),
    ],
)
def test_wrong_settings_are_one_clear_line(options, words):
    with pytest.raises(UsageError, match=words) as caught:
        run(make(job("a", 7, (1.0, 1.0))), {"a": 0}, **options)
    assert len(str(caught.value).splitlines()) == 1
