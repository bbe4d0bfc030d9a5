"""The time-indexed Lagrangian: twins, an independent recursion, validity, certificate, pruning."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hetopt.core.errors import UsageError
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Limits
from hetopt.core.status import Objective, Status, StopReason, Trust
from hetopt.solvers import _kernels
from hetopt.solvers.relaxations import _chain_kernel, chain_windows, pruning
from hetopt.solvers.relaxations import time_indexed_lagrangian as lagrangian
from hetopt.solvers.relaxations.chain_windows import ChainProblem
from hetopt.solvers.relaxations.time_indexed_lagrangian import (
    Dual,
    TimeIndexedLagrangian,
    quick_schedule,
    suitable_problem,
)
from hetopt.solvers.run import run
from tests import oracle
from tests.conftest import make_instance
from tests.solvers.random_instances import random_instance

WTC = Objective.TOTAL_WEIGHTED_COMPLETION


def slow_values(instance: Instance, data: dict, horizon: int | None = None, forced: tuple | None = None) -> list:
    """V_n in Fractions straight from the reference page on certificates: every window, every start.

    ``forced`` = (round, type, start) makes one task of the round start there.
    """
    c, limit, d_unit = data["coarsening"], data["window_limit"], data["denominator"]
    prices = [[Fraction(v, d_unit) for v, n in runs for _ in range(n)] for runs in data["prices"]]
    counts = [g.count for g in instance.gpu_types]
    chains = [[part for part in job.rounds for _ in range(part.repeat)] for job in instance.jobs]

    def coarse(part):
        out = {}
        for k, (p, s) in enumerate(zip(part.processing_time, part.sync_time)):
            if p is not None:
                out[k] = (p // c, (p + s) // c)
        return out

    def room(part, k, length):
        p, q = coarse(part)[k]
        if length < q:
            return 0
        return part.scale if p == 0 else min(part.scale, counts[k] * ((length - (q - p)) // p))

    def is_capped(part):
        kinds = coarse(part)
        widest = max(q - p + p * -(-part.scale // counts[k]) for k, (p, q) in kinds.items())
        return limit >= 1 and widest <= limit and any(counts[k] < part.scale for k in kinds)

    def shortest(part):
        if not is_capped(part):
            return min(q for _, q in coarse(part).values())
        length = 0
        while sum(room(part, k, length) for k in coarse(part)) < part.scale:
            length += 1
        return length

    def price(k, t, p):
        return sum(prices[k][t : t + p], Fraction(0))

    exact = max(data["price_end"], *(job.release_date // c for job in instance.jobs)) + max(
        sum(map(shortest, chain)) for chain in chains
    )
    horizon = exact if horizon is None else horizon
    assert data["horizon"] == exact
    values, r = [], 0
    for job, chain in zip(instance.jobs, chains):
        cost = [Fraction(0) if e >= job.release_date // c else None for e in range(horizon + 1)]
        for part in chain:
            after = [None] * (horizon + 1)
            for b in range(horizon + 1):
                for a in range(b + 1):
                    if cost[a] is None:
                        continue
                    total, need, taken = cost[a], part.scale, None
                    if forced is not None and forced[0] == r:
                        _, taken, t = forced
                        p, q = coarse(part)[taken]
                        if t < a or t + q > b:
                            continue
                        total, need = total + price(taken, t, p), need - 1
                    options = []
                    for k, (p, q) in coarse(part).items():
                        if b - a >= q:
                            least = min(price(k, t, p) for t in range(a, b - q + 1))
                            fits = room(part, k, b - a) if is_capped(part) else part.scale
                            options.append((least, fits - (k == taken)))
                    for least, fits in sorted(options):
                        take = min(need, fits)
                        total, need = total + take * least, need - take
                    if need == 0 and (after[b] is None or total < after[b]):
                        after[b] = total
            cost, r = after, r + 1
        values.append(min((v + job.weight * e for e, v in enumerate(cost) if v is not None), default=None))
    return values


def slow_bound(instance: Instance, data: dict, horizon: int | None = None) -> Fraction:
    paid = sum(
        g.count * Fraction(v, data["denominator"]) * n
        for g, runs in zip(instance.gpu_types, data["prices"])
        for v, n in runs
    )
    return data["coarsening"] * (sum(slow_values(instance, data, horizon)) - paid)


def random_dual(instance: Instance, seed: int, coarsening: int = 1) -> Dual:
    rng = np.random.default_rng(seed)
    limit = int(rng.choice([0, 4, 100]))
    problem = ChainProblem.of(instance, 6, coarsening=coarsening, window_limit=limit)
    prices = rng.integers(0, 9, (problem.num_types, problem.price_end))
    values = np.empty(problem.num_jobs, dtype=np.int64)
    usage = np.empty((problem.num_types, problem.length + problem.reach + 1), dtype=np.int64)
    sums = chain_windows.prefix_sums(problem, prices)
    chain_windows.evaluate_plain(problem, problem.weight << 2, sums, values, usage)
    paid = int((prices.sum(axis=1) * problem.count).sum())
    bound = Fraction(coarsening * (int(values.sum()) - paid), 4)
    return Dual(problem, 2, prices, values, bound, 1, True, limit)


@pytest.mark.parametrize("seed", range(12))
def test_value_is_that_of_the_reference_page(seed):
    instance = random_instance(seed, max_tasks=5, max_time=4)
    dual = random_dual(instance, seed, coarsening=1 + seed % 3)
    data = dual.certificate(instance).data
    assert slow_bound(instance, data) == dual.value
    # the horizon is long enough to be exact
    assert slow_bound(instance, data, horizon=data["horizon"] + 7) == dual.value


@pytest.mark.parametrize("seed", range(25))
def test_any_prices_give_a_bound(seed):
    instance = random_instance(seed)
    best = oracle.optimum(instance)
    for coarsening in (1, 2, 3):
        assert random_dual(instance, seed, coarsening).value <= best


def test_window_capacities_only_help():
    stronger = 0
    for seed in range(25):
        instance = random_instance(seed)
        weak = run(TimeIndexedLagrangian(iterations=60, round_capacity=False), instance).exact_bound.value
        strong = run(TimeIndexedLagrangian(iterations=60), instance).exact_bound.value
        assert strong <= oracle.optimum(instance)
        stronger += strong > weak
        # the same prices never give less with the windows
        dual = random_dual(instance, seed)
        plain = ChainProblem.of(instance, 6, window_limit=0)
        values = np.empty(plain.num_jobs, dtype=np.int64)
        usage = np.empty((plain.num_types, plain.length + plain.reach + 1), dtype=np.int64)
        sums = chain_windows.prefix_sums(plain, dual.prices)
        chain_windows.evaluate_plain(plain, plain.weight << 2, sums, values, usage)
        assert (values <= dual.job_values).all()
    assert stronger >= 3


def test_two_tasks_on_one_gpu_need_two_waves():
    # without windows both tasks of the round pay for one cheap place, and the bound stays at 3
    instance = make_instance({"g": 1}, [(1, 0, [(2, [3], [0])])])
    assert run("time-indexed-lagrangian", instance).bound == 6
    assert run(TimeIndexedLagrangian(round_capacity=False), instance).bound < 6


@pytest.mark.parametrize("coarsening", [1, 2])
def test_kernel_and_plain_twin_agree(coarsening):
    pytest.importorskip("numba")
    rng = np.random.default_rng(5)
    for seed in range(6):
        instance = random_instance(seed, max_tasks=12, max_time=7)
        problem = ChainProblem.of(instance, 30, coarsening=coarsening, window_limit=int(rng.choice([0, 9, 50])))
        prices = rng.integers(0, 50, (problem.num_types, problem.price_end))
        sums, weight = chain_windows.prefix_sums(problem, prices), problem.weight << 3
        rounds = int(np.diff(problem.round_start).max())
        made = []
        for compiled in (False, True):
            values = np.empty(problem.num_jobs, dtype=np.int64)
            usage = np.zeros((problem.num_types, problem.length + problem.reach + 1), dtype=np.int64)
            if compiled:
                _kernels.compiled(_chain_kernel.evaluate)(
                    *chain_windows.kernel_arguments(problem),
                    weight,
                    sums,
                    problem.length,
                    np.empty((rounds + 1, problem.length), dtype=np.int64),
                    np.empty((rounds, problem.length), dtype=np.int64),
                    values,
                    usage,
                    0,
                    problem.num_jobs,
                )
            else:
                chain_windows.evaluate_plain(problem, weight, sums, values, usage)
            made.append((values.tolist(), usage.tolist()))
        assert made[0] == made[1]


@pytest.mark.parametrize("seed", range(6))
def test_marginals_are_exact(seed):
    instance = random_instance(100 + seed, max_tasks=5, max_time=3)
    dual = random_dual(instance, seed)
    data = dual.certificate(instance).data
    base = slow_values(instance, data)
    a = instance.arrays
    for r, k, _, marginal in pruning.marginals(dual):
        n = int(a.round_job[r])
        for t in range(0, len(marginal), 2):
            exact = slow_values(instance, data, horizon=data["horizon"] + 12, forced=(r, k, t))[n]
            if exact is None:
                assert marginal[t] >= chain_windows.INFINITE // 2
            else:
                assert Fraction(int(marginal[t]), 4) == exact - base[n]


@pytest.mark.parametrize("objective", [WTC, Objective.TOTAL_WEIGHTED_FLOW])
def test_pruning_keeps_every_optimal_schedule(objective):
    pruned = 0
    for seed in range(40):
        instance = random_instance(seed)
        best, rows = oracle.solve(instance, str(objective))
        if seed % 4:
            dual = run(TimeIndexedLagrangian(iterations=60), instance, objective=objective).extra["dual"]
        else:
            dual = random_dual(instance, seed, coarsening=2)
        made = pruning.exclusions(instance, dual, best, objective)
        a = instance.arrays
        for job, rnd, _, gpu, start in rows:
            r, k = int(a.round_start[job]) + rnd, int(a.gpu_type[gpu])
            assert made.earliest[r, k] <= start <= made.latest[r, k]
            assert any(x <= start <= y for x, y in made.allowed[(r, k)])
        pruned += int((made.earliest > made.latest)[a.allowed].sum())
    assert pruned > 10


def test_everything_is_pruned_below_the_bound():
    instance = random_instance(3)
    dual = run("time-indexed-lagrangian", instance).extra["dual"]
    made = pruning.exclusions(instance, dual, int(dual.value) - 1, WTC)
    assert (made.earliest > made.latest).any(axis=None)


def test_pruning_can_be_stopped(two_jobs):
    dual = run(TimeIndexedLagrangian(iterations=5), two_jobs).extra["dual"]
    calls = []
    assert pruning.exclusions(two_jobs, dual, 1000, WTC, stop=lambda: calls.append(1) or len(calls) > 2) is None
    assert len(calls) == 3


def test_flow_is_completion_less_a_constant(two_jobs):
    made = TimeIndexedLagrangian(iterations=40)
    completion, flow = run(made, two_jobs), run(made, two_jobs, objective="total-weighted-flow")
    assert completion.exact_bound.value - flow.exact_bound.value == two_jobs.total_weighted_release
    assert flow.exact_bound.certificate.bound == completion.exact_bound.value
    assert completion.bound_trust is Trust.DERIVED
    with pytest.raises(UsageError, match="makespan"):
        run("time-indexed-lagrangian", two_jobs, objective="makespan")


def test_limits_and_parameters(two_jobs):
    none = run("time-indexed-lagrangian", two_jobs, limits=Limits(time=0.0))
    assert (none.status, none.stop_reason, none.bound, none.objective) == (Status.UNKNOWN, StopReason.TIME, None, None)
    assert run("time-indexed-lagrangian", two_jobs, limits=Limits(work=0)).stop_reason is StopReason.WORK
    few = run("time-indexed-lagrangian", two_jobs, limits=Limits(work=1))
    assert few.work == 1 and few.bound is not None
    with pytest.raises(UsageError, match="iterations"):
        TimeIndexedLagrangian(iterations=0)
    with pytest.raises(UsageError, match="round_capacity"):
        TimeIndexedLagrangian(round_capacity=1)


def test_stopping_within_an_evaluation_leaves_a_bound(monkeypatch):
    instance = random_instance(5)
    monkeypatch.setattr(lagrangian, "STOP_CELLS", 1)
    problem, limit = suitable_problem(instance, 20)
    best = oracle.optimum(instance)
    values = set()
    for patience in range(12):
        calls = []
        dual = lagrangian.maximise(
            instance,
            problem,
            limit,
            upper_bound=best,
            iterations=50,
            stop=lambda calls=calls, patience=patience: calls.append(1) or len(calls) > patience,
        )
        assert slow_bound(instance, dual.certificate(instance).data) == dual.value <= best
        values.add(dual.iterations)
    assert 0 in values and max(values) > 2


def test_a_warm_start_is_kept_and_guides(two_jobs):
    schedule = quick_schedule(two_jobs)
    result = run(TimeIndexedLagrangian(iterations=40), two_jobs, warm_start=schedule)
    assert result.objective == evaluate(two_jobs, schedule)
    assert result.bound <= result.objective


def test_huge_numbers_do_not_overflow():
    big = 2**20
    jobs = [
        (997, 0, [(3, [big, 2 * big], [5, 0]), (2, [None, big], [None, 1])]),
        (1, 7 * big, [(5, [big, big], [0, 0])]),
    ]
    instance = make_instance({"a": 2, "b": 1}, jobs)
    problem, _ = suitable_problem(instance, quick_schedule(instance).makespan)
    assert problem.coarsening > 1
    result = run(TimeIndexedLagrangian(iterations=40), instance)
    assert 0 < result.bound <= evaluate(instance, quick_schedule(instance))
    # work alone: the first job's path
    assert result.bound >= 0.9 * (997 * (big + 5 + big + 1) + 8 * big)


def test_scaling_weights_scales_the_bound():
    instance = random_instance(11)
    dual = random_dual(instance, 4)
    tripled = instance.model_copy(
        update={"jobs": tuple(job.model_copy(update={"weight": 3 * job.weight}) for job in instance.jobs)}
    )
    data = dual.certificate(instance).data
    more = {**data, "prices": [[[3 * v, n] for v, n in runs] for runs in data["prices"]]}
    assert slow_bound(tripled, more) == 3 * dual.value


def test_quick_schedule_is_feasible():
    from hetopt.core.feasibility import violations

    for seed in range(20):
        instance = random_instance(seed, max_tasks=20)
        schedule = quick_schedule(instance)
        assert isinstance(schedule, Schedule) and not violations(instance, schedule)


@pytest.mark.ci
@pytest.mark.parametrize("switch", ["0", "1"])
def test_same_bytes_in_every_process(switch, tmp_path, two_jobs):
    path = tmp_path / "i.json"
    path.write_text(two_jobs.to_json())
    code = (
        "import sys; from hetopt.core.instance import Instance; from hetopt.solvers.run import run;"
        "from hetopt.solvers.relaxations import time_indexed_lagrangian as t; t.COMPILE_FROM = 0;"
        "print(run('time-indexed-lagrangian', Instance.load(sys.argv[1]), params={'iterations': 30})"
        ".exact_bound.certificate.to_json())"
    )
    out = set()
    for hash_seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": hash_seed, "HETOPT_NO_NUMBA": switch}
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], env=env, capture_output=True, text=True, check=True
        )
        out.add(done.stdout)
    assert len(out) == 1
    own = run(TimeIndexedLagrangian(iterations=30), two_jobs).exact_bound.certificate
    assert json.loads(out.pop()) == own.to_dict()


def test_a_certificate_changes_with_its_prices(two_jobs):
    dual = random_dual(two_jobs, 3)
    data = dual.certificate(two_jobs).data
    assert slow_bound(two_jobs, data) == dual.value
    shifted = replace(dual, prices=np.roll(dual.prices, 1, axis=1)).certificate(two_jobs).data
    assert slow_bound(two_jobs, shifted) != dual.value
