"""The FFT policy: update of the fairness factors by hand, the fast path against documents, invariance to units."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hetopt.core.allocation import evaluate_allocation
from hetopt.core.round_problem import CostModel
from hetopt.core.workload import Workload
from hetopt.solvers.online.rounds import RoundSetting, simulate_rounds
from hetopt.solvers.online.rounds.policies.fft import Fft, FftMemory, WorkUnit, round_problem_of
from hetopt.solvers.rounds.run import run_round
from tests.solvers.online.rounds.workloads import job, make, random_workload

GPUS = {"A": 3, "B": 3, "C": 4}


class Recorder:
    """Keeps every state, memory and answer."""

    def __init__(self, policy):
        self.policy, self.name, self.clairvoyance = policy, policy.name, policy.clairvoyance
        self.calls = []

    def decide(self, state, memory):
        chosen, after = self.policy.decide(state, memory)
        self.calls.append((state, memory, chosen, after))
        return chosen, after


def recorded(policy, workload, gpus=GPUS, **setting):
    watched = Recorder(policy)
    out = simulate_rounds(workload, watched, RoundSetting(gpus, 100.0, **setting))
    return out, watched.calls


def test_fairness_factors_by_hand():
    # two jobs, one GPU of each type; in rounds on the fastest type: theta (1, 1/2) both, W 4 and 6
    workload = make(job("a", 400, (1.0, 0.5)), job("b", 600, (1.0, 0.5)))
    _, calls = recorded(Fft(), workload, {"A": 1, "B": 1}, max_rounds=3)
    rho = np.zeros(2)
    for t, (state, memory, chosen, after) in enumerate(calls):
        if memory is not None:
            assert memory.rho == pytest.approx(rho)
        theta = np.array([[1.0, 0.5], [1.0, 0.5]])
        speed = theta[[0, 1], chosen]
        iso = theta.sum(axis=1) / max(2 * 1, 2)
        tau = t + (np.array([4.0, 6.0]) - state.done / 100) / iso
        mu = t / tau
        rho = np.maximum(0, rho + mu * (np.array([4.0, 6.0]) / tau - speed))
        assert after.rho == pytest.approx(rho)
    assert len(calls) == 3 and calls[-1][3].rho.max() > 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("unit", WorkUnit)
def test_fast_path_is_the_optimum_of_the_document(seed, unit):
    policy = Fft(gap=0.0, work_unit=unit)
    _, calls = recorded(policy, random_workload(seed), migration_seconds=20.0)
    for state, memory, chosen, _ in calls[:: max(1, len(calls) // 6)]:
        rho = np.zeros(len(state))
        known = {} if memory is None else dict(zip(memory.ids.tolist(), memory.rho.tolist(), strict=True))
        for j, i in enumerate(state.ids.tolist()):
            rho[j] = known.get(i, 0.0)
        scale = state.rate.max(axis=1) * 100 if unit is WorkUnit.FASTEST else np.ones(len(state))
        problem = round_problem_of(
            state, rho, state.rate * 100 / scale[:, None], state.work / scale, state.done / scale
        )
        best = run_round("fft-fast", problem)
        mine = evaluate_allocation(problem, [None if k < 0 else int(k) for k in chosen], CostModel())
        assert best.cost is not None
        assert mine.total == pytest.approx(best.cost.total, rel=1e-7, abs=1e-7)
        assert sum(int(d) for d, k in zip(state.demand, chosen, strict=True) if k >= 0) == sum(best.gpus_used)


def test_another_solver_gives_allocations_of_the_same_cost():
    _, calls = recorded(Fft(gap=0.0), random_workload(2, jobs=8), max_rounds=4)
    slow = Fft(gap=0.0, solver="fft-milp")
    for state, memory, chosen, _ in calls:
        other, _ = slow.decide(state, memory)
        problem = round_problem_of(state, np.zeros(len(state)))
        used = [sum(int(d) for d, k in zip(state.demand, c, strict=True) if k >= 0) for c in (chosen, other)]
        assert used[0] == used[1] and problem.now == state.now / 100


def test_units_and_scales_change_nothing():
    workload = random_workload(4)
    base = simulate_rounds(workload, Fft(), RoundSetting(GPUS, 100.0)).jcts
    jobs = []
    for n, spec in enumerate(workload.jobs):
        scale = 10.0 ** (n % 15 - 7)
        rates = tuple(None if r is None else r * scale for r in spec.throughput)
        jobs.append(dataclasses.replace(spec, work=spec.work * scale, throughput=rates))
    scaled = Workload("scaled", workload.gpu_types, tuple(jobs))
    assert simulate_rounds(scaled, Fft(), RoundSetting(GPUS, 100.0)).jcts == pytest.approx(base, abs=1e-4)


def test_prices_and_factors_are_carried_over_by_job():
    _, calls = recorded(Fft(), random_workload(0))
    for (_state, memory, *_), (_, _, _, before) in zip(calls[1:], calls[:-1], strict=True):
        assert memory is before and isinstance(memory, FftMemory)
        assert len(memory.prices) == 3 and (memory.rho >= 0).all()
    plain = recorded(Fft(fairness=False), random_workload(0))[1]
    assert all((call[3].rho == 0).all() for call in plain)


def test_remaining_work_is_another_policy():
    out = {
        w: simulate_rounds(random_workload(3), Fft(work=w), RoundSetting(GPUS, 100.0)).jcts
        for w in ("total", "remaining")
    }
    assert out["total"] != out["remaining"]


def test_migration_cost_keeps_jobs_where_they_are():
    moves = [
        sum(j.migrations for j in simulate_rounds(random_workload(6), Fft(migration=m), RoundSetting(GPUS, 100.0, migration_seconds=60.0)).jobs)
        for m in (0.0, 100.0)
    ]  # fmt: skip
    assert moves[1] <= moves[0]
