"""Every step of the bound check can fail, and the traps of the proof are where the theory says."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from hetopt.analysis.bound_check import check_bound
from hetopt.analysis.certify.midpoint.constants import constants_of, factor_k, phi, phi_plain, psi, sqrt_up
from hetopt.analysis.certify.midpoint.lists import Rule, TaskSchedule, list_order, list_schedule
from hetopt.analysis.certify.midpoint.points import Point, lp_inequalities, repaired, split_bound
from hetopt.analysis.certify.midpoint.steps import STEP_NAMES, Evidence, check_step, check_steps
from hetopt.analysis.certify.midpoint.tasks import TaskProblem
from hetopt.analysis.counterexamples import row
from tests.conftest import make_instance


@pytest.fixture(scope="module")
def sound() -> Evidence:
    """One evidence in which every step has something to check: paths with heads, full times, a cut-free chain."""
    check = check_bound(row("slowed-m4").problem())
    assert check.ok and all(step.checked for step in check.steps)
    return check.evidence


def halved(ev: Evidence, by: int) -> Point:
    return Point(tuple(h // by for h in ev.point.midpoint), ev.point.completion)


def moved(ev: Evidence, i: int, by: int) -> TaskSchedule:
    start = list(ev.schedule.start)
    start[i] += by
    return TaskSchedule(ev.schedule.gpu, tuple(start))


def waiting(ev: Evidence) -> int:
    """A task that ends an idle period, as soon as it is ready, with something after it on its GPU."""
    for v in ev.order:
        if not ev.list.chain_driven(v):
            idle = ev.list.idle_before(v)
            if idle is not None:
                return idle.ended_by
    raise AssertionError


MUTATIONS = {
    1: lambda ev: {"constants": replace(ev.constants, weakest=ev.constants.capacity + 1)},
    2: lambda ev: {"point": Point((ev.point.midpoint[0] - 1, *ev.point.midpoint[1:]), ev.point.completion)},
    3: lambda ev: {"schedule_values": (ev.lower_bound - 1,)},
    4: lambda ev: {"order": (*ev.order[:-2], ev.order[-1], ev.order[-2])},
    5: lambda ev: {"schedule": moved(ev, ev.order[-1], 1)},
    6: lambda ev: {"schedule": TaskSchedule(tuple(0 for _ in ev.order), tuple(0 for _ in ev.order))},
    7: lambda ev: {"schedule": moved(ev, waiting(ev), 1)},
    8: lambda ev: {"schedule": moved(ev, ev.order[-1], 1)},
    9: lambda ev: {"constants": replace(ev.constants, weakest=ev.constants.weakest * 10)},
    10: lambda ev: {"constants": replace(ev.constants, alpha_c=Fraction(1, 2))},
    11: lambda ev: {"point": halved(ev, 2)},
    12: lambda ev: {"point": halved(ev, 3)},
    13: lambda ev: {"constants": replace(ev.constants, weakest=ev.constants.weakest * 2, alpha_c=Fraction(1, 2))},
    14: lambda ev: {"point": halved(ev, 4)},
    15: lambda ev: {"point": Point(ev.point.midpoint, tuple(c // 4 for c in ev.point.completion))},
    16: lambda ev: {"point": halved(ev, 4)},
    17: lambda ev: {"schedule_values": (ev.lower_bound - 1,)},
}


@pytest.mark.parametrize("number", STEP_NAMES)
def test_every_step_holds_and_can_fail(sound, number):
    good = check_step(sound, number)
    assert good.ok and good.checked
    assert good.left is None or good.left <= good.right
    bad = check_step(replace(sound, **MUTATIONS[number](sound)), number)
    assert not bad.ok and bad.where
    if bad.left is not None:
        assert bad.left != bad.right


@pytest.mark.parametrize("i", range(14))
@pytest.mark.parametrize("by", [-1, 1])
def test_any_start_moved_is_noticed(sound, i, by):
    steps = check_steps(replace(sound, schedule=moved(sound, i, by)))
    assert not steps[4].ok


@pytest.mark.parametrize("i", range(14))
def test_any_midpoint_lowered_far_is_noticed(sound, i):
    h = list(sound.point.midpoint)
    h[i] = sound.problem.shortest[i] // 2 - 1
    assert not check_step(replace(sound, point=Point(tuple(h), sound.point.completion)), 2).ok


def test_a_schedule_of_another_rule_is_noticed():
    problem = TaskProblem.from_tasks(1, [(9, 3, [[(2, 0)]]), (1, 0, [[(3, 0)]]), (1, 0, [[(1, 0)]])])
    by_rule = {rule: check_bound(problem, rule, midpoints=[4, 8, 10]).evidence for rule in Rule}
    assert by_rule[Rule.R1].schedule == by_rule[Rule.R2].schedule != by_rule[Rule.R3].schedule
    assert all(check_step(ev, 5).ok for ev in by_rule.values())
    assert not check_step(replace(by_rule[Rule.R3], rule=Rule.R1), 5).ok
    assert not check_step(replace(by_rule[Rule.R3], rule=Rule.R2), 5).ok
    assert not check_step(replace(by_rule[Rule.R1], rule=Rule.R3), 5).ok
    faster = TaskProblem.from_tasks(2, [(1, 5, [[((6, 2), (0, 0))]]), (1, 9, [[((1, 1), (0, 0))]])])
    one, two = (check_bound(faster, rule).evidence for rule in (Rule.R1, Rule.R2))
    assert (one.schedule.gpu[0], two.schedule.gpu[0]) == (0, 1)
    assert check_step(replace(one, rule=Rule.R2), 5).ok  # any GPU that does not delay the task is allowed
    assert not check_step(replace(two, schedule=TaskSchedule(two.schedule.gpu, (0, *two.schedule.start[1:]))), 5).ok


def test_the_split_of_the_weights_is_checked(sound):
    for split in ((Fraction(-1), *sound.split[1:]), tuple(c * 10**9 for c in sound.split)):
        assert not check_step(replace(sound, split=split), 3).ok
        with pytest.raises(ValueError, match=r"below 0|gives away"):
            split_bound(sound.problem, split, sound.capacity)


# ------------------------------------------------------------------------------------------ regressions


def test_the_trap_after_lemma_1_needs_a_cut():
    """The idle period that ends with K straddles the start of v: the chain of K is cut at S_v = 4."""
    problem = TaskProblem.from_tasks(2, [(1, 0, [[(4, 0)]]), (1, 5, [[(1, 0)]]), (1, 0, [[(1, 0)]])])
    check = check_bound(problem, midpoints=[Fraction(2), Fraction(11, 2), Fraction(6)])
    assert check.ok
    ev, unit = check.evidence, check.evidence.problem.unit
    assert [Fraction(h, unit) for h in ev.point.midpoint] == [2, Fraction(11, 2), 6]  # feasible as it stands
    assert [s // unit for s in ev.schedule.start] == [0, 5, 4]
    idle = ev.list.idle_before(2)
    assert (idle.until // unit, idle.gpu, idle.ended_by) == (4, 1, 1)
    made = ev.list.decompose(2)
    assert made.full == 0 and made.path == () and made.release == 4 * unit
    assert ev.schedule.start[idle.ended_by] > ev.schedule.start[2]  # "the idle time ends when k starts" would be wrong


def test_a_path_task_can_be_cut():
    """K's first round trains over [0, 6) while GPU 2 idles, and is cut at 4: two thirds of it count."""
    problem = TaskProblem.from_tasks(3, [(1, 0, [[(4, 0)]]), (1, 0, [[(6, 0)], [(1, 0)]]), (1, 0, [[(1, 0)]])])
    check = check_bound(problem, midpoints=[2, 3, Fraction(13, 2), 7])
    assert check.ok
    ev, unit = check.evidence, check.evidence.problem.unit
    assert [s // unit for s in ev.schedule.start] == [0, 0, 6, 4]
    (piece,) = ev.list.decompose(3).path
    assert (piece.task, piece.tau, piece.lam) == (1, 4 * unit, Fraction(2, 3))


def test_the_warning_of_section_5_start_plus_half_q_and_speed_capacity_do_not_mix():
    problem = TaskProblem.from_tasks(2, [(1, 0, [[((1, 2), (0, 0)), ((1, 2), (0, 0))]])])
    capacity = constants_of(problem).capacity
    assert capacity == Fraction(3, 2)
    unit = problem.unit
    first, middle = Point((unit // 2, unit // 2), (2 * unit,)), Point((unit // 2, unit), (2 * unit,))
    assert all(item.holds for item in lp_inequalities(problem, first, 2))
    assert not all(item.holds for item in lp_inequalities(problem, first, capacity))
    assert all(item.holds for item in lp_inequalities(problem, middle, capacity))


# -------------------------------------------------------------------------------------------- constants


def test_square_roots_are_rounded_up_and_no_more():
    for x in (Fraction(0), Fraction(1), Fraction(2), Fraction(7, 6), Fraction(10**30, 3), Fraction(1, 10**25)):
        root = sqrt_up(x)
        assert root * root >= x and (root == 0 or (root - Fraction(1, 1 << 63)) ** 2 < x)
    assert sqrt_up(Fraction(9, 4)) == Fraction(3, 2)
    with pytest.raises(ValueError, match="not real"):
        sqrt_up(Fraction(-1))


def test_phi_has_the_published_values():
    values = {1: 3, 2: 3, 3: 3.0801, 4: 3.2247, 8: 3.6160, 12: 3.7462, 20: 3.8487, 32: 3.9057}
    for gpus, value in values.items():
        assert abs(float(phi(gpus)) - value) < 5.1e-5
    for gpus in range(5, 200):
        assert abs(float(phi(gpus)) - (3 - 2 / gpus + (1 - 2 / gpus) ** 0.5)) < 1e-12 and phi(gpus) < 4
    assert [round(float(phi_plain(m, Fraction(1))), 4) for m in (1, 2, 3, 4, 8)] == [2, 2.2247, 2.4832, 2.6160, 2.8104]
    assert [round(float(phi_plain(m, Fraction(2))), 4) for m in (1, 2, 3)] == [2, 2.4142, 2.9107]


@pytest.mark.parametrize("b", [1, 2, 5])
@pytest.mark.parametrize("w", [Fraction(1, 2), 1, 3])
@pytest.mark.parametrize("e", [1, Fraction(4, 3), Fraction(99, 50)])
@pytest.mark.parametrize("alpha", [1, Fraction(7, 3), 9])
def test_closed_form_of_psi_is_the_maximum(b, w, e, alpha):
    weakest = min(Fraction(w), Fraction(b))
    value = float(psi(Fraction(b), weakest, Fraction(e), Fraction(alpha)))
    best = 0.0
    for step in range(2001):
        y = step / 2000
        if e * y * y <= b:
            lift = b / weakest * (1 + (1 - e * y * y / b) ** 0.5)
            best = max(best, float(lift + alpha * (1 - y) + (alpha - 1 / weakest) * e * y))
    assert best - 1e-9 <= value <= best + 1e-4 * best
    assert value <= float(2 * b / weakest + e * alpha) + 1e-9


def test_k_has_its_second_term_only_for_large_alpha():
    assert factor_k(Fraction(5), Fraction(2)) == 5 and factor_k(Fraction(5), Fraction(3)) == Fraction(11, 2)


def test_constants_with_forbidden_gpus_follow_their_own_definition():
    problem = TaskProblem.from_tasks(
        3,
        [
            (1, 0, [[((2, 4, None), (0, 0, None))]]),
            (1, 0, [[((None, 3, 1), (None, 1, 1))], [((5, None, None), (2, None, None))]]),
        ],
    )
    c = constants_of(problem)
    assert c.forbidden and c.fewest == 1
    assert c.alpha_p == 3 and c.alpha_c == 2 and c.alpha_s == 1
    assert c.capacity == 1 + Fraction(1, 2) + 1  # best ratios: GPU 0: 1, GPU 1: 1/2, GPU 2: 1
    assert c.weakest == min(1 + Fraction(1, 3), Fraction(1, 3) + 1, Fraction(1))
    assert c.rho == 1 and c.e == 1
    check = check_bound(problem)
    assert check.ok and check.alpha_phi is None and check.three_alpha is None and check.published is None
    assert "not claimed" in check.explain()


def test_repair_gives_a_feasible_point_from_any_numbers():
    problem = row("three-jobs-m4-small").problem()
    for start in ([0.0] * 13, [1e6] * 13, [float(-i) for i in range(13)]):
        point = repaired(problem, start, Fraction(4))
        assert all(item.holds for item in lp_inequalities(problem, point, Fraction(4)))


def test_lists_place_as_documented():
    problem = TaskProblem.from_tasks(
        2, [(1, 0, [[((4, 8), (0, 0))]]), (1, 3, [[((2, 1), (0, 0))]]), (1, 0, [[((3, 9), (0, 0))]])]
    )
    order = (0, 1, 2)
    unit = problem.unit
    starts = {
        rule: [(g, s // unit) for g, s in zip(*vars(list_schedule(problem, order, rule)).values())] for rule in Rule
    }
    assert starts[Rule.R1] == [(0, 0), (1, 3), (0, 4)]
    assert starts[Rule.R2] == [(0, 0), (1, 3), (0, 4)]
    problem = TaskProblem.from_tasks(1, [(1, 3, [[(2, 0)]]), (1, 0, [[(3, 0)]]), (1, 0, [[(1, 0)]])])
    assert [s // problem.unit for s in list_schedule(problem, (0, 1, 2), "R3").start] == [3, 0, 5]
    assert [s // problem.unit for s in list_schedule(problem, (0, 1, 2), "R1").start] == [3, 5, 8]
    with pytest.raises(ValueError, match="before the round before it"):
        list_schedule(TaskProblem.from_tasks(1, [(1, 0, [[(1, 0)], [(1, 0)]])]), (1, 0))
    assert list_order((3, 1, 1)) == (1, 2, 0)


def test_the_list_schedule_agrees_with_the_solver_that_is_written_apart():
    from hetopt.core.schedule import Schedule
    from hetopt.instances import library
    from hetopt.solvers.run import run

    for name in ("three-jobs-m3", "three-jobs-m4-small", "ratio-m5-small", "tight-m1"):
        instance = library.load(name)
        check = check_bound(instance)
        assert check.ok
        made = check.evidence
        mine = Schedule.from_starts(instance, made.schedule.gpu, [s // made.problem.unit for s in made.schedule.start])
        assert run("hare", instance).objective == check.ratios.list_value == library.entry(name).facts["hare"]
        assert mine.fingerprint == instance.fingerprint


def test_reports_and_explanations_of_a_document():
    instance = make_instance(
        {"a": 2, "b": 1}, [(3, 1, [(2, (4, 2), (0, 1)), (1, (3, 5), (1, 1))]), (2, 0, [(1, (6, 5), (0, 0))])]
    )
    for rule in Rule:
        check = check_bound(instance, rule, schedules=[100])
        assert check.ok and check.fingerprint == instance.fingerprint
        text = check.explain()
        assert all(f"Step {n}," in text for n in STEP_NAMES)
        raw = check.to_dict()
        assert raw["format"] == "hetopt/check" and len(raw["steps"]) == 17 and "K" in raw
        assert type(check).from_dict(raw).to_dict() == raw


def test_a_time_limit_ends_the_check_with_one_line():
    from hetopt.core.errors import NoSolutionError

    problem = row("three-jobs-m4-small").problem()
    with pytest.raises(NoSolutionError, match="time limit"):
        check_bound(problem, time_limit=0)
    assert check_bound(problem, time_limit=600).steps == check_bound(problem).steps
