"""Strengthened bounds: lengths against brute force, monotone in what is added, valid, checkable."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from hetopt.analysis.certify.check import check_certificate
from hetopt.core.errors import UsageError
from hetopt.core.instance import GpuType, Instance, Job, SyncRound
from hetopt.core.solver import Limits
from hetopt.core.status import StopReason
from hetopt.models.clairvoyant.round_terms import Tail, capacity_of, round_terms, task_work
from hetopt.solvers._kernels import SWITCH
from hetopt.solvers.relaxations._evidence import exact_dot
from hetopt.solvers.relaxations._preemptive import mean_busy_times
from hetopt.solvers.relaxations._prices import assignment_prices, single_type_prices, whole_prices
from hetopt.solvers.relaxations._splitting import project
from hetopt.solvers.relaxations.midpoint_lp import solve_midpoint_lp
from hetopt.solvers.relaxations.midpoint_lp_strong import solve_midpoint_lp_strong
from hetopt.solvers.run import run
from tests.solvers.relaxations.instances import random_instance


def _one_round(rng) -> Instance:
    kinds = int(rng.integers(1, 3))
    part = SyncRound(
        scale=int(rng.integers(1, 5)),
        processing_time=tuple(int(x) for x in rng.integers(1, 6, kinds)),
        sync_time=tuple(int(x) for x in rng.integers(0, 5, kinds)),
    )
    counts = rng.integers(1, 3, kinds)
    return Instance(
        gpu_types=tuple(GpuType(name=f"k{k}", count=int(c)) for k, c in enumerate(counts)),
        jobs=(Job(name="j", rounds=(part,)),),
    )


def test_lengths_and_ends_of_rounds_are_exact() -> None:
    """All ways to spread d alike tasks over the GPUs: least end; least sum of (end of round - midpoint), each GPU packed late."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        instance = _one_round(rng)
        part = instance.jobs[0].rounds[0]
        types = [k for k, gpu in enumerate(instance.gpu_types) for _ in range(gpu.count)]
        terms = round_terms(instance, Tail.ROUND)
        length, twice_end = None, None
        for where in product(range(len(types)), repeat=part.scale):
            on = [where.count(m) for m in range(len(types))]
            p = [part.processing_time[k] for k in types]
            s = [part.sync_time[k] for k in types]
            ends = max(n * p[m] + s[m] for m, n in enumerate(on) if n)
            behind = sum(p[m] + 2 * s[m] + 2 * j * p[m] for m, n in enumerate(on) for j in range(n))
            length = ends if length is None else min(length, ends)
            twice_end = behind if twice_end is None else min(twice_end, behind)
        assert int(terms.length[0]) == length
        assert int(terms.end2[0]) == twice_end


def test_lengths_do_not_overflow() -> None:
    part = SyncRound(scale=2**25, processing_time=(2**26, 2**27), sync_time=(5, 0))
    instance = Instance(
        gpu_types=(GpuType(name="a", count=1), GpuType(name="b", count=3)),
        jobs=(Job(name="j", rounds=(part,)),),
    )
    terms = round_terms(instance, Tail.ROUND)
    assert int(terms.end2[0]) > 2**63  # one GPU after the other, doubled and summed
    result = run("midpoint-lp-strong", instance)
    assert check_certificate(instance, result.certificate).valid
    # 2 unit-speed equivalents: one GPU at full and three at half speed
    assert result.bound >= 2**25 * 2**26 // 5 * 2


def test_stronger_tails_never_lower_the_bound() -> None:
    rng = np.random.default_rng(11)
    for _ in range(15):
        instance = random_instance(rng)
        values = [
            solve_midpoint_lp(instance, tail=tail, speed=speed).lower_bound
            for tail, speed in ((Tail.BASE, False), (Tail.BASE, True), (Tail.CHAIN, True), (Tail.ROUND, True))
        ]
        for weaker, stronger in pairwise(values):
            assert float(stronger) >= float(weaker) * (1 - 1e-9)
        assert float(solve_midpoint_lp_strong(instance).lower_bound) >= float(values[-1]) * (1 - 1e-3)


def test_kernel_and_plain_loop_give_the_same_bytes(monkeypatch) -> None:
    rng = np.random.default_rng(2)
    for size in (1, 2, 7, 200):
        data = rng.random(size), rng.integers(1, 9, size) * 1.0, rng.integers(0, 50, size) * 1.0
        fast = mean_busy_times(*data)
        monkeypatch.setenv(SWITCH, "1")
        assert mean_busy_times(*data).tobytes() == fast.tobytes()
        monkeypatch.delenv(SWITCH)


