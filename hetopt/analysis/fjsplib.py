"""Cross-check of the exact solvers against the published optima of flexible job shops.

Every instance of a table of best known bounds is loaded, its sizes are compared with the table, a solver
minimises the makespan, and the answer is judged:

* ``proved equal``: proved optimal, and the value is the published optimum;
* ``reached``: the value is the published upper bound, but the proof did not end in time;
* ``open``: neither;
* ``CONTRADICTION``: the solver proved a bound above a published schedule, or found a schedule below a
  published lower bound.  Then one of the two is wrong, and the command fails.

Run it as ``python -m hetopt.analysis.fjsplib FOLDER --time-limit 30``; with ``--state FILE`` what is done is
kept and a later run goes on from there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from hetopt.core.documents import read_json, read_text, write_text
from hetopt.core.errors import HetoptError, VerificationError
from hetopt.core.solver import Limits
from hetopt.core.status import Objective, Status
from hetopt.instances.traces.fjsplib import BestKnown, load_best_known, load_fjsplib
from hetopt.solvers.run import run

__all__ = ["CrossCheck", "as_table", "cross_check", "main", "verdict"]


@dataclass(frozen=True)
class CrossCheck:
    """One instance: the published bounds, ours (None: none), and the verdict."""

    instance: str
    operations: int
    machines: int
    published_lower: int
    published_upper: int
    found: int | None
    proved_bound: int | None
    verdict: str
    seconds: float
    solver: str

    @property
    def gap(self) -> float | None:
        """(found - proved bound) / found; None unless both are known."""
        if self.found is None or self.proved_bound is None:
            return None
        return (self.found - self.proved_bound) / self.found


def verdict(published: BestKnown, found: int | None, bound: int | None, optimal: bool) -> str:
    """Judge an answer; see the module."""
    below = found is not None and found < published.lower_bound
    above = bound is not None and bound > published.upper_bound
    if below or above:
        return "CONTRADICTION"
    if optimal and published.lower_bound == published.upper_bound == found:
        return "proved equal"
    if optimal:
        return "proved, published open"
    return "reached" if found == published.upper_bound else "open"


def cross_check(
    folder: str | os.PathLike[str],
    *,
    table: str | os.PathLike[str] | None = None,
    solver: str = "cpsat",
    time_limit: float = 30.0,
    threads: int = 1,
    names: Iterable[str] | None = None,
    done: Iterable[CrossCheck] = (),
    listener: Callable[[CrossCheck], None] | None = None,
) -> tuple[CrossCheck, ...]:
    """Solve every instance of the table, smallest first, and judge the answers.

    Parameters
    ----------
    folder
        Where the paths of the table start.
    table
        The table of best known bounds; ``best_known.csv`` of the folder by default.
    solver
        An exact solver for the makespan.
    time_limit, threads
        Limits of each solve.
    names
        Only these instances.
    done
        Answers of an earlier run, which are kept.
    listener
        Called with each new answer.

    Raises
    ------
    VerificationError
        A contradiction, or sizes that differ from the table's.
    """
    root = Path(folder)
    rows = load_best_known(root / "best_known.csv" if table is None else table)
    wanted = None if names is None else set(names)
    answers = {check.instance: check for check in done}
    chosen = [row for row in rows if wanted is None or row.instance in wanted]
    for row in sorted(chosen, key=lambda row: row.operations * row.machines):
        if row.instance in answers:
            continue
        instance = load_fjsplib(root / row.path).instance
        sizes = (instance.num_jobs, len(instance.gpu_types), instance.num_rounds)
        if sizes != (row.jobs, row.machines, row.operations):
            raise VerificationError(
                f"{row.instance}: the file has (jobs, machines, operations) = {sizes}, "
                f"the table says {(row.jobs, row.machines, row.operations)}"
            )
        result = run(solver, instance, objective=Objective.MAKESPAN, limits=Limits(time=time_limit, threads=threads))
        optimal = result.status is Status.OPTIMAL
        check = CrossCheck(
            instance=row.instance,
            operations=row.operations,
            machines=row.machines,
            published_lower=row.lower_bound,
            published_upper=row.upper_bound,
            found=result.objective,
            proved_bound=result.bound,
            verdict=verdict(row, result.objective, result.bound, optimal),
            seconds=round(result.runtime_seconds, 1),
            solver=solver,
        )
        answers[row.instance] = check
        if listener is not None:
            listener(check)
    ordered = tuple(answers[row.instance] for row in chosen)
    wrong = [c for c in ordered if c.verdict == "CONTRADICTION"]
    if wrong:
        raise VerificationError(
            "; ".join(
                f"{c.instance}: ours {c.proved_bound} <= optimum <= {c.found}, published "
                f"{c.published_lower} <= optimum <= {c.published_upper}"
                for c in wrong
            )
        )
    return ordered


def as_table(checks: Sequence[CrossCheck]) -> str:
    """A Markdown table, with the count of instances proved equal below it."""
    lines = [
        "| instance | operations | machines | published | ours | gap | verdict | seconds | solver |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for c in checks:
        published = (
            str(c.published_upper)
            if c.published_lower == c.published_upper
            else f"{c.published_lower} to {c.published_upper}"
        )
        low, high = ("?" if v is None else str(v) for v in (c.proved_bound, c.found))
        ours = high if low == high else f"{low} to {high}"
        gap = "-" if c.gap is None else f"{100 * c.gap:.1f} %"
        lines.append(
            f"| {c.instance} | {c.operations} | {c.machines} | {published} | {ours} | {gap} | {c.verdict} | {c.seconds:.1f} | {c.solver} |"
        )
    equal = sum(c.verdict == "proved equal" for c in checks)
    return "\n".join((*lines, "", f"Proved equal to the published optimum: {equal} of {len(checks)}."))


def _saved(path: str) -> list[CrossCheck]:
    if not os.path.exists(path):
        return []
    raw, faults = read_json(read_text(path)[0], path)
    if faults or not isinstance(raw, list):
        raise VerificationError(f"{path} is no record of this command; give another file")
    return [CrossCheck(**row) for row in raw]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; see the module."""
    parser = argparse.ArgumentParser(prog="python -m hetopt.analysis.fjsplib", description=__doc__)
    parser.add_argument("folder", help="folder with the instances and best_known.csv")
    parser.add_argument("--table", help="table of best known bounds")
    parser.add_argument("--solver", default="cpsat")
    parser.add_argument("--time-limit", type=float, default=30.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", action="append", help="an instance by name; may be repeated")
    parser.add_argument("--state", help="file that keeps the answers, to go on later")
    options = parser.parse_args(arguments)
    try:
        done = _saved(options.state) if options.state else []

        def keep(check: CrossCheck) -> None:
            sys.stderr.write(f"{check.instance}: {check.verdict} ({check.seconds} s)\n")
            sys.stderr.flush()
            if options.state:
                done.append(check)
                write_text(options.state, json.dumps([asdict(c) for c in done], indent=1) + "\n")

        checks = cross_check(
            options.folder,
            table=options.table,
            solver=options.solver,
            time_limit=options.time_limit,
            threads=options.threads,
            names=options.only,
            done=list(done),
            listener=keep,
        )
    except HetoptError as error:
        sys.stderr.write(f"{error}\n")
        return int(error.exit_code)
    sys.stdout.write(as_table(checks) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
