"""The extremal instances: every stated number is met exactly, from files and in Python; the claims agree with them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from hetopt.analysis import claims
from hetopt.analysis.bound_check import check_bound
from hetopt.analysis.certify import check_certificate, verify
from hetopt.analysis.certify.midpoint.lists import completion, list_order, list_schedule
from hetopt.analysis.certify.midpoint.tasks import TaskProblem
from hetopt.analysis.counterexamples import ROWS, as_instance, row, slowed
from hetopt.analysis.midpoint_point import exact_evidence, midpoints_of_tasks
from hetopt.core.certificate import Certificate
from hetopt.core.documents import parse_exact
from hetopt.core.objectives import evaluate
from hetopt.core.schedule import Schedule
from hetopt.instances import library
from hetopt.instances.library.index import FOLDER

QUICK = [r for r in ROWS if r.gpus <= 12 and len(r.jobs) < 20]
LATE = [r for r in ROWS if r not in QUICK]
EXACT = json.loads((Path(__file__).parent / "task_level.json").read_text())


@pytest.mark.parametrize("item", QUICK, ids=lambda r: r.name)
def test_row_is_reproduced(item):
    outcome = claims.rebuild(item)
    assert outcome.ok, outcome.mismatches
    assert outcome.lp is not None and outcome.lp <= outcome.schedule_value <= outcome.list_value


@pytest.mark.slow
@pytest.mark.parametrize("item", LATE, ids=lambda r: r.name)
def test_large_row_is_reproduced(item):
    assert claims.rebuild(item).ok


def test_a_wrong_number_is_noticed_and_the_command_fails(monkeypatch, capsys):
    from dataclasses import replace

    good = row("three-jobs-m4-small")
    for change in (
        {"lp": good.lp + Fraction(1, 388)},
        {"listed": good.listed + 1},
        {"scheduled": good.scheduled - 1},
        {"optimum": good.optimum - 1},
        {"ratio": "3.02661"},
    ):
        assert not claims.rebuild(replace(good, **change)).ok
    monkeypatch.setattr(claims, "ROWS", (replace(good, listed=good.listed - 1),))
    assert claims.main([]) == 5
    assert "stated" in capsys.readouterr().out
    monkeypatch.setattr(claims, "ROWS", (good,))
    assert claims.main(["three-jobs-m4-small"]) == 0
    assert "24110289/388" in capsys.readouterr().out
    assert claims.main(["no-such-row"]) == 2


@pytest.mark.parametrize("raw", EXACT, ids=lambda raw: f"{raw['note']} M={raw['M']} {raw['LP']}")
def test_exact_values_that_others_computed(raw):
    problem = TaskProblem.from_dict(raw)
    lp = exact_evidence(problem, *midpoints_of_tasks(problem))
    assert lp.optimal and lp.value == Fraction(raw["LP"])
    for midpoints in (None, [Fraction(x) for x in raw["H"]]):
        check = check_bound(problem, midpoints=midpoints)
        assert check.ok, check.failed
        assert parse_exact(check.ratios.point_value, "") == Fraction(raw["LP"])
        assert parse_exact(check.ratios.list_value, "") == Fraction(raw["list_value"])
    listed = list_schedule(lp.problem, list_order(lp.point.midpoint))
    done = [lp.problem.ticks(c) for c in completion(lp.problem, listed)]
    assert done == [Fraction(c) for c in raw["C_list"]]
    c = check.constants
    assert [parse_exact(x, "") for x in (c.alpha_p, c.rho, c.capacity, c.weakest)] == [
        Fraction(raw[k]) for k in ("alpha_p", "rho", "V", "W")
    ]


@pytest.mark.parametrize("item", [r for r in ROWS if r.in_library], ids=lambda r: r.name)
def test_library_files_carry_their_evidence(item):
    entry, instance = library.entry(item.name), library.load(item.name)
    assert instance == as_instance(item)
    certificate = Certificate.load(FOLDER / "certificates" / f"{item.name}.json")
    assert check_certificate(instance, certificate).valid
    assert certificate.bound == parse_exact(entry.facts["midpoint_lp"], "")
    if item.lp is not None:
        assert certificate.bound == item.lp * item.scale
    schedule = Schedule.load(FOLDER / entry.upper.file)
    assert verify(instance, schedule).valid
    value = evaluate(instance, schedule)
    assert value == entry.upper.value
    # the ratio to any schedule is proved without any solver's word
    assert Fraction(entry.facts["hare"], value) >= item.least_ratio
    if entry.lower.trust == "certificate":
        proof = Certificate.load(FOLDER / entry.lower.file)
        assert check_certificate(instance, proof).valid and -(-proof.bound // 1) == entry.lower.value


def test_the_two_job_instance_is_proved_optimal_without_a_solver():
    entry = library.entry("tight-m1-two-jobs")
    assert entry.optimum == 100203002 and entry.lower.trust == "certificate"


def test_claims_agree_with_the_instances_that_refute_or_attain_them():
    refuted = claims.claim("alpha-2-plus-alpha")
    assert refuted.state is claims.State.REFUTED
    for name in ("three-jobs-m3", "three-jobs-m4-small", "many-heads-m8", "slowed-m4", "slowed-m8"):
        item = row(name)
        check = check_bound(item.problem(), schedules=[claims.rebuild(item).schedule_value])
        assert refuted.predicate(check) is False, name
        for other in claims.CLAIMS:
            if other.state is claims.State.PROVED and other.predicate is not None:
                assert other.predicate(check) in (True, None), (name, other.id)
    alike = check_bound(row("tight-m2").problem(), schedules=[100413026])
    assert refuted.predicate(alike) is True
    assert claims.claim("three-alpha").predicate(alike) is True
    assert alike.three_alpha == 3 and alike.published_is_proved


def test_every_claim_is_complete_and_points_to_rows_and_pages():
    names = {r.name for r in ROWS}
    pages = Path(__file__).parents[2] / "docs" / "theory"
    assert len({c.id for c in claims.CLAIMS}) == len(claims.CLAIMS)
    for item in claims.CLAIMS:
        assert item.citation and item.statement
        assert set(item.witness) <= names
        if item.state is claims.State.REFUTED:
            assert item.witness
        if item.page and pages.is_dir():
            assert (pages / f"{item.page}.md").is_file(), item.page


def test_slowing_down_changes_neither_lp_nor_list_up_to_the_factor():
    base = row("tight-m2").problem()
    slow = slowed(base, Fraction(3))
    lp = [exact_evidence(p, *midpoints_of_tasks(p)) for p in (base, slow)]
    assert lp[0].value == lp[1].value
    values = []
    for item in lp:
        s = list_schedule(item.problem, list_order(item.point.midpoint))
        values.append(item.problem.value(tuple(c for c in completion(item.problem, s))))
    assert values[1] == 901539072 and values[0] == 300513024


@pytest.mark.parametrize("name", [n for n in library.names("theory") if library.entry(n).tasks <= 70])
def test_facts_of_the_library_are_exact(name):
    entry = library.entry(name)
    problem = TaskProblem.from_instance(library.load(name))
    lp = exact_evidence(problem, *midpoints_of_tasks(problem))
    assert lp.optimal and lp.value == parse_exact(entry.facts["midpoint_lp"], "")
    listed = list_schedule(lp.problem, list_order(lp.point.midpoint))
    assert lp.problem.value(completion(lp.problem, listed)) == entry.facts["hare"]
