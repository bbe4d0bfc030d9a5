"""``hetopt round``: one FFT scheduling round."""

from __future__ import annotations

from typing import Annotated

import typer

from hetopt.cli import _options as opt

_SHOWN = 30
"""Most jobs in the table for people; the document has them all."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("round")(solve_round)


def solve_round(
    problem: Annotated[str, typer.Argument(metavar="ROUND", help="A hetopt/round document, - for standard input.")],
    solver: Annotated[str, typer.Option("--solver", metavar="NAME", help="A solver of kind round.")] = "fft-fast",
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
    certificate_out: Annotated[
        str | None, typer.Option("--certificate-out", metavar="FILE", help="Write the certificate here.")
    ] = None,
    seed: opt.SeedOption = 0,
    threads: opt.ThreadsOption = 1,
    time_limit: opt.TimeLimitOption = None,
    work_limit: opt.WorkLimitOption = None,
    param: opt.ParamOption = None,
    params: opt.ParamsOption = None,
    verbose: opt.VerboseOption = False,
) -> int:
    """Solve one scheduling round: which job runs on which GPU type."""
    from hetopt import api
    from hetopt.cli._comparison import parameters_of
    from hetopt.cli._output import deliver, facts, say, table
    from hetopt.cli._progress import live, logging_to
    from hetopt.core.errors import ExitCode, UsageError
    from hetopt.core.status import Status, StopReason

    if certificate_out == "-" and (as_json or output == "-"):
        raise UsageError("allocation and certificate cannot both go to standard output; name a file for one of them")
    settings = opt.params_of(param, params)
    if certificate_out is not None and "certify" in parameters_of(solver):  # costs time, so not made unless asked for
        settings.setdefault("certify", True)
    with logging_to(None, verbose=verbose), live(solver):
        allocation = api.solve_round(
            problem,
            solver,
            time_limit=time_limit,
            work_limit=work_limit,
            threads=threads,
            seed=seed,
            params=settings,
        )
    document = allocation.to_dict()
    running = [(job["name"], job["gpu_type"]) for job in document["jobs"] if job["gpu_type"] is not None]
    table("", ("job", "GPU type"), running[:_SHOWN])
    rest = len(running) - _SHOWN
    say(f"{f'and {rest} more; ' if rest > 0 else ''}{len(document['jobs']) - len(running)} jobs wait")
    cost = document["cost"] or {}
    keys = ("status", "stop_reason", "bound", "gap", "runtime_seconds", "message")
    facts({"GPUs used": document["gpus_used"], "cost": cost.get("total"), **{k: document.get(k) for k in keys}})
    try:
        deliver(allocation.to_json(), output=output, as_json=as_json, rescue=True)
    finally:
        if certificate_out is not None and allocation.certificate is not None:
            deliver(allocation.certificate.to_json(), output=certificate_out, as_json=False)
    if certificate_out is not None and allocation.certificate is None:
        say(f"hetopt: {certificate_out} was not written: there is no certificate")
    if allocation.stop_reason is StopReason.INTERRUPTED:
        return int(ExitCode.INTERRUPTED)
    if allocation.status is Status.INFEASIBLE:
        return int(ExitCode.INFEASIBLE)
    return int(ExitCode.NO_SOLUTION if allocation.cost is None else ExitCode.DONE)