def test_mean_busy_times_by_hand() -> None:
    # job 0 (low priority, work 4) is interrupted by job 1 (work 1, release 2): runs in [0, 2) and [3, 5)
    got = mean_busy_times(np.array([1.0, 5.0]), np.array([4.0, 1.0]), np.array([0.0, 2.0]))
    assert got.tolist() == [(2.0 + 8.0) / 4, 2.5]


def test_projection_is_the_nearest_point() -> None:
    """No feasible direction improves it: compared with many feasible points."""
    rng = np.random.default_rng(4)
    for _ in range(30):
        size = int(rng.integers(2, 6))
        work, point = rng.integers(1, 5, size) * 1.0, rng.random(size) * 6
        near = project(point, work)
        masks = [[m >> i & 1 for i in range(size)] for m in range(1, 2**size)]
        sets = np.array(masks, dtype=float)

        def feasible(h, sets=sets, work=work) -> bool:
            return bool((sets @ (work * h) >= (sets @ work) ** 2 / 2 - 1e-9).all())

        assert feasible(near)
        for _ in range(200):
            other = near + rng.normal(size=size) * rng.choice([0.01, 0.3, 2.0])
            if feasible(other):
                # obtuse angle at the projection
                assert work @ ((point - near) * (other - near)) <= 1e-7


def test_exact_dot() -> None:
    rng = np.random.default_rng(8)
    left, right = rng.integers(0, 2**62, 500), rng.integers(0, 2**61, 500)
    assert exact_dot(left, right) == sum(int(x) * int(y) for x, y in zip(left, right, strict=True))
    assert exact_dot(left.astype(object) * 4, right) == 4 * exact_dot(left, right)


def test_prices_are_positive_and_best_for_the_total_load() -> None:
    rng = np.random.default_rng(9)
    for _ in range(20):
        instance = random_instance(rng)
        a = instance.arrays

        def load(pi, a=a, instance=instance) -> float:
            return float((a.scale * task_work(instance, pi)).sum() / float(np.dot(pi, a.gpu_count)))

        best = whole_prices(instance, assignment_prices(instance))
        assert min(best) >= 1
        assert load(best) >= load((1,) * a.num_types) * (1 - 2e-3)
        for _ in range(30):
            assert load(best) >= load(tuple(rng.integers(1, 1000, a.num_types).tolist())) * (1 - 5e-3)
        for prices in single_type_prices(instance):
            assert capacity_of(instance, task_work(instance, prices)) > 0


def test_ordered_types_gain_from_prices() -> None:
    rng = np.random.default_rng(10)
    jobs = tuple(
        Job(
            name=f"j{n}",
            weight=int(rng.integers(1, 5)),
            rounds=(SyncRound(repeat=5, scale=2, processing_time=(int(t), 2 * int(t), 3 * int(t))),),
        )
        for n, t in enumerate(rng.integers(3, 20, 30))
    )
    gpus = tuple(GpuType(name=f"k{k}", count=2) for k in range(3))
    instance = Instance(gpu_types=gpus, jobs=jobs)
    plain = solve_midpoint_lp(instance).lower_bound
    priced = run("midpoint-lp-strong", instance, params={"tail": "base", "release": False})
    assert priced.exact_bound.value >= 1.15 * plain
    assert check_certificate(instance, priced.certificate).valid


@pytest.mark.parametrize("solver", ["midpoint-lp-strong", "convex-qp"])
def test_stopped_early(two_jobs: Instance, solver) -> None:
    result = run(solver, two_jobs, limits=Limits(time=0.0))
    assert result.stop_reason is StopReason.TIME
    assert check_certificate(two_jobs, result.certificate).valid


def test_large_instances_use_the_lagrangian() -> None:
    rng = np.random.default_rng(12)
    instance = random_instance(rng, jobs=30, rounds=5)
    big = solve_midpoint_lp_strong(instance, exact_rounds=0)
    small = solve_midpoint_lp_strong(instance)
    assert float(big.lower_bound) == pytest.approx(float(small.lower_bound), rel=0.05)


@pytest.mark.parametrize(
    ("solver", "params", "what"),
    [
        ("midpoint-lp-strong", {"tail": "long"}, "tail"),
        ("convex-qp", {"steps": 0}, "steps"),
        ("convex-qp", {"intervals": 0}, "intervals"),
        ("combinatorial", {"layers": -1}, "layers"),
    ],
)
def test_parameters_are_checked(two_jobs: Instance, solver, params, what) -> None:
    with pytest.raises(UsageError, match=what):
        run(solver, two_jobs, params=params)


def test_convex_qp_says_when_it_does_nothing(two_jobs: Instance) -> None:
    result = run("convex-qp", two_jobs, params={"max_rounds": 2})
    assert result.bound is None and "max_rounds" in result.message
