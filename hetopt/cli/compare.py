"""``hetopt compare``: solvers side by side on instances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hetopt.cli import _options as opt

if TYPE_CHECKING:
    from hetopt.analysis.comparison import Comparison

# narrow spaces and dashes are for pages; a terminal may not have them
_PLAIN = str.maketrans({"\u202f": ",", "\u2013": "-"})


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(compare)


def compare(
    instances: Annotated[list[str], typer.Argument(metavar="INSTANCE...", help="Files or names of shipped instances.")],
    solvers: Annotated[str, typer.Option("--solvers", metavar="A,B,C", help="Names that `hetopt solvers` lists.")],
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE.html", callback=opt.place, help="Write a self-contained report."),
    ] = None,
    csv: Annotated[
        str | None, typer.Option("--csv", metavar="FILE", callback=opt.place, help="Write the table as CSV.")
    ] = None,
    latex: Annotated[
        str | None, typer.Option("--latex", metavar="FILE", callback=opt.place, help="Write the table for LaTeX.")
    ] = None,
    seed: opt.SeedOption = 0,
    threads: opt.ThreadsOption = 1,
    time_limit: opt.TimeLimitOption = None,
    work_limit: opt.WorkLimitOption = None,
    objective: opt.ObjectiveOption = "total-weighted-completion",
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            metavar="[SOLVER.]KEY=VALUE",
            help="A parameter of one solver, or of every solver that has it; may be given again.",
        ),
    ] = None,
    params: Annotated[
        str | None,
        typer.Option("--params", metavar="FILE.toml", help="Parameters, one [table] a solver; --param comes on top."),
    ] = None,
    verbose: opt.VerboseOption = False,
) -> int:
    """Run solvers on instances: one table, and a report, CSV or LaTeX on request.

    A solver that is missing or fails becomes a row that says so.  Ctrl-C keeps the rows done so far.
    """
    from hetopt import api
    from hetopt.analysis.comparison import ContradictionError
    from hetopt.cli._comparison import CompareProgress, settings_of
    from hetopt.cli._progress import logging_to
    from hetopt.core.errors import ExitCode, HetoptError, UsageError

    destinations = [path for path in (output or ("-" if as_json else None), report, csv, latex) if path is not None]
    if len(set(destinations)) < len(destinations):
        raise UsageError(
            "two of --output, --json, --report, --csv and --latex go to the same place; name different files"
        )
    names = opt.names_of(solvers, "--solvers")
    settings = settings_of(param, params, names)
    problems = [opt.instance_of(source) for source in instances]
    error: HetoptError | None = None
    with logging_to(None, verbose=verbose), CompareProgress() as progress:
        try:
            comparison = api.compare(
                problems,
                names,
                objective=objective,
                time_limit=time_limit,
                work_limit=work_limit,
                seed=seed,
                threads=threads,
                params=settings,
                listener=progress,
            )
        except ContradictionError as contradiction:
            comparison, error = contradiction.comparison, contradiction
    show(comparison)
    write(comparison, output=output, as_json=as_json, report=report, csv=csv, latex=latex)
    if error is not None:
        raise error
    return int(ExitCode.INTERRUPTED if comparison.interrupted else ExitCode.DONE)


def show(comparison: Comparison) -> None:
    """The table on standard error, and what failed, a line each."""
    from hetopt.analysis.tables import COLUMNS
    from hetopt.cli._output import say, table

    shown = [c for c in COLUMNS if c.key not in ("stop_reason", "bound_trust", "message", "tasks")]
    left = [i for i, column in enumerate(shown) if not column.numeric]
    cells = [[c.cell(row).translate(_PLAIN) for c in shown] for row in comparison.rows]
    table("", [c.title for c in shown], cells, left=left)
    for row in comparison.rows:
        if row.message and row.objective is None:
            say(f"{row.instance}, {row.solver}: {row.message}")
    if comparison.interrupted:
        say(f"interrupted; {comparison.not_run} runs were not started")


def write(
    comparison: Comparison, *, output: str | None, as_json: bool, report: str | None, csv: str | None, latex: str | None
) -> None:
    """Write what was asked for; one place that cannot be written does not keep the others from being written."""
    from hetopt.cli._output import deliver, say
    from hetopt.core.errors import OutputError

    failed: list[OutputError] = []
    nothing_printed = not as_json and "-" not in (output, report, csv, latex)

    def attempt(step: object, *args: object, **options: object) -> None:
        try:
            step(*args, **options)  # type: ignore[operator]
        except OutputError as error:
            failed.append(error)

    if csv is not None:
        attempt(comparison.to_csv, csv)
    if latex is not None:
        attempt(comparison.to_latex, latex)
    if report is not None:
        attempt(comparison.report, report)
    attempt(deliver, comparison.to_json(), output=output, as_json=as_json, rescue=True)
    if not failed:
        return
    if nothing_printed and output is None:
        say("What could not be written is printed on standard output as a comparison document instead.")
        deliver(comparison.to_json(), output="-", as_json=False)
    raise OutputError("\n".join(str(error) for error in failed))
