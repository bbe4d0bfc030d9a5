"""Better bounds for the library by solving: ``python -m hetopt.analysis.library_bounds --solver NAME [INSTANCE...]``.

Each solver runs on each instance, warm-started from the best schedule stored; bounds known are not passed
on, so that what comes back is independent of them.  A schedule that is better (or as good, where no witness is stored yet) becomes the witness of the
upper bound, after the independent checker has seen it; a better lower bound is stored as the solver's
word, or with its certificate where the solver gave one and the exact checker accepts it.  A lower bound above a known upper bound is an
error: one of the two is wrong, and nothing is written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hetopt.analysis.certify import trusted
from hetopt.core.certificate import Certificate
from hetopt.core.errors import HetoptError, UsageError, VerificationError
from hetopt.core.feasibility import violations
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.result import Result
from hetopt.core.schedule import Schedule
from hetopt.core.solver import Limits
from hetopt.core.status import Objective
from hetopt.instances.library.__main__ import TABLES
from hetopt.instances.library.index import FOLDER, INDEX_FILE, Entry, Index, Known
from hetopt.instances.library.refresh import refreshed, updated, write_all
from hetopt.instances.names import hint
from hetopt.solvers.run import run

__all__ = ["Finding", "improve", "improved_index", "main"]

_RANKS: Final = ("published", "solver", "certificate", "by-hand")
_OBJECTIVE: Final = Objective.TOTAL_WEIGHTED_COMPLETION


@dataclass(frozen=True)
class Finding:
    """What a run added to an entry: new bounds, and the files that stand behind them."""

    changes: dict[str, Known] = field(default_factory=dict)
    schedule: Schedule | None = None
    certificate: Certificate | None = None


def _source(result: Result) -> str:
    version = f" {result.solver_version}" if result.solver_version else ""
    return f"{result.solver}{version}, {result.status}, stopped by {result.stop_reason}"


def improve(entry: Entry, instance: Instance, result: Result) -> Finding:
    """What ``result`` adds to what the entry knows.

    Raises
    ------
    VerificationError
        The schedule breaks a rule or has another value, or the bounds contradict what is known.
    """
    changes: dict[str, Known] = {}
    schedule: Schedule | None = None
    certificate: Certificate | None = None
    lower, upper = entry.lower, entry.upper
    if result.incumbent is not None:
        broken = violations(instance, result.incumbent)
        value = evaluate(instance, result.incumbent, _OBJECTIVE)
        if broken or value != result.objective:
            raise VerificationError(
                f"{entry.name}: {result.solver}: {broken[0] if broken else f'the value is {value}'}"
            )
        if lower is not None and value < lower.value:
            raise VerificationError(
                f"{entry.name}: a schedule of {value} is below the lower bound {lower.value} ({lower.source})"
            )
        if upper is None or value < upper.value or (value == upper.value and upper.file is None):
            schedule = result.incumbent
            changes["upper"] = Known(
                value=value, trust="witness", source=_source(result), file=f"schedules/{entry.name}.json"
            )
    bound = result.bound
    if bound is not None:
        best = changes.get("upper", upper)
        if best is not None and bound > best.value:
            raise VerificationError(
                f"{entry.name}: a lower bound of {bound} ({result.solver}) exceeds the upper bound {best.value}"
            )
        certificate = _checked(entry, instance, result)
        trust = "solver" if certificate is None else "certificate"
        better = lower is None or bound > lower.value
        firmer = lower is not None and bound == lower.value and _RANKS.index(trust) > _RANKS.index(lower.trust)
        if better or firmer:
            changes["lower"] = Known(
                value=bound,
                trust="solver" if certificate is None else "certificate",
                source=_source(result),
                file=None if certificate is None else f"certificates/{entry.name}.json",
            )
    return Finding(changes, schedule, certificate if "lower" in changes else None)


def _checked(entry: Entry, instance: Instance, result: Result) -> Certificate | None:
    """The result's certificate, seen by the exact checker; ``None`` where there is none."""
    if result.exact_bound is None or result.certificate is None:
        return None
    _, reasons = trusted(instance, result.exact_bound, _OBJECTIVE)
    if reasons:
        raise VerificationError(f"{entry.name}: {result.solver}: the certificate is refused: {'; '.join(reasons)}")
    return result.certificate


def _pick(index: Index, names: Sequence[str]) -> list[Entry]:
    known = {e.name: e for e in index.instances}
    for name in names:
        if name not in known:
            raise UsageError(f"no library instance is called {name!r}; {hint(name, list(known))}")
    return [known[name] for name in names] if names else list(index.instances)


def improved_index(
    index: Index,
    names: Sequence[str],
    solvers: Sequence[str],
    *,
    limits: Limits,
    seed: int = 0,
    folder: Path | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> Index:
    """Run the solvers and return the index with what they found.

    Parameters
    ----------
    index
        What is known.
    names
        Instances to run on; none: all.
    solvers
        Names of solvers, run in turn, each warm-started from what those before it found.
    limits, seed
        For each run.
    folder
        Where schedules and certificates are written; ``None``: nowhere (a dry run).
    report
        Called with one line of text per run.
    """
    for chosen in _pick(index, names):
        entry, instance = chosen, Instance.load(chosen.path)
        warm = None if entry.upper is None or entry.upper.file is None else Schedule.load(FOLDER / entry.upper.file)
        for solver in solvers:
            result = run(solver, instance, objective=_OBJECTIVE, limits=limits, seed=seed, warm_start=warm)
            found = improve(entry, instance, result)
            warm = found.schedule or warm
            if folder is not None and found.schedule is not None:
                (folder / "schedules").mkdir(exist_ok=True)
                found.schedule.save(folder / "schedules" / f"{entry.name}.json")
            if folder is not None and found.certificate is not None:
                (folder / "certificates").mkdir(exist_ok=True)
                found.certificate.save(folder / "certificates" / f"{entry.name}.json")
            index = updated(index, {entry.name: found.changes})
            entry = next(e for e in index.instances if e.name == entry.name)
            news = ", ".join(f"{side} {known.value}" for side, known in found.changes.items()) or "nothing new"
            report(f"{entry.name}: {solver}: objective {result.objective}, bound {result.bound}: {news}")
    return index


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m hetopt.analysis.library_bounds", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="INSTANCE", help="names of library instances (all)")
    parser.add_argument("--solver", action="append", required=True, help="a solver's name; repeat for several")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds per run (%(default)s)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dry-run", action="store_true", help="run and report, write nothing")
    options = parser.parse_args(arguments)
    try:
        for entry in _pick(Index.load(INDEX_FILE), options.names):
            # read and written for each, so that an interrupted run keeps what it found
            index = improved_index(
                Index.load(INDEX_FILE),
                [entry.name],
                options.solver,
                limits=Limits(time=options.time_limit, threads=options.threads),
                seed=options.seed,
                folder=None if options.dry_run else FOLDER,
                report=_say,
            )
            if not options.dry_run:
                write_all(refreshed(index), TABLES)
    except HetoptError as error:
        sys.stderr.write(f"{error}\n")
        return int(error.exit_code)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
