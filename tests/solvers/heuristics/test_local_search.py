from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from hetopt.core.feasibility import violations
from hetopt.core.objectives import evaluate
from hetopt.core.solver import Limits, NullObserver
from hetopt.core.status import Objective, StopReason
from hetopt.solvers import _kernels
from hetopt.solvers.heuristics import _annealing, local_search
from hetopt.solvers.heuristics.local_search import anneal
from hetopt.solvers.run import run
from tests.conftest import make_instance
from tests.solvers.heuristics import naive

# An instance of 8 jobs on (3, 3, 2) GPUs; best value known to us by an exact solver is not needed here
CONGESTED = make_instance(
    {"A": 3, "B": 3, "C": 2},
    [
        (1, 0, [(1, (3, 5, 6), (3, 5, 6))] * 5),
        (4, 1, [(2, (5, 9, 7), (1, 2, 1))] * 3),
        (1, 5, [(1, (3, 7, 4), (0, 0, 0))] * 6),
        (7, 5, [(2, (12, 15, 6), (2, 2, 1))] * 3),
        (10, 6, [(2, (8, 12, 17), (1, 1, 2))] * 6),
        (5, 8, [(4, (12, 7, 6), (2, 1, 1))] * 3),
        (7, 8, [(1, (8, 9, None), (0, 0, None))] * 6),
        (10, 12, [(1, (5, 6, 2), (0, 0, 0))] * 6),
    ],
    name="congested",
)


@pytest.mark.parametrize("objective", list(Objective))
def test_feasible_and_the_value_is_that_of_the_schedule(objective: Objective) -> None:
    for seed in range(12):
        instance = naive.random_instance(seed)
        schedule, value, used = anneal(instance, objective, seed=seed, decodes=150)
        assert violations(instance, schedule) == []
        assert value == evaluate(instance, schedule, objective)
        assert used <= 150


