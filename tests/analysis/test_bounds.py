"""Bounds side by side: every relaxation is below the optimum, its certificate is checked, failures say why."""

from __future__ import annotations

import dataclasses
import json
import random

import pytest

from hetopt.analysis import bounds as module
from hetopt.analysis import midpoint_point
from hetopt.analysis.bounds import Bounds, compute_bounds, relaxations
from hetopt.analysis.certify import verify
from hetopt.cli import main
from hetopt.core.certificate import Bound
from hetopt.core.errors import SolverUnavailableError, UsageError, VerificationError
from hetopt.core.status import Objective, Trust
from hetopt.solvers.run import run
from tests.analysis import fakes
from tests.analysis.certify.brute import best_values, random_instance
from tests.conftest import make_instance

SUMS = Objective.TOTAL_WEIGHTED_COMPLETION


@pytest.mark.parametrize("seed", range(12))
def test_every_bound_is_verified_and_at_most_the_optimum(seed):
    rng = random.Random(seed)
    instance = random_instance(rng, 5)
    total, span = best_values(instance)
    shift = sum(job.weight * job.release_date for job in instance.jobs)
    for objective, best in ((SUMS, total), (Objective.TOTAL_WEIGHTED_FLOW, total - shift), (Objective.MAKESPAN, span)):
        found = compute_bounds(instance, objective=objective, work_limit=200)
        assert [row.kind for row in found] == list(relaxations())
        for row in found:
            if row.exact is None:
                assert row.message, row.kind
                continue
            assert row.exact <= best, (row.kind, objective)
            assert row.trust is Trust.VERIFIED and verify(instance, row.certificate).valid, row.kind
        assert found.best is not None and found.best.exact == max(r.exact for r in found if r.exact is not None)


@pytest.fixture
def instance():
    return make_instance({"a": 2}, [(2, 0, [(2, (3,), (1,)), (1, (2,), (0,))]), (1, 1, [(1, (4,), (0,))])])


def test_the_document(instance):
    found = compute_bounds(instance, ["combinatorial", "midpoint-lp"])
    raw = json.loads(found.to_json())
    assert raw["format"] == "hetopt/bounds" and raw["fingerprint"] == instance.fingerprint
    assert {"kind", "value", "trust", "seconds", "certificate"} <= set(raw["bounds"][0])
    again = Bounds.from_dict(raw)
    assert [r.kind for r in again] == ["combinatorial", "midpoint-lp"] and len(again) == 2
    assert again["midpoint-lp"].exact == found["midpoint-lp"].exact
    with pytest.raises(KeyError):
        again["convex-qp"]


@pytest.fixture
def pressed(monkeypatch):
    """Ctrl-C comes while the second relaxation runs."""

    def press(name, problem, **options):
        solver = fakes.Interrupting() if name == relaxations()[1] else name
        return run(solver, problem, **options)

    monkeypatch.setattr(module, "run", press)


def test_ctrl_c_ends_all_and_keeps_the_rows(instance, pressed):
    found = compute_bounds(instance)
    assert found.interrupted
    assert [row.kind for row in found] == list(relaxations()[:2])
    assert next(iter(found)).exact is not None
    assert "interrupted" in found[relaxations()[1]].message
    assert Bounds.from_json(found.to_json()).interrupted


def test_ctrl_c_while_a_certificate_is_checked(instance, monkeypatch):
    def press(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "trusted", press)
    found = compute_bounds(instance, relaxations()[0])
    assert found.interrupted and [(r.value, r.message) for r in found] == [(None, "interrupted")]


@pytest.mark.parametrize("kind", ["all", relaxations()[1]])
def test_ctrl_c_on_the_command_line_is_130(instance, pressed, kind, tmp_path, capsys):
    instance.save(tmp_path / "i.json")
    assert main(["bound", str(tmp_path / "i.json"), "--kind", kind, "--json"]) == 130
    out, err = capsys.readouterr()
    assert json.loads(out)["interrupted"] is True
    assert "interrupted; " in err


def test_ctrl_c_ends_the_check_of_the_bound(instance, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(midpoint_point, "run", lambda name, problem, **o: run(fakes.Interrupting(), problem, **o))
    instance.save(tmp_path / "i.json")
    assert main(["check", str(tmp_path / "i.json"), "--json"]) == 130
    assert capsys.readouterr() == ("", "hetopt: interrupted\n")


def test_wrong_names_are_usage_errors(instance):
    for kinds in ("no-such-bound", "fifo", [], ["midpoint-lp", "hare"]):
        with pytest.raises(UsageError):
            compute_bounds(instance, kinds)
    with pytest.raises(UsageError):
        compute_bounds(instance, objective="speed")
    with pytest.raises(UsageError):
        compute_bounds(instance, time_limit=-1)


def _altered(monkeypatch, change):
    plain = module.run

    def run(*args, **kwargs):
        return change(plain(*args, **kwargs))

    monkeypatch.setattr(module, "run", run)


def test_a_bound_whose_certificate_does_not_hold_is_not_passed_on(instance, monkeypatch):
    def lie(result):
        bound = result.exact_bound
        certificate = dataclasses.replace(bound.certificate, bound=bound.value + 1)
        return dataclasses.replace(result, exact_bound=Bound(bound.value + 1, "x", Trust.DERIVED, certificate))

    _altered(monkeypatch, lie)
    row = compute_bounds(instance, "midpoint-lp")["midpoint-lp"]
    assert row.value is None and row.trust is None and "refused" in row.message


def test_a_bound_without_certificate_keeps_the_solvers_trust(instance, monkeypatch):
    def bare(result):
        return dataclasses.replace(result, exact_bound=Bound(result.exact_bound.value, "x", Trust.REPORTED, None))

    _altered(monkeypatch, bare)
    row = compute_bounds(instance, "midpoint-lp")["midpoint-lp"]
    assert row.trust is Trust.REPORTED and row.certificate is None and row.exact is not None


def test_what_is_missing_is_a_row_or_an_error_when_asked_for(instance, monkeypatch):
    def missing(*args, **kwargs):
        raise SolverUnavailableError("needs something; get it with: pip install something")

    monkeypatch.setattr(module, "run", missing)
    assert all(row.value is None and "pip install" in row.message for row in compute_bounds(instance))
    with pytest.raises(SolverUnavailableError):
        compute_bounds(instance, "midpoint-lp")

    def wrong(*args, **kwargs):
        raise VerificationError("a bound above a schedule")

    monkeypatch.setattr(module, "run", wrong)
    with pytest.raises(VerificationError):
        compute_bounds(instance)


def test_certificates_of_long_instances_are_left_unchecked_within_a_limit(instance, monkeypatch):
    def check(*_):
        raise AssertionError("a certificate is checked")

    monkeypatch.setattr(module, "CHECKED_ROUNDS", instance.num_rounds)
    assert compute_bounds(instance, "combinatorial", time_limit=5.0)["combinatorial"].trust is Trust.VERIFIED
    monkeypatch.setattr(module, "CHECKED_ROUNDS", instance.num_rounds - 1)
    assert compute_bounds(instance, "combinatorial")["combinatorial"].trust is Trust.VERIFIED
    monkeypatch.setattr(module, "trusted", check)
    row = compute_bounds(instance, "combinatorial", time_limit=5.0)["combinatorial"]
    assert row.trust is Trust.DERIVED and "certificate not checked" in row.message and row.certificate is not None
