"""verify(): every false statement in a schedule, result or certificate is found and named."""

from __future__ import annotations

import copy
import json

import pytest

from hetopt.analysis.certify import trusted_result, verify
from hetopt.core.certificate import Bound
from hetopt.core.errors import InputError
from hetopt.core.result import HistoryPoint, Result
from hetopt.core.schedule import Schedule
from hetopt.core.status import Objective, Status, StopReason, Trust
from tests.analysis.certify.evidence import stated
from tests.conftest import make_instance


@pytest.fixture
def instance():
    return make_instance({"a": 1}, [(1, 0, [(1, (2,), (0,))]), (1, 1, [(1, (4,), (1,))])])


@pytest.fixture
def schedule(instance):
    return Schedule.from_starts(instance, [0, 0], [0, 2])


def result_of(instance, schedule, trust=Trust.DERIVED, objective=Objective.TOTAL_WEIGHTED_COMPLETION, certificate=True):
    data = {"objective": "total-weighted-completion", "part": "preemptive", "prices": [1]}
    proof = stated(instance, "combinatorial", data)
    shift = -1 if objective is Objective.TOTAL_WEIGHTED_FLOW else 0
    value = 9 + shift
    bound = Bound(proof.bound + shift, "x", trust, proof if certificate else None)
    return Result(
        status=Status.OPTIMAL,
        stop_reason=StopReason.PROVED,
        objective_kind=objective,
        incumbent=schedule,
        objective=value,
        exact_bound=bound,
        solver="x",
        fingerprint=instance.fingerprint,
        history=(HistoryPoint(0.1, value, bound.ceiling),),
    )


@pytest.mark.parametrize("objective", [Objective.TOTAL_WEIGHTED_COMPLETION, Objective.TOTAL_WEIGHTED_FLOW])
def test_a_true_result_is_valid_as_object_and_as_json(instance, schedule, objective):
    result = trusted_result(instance, result_of(instance, schedule, objective=objective))
    assert result.bound_trust is Trust.VERIFIED
    for document in (result, json.loads(result.to_json())):
        checked = verify(instance, document)
        assert checked.valid and not checked.violations
        assert "optimality is proved by schedule and certificate" in checked.notes
    assert checked.to_dict()["format"] == "hetopt/verification"
    assert json.loads(checked.to_json())["valid"] is True


def test_optimality_on_a_solvers_word_is_said_plainly(instance, schedule):
    checked = verify(instance, result_of(instance, schedule, trust=Trust.REPORTED, certificate=False))
    assert checked.valid
    assert "optimality rests on the solver's word alone" in checked.notes


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"objective": 8, "bound": 8, "gap": 0.0}, "wrong-objective"),
        ({"objective": 10}, "inconsistent"),
        ({"status": "FEASIBLE", "objective": 10, "gap": 0.1}, "wrong-objective"),
        ({"gap": 0.5}, "wrong-gap"),
        ({"gap": None}, "wrong-gap"),
        ({"bound": 10, "status": "FEASIBLE"}, "bound-above-objective"),
        ({"bound": 7}, "inconsistent"),
        ({"bound_trust": None}, "inconsistent"),
        ({"fingerprint": "0" * 64}, "wrong-instance"),
        ({"schedule": None}, "missing-schedule"),
        ({"status": "UNKNOWN"}, "inconsistent"),
        ({"status": "INFEASIBLE"}, "inconsistent"),
        ({"certificate": None}, "missing-certificate"),
        ({"objective_kind": "makespan", "objective": 7, "bound": 7}, "invalid-certificate"),
        ({"history": [{"seconds": 0.0, "incumbent": 3, "bound": None}]}, "inconsistent"),
        ({"history": [{"seconds": 0.0, "incumbent": None, "bound": 12}]}, "bound-above-objective"),
        *(({"stop_reason": reason}, "inconsistent") for reason in ("TIME", "WORK", "MEMORY", "ERROR", "INTERRUPTED")),
        *(
            (
                {"history": [dict(zip(("seconds", "incumbent", "bound"), p, strict=True)) for p in points]},
                "inconsistent",
            )
            for points in (
                [(2.0, 9, 9), (1.0, 9, 9)],
                [(0.0, 9, None), (1.0, 10, 9), (2.0, 9, 9)],
                [(0.0, 9, None), (1.0, None, 9), (2.0, 9, 9)],
                [(0.0, 12, 8), (1.0, 9, 7), (2.0, 9, 9)],
                [(0.0, 12, 8), (1.0, 9, None), (2.0, 9, 9)],
                [(0.0, 12, 8)],
                [(0.0, 9, None)],
            )
        ),
    ],
)
def test_a_false_statement_is_found(instance, schedule, changes, kind):
    raw = json.loads(trusted_result(instance, result_of(instance, schedule)).to_json())
    raw.update(changes)
    checked = verify(instance, raw)
    assert not checked.valid
    assert kind in {item.kind for item in checked.violations}