@pytest.mark.parametrize("objective", list(Objective))
def test_twins_give_the_same_bytes(objective: Objective, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(local_search, "WORTH_COMPILING", 0)
    for instance, decodes in [(CONGESTED, 400), *((naive.random_instance(s), 200) for s in range(4))]:
        found = []
        for switch in ("0", "1"):
            monkeypatch.setenv(_kernels.SWITCH, switch)
            found.append(anneal(instance, objective, seed=7, decodes=decodes))
        assert found[0][0] == found[1][0]
        assert found[0][1:] == found[1][1:]


def test_times_too_large_for_64_bits_take_the_plain_twin() -> None:
    instance = make_instance({"A": 1, "B": 1}, [(1, 0, [(2, (2**51, 2**51 - 1), (0, 0))])])
    search = local_search._Search(instance, Objective.TOTAL_WEIGHTED_COMPLETION)
    huge = make_instance({"A": 1}, [(1, 0, [(1, (2**52,), (0,))])])
    assert search.fast == _kernels.numba_usable()
    schedule, value, _ = anneal(huge, decodes=5)
    assert value == 2**52 == schedule.makespan


def test_many_types_take_the_plain_twin() -> None:
    types = {f"type{k}": 1 for k in range(70)}
    times = tuple(range(80, 10, -1))
    instance = make_instance(types, [(1, 0, [(3, times, (0,) * 70)])])
    schedule, value, _ = anneal(instance, decodes=20)
    assert sorted(schedule.gpu.tolist()) == [67, 68, 69]
    assert value == 13


def test_never_worse_than_its_start_and_better_with_more_work() -> None:
    start, value, _ = anneal(CONGESTED, seed=1, decodes=20_000)
    for decodes in (0, 1, 5, 400):
        schedule, again, _ = anneal(CONGESTED, seed=2, decodes=decodes, start=start)
        assert again <= value
        assert evaluate(CONGESTED, schedule) == again
    poor = run("fifo", CONGESTED)
    assert value < anneal(CONGESTED, seed=1, decodes=1)[1]
    assert anneal(CONGESTED, seed=1, decodes=1, start=poor.schedule)[1] <= poor.objective
    assert value < run("hare-eft", CONGESTED).objective


def test_a_warm_start_is_used() -> None:
    start, value, _ = anneal(CONGESTED, seed=1, decodes=20_000)
    result = run("local-search", CONGESTED, limits=Limits(work=50), warm_start=start)
    assert result.warm_start == "accepted"
    assert result.objective <= value
    search = local_search._Search(CONGESTED, Objective.TOTAL_WEIGHTED_COMPLETION)
    # the code of a schedule of ours decodes to about as good a schedule
    assert search.value(local_search._encode(search, start)) <= 1.1 * value


@pytest.mark.ci
def test_same_seed_and_work_same_bytes_across_processes() -> None:
    code = (
        "from tests.solvers.heuristics.test_local_search import CONGESTED\n"
        "from hetopt.solvers.run import run\n"
        "from hetopt.core.solver import Limits\n"
        "raw = run('local-search', CONGESTED, limits=Limits(work=500), seed=3).to_dict()\n"
        "import json; del raw['runtime_seconds'], raw['history']; print(json.dumps(raw, sort_keys=True))"
    )
    told = set()
    for number in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": number, _kernels.SWITCH: "1" if number == "2" else "0"}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        told.add(done.stdout)
    assert len(told) == 1
    raw = json.loads(told.pop())
    assert raw["deterministic"] is True
    assert raw["stop_reason"] == "WORK"
    assert raw["work"] == 500
    other = run("local-search", CONGESTED, limits=Limits(work=500), seed=4)
    assert other.to_dict()["schedule"] != raw["schedule"]


def brute_force(instance, makespan: bool) -> int:
    """Best list schedule over all orders of tasks and all GPUs; every optimal schedule is one of them."""
    types, parts = naive.type_of_gpus(instance), naive.expanded(instance)
    best = [10**9]

    def go(free, at, ready, current, total):
        if all(at[n] == (len(parts[n]), 0) for n in range(len(parts))):
            best[0] = min(best[0], max(ready) if makespan else sum(j.weight * c for j, c in zip(instance.jobs, ready)))
            return
        for n in range(len(parts)):
            r, done = at[n]
            if r == len(parts[n]):
                continue
            part = parts[n][r]
            seen = set()
            for m, k in enumerate(types):
                if part.processing_time[k] is None or (k, free[m]) in seen:
                    continue
                seen.add((k, free[m]))
                end = max(free[m], ready[n]) + part.processing_time[k]
                latest = max(current[n], end + part.sync_time[k])
                finished = done + 1 == part.scale
                go(
                    (*free[:m], end, *free[m + 1 :]),
                    (*at[:n], (r + 1, 0) if finished else (r, done + 1), *at[n + 1 :]),
                    (*ready[:n], latest, *ready[n + 1 :]) if finished else ready,
                    (*current[:n], 0 if finished else latest, *current[n + 1 :]),
                    total,
                )

    go(
        (0,) * len(types),
        tuple((0, 0) for _ in parts),
        tuple(j.release_date for j in instance.jobs),
        (0,) * len(parts),
        0,
    )
    return best[0]


def test_finds_the_optimum_of_tiny_instances_and_nothing_below_it() -> None:
    hits = tried = 0
    for seed in itertools.count():
        instance = naive.random_instance(seed, jobs=3, types=2, most=2)
        if not 3 <= instance.num_tasks <= 6:
            continue
        for objective in (Objective.TOTAL_WEIGHTED_COMPLETION, Objective.MAKESPAN):
            optimum = brute_force(instance, objective is Objective.MAKESPAN)
            value = anneal(instance, objective, seed=0, decodes=400)[1]
            assert value >= optimum
            hits += value == optimum
        tried += 2
        if tried >= 24:
            break
    assert hits >= 0.9 * tried


def test_partial_values_never_fall_and_kept_states_change_nothing() -> None:
    """Decoding with a limit gives the value or a number above the limit; the current value stays true."""
    search = local_search._Search(CONGESTED, Objective.TOTAL_WEIGHTED_COMPLETION)
    code = next(local_search._starts(search, None, None, NullObserver()))
    value = search.value(code)
    for limit in (value - 1, value // 2, search.first_value - 1):
        assert limit < search.value(code, limit) <= value
    assert search.value(code, value) == value
    search.start(code)
    rng = np.random.default_rng(0)
    for _ in range(40):
        draws = rng.random((25, _annealing.DRAWS))
        search.steps(draws, rng.integers(0, 40, 25))
        sequence, types, gamma = search.current
        now = local_search._Code(np.array(sequence), [int(t) for t in types], int(gamma[0]))
        kept = int(search.values[0])
        assert sorted(now.sequence.tolist()) == sorted(CONGESTED.arrays.round_job.tolist())
        assert all(t and not t & ~whole for t, whole in zip(now.types, search.allowed))
        assert local_search._Search(CONGESTED, Objective.TOTAL_WEIGHTED_COMPLETION).value(now) == kept
        assert evaluate(CONGESTED, local_search._schedule(search, now)) == kept


def test_stops_when_asked() -> None:
    class Stop(NullObserver):
        calls = 0

        def stop_requested(self) -> bool:
            self.calls += 1
            return self.calls > 40

    _, _, used = anneal(CONGESTED, decodes=10**9, observer=Stop())
    assert used < 10**6


def test_a_time_limit_ends_the_search_and_is_reported(two_jobs) -> None:
    result = run("local-search", CONGESTED, limits=Limits(time=0.05))
    assert result.stop_reason is StopReason.TIME
    assert result.deterministic is False
    # one job alone, nothing to gain: the trivial bound is reached and the search ends by itself
    alone = make_instance({"A": 1}, [(1, 0, [(1, (2,), (0,))])])
    ended = run("local-search", alone)
    assert ended.objective == 2
    assert ended.stop_reason is StopReason.EXHAUSTED


def test_a_bound_that_is_met_ends_the_search() -> None:
    value = anneal(CONGESTED, seed=1, decodes=2_000)[1]
    schedule, reached, used = anneal(CONGESTED, seed=1, decodes=10**9, target=value)
    assert reached <= value
    assert used < 10**6
    assert evaluate(CONGESTED, schedule) == reached
