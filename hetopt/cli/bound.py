"""``hetopt bound``: every lower bound with its trust and certificate."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import typer

from hetopt.cli import _options as opt


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bound")(bound)


def bound(
    instance: opt.InstanceArgument,
    kind: Annotated[
        str, typer.Option("--kind", metavar="A,B|all", help="Relaxations, as `hetopt solvers` lists them; all of them.")
    ] = "all",
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
    certificate_out: Annotated[
        str | None,
        typer.Option(
            "--certificate-out",
            metavar="FILE",
            callback=opt.place,
            help="Write the certificate of the best bound here.",
        ),
    ] = None,
    seed: opt.SeedOption = 0,
    threads: opt.ThreadsOption = 1,
    time_limit: opt.TimeLimitOption = None,
    work_limit: opt.WorkLimitOption = None,
    objective: opt.ObjectiveOption = "total-weighted-completion",
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param", metavar="[KIND.]KEY=VALUE", help="A parameter of one relaxation, or of all that have it."
        ),
    ] = None,
    params: Annotated[
        str | None, typer.Option("--params", metavar="FILE.toml", help="Parameters, one [table] a relaxation.")
    ] = None,
    verbose: opt.VerboseOption = False,
) -> int:
    """Prove lower bounds; certificates are checked in exact arithmetic before a bound is called VERIFIED.

    --time-limit is for all of them together.  Ctrl-C ends the one that is running; the rows so far are kept.
    """
    from hetopt.analysis.bounds import compute_bounds, relaxations
    from hetopt.cli._comparison import settings_of
    from hetopt.cli._output import deliver, say, table
    from hetopt.cli._progress import live, logging_to
    from hetopt.core.certificate import Certificate
    from hetopt.core.errors import ExitCode, UsageError

    if certificate_out == "-" and (as_json or output == "-"):
        raise UsageError("bounds and certificate cannot both go to standard output; name a file for one of them")
    names = list(relaxations()) if kind == "all" else opt.names_of(kind, "--kind")
    settings = settings_of(param, params, names) if param or params else {}
    problem = opt.instance_of(instance)
    opt.limits_of(time_limit, work_limit, threads)
    with logging_to(None, verbose=verbose), live("bounds"):
        bounds = compute_bounds(
            problem,
            "all" if kind == "all" else names,
            objective=objective,
            time_limit=time_limit,
            work_limit=work_limit,
            seed=seed,
            threads=threads,
            params=settings,
        )

    def text(value: Fraction | None) -> str | None:
        if value is None:
            return None
        return str(value.numerator) if value.denominator == 1 else f"{float(value):.4f}"

    rows = [
        (b.kind, text(b.exact), b.trust, f"{b.seconds:.3f}", "yes" if b.certificate else "no", b.message)
        for b in bounds
    ]
    table("", ("kind", "lower bound", "trust", "seconds", "certificate", "message"), rows, left=(0, 2, 4, 5))
    if bounds.interrupted:
        say(f"interrupted; {len(names) - len(bounds)} kinds were not started")
    best = bounds.best
    try:
        deliver(bounds.to_json(), output=output, as_json=as_json, rescue=True)
    finally:
        if certificate_out is not None and best is not None and best.certificate is not None:
            certificate = Certificate.from_dict(best.certificate)
            deliver(certificate.to_json(), output=certificate_out, as_json=False, rescue=output is None and not as_json)
    if certificate_out is not None and (best is None or best.certificate is None):
        say(f"hetopt: {certificate_out} was not written: the best bound has no certificate")
    if bounds.interrupted:
        return int(ExitCode.INTERRUPTED)
    return int(ExitCode.NO_SOLUTION if best is None else ExitCode.DONE)
