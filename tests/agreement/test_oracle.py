"""The oracle itself: against hand-solved instances and against a second, slower search of another kind."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hetopt.core.feasibility import violations
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.schedule import Schedule
from hetopt.core.status import Objective
from tests import oracle
from tests.conftest import make_instance
from tests.tiny import tiny


def by_permutation(instance: Instance, objective: Objective) -> int:
    """Every permutation of all tasks with every GPU for each, appended in that order: no pruning, no symmetry."""
    a = instance.arrays
    rounds = np.repeat(np.arange(a.num_rounds), a.scale).tolist()
    best = None
    for gpus in itertools.product(range(a.num_gpus), repeat=a.num_tasks):
        if not all(a.allowed[r, a.gpu_type[g]] for r, g in zip(rounds, gpus, strict=True)):
            continue
        for order in itertools.permutations(range(a.num_tasks)):
            free, synced = [0] * a.num_gpus, {}
            start, done = [0] * a.num_tasks, {}
            feasible = True
            for i in order:
                r, g = rounds[i], gpus[i]
                first = r == a.round_start[a.round_job[r]]
                if not first and done.get(r - 1, 0) < a.scale[r - 1]:
                    feasible = False
                    break
                ready = int(a.release_date[a.round_job[r]]) if first else synced[r - 1]
                start[i] = max(free[g], ready)
                free[g] = start[i] + int(a.processing_time[r, a.gpu_type[g]])
                synced[r] = max(synced.get(r, 0), free[g] + int(a.sync_time[r, a.gpu_type[g]]))
                done[r] = done.get(r, 0) + 1
            if feasible:
                value = evaluate(instance, Schedule.from_starts(instance, gpus, start), objective)
                best = value if best is None else min(best, value)
    assert best is not None
    return best


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("objective", list(Objective))
def test_the_oracle_finds_what_plain_enumeration_finds(seed, objective):
    instance = tiny(seed, tasks=4)
    assert oracle.optimum(instance, objective) == by_permutation(instance, objective)


@pytest.mark.parametrize("seed", range(100, 115))
def test_its_schedule_is_feasible_and_worth_what_it_says(seed):
    instance = tiny(seed, tasks=7)
    for objective in Objective:
        value, rows = oracle.solve(instance, objective)
        a = instance.arrays
        gpu, start = [0] * a.num_tasks, [0] * a.num_tasks
        for job, r, task, g, when in rows:
            i = int(a.task_start[a.round_start[job] + r]) + task
            gpu[i], start[i] = g, when
        schedule = Schedule.from_starts(instance, gpu, start)
        assert not violations(instance, schedule)
        assert evaluate(instance, schedule, objective) == value


def test_hand_solved():
    # Smith's rule: ratios 2/3 < 3/1, so the second job goes second
    smith = make_instance({"a": 1}, [(3, 0, [(1, [2], [0])]), (1, 0, [(1, [3], [0])])])
    assert oracle.optimum(smith) == 3 * 2 + 1 * 5
    assert oracle.optimum(smith, "makespan") == 5
    # waiting for the release of the heavy job is worth it: 1..2 heavy, then 2..12
    idle = make_instance({"a": 1}, [(1, 0, [(1, [10], [0])]), (100, 1, [(1, [1], [0])])])
    assert oracle.optimum(idle) == 100 * 2 + 12
    assert oracle.optimum(idle, "total-weighted-flow") == 100 * 1 + 12
    # synchronising does not hold the GPU
    sync = make_instance({"a": 1}, [(1, 0, [(1, [2], [5])]), (1, 0, [(1, [2], [0])])])
    assert oracle.optimum(sync, "makespan") == 7
