"""The extremal instances of the theory pages, built exactly, with the numbers that they are known by.

All have one structure: blockers occupy every GPU just before a long head starts, a level block B
fills the cluster just before a heavy late job z, which midpoint lists put last.  Times are in ticks;
a round is ``(tasks, q)`` or ``(tasks, q, sigma)``.

For ``alpha > 1`` every task is alpha times slower, training and sync, on all GPUs but one, and that
one is a GPU that the list schedule (rule R1, ties by lowest index) does not use for it; the file
format cannot say that (tasks of one round have different fast GPUs), so these exist in Python only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from hetopt.analysis.certify.midpoint.lists import Rule, list_order, list_schedule
from hetopt.analysis.certify.midpoint.tasks import TaskProblem, Times
from hetopt.analysis.midpoint_point import exact_evidence, midpoints_of_tasks
from hetopt.core.instance import GpuType, Instance, Job, SyncRound

__all__ = ["ROWS", "Row", "as_instance", "row", "slowed"]

JobData = tuple[int, int, Sequence[tuple[Any, ...]]]


@dataclass(frozen=True)
class Row:
    """One instance and what is known about it.

    Attributes
    ----------
    name, section
        Name, and the part of the theory pages that it belongs to.
    gpus, jobs, alpha
        ``jobs`` as (weight, release, rounds); see the module for ``alpha``.
    lp, listed, scheduled
        Expected exact LP optimum, list value and value of a feasible schedule; None: not stated.
    ratio
        What list / schedule is said to reach, as text (its digits count).
    optimum
        The optimum where a solver has proved it (its word: see ``optimum_by``).
    scale
        The file holds times multiplied by this.
    rule
        Placement rule.
    """

    name: str
    section: str
    gpus: int
    jobs: tuple[JobData, ...]
    ratio: str
    lp: Fraction | None = None
    listed: Fraction | None = None
    scheduled: Fraction | None = None
    alpha: Fraction = Fraction(1)
    optimum: int | None = None
    optimum_by: str = ""
    scale: int = 1
    rule: Rule = Rule.R1

    def problem(self) -> TaskProblem:
        """The tasks, slowed down where alpha > 1."""
        return slowed(plain(self.gpus, self.jobs), self.alpha)

    @property
    def least_ratio(self) -> Fraction:
        """The stated ratio less half a unit of its last digit."""
        digits = len(self.ratio.partition(".")[2])
        return Fraction(self.ratio) - Fraction(1, 2 * 10**digits)

    @property
    def in_library(self) -> bool:
        """Whether the file format can say it."""
        return self.alpha == 1


def plain(gpus: int, jobs: Sequence[JobData]) -> TaskProblem:
    """All GPUs alike."""
    made = []
    for weight, release, rounds in jobs:
        tasks = [[(part[1], part[2] if len(part) > 2 else 0)] * part[0] for part in rounds]
        made.append((weight, release, tasks))
    return TaskProblem.from_tasks(gpus, made)


def slowed(problem: TaskProblem, alpha: Fraction) -> TaskProblem:
    """Every task alpha times slower on all GPUs but one that the list schedule does not use for it."""
    if alpha == 1:
        return problem
    problem = problem.refined(alpha.denominator)
    lp = exact_evidence(problem, *midpoints_of_tasks(problem))
    used = list_schedule(lp.problem, list_order(lp.point.midpoint), Rule.R1).gpu

    def times(rows: tuple[Times, ...]) -> tuple[Times, ...]:
        out = []
        for row, gpu in zip(rows, used, strict=True):
            fast = (gpu + 1) % problem.num_gpus
            slow = [None if x is None else int(x * alpha) for x in row]
            out.append(tuple(x if m == fast else y for m, (x, y) in enumerate(zip(row, slow, strict=True))))
        return tuple(out)

    return replace(problem, processing=times(problem.processing), sync=times(problem.sync))


def as_instance(item: Row) -> Instance:
    """The row as a document (alpha = 1 only), times multiplied by ``scale``."""
    if not item.in_library:
        raise ValueError(f"{item.name}: tasks of one round have different fast GPUs; the format cannot say that")
    names = ["Y", "V", "B", "z"] if len(item.jobs) == 4 else ["Y", "V", "B"] if len(item.jobs) == 3 else []
    jobs = []
    for n, (weight, release, rounds) in enumerate(item.jobs):
        parts = tuple(
            SyncRound(
                scale=part[0],
                processing_time=(int(Fraction(part[1]) * item.scale),),
                sync_time=(int(Fraction(part[2]) * item.scale) if len(part) > 2 else 0,),
            )
            for part in rounds
        )
        jobs.append(
            Job(name=names[n] if names else f"job{n}", weight=weight, release_date=release * item.scale, rounds=parts)
        )
    return Instance(name=item.name, gpu_types=(GpuType(name="G0", count=item.gpus),), jobs=tuple(jobs))


# ------------------------------------------------------------------------------------------- families


def three_jobs(gpus: int, y_at: int, v_at: int, head: int, block: int, weight: int) -> tuple[JobData, ...]:
    """Y: M tasks of 1; V: a head, M - 1 blockers, one last task; B: M tasks."""
    return (
        (1, y_at, ((gpus, 1),)),
        (weight, v_at, ((1, head), (gpus - 1, 1), (1, 1))),
        (1, 0, ((gpus, block),)),
    )


def many_heads(
    gpus: int, y: JobData, heads: Sequence[int], first_at: int, block: int, late_at: int, weight: int = 10**5
) -> tuple[JobData, ...]:
    """Y; a job per head (one task, then M - 1 blockers), released a tick apart; B; z."""
    chains = tuple((1, first_at + n, ((1, head), (gpus - 1, 1))) for n, head in enumerate(heads))
    return (y, *chains, (1, 0, ((gpus, block),)), (weight, late_at, ((1, 1),)))


def equal_rounds(gpus: int, sync: int, block: int, late_at: int) -> tuple[JobData, ...]:
    """Y: one task with a long sync, then M tasks, all of q = 1; B; z."""
    return ((10, 0, ((1, 1, sync), (gpus, 1))), (1, 0, ((gpus, block),)), (10**5, late_at, ((1, 1),)))


def chain_against_block(gpus: int, rounds: int, length: int, block: int, weight: int = 10**5) -> tuple[JobData, ...]:
    """One job with equal rounds of one task (M tasks in the last but one) against B; no sync, no arrivals."""
    chain = (*((1, length) for _ in range(rounds - 2)), (gpus, length), (1, length))
    return ((weight, 0, chain), (1, 0, ((gpus, block),)))


def equal_heads(gpus: int, y_at: int, head: int, count: int, block: int, late_at: int) -> tuple[JobData, ...]:
    """Heads of one length, each released when the blockers of the one before have their midpoint; z is longer by 1."""
    starts = [max(0, y_at + 1 + n * (head // 2 + 1) - head // 2 + min(n, 1)) for n in range(count)]
    chains = tuple((1, at, ((1, head), (gpus - 1, 1))) for at in starts)
    return (_blockers(gpus, y_at), *chains, (1, 0, ((gpus, block),)), (10**6, late_at, ((1, head + 1),)))


def _blockers(gpus: int, at: int) -> JobData:
    return (1, at, ((gpus, 1),))


def _late_blockers(gpus: int, sync: int) -> JobData:
    return (10, 0, ((1, 1, sync), (gpus, 1)))


_CP = "CP-SAT's word"


def _rows() -> tuple[Row, ...]:
    f = Fraction
    rows = [
        Row(name, "6.1", m, three_jobs(m, *data), ratio, f(lp), f(listed), f(best), optimum=best, optimum_by=_CP)
        for name, m, data, lp, listed, best, ratio in (
            (
                "three-jobs-m3",
                3,
                (1519, 1040, 960, 3602, 10**5),
                "2163418713629/10806",
                608307603,
                200207125,
                "3.03839",
            ),
            ("three-jobs-m4-small", 4, (29, 0, 60, 97, 10**3), "24110289/388", 188218, 62190, "3.02650"),
            ("three-jobs-m4-medium", 4, (29, 0, 60, 97, 10**4), "240614289/388", 1880218, 620190, "3.03168"),
            ("three-jobs-m4", 4, (999, 0, 2000, 3232, 10**5), "2588245293159/12928", 623307233, 200206235, "3.11333"),
            ("three-jobs-m5-small", 5, (29, 0, 60, 101, 10**4), "313171464/505", 1920222, 620194, "3.09616"),
            ("three-jobs-m5", 5, (999, 0, 2000, 3389, 10**5), "3392468572504/16945", 639007390, 200206392, "3.19174"),
            ("three-jobs-m6", 6, (999, 0, 2000, 3492, 10**5), "12584069584897/62856", 649307493, 200206495, "3.24319"),
        )
    ]
    for count, listed, best, ratio in ((60, 400640, 130852, "3.0618"), (120, 791380, 253772, "3.1184")):
        jobs: tuple[JobData, ...] = (
            (1, 1000, ((6, 1),)),
            (1, 1, ((1, 2000), (5, 1))),
            (1, 0, ((6, 3495),)),
            *((1, 2033, ((1, 1),)) for _ in range(count)),
        )
        rows.append(Row(f"unweighted-m6-{count}", "6.1", 6, jobs, ratio, None, f(listed), f(best)))
    rows += [
        Row(
            f"many-heads-m{m}",
            "6.2",
            m,
            many_heads(m, _blockers(m, at), heads, first, b, late),
            ratio,
            f(lp),
            f(listed),
            f(best),
        )
        for m, at, heads, first, b, late, lp, listed, best, ratio in (
            (8, 250, (500, 1000, 2000), 1, 3270, 2005, "20991558258577/104640", 702213529, 200609038, "3.50041"),
            (12, 250, (500, 1000, 2000), 1, 3520, 2005, "3389464734379/16896", 727213779, 200609289, "3.62503"),
            (
                20,
                125,
                (250, 500, 1000, 2000),
                1,
                3690,
                2006,
                "592489248996829/2952000",
                756714701,
                200709591,
                "3.77020",
            ),
            (
                32,
                63,
                (125, 250, 500, 1000, 2000),
                2,
                3803,
                2008,
                "1564779808859681/7788544",
                774315257,
                200909781,
                "3.85404",
            ),
        )
    ]
    heads = tuple((10, 0, ((1, p), (7, 1))) for p in (250, 505, 1014, 2032))
    z = (10**5, 0, (*((1, f(407, 4)) for _ in range(20)), (1, 1)))
    rows.append(Row("heads-alone-m8", "6.2", 8, (*heads, (1, 0, ((8, 2837),)), z), "3.26047", scale=4))
    rows.append(
        Row(
            "tight-m1-two-jobs",
            "6.3",
            1,
            ((1, 0, ((1, 2000),)), (10**5, 1000, ((1, 1), (1, 1)))),
            "2.99595",
            f(100202001),
            f(300203001),
            f(100203002),
            optimum=100203002,
            optimum_by="by hand",
        )
    )
    rows += [
        Row(
            name,
            "6.3",
            2,
            equal_rounds(2, 1000, 2002, 1003),
            ratio,
            f("401648093/4"),
            f(listed),
            f(best),
            f(alpha),
            optimum,
            by,
        )
        for name, alpha, listed, best, ratio, optimum, by in (
            ("tight-m2", 1, "300513024", "100413026", "2.99277", 100413026, _CP),
            ("tight-m2-alpha-3/2", "3/2", "450769536", "200837059/2", "4.48891", None, ""),
            ("tight-m2-alpha-3", 3, "901539072", "100435046", "8.97634", None, ""),
        )
    ]
    v: tuple[JobData, ...] = (
        (10, 0, ((1, 1, 1105), (4, 1))),
        (1, 660, ((1, 894), (3, 1))),
        (1, 0, ((4, 2819),)),
        (10**5, 1556, ((1, 1),)),
    )
    rows.append(
        Row("slowed-m4", "6.4", 4, v, "3.25091", f("14046791949781/90208"), f("10124475753/20"), None, f(21, 20))
    )
    rows += [
        Row(
            name,
            "6.4",
            m,
            many_heads(m, y, heads_, first, b, late),
            ratio,
            None if lp is None else f(lp),
            None if listed is None else f(listed),
            None,
            f(alpha),
        )
        for name, alpha, m, y, heads_, first, b, late, lp, listed, ratio in (
            (
                "slowed-m8",
                "6/5",
                8,
                _late_blockers(8, 249),
                (500, 1000, 2000),
                1,
                3270,
                2005,
                "83967178620721/418560",
                "4213294728/5",
                "4.20042",
            ),
            (
                "slowed-m12",
                "3/2",
                12,
                _late_blockers(12, 249),
                (500, 1000, 2000),
                1,
                3519,
                2005,
                "203312397592309/1013472",
                "2181348111/2",
                "5.43664",
            ),
            ("slowed-m16", "8/5", 16, _blockers(16, 125), (250, 500, 1000, 2000), 1, 3611, 2006, None, None, "5.93187"),
            (
                "slowed-m32",
                "9/5",
                32,
                _blockers(32, 63),
                (125, 250, 500, 1000, 2000),
                2,
                3803,
                2008,
                "1564779808859681/7788544",
                None,
                "6.91203",
            ),
        )
    ]
    heads = tuple((10, 0, ((1, p), (15, 1))) for p in (63, 130, 264, 532, 1068, 2140))
    z = (10**5, 0, (*((1, f(215, 2)) for _ in range(20)), (1, 1)))
    rows.append(Row("heads-alone-m16", "6.2", 16, (*heads, (1, 0, ((16, 3635),)), z), "3.64138", scale=2))
    rows += [
        Row(f"chain-m{m}", "6.3", m, chain_against_block(m, 22, 1000, block, 10**6), ratio)
        for m, block, ratio in ((3, 31017, "2.40986"), (4, 33829, "2.53768"), (8, 37941, "2.72459"))
    ]
    rows += [
        Row(f"insertion-m{m}", "6.6", m, equal_heads(m, *data), ratio, rule=Rule.R3)
        for m, data, ratio in ((8, (300, 200, 7, 1755, 919), "3.08838"), (12, (60, 208, 9, 1767, 917), "3.28773"))
    ]
    return tuple(rows)


ROWS = _rows()
"""Every row, in the order of the theory pages."""


def row(name: str) -> Row:
    """The row of a name."""
    for item in ROWS:
        if item.name == name:
            return item
    raise KeyError(name)