@pytest.mark.parametrize("status", ["INFEASIBLE", "UNBOUNDED"])
def test_no_instance_is_infeasible_or_unbounded(instance, schedule, status):
    raw = result_of(instance, schedule).to_dict()
    empty = dict.fromkeys(("schedule", "certificate", "objective", "bound", "bound_trust", "gap"))
    checked = verify(instance, {**raw, **empty, "history": [], "status": status})
    assert [item.kind for item in checked.violations] == ["refuted"]


def test_a_derived_bound_without_a_certificate_is_allowed_and_said_so(instance, schedule):
    checked = verify(instance, result_of(instance, schedule, certificate=False))
    assert checked.valid
    assert any("DERIVED" in note and "no certificate proves it" in note for note in checked.notes)


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"threads": 0}, "threads"),
        ({"runtime_seconds": -0.5}, "runtime_seconds"),
        ({"work": -1}, "work"),
        ({"history": [{"seconds": -1.0, "incumbent": 9, "bound": 9}]}, "history[0].seconds"),
        ({"warm_start": "perhaps"}, "warm_start"),
        ({"warm_start": "rejected: "}, "warm_start"),
        ({"warm_start": ""}, "warm_start"),
    ],
)
def test_what_no_result_can_say_is_malformed(instance, schedule, changes, where):
    with pytest.raises(InputError) as caught:
        verify(instance, {**result_of(instance, schedule).to_dict(), **changes})
    assert [fault.where for fault in caught.value.faults] == [where]


@pytest.mark.parametrize("fate", [None, "accepted", "repaired", "rejected: it is of another instance"])
def test_every_fate_of_a_warm_start_can_be_read(instance, schedule, fate):
    assert Result.from_dict({**result_of(instance, schedule).to_dict(), "warm_start": fate}).warm_start == fate


@pytest.mark.parametrize(
    ("column", "value", "kind"), [("start", 1, "overlap"), ("start", 3, "wrong-end"), ("gpu", 4, "unknown-gpu")]
)
def test_a_false_schedule_is_found_inside_a_result_and_alone(instance, schedule, column, value, kind):
    raw = json.loads(trusted_result(instance, result_of(instance, schedule)).to_json())
    raw["schedule"]["tasks"][1][column] = value
    checked = verify(instance, raw)
    assert kind in {item.kind for item in checked.violations}
    assert all(item.where.startswith("schedule.") for item in checked.violations if item.kind == kind)
    alone = verify(instance, raw["schedule"])
    assert not alone.valid and kind in {item.kind for item in alone.violations}


def test_a_certificate_with_a_changed_number_is_refused(instance, schedule):
    raw = json.loads(trusted_result(instance, result_of(instance, schedule)).to_json())
    assert verify(instance, raw["certificate"]).valid
    for where in ("certificate", None):
        wrong = copy.deepcopy(raw)
        wrong["certificate"]["bound"] = 8
        checked = verify(instance, wrong[where] if where else wrong)
        assert not checked.valid and "invalid-certificate" in {item.kind for item in checked.violations}


def test_a_weaker_certificate_does_not_carry_the_bound(instance, schedule):
    raw = json.loads(trusted_result(instance, result_of(instance, schedule)).to_json())
    weak = stated(instance, "combinatorial", {"objective": "total-weighted-completion", "part": "path"})
    assert weak.bound < 9
    raw["certificate"] = weak.to_dict()
    assert "weak-certificate" in {item.kind for item in verify(instance, raw).violations}


def test_malformed_and_foreign_documents_are_input_errors(instance, schedule):
    raw = result_of(instance, schedule).to_dict()
    for document in (
        {**raw, "objective": 1.5},
        {**raw, "extra": 1},
        {"format": "hetopt/round"},
        {},
        instance.to_dict(),
    ):
        with pytest.raises(InputError):
            verify(instance, document)


def test_verify_accepts_the_schedule_of_the_fixture(two_jobs):
    types = [0, 1, 0, 1, 0, 1, 0, 0, 0, 1]
    starts = [0, 0, 5, 5, 10, 10, 14, 23, 28, 23]
    assert verify(two_jobs, Schedule.from_starts(two_jobs, types, starts)).valid
    starts[-1] = 22
    assert not verify(two_jobs, Schedule.from_starts(two_jobs, types, starts)).valid
