"""``hetopt verify``: a schedule, result or certificate against its instance, an allocation against its round.

No solver runs.  Whatever does not hold becomes one violation; what holds only on a solver's word is
a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from hetopt.analysis.certify.check import check_certificate
from hetopt.core.allocation import Allocation, allocation_violations, evaluate_allocation
from hetopt.core.certificate import Certificate
from hetopt.core.documents import Document, Part, exact_text
from hetopt.core.errors import Fault, InputError, shown
from hetopt.core.feasibility import violations
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.result import Result, relative_gap
from hetopt.core.round_problem import RoundProblem
from hetopt.core.schedule import Schedule
from hetopt.core.status import Status, Trust

__all__ = ["Verification", "verify"]


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


class Finding(Part):
    """One thing that does not hold."""

    kind: str
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.kind}: {self.message}" if self.where else f"{self.kind}: {self.message}"


class Verification(Document):
    """Outcome of :func:`verify` (document ``hetopt/verification``).

    ``document`` names the format that was checked; ``bound`` is what its certificate proves, if
    anything; ``notes`` say in words what was proved and what rests on a solver's word.
    """

    format: Literal["hetopt/verification"] = "hetopt/verification"
    version: Literal[1] = 1
    document: str
    fingerprint: str
    valid: bool
    bound: int | str | None
    violations: Annotated[tuple[Finding, ...], BeforeValidator(_tuple)]
    notes: Annotated[tuple[str, ...], BeforeValidator(_tuple)]

    def __bool__(self) -> bool:
        return self.valid


_SHAPED = Schedule | Result | Certificate | Allocation


def verify(problem: Instance | RoundProblem, document: _SHAPED | dict[str, Any], source: str = "") -> Verification:
    """Check a document against its problem, with no solver.

    Parameters
    ----------
    problem
        An instance, or a round for allocations.
    document
        A schedule, result, certificate or allocation: as an object, or as parsed JSON (its format
        tells which).
    source
        File name for messages.

    Raises
    ------
    InputError
        The document is malformed, or is none of these.
    """
    raw = document if isinstance(document, dict) else document.to_dict()
    kind = raw.get("format")
    bound: Fraction | None = None
    notes: list[str] = []
    if kind == "hetopt/allocation" and isinstance(problem, RoundProblem):
        findings = list(_allocation(problem, Allocation.from_dict(raw, source), notes))
    elif kind == "hetopt/certificate":
        certificate = Certificate.from_dict(raw, source)
        verdict = check_certificate(problem, certificate)
        findings = [_finding("invalid-certificate", "data", reason) for reason in verdict.reasons]
        bound = verdict.bound if verdict.valid else None
        if verdict.valid:
            about = f" on {verdict.objective}" if verdict.objective else ""
            notes.append(f"proved in exact arithmetic: the lower bound {exact_text(certificate.bound)}{about}")
    elif kind == "hetopt/schedule" and isinstance(problem, Instance):
        schedule = Schedule.from_dict(raw, source)
        findings = list(_schedule(problem, schedule))
        if not findings:
            notes.append(f"feasible; total weighted completion time {evaluate(problem, schedule)}")
    elif kind == "hetopt/result" and isinstance(problem, Instance):
        findings, bound = _result(problem, raw, source, notes)
    else:
        about = "round" if isinstance(problem, RoundProblem) else "instance"
        allowed = (
            "allocation or certificate" if isinstance(problem, RoundProblem) else "schedule, result or certificate"
        )
        raise InputError(
            Fault(
                "format",
                shown(kind),
                f"with {'an' if about[0] in 'aeiou' else 'a'} {about}, a document to verify is a hetopt {allowed}",
                "name such a file",
                source,
            )
        )
    return Verification(
        document=str(kind),
        fingerprint=problem.fingerprint,
        valid=not findings,
        bound=None if bound is None else exact_text(bound),
        violations=tuple(findings),
        notes=tuple(notes),
    )


def _finding(kind: str, where: str, message: str) -> Finding:
    return Finding(kind=kind, where=where, message=message)


def _schedule(instance: Instance, schedule: Schedule, prefix: str = "") -> Iterator[Finding]:
    for item in violations(instance, schedule):
        yield Finding(kind=str(item.kind), where=prefix + item.where, message=item.message)


def _result(
    instance: Instance, raw: dict[str, Any], source: str, notes: list[str]
) -> tuple[list[Finding], Fraction | None]:
    found: list[Finding] = []
    try:
        result = Result.from_dict(raw, source)
    except InputError as error:
        # a claim that contradicts itself is a failed verification, anything else a malformed file
        if any(fault.where not in ("status", "bound_trust") for fault in error.faults):
            raise
        patched = {**raw, "bound_trust": raw.get("bound_trust") or str(Trust.REPORTED)}
        if raw.get("status") == Status.OPTIMAL:
            patched["status"] = str(Status.FEASIBLE)
        result = Result.from_dict(patched, source)
        found += [_finding("inconsistent", fault.where, f"{fault.found}: {fault.rule}") for fault in error.faults]
    if result.fingerprint != instance.fingerprint:
        found.append(_finding("wrong-instance", "fingerprint", "the result was made for another instance"))
    schedule, kind, objective, bound = result.incumbent, result.objective_kind, result.objective, result.bound
    if schedule is None:
        if objective is not None:
            found.append(
                _finding("unsupported-objective", "objective", f"{objective} without a schedule that attains it")
            )
        if result.status in (Status.OPTIMAL, Status.FEASIBLE):
            found.append(_finding("missing-schedule", "schedule", f"{result.status} without a schedule"))
    else:
        broken = list(_schedule(instance, schedule, "schedule."))
        found += broken
        if not broken:
            value = evaluate(instance, schedule, kind)
            if objective != value:
                found.append(
                    _finding("wrong-objective", "objective", f"says {objective}, the schedule has {kind} {value}")
                )
            else:
                notes.append(f"feasible; {kind} {value} recomputed")
        if result.status not in (Status.OPTIMAL, Status.FEASIBLE):
            found.append(_finding("inconsistent", "status", f"{result.status} with a schedule"))
    if objective is not None and bound is not None and bound > objective:
        found.append(
            _finding("bound-above-objective", "bound", f"the lower bound {bound} is above the objective {objective}")
        )
    gap = relative_gap(objective, bound)
    if raw.get("gap") != (None if gap is None else float(gap)):
        found.append(
            _finding(
                "wrong-gap",
                "gap",
                f"says {raw.get('gap')}, (objective - bound) / objective is {None if gap is None else float(gap)}",
            )
        )
    if bound is None and result.bound_trust is None and raw.get("bound_trust") is not None:
        found.append(_finding("inconsistent", "bound_trust", f"{raw['bound_trust']} without a bound"))
    found += _history(result)
    certificate = raw.get("certificate")
    proved: Fraction | None = None
    if certificate is not None:
        verdict = check_certificate(instance, Certificate.from_dict(certificate, source))
        found += [_finding("invalid-certificate", "certificate", reason) for reason in verdict.reasons]
        proved = verdict.value_for(instance, kind)
        if verdict.valid and proved is None:
            found.append(
                _finding(
                    "invalid-certificate", "certificate", f"it is about {verdict.objective}, the result about {kind}"
                )
            )
    proves = proved is not None and bound is not None and -(-proved.numerator // proved.denominator) >= bound
    if bound is not None and certificate is not None and proved is not None and not proves:
        found.append(
            _finding("weak-certificate", "bound", f"says {bound}, the certificate proves {exact_text(proved)} only")
        )
    if result.bound_trust is Trust.VERIFIED and certificate is None:
        found.append(_finding("missing-certificate", "bound_trust", "VERIFIED without a certificate"))
    if proves:
        notes.append(f"proved in exact arithmetic: the lower bound {exact_text(proved or 0)}")
    elif bound is not None:
        notes.append(
            f"the lower bound {bound} ({result.bound_trust}) rests on the word of {result.solver}: no certificate proves it"
        )
    if result.status is Status.OPTIMAL and not found:
        notes.append(
            "optimality is proved by schedule and certificate"
            if proves
            else "optimality rests on the solver's word alone"
        )
    if result.status is Status.INFEASIBLE:
        notes.append("infeasibility rests on the solver's word alone")
    return found, proved


def _history(result: Result) -> Iterator[Finding]:
    values = [point.incumbent for point in result.history if point.incumbent is not None]
    bounds = [point.bound for point in result.history if point.bound is not None]
    if result.objective is not None and any(b > result.objective for b in bounds):
        yield _finding("bound-above-objective", "history", f"a bound above the objective {result.objective}")
    if result.objective is not None and any(v < result.objective for v in values):
        yield _finding("inconsistent", "history", f"an incumbent below the final objective {result.objective}")


def _allocation(problem: RoundProblem, allocation: Allocation, notes: list[str]) -> Iterator[Finding]:
    broken = [
        Finding(kind=str(v.kind), where=v.where, message=v.message) for v in allocation_violations(problem, allocation)
    ]
    yield from broken
    if not broken and allocation.cost is not None:
        cost = evaluate_allocation(problem, allocation.gpu_type)
        for term, value in vars(cost).items():
            stated = getattr(allocation.cost, term)
            if abs(stated - value) > 1e-9 * max(1.0, abs(value)):
                yield _finding("wrong-objective", f"cost.{term}", f"says {stated}, the allocation costs {value}")
        notes.append(f"feasible; cost {cost.total!r} recomputed")
    if (
        allocation.cost is not None
        and allocation.bound is not None
        and allocation.bound > allocation.cost.total + 1e-9 * max(1.0, abs(allocation.cost.total))
    ):
        yield _finding(
            "bound-above-objective", "bound", f"{allocation.bound} is above the cost {allocation.cost.total}"
        )
    if allocation.certificate is not None:
        verdict = check_certificate(problem, allocation.certificate)
        for reason in verdict.reasons:
            yield _finding("invalid-certificate", "certificate", reason)
