"""Published and proved statements about midpoint list scheduling, as data, and one command that reproduces them.

``python -m hetopt.analysis.claims`` rebuilds every extremal instance exactly: the LP value (a
feasible point and a split of the weights that meet, so no solver is believed), the list schedule,
and a feasible schedule to compare with.  It exits with 5 if a number differs from the one stated.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from hetopt.analysis.bound_check import BoundCheck
from hetopt.analysis.certify.midpoint.lists import completion, list_order, list_schedule
from hetopt.analysis.counterexamples import ROWS, Row
from hetopt.analysis.midpoint_point import exact_evidence, midpoints_of_tasks
from hetopt.analysis.witness import best_witness, is_feasible
from hetopt.core.documents import parse_exact
from hetopt.core.errors import ExitCode

__all__ = ["CLAIMS", "Claim", "Outcome", "State", "claim", "main", "reproduce", "table"]


class State(StrEnum):
    """What is known about a statement."""

    PROVED = "proved here"
    PUBLISHED = "published"
    REFUTED = "refuted"
    NOT_CHECKED = "not checked"


Predicate = Callable[[BoundCheck], bool | None]


@dataclass(frozen=True)
class Claim:
    """One statement.

    Attributes
    ----------
    id, citation, statement
        Name, where it comes from, and what it says.
    state
        What is known about it.
    predicate
        Whether a checked instance agrees (True), contradicts it (False), or has nothing to say (None).
    witness
        Names of rows that refute it or show that it is tight.
    page
        Theory page with the proof or the refutation.
    """

    id: str
    citation: str
    statement: str
    state: State
    predicate: Predicate | None = None
    witness: tuple[str, ...] = ()
    page: str = ""


_PAPER = "Hare (HPDC 2022; IEEE Transactions on Cloud Computing 2024); our reading of public summaries"
_OURS = "this project's theory pages"


def _exact(value: int | str | None) -> Fraction | None:
    return None if value is None else parse_exact(value, "value")


def _within(factor: Callable[[BoundCheck], Fraction | None], against: str) -> Predicate:
    """List value <= factor x another value, or None where the factor is not claimed."""

    def holds(check: BoundCheck) -> bool | None:
        by, other = factor(check), _exact(getattr(check.ratios, against))
        return None if by is None or other is None else _exact(check.ratios.list_value) <= by * other  # type: ignore[operator]

    return holds


def _step(*numbers: int) -> Predicate:
    return lambda check: all(step.ok for step in check.steps if step.id in numbers)


def _alike_plain(check: BoundCheck) -> Fraction | None:
    c = check.constants
    return _exact(check.three_alpha) if c.alpha is not None and c.rho == 1 else None


def _related(check: BoundCheck) -> Fraction | None:
    c = check.constants
    return _exact(check.K) if c.capacity == c.weakest else None


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "lp-valid",
        _OURS,
        "The midpoint LP is a lower bound: the midpoints of every feasible schedule satisfy it.",
        State.PROVED,
        _step(3, 6),
        page="lp-validity",
    ),
    Claim(
        "schedule-lemmas",
        _OURS,
        "The time before a start splits into full times, a path of predecessors and a release date (Lemmas 1 and 2).",
        State.PROVED,
        _step(7, 8, 9, 10),
        page="schedule-lemmas",
    ),
    Claim(
        "lp-lemmas",
        _OURS,
        "Load and chain inequalities bound work and path by the midpoint, for every feasible point (Lemmas 3 and 4).",
        State.PROVED,
        _step(11, 12),
        page="lp-lemmas",
    ),
    Claim(
        "start-times",
        _OURS,
        "S_j <= Psi H_j for every task, every feasible point and the placement rules R1, R2, R3 (Theorem 1).",
        State.PROVED,
        _step(13, 14),
        page="start-times",
    ),
    Claim(
        "instance-wise-k",
        _OURS,
        "sum w C <= K x LP with K = max(Psi, Psi/2 + alpha_c); release dates are never multiplied (Theorem 2).",
        State.PROVED,
        _within(lambda check: _exact(check.K), "point_value"),
        page="completion-times",
    ),
    Claim(
        "three-alpha",
        _OURS,
        "sum w C <= 3 alpha x LP if no later round of a job is shorter, in particular if all rounds are alike; tight for "
        "every M >= 2 and alpha >= 1 (and M = alpha = 1), even against the optimum (Corollary A).",
        State.PROVED,
        _within(lambda check: _exact(check.three_alpha), "point_value"),
        ("tight-m1-two-jobs", "tight-m2", "tight-m2-alpha-3/2", "tight-m2-alpha-3"),
        "corollaries",
    ),
    Claim(
        "alpha-phi",
        _OURS,
        "sum w C <= alpha Phi(M) x LP for arbitrary rounds; Phi(1) = Phi(2) = 3, Phi(3) = 2 + sqrt(7/6), Phi(4) = 2 + sqrt(3/2), "
        "Phi(M) = 3 - 2/M + sqrt(1 - 2/M) < 4 for M >= 5; tight for every M >= 2 (Corollary A).",
        State.PROVED,
        _within(lambda check: _exact(check.alpha_phi), "point_value"),
        ("many-heads-m8", "many-heads-m12", "many-heads-m20", "many-heads-m32"),
        "corollaries",
    ),
    Claim(
        "alpha-2-plus-alpha",
        _PAPER,
        "The list schedule is within alpha (2 + alpha) of the optimum on every instance.",
        State.REFUTED,
        _within(lambda check: _exact(check.published), "best_known"),
        tuple(r.name for r in ROWS if r.section in ("6.1", "6.2", "6.4")),
        "counterexamples",
    ),
    Claim(
        "alpha-2-plus-alpha-alike",
        _PAPER,
        "The list schedule is within alpha (2 + alpha) of the optimum when all rounds of each job are alike.",
        State.PROVED,
        _within(lambda check: _exact(check.published) if check.three_alpha is not None else None, "point_value"),
        page="corollaries",
    ),
    Claim(
        "no-sync-no-arrivals",
        _OURS,
        "Without sync times and arrivals: alpha Phi0(M) < 3 alpha for alike rounds, alpha Phi00(M) otherwise (Corollary B).",
        State.PROVED,
        _step(16),
        page="corollaries",
    ),
    Claim(
        "related-gpus",
        _OURS,
        "On related GPUs, with capacity V in the load inequality: 2 + alpha for alpha <= 2 and 1 + 3 alpha / 2 for alpha >= 2 "
        "when rounds are alike and there is no sync (Corollary C).",
        State.PROVED,
        _within(_related, "point_value"),
        page="corollaries",
    ),
    Claim(
        "insertion-does-not-help",
        _OURS,
        "The constants hold for earliest fit with insertion (R3), too, and 3 is exceeded there as well.",
        State.PROVED,
        lambda check: check.ok if check.rule == "R3" else None,
        tuple(r.name for r in ROWS if r.section == "6.6"),
        "counterexamples",
    ),
    Claim(
        "no-factor-for-flow-times",
        _OURS,
        "No constant factor holds for the weighted flow time sum w (C - a): take T and w_z large in the two-job instance.",
        State.PROVED,
        None,
        ("tight-m1-two-jobs",),
        "counterexamples",
    ),
    Claim(
        "all-instances-threshold",
        _OURS,
        "For M GPUs, alpha (2 + alpha) holds for all instances exactly if alpha >= Phi(M) - 2.",
        State.PROVED,
        lambda check: _step(16)(check) if check.published_is_proved else None,
        tuple(r.name for r in ROWS if r.section == "6.4"),
        "counterexamples",
    ),
    Claim(
        "four-for-precedence-delays",
        "A. Munier, M. Queyranne, A. S. Schulz, SIAM J. Comput. 35 (2006)",
        "List scheduling by LP midpoints is within 4 on identical GPUs with precedence delays; Phi(M) < 4 sharpens it.",
        State.PUBLISHED,
        lambda check: _within(lambda _: Fraction(4), "point_value")(check) if check.constants.alpha == 1 else None,
        page="corollaries",
    ),
    Claim(
        "tightness-known-elsewhere",
        _OURS,
        "Whether the finite-M function Phi(M), or the tightness of 4, appears in earlier literature.",
        State.NOT_CHECKED,
    ),
)
"""Every statement of the theory pages."""


def claim(name: str) -> Claim:
    """The statement with this id."""
    for item in CLAIMS:
        if item.id == name:
            return item
    raise KeyError(name)


@dataclass(frozen=True)
class Outcome:
    """What one row gave when it was rebuilt.

    ``lp`` is exact; ``list_value`` and ``schedule_value`` are values of schedules that were checked
    for feasibility, so ``ratio`` = list / schedule is a proved lower bound on list / optimum.
    """

    row: Row
    lp: Fraction | None
    list_value: Fraction
    schedule_value: Fraction
    mismatches: tuple[str, ...]

    @property
    def ratio(self) -> Fraction:
        """List / schedule."""
        return self.list_value / self.schedule_value

    @property
    def ok(self) -> bool:
        """Whether every stated number was met."""
        return not self.mismatches


def rebuild(row: Row) -> Outcome:
    """Rebuild one row exactly and compare with what is stated."""
    problem = row.problem()
    lp = exact_evidence(problem, *midpoints_of_tasks(problem))
    order = list_order(lp.point.midpoint)
    listed = list_schedule(lp.problem, order, row.rule)
    list_value = lp.problem.value(completion(lp.problem, listed))
    witness, value = best_witness(problem, 400 if problem.num_jobs <= 20 else 60)
    wrong = []
    if not is_feasible(lp.problem, listed) or not is_feasible(problem, witness):
        wrong.append("a schedule is infeasible")
    if not lp.optimal:
        wrong.append(f"the LP value is only known to lie between {float(lp.lower_bound)} and {float(lp.value)}")
    elif row.lp is not None and lp.value != row.lp:
        wrong.append(f"LP {lp.value}, stated {row.lp}")
    if row.listed is not None and list_value != row.listed:
        wrong.append(f"list {list_value}, stated {row.listed}")
    if row.scheduled is not None and value > row.scheduled:
        wrong.append(f"best schedule {value}, stated {row.scheduled}")
    if row.optimum is not None and value != row.optimum:
        wrong.append(f"best schedule {value}, optimum {row.optimum}")
    if list_value / value < row.least_ratio:
        wrong.append(f"ratio {float(list_value / value):.6f}, stated {row.ratio}")
    return Outcome(row, lp.value if lp.optimal else None, list_value, value, tuple(wrong))


def reproduce(rows: Iterable[Row] = ROWS) -> Iterator[Outcome]:
    """Rebuild rows one by one."""
    for row in rows:
        yield rebuild(row)


def table(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Lines of a table: one row an instance, numbers exact or rounded down."""
    yield f"{'instance':22} {'section':>7} {'M':>3} {'alpha':>6} {'LP (exact)':>26} {'list':>16} {'a schedule':>16} {'list/schedule':>13}  "
    for item in outcomes:
        r = item.row
        best = f"{item.schedule_value}{'*' if r.optimum is not None else ''}"
        rounded = item.ratio.numerator * 10**5 // item.ratio.denominator / 10**5
        verdict = "ok" if item.ok else "; ".join(item.mismatches)
        yield (
            f"{r.name:22} {r.section:>7} {r.gpus:>3} {r.alpha!s:>6} {item.lp!s:>26} {item.list_value!s:>16} {best:>16} {rounded:>13.5f}  {verdict}"
        )
    yield "* the optimum by the word of a solver (CP-SAT) or by hand; the ratio itself needs no such word"


