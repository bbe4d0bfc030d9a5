"""``hetopt sweep``: many runs from one file, resumed by default."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hetopt.cli import _options as opt
from hetopt.cli._progress import drawn

if TYPE_CHECKING:
    from rich.text import Text

    from hetopt.analysis.sweeps.collect import SweepTable
    from hetopt.analysis.sweeps.engine import Progress


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sweep")(sweep)


def _span(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class _Line:
    """A line that rich draws on a terminal, or one line a run elsewhere."""

    def __init__(self, drawn: bool) -> None:
        self.drawn, self.text, self.start = drawn, "starting workers", time.perf_counter()

    def __call__(self, progress: Progress) -> None:
        """A run has ended."""
        from hetopt.cli._output import say

        p = progress
        state = p.record["state"]
        failed = f", {p.failed} failed" if p.failed else ""
        self.text = f"{p.finished} of {p.total}{failed}, {_span(p.seconds_left)} left; last: {p.run.title}"
        if not self.drawn:
            took = p.record["provenance"]["seconds"]
            spent = "" if took is None else f" in {took:.2f} s"
            why = f": {p.record['reason'].splitlines()[0]}" if p.record["reason"] else ""
            say(f"[{p.finished}/{p.total}] {state}{spent}, about {_span(p.seconds_left)} left: {p.run.title}{why}")

    def __rich__(self) -> Text:
        from rich.text import Text

        spent = _span(time.perf_counter() - self.start)
        return Text(f"{self.text} ({spent} so far; Ctrl-C stops and keeps what is done)")


@contextmanager
def progress_line() -> Iterator[_Line]:
    """Progress on a terminal, lines in a log."""
    line = _Line(sys.stderr.isatty())
    with drawn(line):
        yield line


def sweep(
    spec: Annotated[str, typer.Argument(metavar="SPEC.toml", help="What to run; see analysis/sweeps/ for examples.")],
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Folder of the records, one file a run.")],
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="N", parser=opt.count, help="Worker processes; by default one a core at hand."),
    ] = None,
    shard: Annotated[
        str | None, typer.Option("--shard", metavar="I/N", help="Only the I-th of N parts, for arrays of cluster jobs.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="A Dask scheduler, in place of local processes."),
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run failed and timed-out runs again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would run, and run nothing.")] = False,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE.html", help="Write a self-contained report.")
    ] = None,
    csv: Annotated[str | None, typer.Option("--csv", metavar="FILE", help="Write the table as CSV.")] = None,
    parquet: Annotated[
        str | None, typer.Option("--parquet", metavar="FILE", help="Write the table as Parquet.")
    ] = None,
    latex: Annotated[str | None, typer.Option("--latex", metavar="FILE", help="Write the summary for LaTeX.")] = None,
) -> int:
    """Run what a sweep file asks for; runs that are recorded already are not run again.

    Failed and timed-out runs are recorded with their reason. Ctrl-C, a crash or a kill keeps every finished run.
    """
    from hetopt.analysis.sweeps.sweep import plan_sweep, run_sweep
    from hetopt.cli._output import say
    from hetopt.core.errors import ExitCode, UsageError, VerificationError

    files = [path for path in (report, csv, parquet, latex) if path is not None]
    if len(set(files)) < len(files):
        raise UsageError("two of --report, --csv, --parquet and --latex go to the same place; name different files")
    if dry_run:
        _show_plan(plan_sweep(spec, out, jobs=jobs or _default_jobs(), part=shard))
        return int(ExitCode.DONE)
    with progress_line() as line:
        summary, table = run_sweep(
            spec, out, jobs=jobs, part=shard, scheduler=scheduler, retry_failed=retry_failed, listener=line
        )
    for text in summary.rejected:
        say(f"not trusted, put aside and run again: {text}")
    show(table)
    say(summary.line())
    if report is not None:
        from hetopt.analysis.sweeps.report import write_report

        write_report(table, report, command=f"hetopt sweep {spec} --out {out} --report {report}")
    if csv is not None:
        table.to_csv(csv)
    if parquet is not None:
        table.to_parquet(parquet)
    if latex is not None:
        table.to_latex(latex)
    if table.contradictions:
        raise VerificationError("\n".join(table.contradictions))
    return int(ExitCode.INTERRUPTED if summary.interrupted else ExitCode.DONE)


def _default_jobs() -> int:
    from hetopt.analysis.sweeps.provenance import available_cores

    return available_cores()


def _show_plan(plan: Any) -> None:
    from hetopt.cli._output import say

    methods = dict.fromkeys(run.label for run in plan.runs)
    problems = dict.fromkeys(run.problem.name for run in plan.runs)
    say(f"{plan.spec.name}: {', '.join(methods)} on {len(problems)} problems, {len(plan.spec.seeds)} seeds")
    for text in plan.rejected:
        say(f"not trusted: {text}")
    if plan.seconds is None:
        estimate = "no estimate: some runs have no time limit and no record of the like"
    elif not plan.pending:
        estimate = "nothing to do"
    else:
        estimate = f"{'at most about' if plan.upper else 'about'} {_span(plan.seconds)}"
    typer.echo(f"{len(plan.runs)} runs, {len(plan.pending)} to do, {estimate}")


def show(table: SweepTable) -> None:
    """A row a solver on standard error."""
    from hetopt.cli._output import say
    from hetopt.cli._output import table as draw

    say("means of the runs that are done")
    for group in table.groups():
        metrics = group.metrics()
        columns = ["solver", "runs", "done", *(f"{m} mean" for m in metrics)]
        rows = [[row[c] for c in columns] for row in group.summary(metrics)]
        draw("", [c.removesuffix(" mean").replace("_", " ") for c in columns], rows)
    for row in table.rows:
        if row["reason"]:
            say(f"{row['state']}: {row['solver']} on {row['problem']}, seed {row['seed']}: {row['reason']}")
