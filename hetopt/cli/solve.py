"""``hetopt solve``: a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hetopt.cli import _options as opt

if TYPE_CHECKING:
    from hetopt.core.result import Result


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("solve")(solve)


def solve(
    instance: opt.InstanceArgument,
    solver: Annotated[
        str, typer.Option("--solver", metavar="NAME", help="A name that `hetopt solvers` lists.")
    ] = "auto",
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
    warm_start: Annotated[
        str | None, typer.Option("--warm-start", metavar="FILE", help="A schedule or result to start from.")
    ] = None,
    schedule_out: Annotated[
        str | None,
        typer.Option("--schedule-out", metavar="FILE", callback=opt.place, help="Write the schedule alone here."),
    ] = None,
    log_file: Annotated[
        str | None, typer.Option("--log-file", metavar="FILE", callback=opt.place, help="Write the log here.")
    ] = None,
    seed: opt.SeedOption = 0,
    threads: opt.ThreadsOption = 1,
    time_limit: opt.TimeLimitOption = None,
    work_limit: opt.WorkLimitOption = None,
    objective: opt.ObjectiveOption = "total-weighted-completion",
    param: opt.ParamOption = None,
    params: opt.ParamsOption = None,
    verbose: opt.VerboseOption = False,
) -> int:
    """Solve an instance; the answer is checked independently before it is shown.

    Ctrl-C stops the solver; the best result so far is still written.
    """
    from hetopt import api
    from hetopt.cli._comparison import parameters_of
    from hetopt.cli._output import deliver, facts, say
    from hetopt.cli._progress import check_log, live, logging_to
    from hetopt.core.errors import UsageError

    if (output == "-" and schedule_out == "-") or (as_json and schedule_out == "-"):
        raise UsageError("the result and the schedule cannot both go to standard output; name a file for one of them")
    settings = opt.params_of(param, params)
    problem = opt.instance_of(instance)
    known = parameters_of(solver)
    if verbose and "verbose" in known:
        settings.setdefault("verbose", True)
    native = log_file is not None and "log_file" in known  # the library behind the solver writes it
    if native:
        check_log(str(log_file))
        settings.setdefault("log_file", log_file)
    with logging_to(None if native else log_file, verbose=verbose), live(solver) as progress:
        result = api.solve(
            problem,
            solver,
            objective=objective,
            time_limit=time_limit,
            work_limit=work_limit,
            threads=threads,
            seed=seed,
            warm_start=warm_start,
            params=settings,
            listener=progress,
        )
    gap = result.gap
    facts(
        {
            "instance": problem.name or instance,
            "solver": f"{result.solver} {result.solver_version}".rstrip(),
            "status": f"{result.status} (stopped by {result.stop_reason})",
            str(result.objective_kind): result.objective,
            "lower bound": result.bound if result.bound is None else f"{result.bound} ({result.bound_trust})",
            "gap": None if gap is None else f"{float(gap):.3%}",
            "seconds": f"{result.runtime_seconds:.2f}",
            **({"warm start": result.warm_start} if result.warm_start else {}),
            **({"message": result.message} if result.message else {}),
        }
    )
    try:
        deliver(result.to_json(), output=output, as_json=as_json, rescue=True)
    finally:
        if schedule_out is not None and result.incumbent is not None:
            deliver(
                result.incumbent.to_json(), output=schedule_out, as_json=False, rescue=not as_json and output is None
            )
    if schedule_out is not None and result.incumbent is None:
        say(f"hetopt: {schedule_out} was not written: there is no schedule")
    return exit_code(result)


def exit_code(result: Result) -> int:
    """What the status means for the shell."""
    from hetopt.core.errors import ExitCode
    from hetopt.core.status import Status, StopReason

    if result.stop_reason is StopReason.INTERRUPTED:
        return int(ExitCode.INTERRUPTED)
    if result.status in (Status.INFEASIBLE, Status.UNBOUNDED):
        return int(ExitCode.INFEASIBLE)
    if result.incumbent is None:
        # a relaxation that has finished was asked for a bound and nothing else
        done = result.stop_reason in (StopReason.EXHAUSTED, StopReason.PROVED, StopReason.GAP)
        return int(ExitCode.DONE if done and result.bound is not None else ExitCode.NO_SOLUTION)
    return int(ExitCode.DONE)
