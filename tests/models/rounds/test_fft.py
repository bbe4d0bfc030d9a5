"""Formulations of FFT rounds: encode and decode, the three rules against enumeration, size, duals as rents."""

from __future__ import annotations

import numpy as np
import pytest

from hetopt.core.errors import UsageError
from hetopt.core.round_problem import CostModel, RoundGpuType, RoundJob, RoundProblem
from hetopt.instances.rounds import generate_round
from hetopt.models.rounds.fft_convex import FftConvex
from hetopt.models.rounds.fft_milp import FftMilp, demand_classes
from tests.solvers.rounds.oracle import _maximal as is_maximal
from tests.solvers.rounds.oracle import allocations, exact
from tests.solvers.rounds.test_fast import random_round


@pytest.mark.parametrize("rule", ["most-gpus", "maximal", "none"])
def test_the_model_has_exactly_the_allocations_that_the_rule_admits(rule: str) -> None:
    for seed in range(25):
        problem = random_round(seed)
        every = list(allocations(problem))
        most = max(used for _, used in every)
        built = FftMilp().build(problem, rule=rule, most_gpus=most)
        for choice, used in every[:400]:
            admitted = {"most-gpus": used == most, "maximal": is_maximal(problem, choice), "none": True}[rule]
            try:
                values = FftMilp().encode(built, choice)
            except ValueError:
                assert not admitted
                continue
            assert admitted
            assert FftMilp().decode(built, values) == tuple(choice)
            assert built.linear.objective(values) == pytest.approx(float(exact(problem, choice, CostModel())), abs=1e-9)


def test_an_allocation_over_capacity_or_on_a_forbidden_type_has_no_values() -> None:
    job = RoundJob(name="a", demand=2, work=1.0, done=0.0, release_date=0.0, throughput=(1.0, None))
    problem = RoundProblem(
        now=1.0,
        gpu_types=(RoundGpuType(name="g", count=3), RoundGpuType(name="h", count=3)),
        jobs=(job, job.model_copy(update={"name": "b"})),
    )
    built = FftMilp().build(problem, rule="none")
    for wrong in ((0, 0), (1, None)):
        with pytest.raises(ValueError, match="does not represent"):
            FftMilp().encode(built, wrong)


def test_most_gpus_is_needed_for_that_rule_alone() -> None:
    problem = random_round(1)
    with pytest.raises(UsageError, match="most_gpus"):
        FftMilp().build(problem)
    FftMilp().build(problem, rule="maximal")


def test_classes_tell_demand_and_usable_types_apart() -> None:
    problem = random_round(4)
    member, sample = demand_classes(problem)
    a = problem.arrays
    for j, v in enumerate(member.tolist()):
        assert (v < 0) == (not a.allowed[j].any())
        if v >= 0:
            assert a.demand[j] == a.demand[sample[v]]
            assert (a.allowed[j] == a.allowed[sample[v]]).all()


def test_a_large_model_is_sparse() -> None:
    problem = generate_round(2000, 8, 500, 0)
    linear = FftMilp().build(problem, most_gpus=500).linear
    assert (linear.num_columns, linear.num_rows, linear.num_entries) == (16_000, 2009, 48_000)
    assert linear.column_names[-1] == "x_1999_7"


def test_names_lead_back() -> None:
    problem = random_round(2)
    built = FftMilp().build(problem, rule="maximal")
    for name in (*built.linear.column_names, *built.linear.row_names):
        assert built.names.original(name)["symbol"] == name.split("_")[0]


def test_pulp_gets_the_same_model() -> None:
    from hetopt.models.pulp_problem import to_pulp

    built = FftMilp().build(random_round(5), rule="none")
    problem = to_pulp(built.linear)
    assert {v.name for v in problem.variables()} == set(built.linear.column_names)
    assert set(problem.constraints) == set(built.linear.row_names)


def test_rents_are_complementary_to_idle_gpus_and_explain_who_runs() -> None:
    problem = generate_round(60, 4, 24, 3, fairness=0.5)
    built = FftConvex().build(problem, most_gpus=24)
    built.program.solve(solver="HIGHS")
    shares, prices = built.shares(), built.prices()
    assert shares is not None
    terms = sum(problem.cost_terms().values())
    a = problem.arrays
    reduced = terms + a.demand[:, None] * prices[None, :]
    least = np.minimum(np.where(a.allowed, reduced, np.inf).min(axis=1), 0.0)
    slack = 1e-6 * float(np.abs(terms).max())
    assert (np.where(shares > 1e-6, reduced - least[:, None], 0.0) <= slack).all()
    rents, _ = built.rents()
    idle = a.count - (a.demand[:, None] * shares).sum(axis=0)
    assert (rents * idle <= slack).all()


def test_a_utility_gives_every_job_something() -> None:
    problem = generate_round(40, 3, 12, 1, fairness=0.0)
    built = FftConvex(fairness=5.0).build(problem, rule="none")
    built.program.solve(solver="CLARABEL")
    shares = built.shares()
    assert shares is not None
    assert (shares.sum(axis=1)[problem.arrays.allowed.any(axis=1)] > 1e-5).all()
    assert ((problem.arrays.demand[:, None] * shares).sum(axis=0) <= problem.arrays.count + 1e-6).all()
    with pytest.raises(UsageError):
        FftConvex(alpha=-1.0)
