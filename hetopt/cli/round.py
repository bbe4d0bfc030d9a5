"""``hetopt round``: one FFT scheduling round, an allocation."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hetopt.cli import _options as opt

if TYPE_CHECKING:
    from hetopt.core.allocation import Allocation
    from hetopt.core.round_problem import RoundProblem

_SHOWN: Final = 30
"""Most jobs in the table for people; the document has them all."""

RULES: Final = ("most-gpus", "maximal", "none")
WORK: Final = ("total", "remaining")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("round")(round_)


def _one_of(what: str, known: tuple[str, ...]) -> object:
    def check(value: str) -> str:
        if value not in known:
            near = difflib.get_close_matches(value, known, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise typer.BadParameter(f"no {what} is called {value!r}; {hint}")
        return value

    return check


def _weight(text: str) -> float:
    text = str(text)
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise typer.BadParameter(f"{text!r} is not a finite number >= 0")
    return value


def _weight_option(name: str, what: str) -> object:
    return typer.Option(f"--weight-{name}", metavar="NUMBER", parser=_weight, help=f"Weight of {what} in the cost.")


def round_(
    problem: Annotated[str, typer.Argument(metavar="ROUND", help="File of a hetopt/round, or - for standard input.")],
    solver: Annotated[
        str, typer.Option("--solver", metavar="NAME", help="fft-fast, fft-milp, fft-convex or another round solver.")
    ] = "fft-fast",
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
    rule: Annotated[
        str,
        typer.Option(
            "--rule",
            metavar="NAME",
            callback=_one_of("rule", RULES),
            help="Work conservation: most-gpus, maximal or none.",
        ),
    ] = "most-gpus",
    weight_age: Annotated[float, _weight_option("age", "the age term")] = 1.0,
    weight_size: Annotated[float, _weight_option("size", "the size term")] = 1.0,
    weight_migration: Annotated[float, _weight_option("migration", "migrations")] = 1.0,
    weight_fairness: Annotated[float, _weight_option("fairness", "the fairness compensation")] = 1.0,
    work: Annotated[
        str,
        typer.Option(
            "--work", metavar="total|remaining", callback=_one_of("work measure", WORK), help="Work in the cost."
        ),
    ] = "total",
    warm_start: Annotated[
        str | None, typer.Option("--warm-start", metavar="FILE", help="An allocation to start from.")
    ] = None,
    certificate_out: Annotated[
        str | None,
        typer.Option("--certificate-out", metavar="FILE", callback=opt.place, help="Write the certificate here."),
    ] = None,
    seed: opt.SeedOption = 0,
    threads: opt.ThreadsOption = 1,
    time_limit: opt.TimeLimitOption = None,
    work_limit: opt.WorkLimitOption = None,
    param: opt.ParamOption = None,
    params: opt.ParamsOption = None,
    verbose: opt.VerboseOption = False,
) -> int:
    """Solve one FFT round: which jobs run in the next interval, and on which GPU type.

    The answer is checked before it is shown.  Ctrl-C stops the solver; the best allocation so far is still written.
    """
    from hetopt import api
    from hetopt.cli._comparison import parameters_of
    from hetopt.cli._output import deliver, facts, say, table
    from hetopt.cli._progress import live, logging_to
    from hetopt.core.errors import UsageError

    if certificate_out == "-" and (as_json or output == "-"):
        raise UsageError("the allocation and its certificate cannot both go to standard output; name a file for one")
    settings = opt.params_of(param, params)
    if certificate_out is not None and "certify" in parameters_of(solver):  # costs time, so not made unless asked for
        settings.setdefault("certify", True)
    asked = round_of(problem)
    with logging_to(None, verbose=verbose), live(solver) as progress:
        allocation = api.solve_round(
            asked,
            solver,
            rule=rule,
            cost={
                "age": weight_age,
                "size": weight_size,
                "migration": weight_migration,
                "fairness": weight_fairness,
                "work": work,
            },
            time_limit=time_limit,
            work_limit=work_limit,
            threads=threads,
            seed=seed,
            warm_start=warm_start,
            params=settings,
            listener=progress,
        )
    running = [
        (name, asked.gpu_types[i].name)
        for name, i in zip(allocation.names, allocation.gpu_type, strict=True)
        if i is not None
    ]
    table("", ("job", "GPU type"), running[:_SHOWN], left=(0, 1))
    if len(running) > _SHOWN:
        say(f"and {len(running) - _SHOWN} more")
    gap = allocation.gap
    facts(
        {
            "round": asked.name or problem,
            "solver": allocation.solver,
            "status": f"{allocation.status} (stopped by {allocation.stop_reason})",
            "cost": None if allocation.cost is None else repr(allocation.cost.total),
            "lower bound": None if allocation.bound is None else repr(allocation.bound),
            "gap": None if gap is None else f"{gap:.3g}",
            "jobs running": f"{len(running)} of {len(allocation.names)}",
            "GPUs used": ", ".join(
                f"{g.name} {used} of {g.count}" for g, used in zip(asked.gpu_types, allocation.gpus_used, strict=True)
            ),
            "seconds": f"{allocation.runtime_seconds:.2f}",
            **({"message": allocation.message} if allocation.message else {}),
        }
    )
    try:
        deliver(allocation.to_json(), output=output, as_json=as_json, rescue=True)
    finally:
        if certificate_out is not None and allocation.certificate is not None:
            deliver(
                allocation.certificate.to_json(),
                output=certificate_out,
                as_json=False,
                rescue=not as_json and output is None,
            )
    if certificate_out is not None and allocation.certificate is None:
        say(f"hetopt: {certificate_out} was not written: {allocation.solver} has no certificate for this round")
    return exit_code(allocation)


def round_of(source: str) -> RoundProblem:
    """The round of a command's argument."""
    from hetopt import api
    from hetopt.core.errors import Fault, InputError
    from hetopt.core.round_problem import RoundProblem

    document = api.load(source)
    if not isinstance(document, RoundProblem):
        rule = "a round (hetopt/round) is needed here"
        raise InputError(Fault("format", type(document).__name__, rule, "name a round's file", source))
    return document


def exit_code(allocation: Allocation) -> int:
    """What the status means for the shell."""
    from hetopt.core.errors import ExitCode
    from hetopt.core.status import Status, StopReason

    if allocation.stop_reason is StopReason.INTERRUPTED:
        return int(ExitCode.INTERRUPTED)
    if allocation.status is Status.INFEASIBLE:
        return int(ExitCode.INFEASIBLE)
    return int(ExitCode.NO_SOLUTION if allocation.cost is None else ExitCode.DONE)
