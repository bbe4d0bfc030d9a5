"""cpsat, cpsat-per-gpu: agreement with exhaustive search, hints, limits, statuses, silence, determinism."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from hetopt.core.certificate import Bound
from hetopt.core.errors import OutputError, UsageError, VerificationError
from hetopt.core.feasibility import violations
from hetopt.core.objectives import evaluate
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Exclusions, Limits, NullObserver
from hetopt.core.status import Objective, Status, StopReason, Trust
from hetopt.models._native import load_cpsat
from hetopt.models.clairvoyant.gpu_cpsat import GpuCpSat
from hetopt.models.clairvoyant.interval_cpsat import IntervalCpSat, round_lengths
from hetopt.models.clairvoyant.windows import first_schedule, left_shifted
from hetopt.solvers.backends.cpsat import solve_cp
from hetopt.solvers.exact.cpsat import CpSat
from hetopt.solvers.exact.cpsat_per_gpu import CpSatPerGpu
from hetopt.solvers.relaxations import pruning
from hetopt.solvers.relaxations.time_indexed_lagrangian import TimeIndexedLagrangian
from hetopt.solvers.run import run
from tests import oracle
from tests.conftest import make_instance
from tests.solvers.random_instances import random_instance

WTC = Objective.TOTAL_WEIGHTED_COMPLETION


def random_schedule(instance, seed):
    """Feasible, with idle time: random GPUs, random order, random waits."""
    rng = np.random.default_rng(seed)
    a = instance.arrays
    free = [0] * a.num_gpus
    gpu, start = np.zeros(a.num_tasks, dtype=int), np.zeros(a.num_tasks, dtype=int)
    ready, following = a.release_date.tolist(), a.round_start[:-1].tolist()
    open_jobs = list(range(a.num_jobs))
    while open_jobs:
        n = int(rng.choice(open_jobs))
        r, synced = following[n], 0
        for i in range(int(a.task_start[r]), int(a.task_start[r + 1])):
            g = int(rng.choice([m for m in range(a.num_gpus) if a.allowed[r, a.gpu_type[m]]]))
            k = a.gpu_type[g]
            gpu[i], start[i] = g, max(free[g], ready[n]) + int(rng.integers(0, 3))
            free[g] = start[i] + a.processing_time[r, k]
            synced = max(synced, free[g] + a.sync_time[r, k])
        ready[n], following[n] = synced, r + 1
        if following[n] == a.round_start[n + 1]:
            open_jobs.remove(n)
    return Schedule.from_starts(instance, gpu, start)


@pytest.mark.parametrize("solver", [CpSat(), CpSatPerGpu(), CpSat(symmetry=False, chain_cuts=False, hint=False)])
@pytest.mark.parametrize("objective", list(Objective))
def test_agrees_with_exhaustive_search(solver, objective):
    for seed in range(6):
        instance = random_instance(200 + seed)
        result = run(solver, instance, objective=objective)
        assert result.status is Status.OPTIMAL
        assert result.objective == result.bound == oracle.optimum(instance, str(objective))


@pytest.mark.slow
def test_agrees_with_exhaustive_search_on_many():
    for seed in range(300):
        instance = random_instance(1000 + seed)
        objective = list(Objective)[seed % 3]
        best = oracle.optimum(instance, str(objective))
        assert run("cpsat", instance, objective=objective).objective == best
        if objective is not Objective.MAKESPAN:
            dual = run(TimeIndexedLagrangian(iterations=100), instance, objective=objective).extra["dual"]
            made = pruning.exclusions(instance, dual, best, objective)
            result = run("cpsat", instance, objective=objective, exclusions=made, bound=dual.bound(instance, objective))
            assert result.objective == result.bound == best


@pytest.mark.parametrize("formulation", [IntervalCpSat(), GpuCpSat()])
def test_decoding_an_encoded_schedule_gives_it_back(formulation):
    for seed in range(15):
        instance = random_instance(seed, max_tasks=9)
        schedule = random_schedule(instance, seed)
        assert not violations(instance, schedule)
        for objective in Objective:
            built = formulation.build(
                instance, objective, upper_bound=evaluate(instance, schedule, objective), hint=schedule
            )
            values = formulation.encode(built, schedule)
            assert sorted(values) == list(range(len(built.proto.proto.variables)))
            decoded = formulation.decode(built, lambda x, v=values: v[x.index])
            shifted = left_shifted(instance, schedule)
            assert not violations(instance, decoded)
            assert evaluate(instance, decoded, objective) == evaluate(instance, shifted, objective)
            values = formulation.encode(built, decoded)
            again = formulation.decode(built, lambda x, v=values: v[x.index])
            assert again == decoded


@pytest.mark.parametrize("formulation", [IntervalCpSat(), GpuCpSat()])
def test_the_hint_is_feasible_for_the_model(formulation):
    cp = load_cpsat()
    for seed in range(10):
        instance = random_instance(seed, max_tasks=9)
        schedule = random_schedule(instance, seed)
        for objective in Objective:
            value = evaluate(instance, schedule, objective)
            built = formulation.build(instance, objective, upper_bound=value, hint=schedule)
            for index, fixed in formulation.encode(built, schedule).items():
                built.proto.add(built.proto.get_int_var_from_proto_index(index) == fixed)
            solver = cp.CpSolver()
            solver.parameters.num_workers = 1
            assert solver.status_name(solver.solve(built.proto)) == "OPTIMAL"
            reached = built.divisor * round(solver.objective_value) + built.constant
            assert reached == evaluate(instance, left_shifted(instance, schedule), objective)


def room(a, r, t):
    """Tasks of round r that can train and synchronise within t ticks."""
    return sum(
        int(a.gpu_count[k]) * max(0, (t - int(a.sync_time[r, k])) // int(a.processing_time[r, k]))
        for k in np.flatnonzero(a.allowed[r])
    )


def test_round_lengths_are_shortest():
    for seed in range(20):
        instance = random_instance(seed, max_tasks=9)
        a = instance.arrays
        for r, length in enumerate(round_lengths(instance).tolist()):
            assert room(a, r, length) >= a.scale[r] > room(a, r, length - 1)


def test_never_worse_than_the_warm_start():
    for seed in range(6):
        instance = random_instance(seed, max_tasks=30, max_time=9)
        good = run("cpsat", instance, limits=Limits(work=200)).incumbent
        for limits in (Limits(time=0.0), Limits(work=0), Limits(work=1)):
            result = run("cpsat", instance, limits=limits, warm_start=good)
            assert result.objective <= evaluate(instance, good)
            assert result.warm_start == "accepted"


@pytest.mark.parametrize("solver", ["cpsat", "cpsat-per-gpu"])
def test_no_time_no_numbers(solver):
    instance = random_instance(7, max_tasks=40, max_time=9)
    for limits, reason in ((Limits(time=0.0), StopReason.TIME), (Limits(work=0), StopReason.WORK)):
        result = run(solver, instance, limits=limits)
        assert (result.status, result.stop_reason) == (Status.UNKNOWN, reason)
        assert result.incumbent is result.objective is result.bound is result.gap is None


def test_work_limit_stops_with_what_is_there(two_jobs):
    jobs = [(w, 2 * w, [(3, [5 + w, 9], [1, 2]), (2, [4, 6 + w], [0, 1]), (4, [3, 5], [2, 0])]) for w in range(1, 8)]
    instance = make_instance({"a": 2, "b": 2}, jobs)
    result = run("cpsat", instance, limits=Limits(work=5))
    assert result.status is Status.FEASIBLE and result.stop_reason is StopReason.WORK
    assert result.bound is None or result.bound <= result.objective
    assert result.objective <= evaluate(instance, first_schedule(instance, WTC))


def test_an_outside_bound_ends_the_run(two_jobs):
    best = run("cpsat", two_jobs)
    bound = Bound(best.exact_bound.value, "elsewhere", Trust.DERIVED)
    result = run("cpsat", two_jobs, warm_start=best.incumbent, bound=bound)
    assert result.status is Status.OPTIMAL and result.work == 0
    assert result.exact_bound.source == "elsewhere"


def test_exclusions_below_the_optimum_prove_it(two_jobs):
    best = run("cpsat", two_jobs)
    dual = run(TimeIndexedLagrangian(iterations=50), two_jobs).extra["dual"]
    made = pruning.exclusions(two_jobs, dual, best.objective - 1, WTC)
    # no schedule of value below the optimum: the model is infeasible, and that is the proof
    result = run("cpsat", two_jobs, exclusions=made, warm_start=best.incumbent)
    assert result.status is Status.OPTIMAL and result.bound == best.objective


def test_wrong_exclusions_are_found_out(two_jobs):
    a = two_jobs.arrays
    shape = (a.num_rounds, a.num_types)
    best = run("cpsat", two_jobs)
    wrong = Exclusions(WTC, best.objective + 100, np.zeros(shape, dtype=np.int64), np.full(shape, -1, dtype=np.int64))
    with pytest.raises((VerificationError, ValueError)):
        run("cpsat", two_jobs, exclusions=wrong, warm_start=best.incumbent)


@pytest.mark.parametrize(
    ("rows", "word", "has_value"),
    [
        ("optimal", "OPTIMAL", True),
        ("infeasible", "INFEASIBLE", False),
        ("unknown", "UNKNOWN", False),
    ],
)
def test_numbers_exist_only_where_the_status_says_so(rows, word, has_value):
    cp = load_cpsat()
    model = cp.CpModel()
    x = [model.new_int_var(0, 9, "") for _ in range(3)]
    model.add(sum(x) >= (40 if rows == "infeasible" else 7))
    model.minimize(sum(x))
    answer = solve_cp(
        model,
        time_limit=0.0 if rows == "unknown" else None,
        work_limit=None,
        threads=1,
        seed=0,
        parameters={},
        stop_requested=lambda: False,
        on_solution=lambda values: None,
        on_bound=lambda value: None,
    )
    assert answer.word == word
    assert (answer.value is not None) == has_value
    assert answer.bound == (7.0 if has_value else None)


def test_an_invalid_model_is_an_error():
    cp = load_cpsat()
    model = cp.CpModel()
    x = model.new_int_var(0, 2**60, "")
    y = model.new_int_var(0, 2**60, "")
    model.add(2**10 * x + 2**10 * y >= 3)
    with pytest.raises(VerificationError, match="refuses the model"):
        solve_cp(
            model,
            time_limit=None,
            work_limit=None,
            threads=1,
            seed=0,
            parameters={},
            stop_requested=lambda: False,
            on_solution=lambda values: None,
            on_bound=lambda value: None,
        )


def test_big_weights_and_times_agree_with_exhaustive_search():
    """Weights and times whose products pass 2^31 (and 2^40)."""
    rng = np.random.default_rng(3)
    for _ in range(4):
        big = [int(x) for x in rng.integers(10**5, 10**6, 6)]
        jobs = [
            (big[0] * 7, 0, [(2, [big[1], None], [3, None])]),
            (big[2], 11, [(1, [big[3], big[4]], [0, 9])]),
            (big[5] * 3, 5, [(2, [big[4], big[1]], [1, 1])]),
        ]
        instance = make_instance({"a": 1, "b": 1}, jobs)
        assert IntervalCpSat().build(instance, WTC).wide
        result = run("cpsat", instance)
        assert result.status is Status.OPTIMAL
        assert result.objective == oracle.optimum(instance)


def test_common_factors_of_weights_are_divided_out():
    instance = make_instance({"a": 1}, [(6, 0, [(1, [3], [0])]), (9, 0, [(1, [2], [0])])])
    assert IntervalCpSat().build(instance, WTC).divisor == 3
    assert run("cpsat", instance).objective == 48


class Impatient(NullObserver):
    """Asks to stop soon after the start."""

    def __init__(self):
        self.calls = 0

    def stop_requested(self):
        self.calls += 1
        return self.calls > 8


def hard_instance():
    rng = np.random.default_rng(0)
    jobs = []
    for _ in range(14):
        rounds = [
            (int(rng.integers(1, 5)), rng.integers(3, 30, 3).tolist(), rng.integers(0, 6, 3).tolist()) for _ in range(5)
        ]
        jobs.append((int(rng.integers(1, 10)), int(rng.integers(0, 20)), rounds))
    return make_instance({"a": 2, "b": 2, "c": 2}, jobs)


def test_interrupt_returns_the_best_so_far():
    outcome = CpSat().solve(
        hard_instance(),
        objective=WTC,
        limits=Limits(),
        seed=0,
        incumbent=None,
        bound=None,
        exclusions=None,
        observer=Impatient(),
    )
    assert outcome.stop_reason is StopReason.INTERRUPTED
    assert outcome.schedule is not None
    assert not any(t.name == "cp-sat" for t in threading.enumerate())


def test_limit_that_ends_in_presolve_keeps_the_hint():
    instance = hard_instance()
    result = run("cpsat", instance, limits=Limits(time=0.6))
    assert result.status is Status.FEASIBLE and result.stop_reason is StopReason.TIME
    assert result.objective <= evaluate(instance, first_schedule(instance, WTC))


def test_silent_unless_asked(capfd, tmp_path, two_jobs):
    run("cpsat", two_jobs)
    assert capfd.readouterr() == ("", "")
    log = tmp_path / "log.txt"
    run(CpSat(log_file=str(log)), two_jobs)
    assert capfd.readouterr() == ("", "") and "CpSolverResponse" in log.read_text()
    run(CpSat(verbose=True), two_jobs)
    out, err = capfd.readouterr()
    assert out == "" and "CpSolverResponse" in err
    with pytest.raises(OutputError, match="no-such-folder"):
        run(CpSat(log_file=str(tmp_path / "no-such-folder" / "log.txt")), two_jobs)


@pytest.mark.parametrize("params", [{"symmetry": 1}, {"linearization_level": 3}, {"log_file": 5}, {"hint": "yes"}])
def test_parameters_are_checked(params):
    with pytest.raises(UsageError, match=next(iter(params))):
        CpSat(**params)


def test_history_goes_one_way(two_jobs):
    history = run("cpsat", hard_instance(), limits=Limits(work=10)).history
    values = [p.incumbent for p in history if p.incumbent is not None]
    bounds = [p.bound for p in history if p.bound is not None]
    assert values == sorted(values, reverse=True) and bounds == sorted(bounds)


@pytest.mark.ci
def test_one_thread_repeats_in_every_process(tmp_path):
    path = tmp_path / "i.json"
    path.write_text(hard_instance().to_json())
    code = (
        "import sys; from hetopt.core.instance import Instance; from hetopt.core.solver import Limits;"
        "from hetopt.solvers.run import run;"
        "r = run('cpsat', Instance.load(sys.argv[1]), limits=Limits(work=4), seed=3);"
        "assert r.deterministic; print(r.incumbent.to_json(), r.bound, r.work)"
    )
    out = set()
    for hash_seed in ("1", "77"):
        env = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], env=env, capture_output=True, text=True, check=True
        )
        out.add(done.stdout)
    assert len(out) == 1


def test_two_threads_say_so(two_jobs):
    result = run("cpsat", two_jobs, limits=Limits(threads=2))
    assert not result.deterministic
    assert result.objective == run("cpsat", two_jobs).objective


def test_building_stops_when_the_limit_is_over():
    began = time.perf_counter()
    jobs = [(1, 0, [(4, [3, 5], [1, 1])] * 6)] * 400
    instance = make_instance({"a": 8, "b": 8}, jobs)
    calls = []

    def stop():
        calls.append(time.perf_counter() - began)
        return len(calls) > 3

    from hetopt.models.base import BuildStopped

    with pytest.raises(BuildStopped):
        IntervalCpSat().build(instance, WTC, stop=stop)
    assert len(calls) == 4
