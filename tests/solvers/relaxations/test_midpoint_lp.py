"""The midpoint LP: optimum, midpoints, certified values, at both sizes and when stopped."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hetopt.analysis.certify.check import check_certificate
from hetopt.core.errors import UsageError
from hetopt.core.instance import GpuType, Instance, Job, SyncRound
from hetopt.core.solver import Limits
from hetopt.core.status import Objective, StopReason, Trust
from hetopt.solvers.relaxations.midpoint_lp import MidpointLp, solve_midpoint_lp
from hetopt.solvers.run import run
from tests.conftest import make_instance
from tests.solvers.relaxations.instances import naive_lp, random_instance

# (M, [(weight, arrival, [(tasks, time), ...]), ...]): exact LP optimum, theory 6.1 and 6.3
GOLDEN = [
    (3, [(1, 1519, [(3, 1)]), (10**5, 1040, [(1, 960), (2, 1), (1, 1)]), (1, 0, [(3, 3602)])], "2163418713629/10806"),
    (4, [(1, 29, [(4, 1)]), (1000, 0, [(1, 60), (3, 1), (1, 1)]), (1, 0, [(4, 97)])], "24110289/388"),
    (4, [(1, 29, [(4, 1)]), (10**4, 0, [(1, 60), (3, 1), (1, 1)]), (1, 0, [(4, 97)])], "240614289/388"),
    (4, [(1, 999, [(4, 1)]), (10**5, 0, [(1, 2000), (3, 1), (1, 1)]), (1, 0, [(4, 3232)])], "2588245293159/12928"),
    (5, [(1, 29, [(5, 1)]), (10**4, 0, [(1, 60), (4, 1), (1, 1)]), (1, 0, [(5, 101)])], "313171464/505"),
    (5, [(1, 999, [(5, 1)]), (10**5, 0, [(1, 2000), (4, 1), (1, 1)]), (1, 0, [(5, 3389)])], "3392468572504/16945"),
    (6, [(1, 999, [(6, 1)]), (10**5, 0, [(1, 2000), (5, 1), (1, 1)]), (1, 0, [(6, 3492)])], "12584069584897/62856"),
    (1, [(1, 0, [(1, 2000)]), (10**5, 1000, [(1, 1), (1, 1)])], "100202001"),
]


def _alike(gpus: int, jobs) -> Instance:
    return make_instance({"A": gpus}, [(w, a, [(d, (p,), (0,)) for d, p in rounds]) for w, a, rounds in jobs])


def _completions(instance: Instance, midpoint: np.ndarray) -> np.ndarray:
    a = instance.arrays
    last = a.round_start[1:] - 1
    return midpoint[last] + a.min_processing_time[last] / 2 + a.min_sync_time[last]


@pytest.mark.parametrize(("gpus", "jobs", "value"), GOLDEN)
def test_exact_optimum_of_the_counterexamples(gpus, jobs, value) -> None:
    found = solve_midpoint_lp(_alike(gpus, jobs))
    assert found.lower_bound == Fraction(value)
    assert found.optimal and found.method == "cutting-plane"
    assert found.primal == pytest.approx(float(Fraction(value)), rel=1e-9)


def test_midpoints_of_the_counterexample() -> None:
    found = solve_midpoint_lp(_alike(*GOLDEN[1][:2]))
    assert found.midpoint == pytest.approx([29.5, 30, 60.5, 61.5, 23831 / 388], abs=1e-6)


def test_agrees_with_the_lp_written_out() -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        instance = random_instance(rng)
        value, rows, right = naive_lp(instance)
        found = solve_midpoint_lp(instance)
        assert found.optimal
        assert float(found.lower_bound) == pytest.approx(value, rel=1e-7)
        point = np.concatenate((found.midpoint, _completions(instance, found.midpoint)))
        assert (rows @ point <= right + 1e-6).all()
        weights = [job.weight for job in instance.jobs]
        assert np.dot(weights, point[instance.num_rounds :]) == pytest.approx(value, rel=1e-7)


def test_averaged_brackets_the_optimum_within_its_stated_gap() -> None:
    rng = np.random.default_rng(6)
    for _ in range(12):
        instance = random_instance(rng, jobs=5, rounds=3)
        exact = float(solve_midpoint_lp(instance).lower_bound)
        loose = solve_midpoint_lp(instance, exact_rounds=0, tolerance=1e-3)
        assert loose.method == "averaged"
        assert float(loose.lower_bound) <= exact * (1 + 1e-9)
        assert loose.primal >= exact * (1 - 1e-9)
        assert loose.stop_reason is StopReason.GAP and loose.gap <= 1.001e-3
        chain = loose.midpoint[1:] - loose.midpoint[:-1]
        a = instance.arrays
        q, s, same = a.min_processing_time, a.min_sync_time, a.round_job[1:] == a.round_job[:-1]
        assert (chain[same] >= (q[:-1] / 2 + s[:-1] + q[1:] / 2)[same] - 1e-6).all()
        assert (loose.midpoint >= a.release_date[a.round_job] + q / 2 - 1e-6).all()


def test_scaling_times_and_weights_scales_the_bound(two_jobs: Instance) -> None:
    plain = solve_midpoint_lp(two_jobs).lower_bound
    scaled = two_jobs.model_copy(
        update={
            "jobs": tuple(
                Job(
                    name=job.name,
                    weight=3 * job.weight,
                    release_date=7 * job.release_date,
                    rounds=tuple(
                        SyncRound(
                            repeat=r.repeat,
                            scale=r.scale,
                            processing_time=tuple(None if p is None else 7 * p for p in r.processing_time),
                            sync_time=tuple(None if s is None else 7 * s for s in r.sync_time),
                        )
                        for r in job.rounds
                    ),
                )
                for job in two_jobs.jobs
            )
        }
    )
    assert float(solve_midpoint_lp(scaled).lower_bound) == pytest.approx(21 * float(plain), rel=1e-9)


def test_order_of_jobs_and_types_does_not_matter() -> None:
    rng = np.random.default_rng(7)
    for _ in range(15):
        instance = random_instance(rng)
        turned = instance.model_copy(
            update={
                "gpu_types": instance.gpu_types[::-1],
                "jobs": tuple(
                    Job(
                        name=job.name,
                        weight=job.weight,
                        release_date=job.release_date,
                        rounds=tuple(
                            SyncRound(
                                repeat=r.repeat,
                                scale=r.scale,
                                processing_time=r.processing_time[::-1],
                                sync_time=r.sync_time[::-1],
                            )
                            for r in job.rounds
                        ),
                    )
                    for job in instance.jobs[::-1]
                ),
            }
        )
        one, other = solve_midpoint_lp(instance).lower_bound, solve_midpoint_lp(turned).lower_bound
        assert float(one) == pytest.approx(float(other), rel=1e-9)


def test_certificate_flow_and_trust(two_jobs: Instance) -> None:
    completion = run("midpoint-lp", two_jobs)
    flow = run("midpoint-lp", two_jobs, objective=Objective.TOTAL_WEIGHTED_FLOW)
    assert completion.bound_trust is Trust.DERIVED
    assert check_certificate(two_jobs, completion.certificate).valid
    assert flow.exact_bound.value == completion.exact_bound.value - two_jobs.total_weighted_release
    assert flow.certificate == completion.certificate
    assert "optimality" in completion.message


def test_same_bytes_again(two_jobs: Instance) -> None:
    one, two = run("midpoint-lp", two_jobs), run("midpoint-lp", two_jobs)
    assert one.certificate.to_json() == two.certificate.to_json()
    assert one.extra["midpoint"].tobytes() == two.extra["midpoint"].tobytes()


def test_stopped_early_it_still_proves_a_bound(two_jobs: Instance) -> None:
    found = solve_midpoint_lp(two_jobs, limits=Limits(time=0.0))
    assert found.stop_reason is StopReason.TIME
    assert 0 < found.lower_bound <= solve_midpoint_lp(two_jobs).lower_bound
    few = run("midpoint-lp", two_jobs, limits=Limits(work=1))
    assert few.work == 1 and few.stop_reason in (StopReason.WORK, StopReason.GAP)
    assert check_certificate(two_jobs, few.certificate).valid


def test_extreme_numbers() -> None:
    instance = Instance(
        gpu_types=(GpuType(name="A", count=1), GpuType(name="B", count=1000)),
        jobs=(
            Job(name="long", weight=1, rounds=(SyncRound(scale=1, processing_time=(10**9, None)),)),
            Job(name="heavy", weight=10**5, rounds=(SyncRound(repeat=50, scale=3, processing_time=(2, 1)),)),
        ),
    )
    result = run("midpoint-lp", instance)
    assert check_certificate(instance, result.certificate).valid
    assert result.exact_bound.value >= 10**9 + 10**5 * 50


@pytest.mark.parametrize(
    ("params", "what"),
    [({"tolerance": 1.0}, "tolerance"), ({"max_iterations": 0}, "max_iterations"), ({"exact_rounds": -1}, "exact")],
)
def test_parameters_are_checked(two_jobs: Instance, params, what) -> None:
    with pytest.raises(UsageError, match=what):
        run("midpoint-lp", two_jobs, params=params)
    with pytest.raises(ValueError, match=what):
        MidpointLp(**params)
