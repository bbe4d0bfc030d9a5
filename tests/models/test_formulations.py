"""Round trips, windows and models of the linear formulations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetopt.core.feasibility import violations
from hetopt.core.objectives import completion_times, evaluate
from hetopt.core.schedule import Schedule
from hetopt.core.status import Objective, Status
from hetopt.models.base import IntegralityError
from hetopt.models.clairvoyant.disjunctive_milp import DisjunctiveMilp
from hetopt.models.clairvoyant.time_indexed_milp import TimeIndexedMilp
from hetopt.models.clairvoyant.windows import coloured, first_schedule, left_shifted, placed_in_order, start_windows
from hetopt.solvers.backends import highs
from hetopt.solvers.backends.answer import Request
from tests import oracle
from tests.tiny import tiny

quick = settings(deadline=None, derandomize=True, max_examples=40)
FORMULATIONS = [DisjunctiveMilp(), DisjunctiveMilp(symmetry_breaking=False), TimeIndexedMilp()]


def random_schedule(instance, seed):
    """A feasible schedule with random GPUs and a random order, left-shifted."""
    a = instance.arrays
    rng = np.random.default_rng(seed)
    rounds = np.repeat(np.arange(a.num_rounds), a.scale)
    gpu = np.array([rng.choice(np.flatnonzero(a.allowed[r][a.gpu_type])) for r in rounds])
    return placed_in_order(instance, gpu, rng.random(a.num_tasks))


def renumbered(instance, schedule):
    """The canonical form of the disjunctive model: tasks of a round in order of (start, GPU)."""
    rounds = instance.arrays.round_start[schedule.job] + schedule.round
    order = np.lexsort((schedule.gpu, schedule.start, rounds))
    return Schedule.from_starts(instance, schedule.gpu[order], schedule.start[order])


@quick
@given(st.integers(0, 10_000), st.integers(0, 10_000), st.sampled_from(list(Objective)))
def test_decode_undoes_encode(seed, other, objective):
    instance = tiny(seed, tasks=9)
    schedule = random_schedule(instance, other)
    assert not violations(instance, schedule)
    value = evaluate(instance, schedule, objective)
    for formulation in FORMULATIONS:
        built = formulation.build(instance, objective, upper_bound=value)
        values = formulation.encode(built, schedule)
        assert built.linear.objective(values) == value
        back = formulation.decode(built, values)
        if isinstance(formulation, TimeIndexedMilp):
            kind = instance.arrays.gpu_type[schedule.gpu]
            assert back == coloured(instance, kind, schedule.start)
            again = formulation.decode(built, formulation.encode(built, back))
        elif formulation.symmetry_breaking:
            assert back == renumbered(instance, schedule)
            again = formulation.decode(built, formulation.encode(built, back))
        else:
            again = schedule
        assert back == again
        assert not violations(instance, back)
        assert evaluate(instance, back, objective) == value


@quick
@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_shifting_to_the_left_never_ends_a_job_later(seed, other):
    instance = tiny(seed, tasks=9)
    schedule = random_schedule(instance, other)
    rng = np.random.default_rng(other)
    late = schedule.start + np.sort(rng.integers(0, 3, len(schedule)))  # may be infeasible: then nothing is claimed
    delayed = Schedule.from_starts(instance, schedule.gpu, late)
    for given_schedule in (schedule, delayed):
        if violations(instance, given_schedule):
            continue
        shifted = left_shifted(instance, given_schedule)
        assert not violations(instance, shifted)
        assert (completion_times(instance, shifted) <= completion_times(instance, given_schedule)).all()
        assert shifted.makespan <= instance.horizon
        assert left_shifted(instance, shifted) == shifted


@quick
@given(st.integers(0, 10_000), st.integers(0, 10_000), st.sampled_from(list(Objective)))
def test_windows_keep_every_shifted_schedule_within_the_cutoff(seed, other, objective):
    instance = tiny(seed, tasks=9)
    schedule = random_schedule(instance, other)
    a = instance.arrays
    windows = start_windows(instance, objective, evaluate(instance, schedule, objective))
    rounds = a.round_start[schedule.job] + schedule.round
    kind = a.gpu_type[schedule.gpu]
    assert (windows.earliest[rounds, kind] <= schedule.start).all()
    assert (schedule.start <= windows.latest[rounds, kind]).all()
    assert (schedule.sync_end <= windows.latest_end[rounds]).all()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("objective", list(Objective))
def test_a_cutoff_below_the_optimum_leaves_nothing(seed, objective):
    """Sharp from both sides: the optimum survives its own cutoff, and one less has no point or a worse value."""
    instance = tiny(seed)
    best = oracle.optimum(instance, objective)
    for formulation in FORMULATIONS:
        at = highs.solve(Request(formulation.build(instance, objective, upper_bound=best).linear))
        assert at.status is Status.OPTIMAL and round(at.objective) == best
        below = highs.solve(Request(formulation.build(instance, objective, upper_bound=best - 1).linear))
        assert below.status is Status.INFEASIBLE or round(below.objective) >= best


def test_first_schedule_is_feasible_on_every_kind_of_instance():
    for seed in range(60):
        instance = tiny(seed, tasks=12)
        for objective in Objective:
            assert not violations(instance, first_schedule(instance, objective))


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=str)
def test_integer_columns_are_rounded_and_then_checked(formulation):
    instance = tiny(2)
    built = formulation.build(instance)
    schedule = first_schedule(instance, Objective.TOTAL_WEIGHTED_COMPLETION)
    values = formulation.encode(built, schedule)
    noisy = values + np.where(built.linear.integer, np.where(values > 0, -7e-7, 3e-7), 0.0)
    assert formulation.decode(built, noisy) == formulation.decode(built, values)
    column = int(np.flatnonzero(built.linear.integer)[0])
    broken = values.copy()
    broken[column] = 0.4
    with pytest.raises(IntegralityError, match=r"column x_0_0_\S+ has the value 0\.4"):
        formulation.decode(built, broken)
    broken[column] = float("nan")
    with pytest.raises(IntegralityError):
        formulation.decode(built, broken)


def test_a_point_that_breaks_the_rows_is_not_decoded():
    instance = tiny(2)
    for formulation in FORMULATIONS:
        built = formulation.build(instance)
        with pytest.raises(ValueError, match=r"constraint \(2\) is broken"):
            formulation.decode(built, np.zeros(built.linear.num_columns))


def test_starts_off_by_a_tolerance_are_made_exact():
    instance = tiny(4)
    formulation = DisjunctiveMilp()
    built = formulation.build(instance)
    schedule = first_schedule(instance, Objective.TOTAL_WEIGHTED_COMPLETION)
    values = formulation.encode(built, schedule)
    wanted = formulation.decode(built, values)
    rng = np.random.default_rng(0)
    noisy = np.where(built.linear.integer, values, values + rng.uniform(-5e-7, 5e-7, len(values)))
    assert formulation.decode(built, noisy) == wanted
    wrong = np.where(built.linear.integer, values, values + rng.uniform(-0.3, 0.3, len(values)))
    assert not violations(instance, formulation.decode(built, wrong))


def test_big_m_is_one_number_per_pair_and_never_larger_than_it_must_be():
    instance = tiny(6, tasks=9, longest=50)
    built = DisjunctiveMilp().build(instance)
    numbers = {abs(v) for v in built.linear.value.tolist() if abs(v) > 100}
    assert len(numbers) != 1
    assert max(numbers, default=0) <= instance.horizon + 50


def test_an_infeasible_schedule_has_no_column_values():
    instance = tiny(0)
    schedule = first_schedule(instance, Objective.MAKESPAN)
    for formulation in FORMULATIONS:
        built = formulation.build(instance)
        with pytest.raises(ValueError, match="infeasible schedule"):
            formulation.encode(built, schedule.replace(start=schedule.start - 100))
        worse = Schedule.from_starts(instance, schedule.gpu, schedule.start + 10_000)
        with pytest.raises(ValueError, match="does not represent"):
            formulation.encode(built, worse)
