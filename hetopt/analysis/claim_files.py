"""The extremal instances as files of the library, each with evidence: LP certificate and schedule.

``certificates/NAME.json`` proves the LP value (kind ``midpoint-lp``), ``schedules/NAME.json`` is the
schedule to compare with, ``certificates/NAME-optimum.json`` proves that it is optimal where a
time-indexed Lagrangian bound closes the gap.  Written by ``python -m hetopt.analysis.claims
--write-library``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import lcm

from hetopt.analysis.bounds import compute_bounds
from hetopt.analysis.certify import check_certificate, verify
from hetopt.analysis.certify.midpoint.lists import completion, list_order, list_schedule
from hetopt.analysis.certify.midpoint.tasks import TaskProblem
from hetopt.analysis.counterexamples import Row, as_instance
from hetopt.analysis.midpoint_point import LpEvidence, exact_evidence, midpoints_of_tasks
from hetopt.analysis.witness import best_witness
from hetopt.core.certificate import Certificate
from hetopt.core.documents import exact_text
from hetopt.core.errors import VerificationError
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.schedule import Schedule
from hetopt.core.status import Trust
from hetopt.instances.library.__main__ import TABLES
from hetopt.instances.library.index import FOLDER, INDEX_FILE, Entry, Index, Known
from hetopt.instances.library.refresh import measured, write_all

__all__ = ["lp_certificate", "write_files"]


def lp_certificate(instance: Instance, lp: LpEvidence) -> Certificate:
    """The split of an exact LP evidence as a certificate of kind ``midpoint-lp``.

    Raises
    ------
    VerificationError
        The checker does not accept it, or it proves another value.
    """
    problem = lp.problem
    density = [c * problem.unit / q for c, q in zip(lp.split, problem.shortest, strict=True)]
    common = lcm(*(d.denominator for d in density))
    rows = [[int(density[tasks[0]] * common) for tasks in rounds] for rounds in problem.rounds]
    family = {"prices": [1] * len(instance.gpu_types), "capacity": "gpus", "release": False, "density": rows}
    data = {"tail": "base", "denominator": common, "families": [family]}
    made = Certificate("midpoint-lp", lp.lower_bound, instance.fingerprint, data)
    verdict = check_certificate(instance, made)
    if not verdict.valid:
        raise VerificationError(f"{instance.name}: {'; '.join(verdict.reasons)}")
    return made


def _files(row: Row) -> Entry:
    instance = as_instance(row)
    problem = TaskProblem.from_instance(instance)
    lp = exact_evidence(problem, *midpoints_of_tasks(problem))
    if not lp.optimal:
        raise VerificationError(f"{row.name}: the LP value is not known exactly")
    listed = list_schedule(lp.problem, list_order(lp.point.midpoint))
    found, _ = best_witness(problem, 400 if problem.num_jobs <= 20 else 60)
    schedule = Schedule.from_starts(instance, found.gpu, [start // problem.unit for start in found.start])
    if not verify(instance, schedule).valid:
        raise VerificationError(f"{row.name}: the schedule is infeasible")
    value = evaluate(instance, schedule)
    instance.save(FOLDER / f"{row.name}.json")
    schedule.save(FOLDER / "schedules" / f"{row.name}.json")
    (FOLDER / "certificates").mkdir(exist_ok=True)
    lp_certificate(instance, lp).save(FOLDER / "certificates" / f"{row.name}.json")
    lower = Known(
        value=-(-lp.value.numerator // lp.value.denominator),
        trust="certificate",
        source="the midpoint LP",
        file=f"certificates/{row.name}.json",
    )
    if row.optimum is not None and row.scale == 1:
        lower = Known(value=row.optimum, trust="solver", source="proved optimal by CP-SAT; no certificate")
    optimal = _optimum(instance, value)
    if optimal is not None:
        file = f"certificates/{row.name}-optimum.json"
        optimal.save(FOLDER / file)
        lower = Known(value=value, trust="certificate", source=f"{optimal.kind}", file=file)
    plural = "s" if row.gpus > 1 else ""
    return Entry(
        name=row.name,
        title=f"Midpoint list scheduling against the optimum, {row.gpus} GPU{plural}: ratio {row.ratio}",
        origin=f"theory notes, section {row.section}",
        tags=("theory", "counterexample" if row.section in ("6.1", "6.2", "6.6") else "near-tight"),
        note="All GPUs alike (alpha = 1); midpoint_lp is the exact optimum of the midpoint LP (certificates/), hare the value of its list schedule.",
        lower=lower,
        upper=Known(value=value, trust="witness", source="an explicit schedule", file=f"schedules/{row.name}.json"),
        facts={
            "midpoint_lp": exact_text(lp.value),
            "hare": int(lp.problem.value(completion(lp.problem, listed))),
        },
        **measured(instance),
    )


def _optimum(instance: Instance, value: int) -> Certificate | None:
    """A certificate that no schedule is better than ``value``, where a few seconds find one."""
    if instance.num_tasks > 20:
        return None
    row = compute_bounds(instance, ("time-indexed-lagrangian",), time_limit=20)["time-indexed-lagrangian"]
    bound: Fraction | None = row.exact
    if bound is None or row.trust is not Trust.VERIFIED or -(-bound.numerator // bound.denominator) != value:
        return None
    return Certificate.from_dict(row.certificate)


def write_files(rows: Iterable[Row]) -> Iterator[str]:
    """Write the files of every row that the format can say, and its entry in the index; yields the names."""
    for row in rows:
        if not row.in_library:
            continue
        entry = _files(row)
        index = Index.load(INDEX_FILE)
        kept = [entry if old.name == row.name else old for old in index.instances]
        if row.name not in {old.name for old in index.instances}:
            kept.append(entry)
        write_all(Index(instances=tuple(kept)), TABLES)
        yield row.name