def main(arguments: list[str] | None = None) -> int:
    """Print the table of all rows; exit code 5 if a number differs from the stated one."""
    parser = argparse.ArgumentParser(prog="python -m hetopt.analysis.claims", description=__doc__)
    parser.add_argument("names", nargs="*", help="rows to rebuild (default: all)")
    parser.add_argument("--list", action="store_true", help="list the statements and what is known about each")
    parser.add_argument(
        "--write-library",
        action="store_true",
        help="write the rows that files can say, with evidence, into the library",
    )
    options = parser.parse_args(arguments)
    if options.list:
        for item in CLAIMS:
            sys.stdout.write(f"{item.id} [{item.state}] {item.statement} ({item.citation})\n")
        return int(ExitCode.DONE)
    unknown = [name for name in options.names if name not in {r.name for r in ROWS}]
    if unknown:
        sys.stderr.write(f"no row is called {unknown[0]!r}; known: {', '.join(r.name for r in ROWS)}\n")
        return int(ExitCode.INVALID)
    if options.write_library:
        from hetopt.analysis.claim_files import write_files

        for name in write_files(r for r in ROWS if not options.names or r.name in options.names):
            sys.stdout.write(name + "\n")
        return int(ExitCode.DONE)
    outcomes: list[Outcome] = []

    def remembered() -> Iterator[Outcome]:
        for outcome in reproduce(r for r in ROWS if not options.names or r.name in options.names):
            outcomes.append(outcome)
            yield outcome

    for line in table(remembered()):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    return int(ExitCode.DONE if all(item.ok for item in outcomes) else ExitCode.VERIFICATION_FAILED)


if __name__ == "__main__":
    raise SystemExit(main())
