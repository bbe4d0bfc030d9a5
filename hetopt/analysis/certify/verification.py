"""``hetopt verify``: a schedule, result or certificate against its instance, an allocation against its round.

No solver runs.  Whatever does not hold becomes one violation; what holds only on a solver's word is
a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from hetopt.analysis.certify.check import check_certificate
from hetopt.core.allocation import Allocation, allocation_violations, evaluate_allocation, optimality_tolerance
from hetopt.core.certificate import Certificate
from hetopt.core.documents import Document, Part, exact_text
from hetopt.core.errors import Fault, InputError, UsageError, shown
from hetopt.core.feasibility import violations
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.result import Result, relative_gap
from hetopt.core.round_problem import CostModel, RoundProblem
from hetopt.core.round_solver import WorkConservation
from hetopt.core.schedule import Schedule
from hetopt.core.status import CUT_OFF, Status, Trust

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
        findings = list(_allocation(problem, raw, source, notes))
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
    found += _claims(result)
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
    return found, proved


def _claims(result: Result) -> Iterator[Finding]:
    """Statuses that are refuted without a solver."""
    if result.status in (Status.INFEASIBLE, Status.UNBOUNDED):
        # one task after the other on a type that may run it is a schedule; no objective is negative
        message = f"{result.status} is refuted: every valid instance has a schedule and a least value"
        yield _finding("refuted", "status", message)
    if result.status is Status.OPTIMAL and result.stop_reason in CUT_OFF:
        yield _finding(
            "inconsistent", "stop_reason", f"OPTIMAL and stopped by {result.stop_reason}: one excludes the other"
        )


def _history(result: Result) -> Iterator[Finding]:
    for n, (old, new) in enumerate(pairwise(result.history), 1):
        where = f"history[{n}]"
        if new.seconds < old.seconds:
            yield _finding("inconsistent", where, f"{new.seconds} s after {old.seconds} s")
        if old.incumbent is not None and (new.incumbent is None or new.incumbent > old.incumbent):
            yield _finding("inconsistent", where, f"the incumbent gets worse, from {old.incumbent} to {new.incumbent}")
        if old.bound is not None and (new.bound is None or new.bound < old.bound):
            yield _finding("inconsistent", where, f"the lower bound gets worse, from {old.bound} to {new.bound}")
    if result.history:
        last = result.history[-1]
        if (last.incumbent, last.bound) != (result.objective, result.bound):
            message = (
                f"ends with incumbent {last.incumbent} and bound {last.bound}, "
                f"the result has {result.objective} and {result.bound}"
            )
            yield _finding("inconsistent", "history", message)
    values = [point.incumbent for point in result.history if point.incumbent is not None]
    bounds = [point.bound for point in result.history if point.bound is not None]
    if result.objective is not None and any(b > result.objective for b in bounds):
        yield _finding("bound-above-objective", "history", f"a bound above the objective {result.objective}")
    if result.objective is not None and any(v < result.objective for v in values):
        yield _finding("inconsistent", "history", f"an incumbent below the final objective {result.objective}")


def _allocation(problem: RoundProblem, raw: dict[str, Any], source: str, notes: list[str]) -> Iterator[Finding]:
    """An allocation with the cost weights and the rule that its own options state (the defaults where they state none)."""
    allocation = Allocation.from_dict(raw, source)
    broken = [
        Finding(kind=str(v.kind), where=v.where, message=v.message) for v in allocation_violations(problem, allocation)
    ]
    yield from broken
    model, rule = CostModel(), WorkConservation.MOST_GPUS
    try:
        stated = allocation.options.get("cost", {})
        model = CostModel(**stated) if isinstance(stated, dict) else CostModel(age=stated)
        rule = WorkConservation(allocation.options.get("rule", rule))
    except (UsageError, TypeError, ValueError) as error:
        yield _finding("inconsistent", "options", f"cost or rule is not one that exists: {error}")
        return
    certificate, proved = allocation.certificate, None
    if certificate is not None:
        verdict = check_certificate(problem, certificate)
        for reason in verdict.reasons:
            yield _finding("invalid-certificate", "certificate", reason)
        proved = verdict.bound if verdict.valid else None
        data = certificate.data if isinstance(certificate.data, dict) else {}
        for key, own in (("cost", model.to_dict()), ("rule", str(rule))):
            if data.get(key) != own:
                message = f"is about the {key} {shown(data.get(key))}, the allocation about {shown(own)}"
                yield _finding("invalid-certificate", f"certificate.data.{key}", message)
                proved = None
    if allocation.status in (Status.INFEASIBLE, Status.UNBOUNDED):
        yield _finding(
            "refuted", "status", f"{allocation.status} is refuted: every round has an allocation, and finitely many"
        )
    if allocation.status is Status.OPTIMAL and allocation.stop_reason in CUT_OFF:
        message = f"OPTIMAL and stopped by {allocation.stop_reason}: one excludes the other"
        yield _finding("inconsistent", "stop_reason", message)
    cost, bound = allocation.cost, allocation.bound
    waits = all(i is None for i in allocation.gpu_type)
    if cost is None:
        if not waits:
            yield _finding("wrong-objective", "cost", "null, and jobs run")
        if allocation.status in (Status.OPTIMAL, Status.FEASIBLE):
            yield _finding("inconsistent", "status", f"{allocation.status} without a cost")
    elif not broken:
        if allocation.status not in (Status.OPTIMAL, Status.FEASIBLE):
            yield _finding("inconsistent", "status", f"{allocation.status} with an allocation")
        actual = evaluate_allocation(problem, allocation.gpu_type, model)
        tolerance = optimality_tolerance(problem, allocation.gpu_type, model)
        for term, value in vars(actual).items():
            told = getattr(cost, term)
            if abs(told - value) > 1e-12 * max(abs(told), abs(value)) + tolerance / 1000:
                yield _finding("wrong-objective", f"cost.{term}", f"says {told}, the allocation costs {value}")
        notes.append(f"feasible; cost {actual.total!r} recomputed")
        if bound is not None and bound > actual.total + tolerance:
            yield _finding("bound-above-objective", "bound", f"{bound} is above the cost {actual.total}")
        if allocation.status is Status.OPTIMAL and (bound is None or actual.total - bound > tolerance):
            yield _finding("inconsistent", "status", f"OPTIMAL with cost {actual.total} and bound {bound}")
        yield from _rule(
            problem, allocation, rule, None if proved is None or certificate is None else certificate, notes
        )
    if raw.get("gap") != allocation.gap:
        yield _finding("wrong-gap", "gap", f"says {raw.get('gap')}, (cost - bound) / |cost| is {allocation.gap}")
    if bound is not None and certificate is not None and proved is not None:
        if Fraction(bound) > proved and bound != float(proved):
            yield _finding("weak-certificate", "bound", f"says {bound}, the certificate proves {float(proved)!r} only")
        else:
            notes.append(f"proved in exact arithmetic: the lower bound {exact_text(proved)}")
    elif bound is not None:
        notes.append(f"the lower bound {bound} rests on the word of {allocation.solver}: no certificate proves it")


def _rule(
    problem: RoundProblem,
    allocation: Allocation,
    rule: WorkConservation,
    certificate: Certificate | None,
    notes: list[str],
) -> Iterator[Finding]:
    """Whether the work-conservation rule is obeyed, without the solvers' code."""
    used = sum(allocation.gpus_used)
    left = [g.count - u for g, u in zip(problem.gpu_types, allocation.gpus_used, strict=True)]
    if rule is WorkConservation.NONE:
        return
    for job, i in zip(problem.jobs, allocation.gpu_type, strict=True):
        fits = [k for k, rate in enumerate(job.throughput) if rate is not None and job.demand <= left[k]]
        if i is None and fits:
            where = problem.gpu_types[fits[0]].name
            yield _finding("inconsistent", "jobs", f"job {job.name!r} waits and fits on {where!r} (rule {rule})")
            return
    if rule is WorkConservation.MAXIMAL:
        notes.append("no waiting job fits in what is left")
        return
    most = usable_gpus(problem)
    if used == most:
        notes.append(f"no allocation uses more than {most} GPUs: counted here")
    elif certificate is not None and certificate.data.get("used") == used:
        notes.append(f"no allocation uses more than {used} GPUs: by the certificate's cut")
    else:
        notes.append(
            f"{used} GPUs are used; that no allocation uses more (at most {most}) rests on the word of {allocation.solver}"
        )


def usable_gpus(problem: RoundProblem) -> int:
    """An upper bound on the GPUs that an allocation can use: type by type the largest sum of demands that fits, and the jobs' demand.

    Exact for demands like 1, 2, 4, 8 with every type open to every job; where it is not reached nothing is concluded.
    """
    per_type, reach = 0, 0
    for i, gpu_type in enumerate(problem.gpu_types):
        sums, mask = 1, (1 << (gpu_type.count + 1)) - 1
        for job in problem.jobs:
            if job.throughput[i] is not None and job.demand <= gpu_type.count:
                sums |= (sums << job.demand) & mask
                if sums >> gpu_type.count & 1:
                    break
        per_type += sums.bit_length() - 1
    for job in problem.jobs:
        if any(
            rate is not None and job.demand <= g.count
            for rate, g in zip(job.throughput, problem.gpu_types, strict=True)
        ):
            reach += job.demand
    return min(per_type, reach)
