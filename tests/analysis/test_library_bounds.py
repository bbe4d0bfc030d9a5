"""The command that improves library bounds: what it takes, what it refuses, what it writes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from hetopt.analysis.certify import check_certificate
from hetopt.analysis.library_bounds import improve, improved_index, main
from hetopt.core.certificate import Bound, Certificate
from hetopt.core.errors import UsageError, VerificationError
from hetopt.core.result import Result
from hetopt.core.solver import Limits
from hetopt.core.status import Objective, Status, StopReason, Trust
from hetopt.instances import library
from hetopt.instances.library.index import FOLDER
from hetopt.solvers.run import run

NAME = "hand-two-types"


def result(schedule=None, objective=None, bound=None, certificate=None):
    instance = library.load(NAME)
    made = None if bound is None else Bound(Fraction(bound), "fake", Trust.REPORTED, certificate)
    return Result(
        status=Status.FEASIBLE,
        stop_reason=StopReason.EXHAUSTED,
        objective_kind=Objective.TOTAL_WEIGHTED_COMPLETION,
        incumbent=schedule,
        objective=objective,
        exact_bound=made,
        solver="fake",
        solver_version="1.0",
        fingerprint=instance.fingerprint,
    )


def entry(**changes):
    return library.entry(NAME).model_copy(update=changes)


def test_a_first_schedule_and_bound_are_taken():
    best = library.witness(NAME)
    found = improve(entry(lower=None, upper=None), library.load(NAME), result(best, 26, Fraction(251, 10)))
    assert found.schedule is best
    assert (found.changes["upper"].value, found.changes["upper"].trust) == (26, "witness")
    assert (found.changes["lower"].value, found.changes["lower"].trust) == (26, "solver")
    assert "fake 1.0" in found.changes["lower"].source


def test_nothing_new_changes_nothing():
    assert improve(entry(), library.load(NAME), result(library.witness(NAME), 26, 25)).changes == {}


def test_a_published_value_gets_its_witness_and_a_certificate_replaces_a_word():
    known = library.entry(NAME).upper.model_copy(update={"trust": "published", "file": None})
    proved = run("time-indexed-lagrangian", library.load(NAME)).certificate
    found = improve(
        entry(lower=known, upper=known), library.load(NAME), result(library.witness(NAME), 26, proved.bound, proved)
    )
    assert found.changes["upper"].file == f"schedules/{NAME}.json"
    assert found.changes["lower"].trust == "certificate" and found.certificate is proved


def test_a_certificate_is_kept_only_if_the_checker_accepts_it():
    fake = Certificate("midpoint-lp", Fraction(26), library.load(NAME).fingerprint, {"split": []})
    with pytest.raises(VerificationError, match="the certificate is refused"):
        improve(entry(lower=None), library.load(NAME), result(None, None, 26, fake))


def test_every_stored_certificate_is_accepted():
    for e in library.index().instances:
        if e.lower is not None and e.lower.file is not None:
            verdict = check_certificate(library.load(e.name), Certificate.load(FOLDER / e.lower.file))
            assert verdict.valid, (e.name, verdict.reasons)


def test_contradictions_are_errors():
    instance, best = library.load(NAME), library.witness(NAME)
    higher = library.entry(NAME).lower.model_copy(update={"value": 27})
    with pytest.raises(VerificationError, match="below the lower bound 27"):
        improve(entry(lower=higher, upper=None), instance, result(best, 26))
    with pytest.raises(VerificationError, match="exceeds the upper bound 26"):
        improve(entry(), instance, result(bound=27))
    with pytest.raises(VerificationError, match="the value is 26"):
        improve(entry(), instance, result(best, 25))
    with pytest.raises(VerificationError, match="before-previous-round"):
        improve(entry(), instance, result(broken(best), 20))


def broken(schedule):
    start = schedule.start.copy()
    start[:] = 0
    return replace(
        schedule, start=start, end=schedule.end - schedule.start, sync_end=schedule.sync_end - schedule.start
    )


def test_runs_write_evidence_and_update_the_index(tmp_path):
    lines = []
    bare = library.index().model_copy(
        update={
            "instances": tuple(e.model_copy(update={"upper": None, "lower": None}) for e in library.index().instances)
        }
    )
    index = improved_index(bare, ["T08"], ["wspt"], limits=Limits(), folder=tmp_path, report=lines.append)
    fresh = next(e for e in index.instances if e.name == "T08")
    assert fresh.upper.trust == "witness" and fresh.upper.value >= 126
    assert (tmp_path / fresh.upper.file).is_file()
    assert lines and "T08: wspt" in lines[0]
    with pytest.raises(UsageError, match="did you mean T08"):
        improved_index(bare, ["T8"], ["wspt"], limits=Limits())


def test_a_dry_run_writes_nothing(capsys):
    before = library.index.__wrapped__().to_json()
    assert main(["--solver", "wspt", "--dry-run", "T08"]) == 0
    assert "T08: wspt: objective" in capsys.readouterr().err
    assert library.index.__wrapped__().to_json() == before
    assert main(["--solver", "no-such-solver", "--dry-run", "T08"]) == 2
