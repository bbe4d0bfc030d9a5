"""``hetopt simulate``: online policies on a trace."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hetopt.cli import _options as opt
from hetopt.cli._progress import LiveLine

if TYPE_CHECKING:
    from hetopt.core.simulation import SimulationResult


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate")(simulate)


def _positive(text: str) -> float:
    if (value := opt.seconds(text)) <= 0:
        raise typer.BadParameter(f"{text!r} is not above 0")
    return value


def _tick(text: str) -> float | None:
    return None if str(text) == "auto" else _positive(text)


def simulate(
    trace: Annotated[
        str | None, typer.Argument(metavar="TRACE", help="A trace file, or - for standard input.", show_default=False)
    ] = None,
    policy: Annotated[
        str | None, typer.Option("--policy", metavar="A,B,C", help="Names that --list prints.", show_default=False)
    ] = None,
    gpus: Annotated[
        str | None, typer.Option("--gpus", metavar="TYPE=COUNT,...", help="GPUs of each type.", show_default=False)
    ] = None,
    throughputs: Annotated[
        str | None, typer.Option("--throughputs", metavar="FILE", help="Throughput table of a Gavel trace (JSON).")
    ] = None,
    speeds: Annotated[
        str | None,
        typer.Option(
            "--speeds",
            metavar="TYPE=SPEED,...",
            help="Speeds of GPU types, made up, for traces without throughputs; 1.",
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", metavar="N", parser=opt.count, help="Only the first so many jobs.")
    ] = None,
    rounds: Annotated[
        int,
        typer.Option("--rounds", metavar="R", parser=opt.count, help="Training rounds per job (task-level policies)."),
    ] = 10,
    tick: Annotated[
        str, typer.Option("--tick", metavar="SECONDS", help="Length of a tick (task-level policies); or auto.")
    ] = "1",
    sync: Annotated[
        float,
        typer.Option("--sync", metavar="SHARE", help="Share of a round that is synchronisation (task-level policies)."),
    ] = 0.0,
    switch_seconds: Annotated[
        float,
        typer.Option(
            "--switch-seconds",
            metavar="S",
            parser=opt.seconds,
            help="Time that a GPU loses when it changes its job (task-level policies).",
        ),
    ] = 0.0,
    noise: Annotated[
        float,
        typer.Option("--noise", help="Spread of true task times: deviation of the logarithm (task-level policies)."),
    ] = 0.0,
    round_seconds: Annotated[
        float, typer.Option("--round-seconds", metavar="S", parser=_positive, help="Length of a scheduling round.")
    ] = 300.0,
    migration_seconds: Annotated[
        float,
        typer.Option(
            "--migration-seconds", metavar="S", parser=opt.seconds, help="Time that a move or a resumption costs a job."
        ),
    ] = 0.0,
    early_end: Annotated[
        bool, typer.Option("--early-end", help="A round ends when all its jobs have ended (Gavel's simulator).")
    ] = False,
    whole_steps: Annotated[
        bool, typer.Option("--whole-steps", help="Jobs do whole numbers of steps a round (Gavel's simulator).")
    ] = False,
    max_rounds: Annotated[
        int | None, typer.Option("--max-rounds", metavar="N", parser=opt.count, help="Stop after so many rounds.")
    ] = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Leave out bad lines; let jobs wait that are too large, not refuse.")
    ] = False,
    list_policies: Annotated[bool, typer.Option("--list", help="Print the policies and stop.")] = False,
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE.html", help="Write a self-contained report.")
    ] = None,
    csv: Annotated[str | None, typer.Option("--csv", metavar="FILE", help="Write the table as CSV.")] = None,
    seed: opt.SeedOption = 0,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param", metavar="[POLICY.]KEY=VALUE", help="A parameter of one policy, or of every policy that has it."
        ),
    ] = None,
    verbose: opt.VerboseOption = False,
) -> int:
    """Simulate scheduling policies on a trace; each runs all jobs from the beginning.

    Ctrl-C ends the policy that is running at its next round; what was done is still written.
    """
    from hetopt import api
    from hetopt.cli._output import deliver
    from hetopt.cli._progress import logging_to
    from hetopt.cli.convert import parse_speeds
    from hetopt.core.errors import ExitCode, UsageError

    if list_policies:
        show_policies()
        return int(ExitCode.DONE)
    missing = [n for n, v in (("TRACE", trace), ("--policy", policy), ("--gpus", gpus)) if v is None]
    if missing:
        raise UsageError(
            f"missing: {', '.join(missing)}; for example: hetopt simulate TRACE --policy fft --gpus V100=4"
        )
    assert trace is not None and policy is not None and gpus is not None
    destinations = [path for path in (output or ("-" if as_json else None), report, csv) if path is not None]
    if len(set(destinations)) < len(destinations):
        raise UsageError("two of --output, --json, --report and --csv go to the same place; name different files")
    names = opt.names_of(policy, "--policy")
    settings = _settings(param, names)
    cluster = api.parse_gpus(gpus)
    with logging_to(None, verbose=verbose), SimulationProgress() as progress:
        result = api.simulate(
            trace,
            names,
            gpus=cluster,
            throughputs=throughputs,
            speeds=parse_speeds(speeds),
            jobs=jobs,
            rounds=rounds,
            tick_seconds=_tick(tick),
            sync=sync,
            switch_seconds=switch_seconds,
            noise=noise,
            round_seconds=round_seconds,
            migration_seconds=migration_seconds,
            early_end=early_end,
            whole_steps=whole_steps,
            max_rounds=max_rounds,
            strict=not lenient,
            seed=seed,
            params=settings,
            listener=progress,
        )
    show(result)
    facts = {
        "GPUs": ", ".join(f"{n} × {k}" for k, n in cluster.items()),
        "seconds a round": f"{round_seconds:g}",
        "seconds a move": f"{migration_seconds:g}",
    }
    write(result, csv=csv, report=report, facts=facts)
    deliver(result.to_json(), output=output, as_json=as_json, rescue=True)
    interrupted = any(o.interrupted for o in result.policies) or len(result.policies) < len(names)
    return int(ExitCode.INTERRUPTED if interrupted else ExitCode.DONE)


def _settings(pairs: list[str] | None, names: list[str]) -> dict[str, dict[str, Any]]:
    import dataclasses

    from hetopt.core.errors import UsageError
    from hetopt.solvers.online.catalogue import POLICIES

    known: dict[str, tuple[str, ...]] = {}
    for name in names:
        made = POLICIES.load(name)
        known[name] = (
            tuple(f.name for f in dataclasses.fields(made) if f.init) if dataclasses.is_dataclass(made) else ()
        )
    out: dict[str, dict[str, Any]] = {}
    for pair in pairs or ():
        key, sign, value = pair.partition("=")
        one, dot, bare = key.strip().rpartition(".")
        (parameter, read), *_ = opt.params_of([f"{bare}{sign}{value}"], None).items()
        takers = [one] if dot else [name for name in names if parameter in known[name]]
        if not takers or takers[0] not in names:
            raise UsageError(f"--param {pair!r}: none of {', '.join(names)} has a parameter {parameter!r}")
        for taker in takers:
            out.setdefault(taker, {})[parameter] = read
    return out


def show_policies() -> None:
    """The catalogue on standard error."""
    from hetopt.cli._output import table
    from hetopt.solvers.online.catalogue import POLICIES

    rows = [
        (e.name, e.kind, getattr(e, "clairvoyance", "-"), ", ".join(e.missing()) or "yes", e.summary) for e in POLICIES
    ]
    table("", ["policy", "kind", "knows", "installed", "what it is"], rows, left=[0, 1, 2, 3, 4])


def show(result: SimulationResult) -> None:
    """The table on standard error, and what went wrong."""
    from hetopt.analysis.simulations import COLUMNS, cell, rows_of
    from hetopt.cli._output import say, table

    rows = rows_of(result)
    cells = [[cell(row, field, spec) for field, _, spec in COLUMNS] for row in rows]
    table("", [heading for _, heading, _ in COLUMNS], cells)
    for row in rows:
        if row.message:
            say(f"{row.policy}: {row.message}")


def write(result: SimulationResult, *, csv: str | None, report: str | None, facts: dict[str, str]) -> None:
    """Write what was asked for beside the document."""
    if csv is not None:
        from hetopt.analysis.simulations import to_csv

        to_csv(result, csv)
    if report is not None:
        import shlex

        from hetopt.analysis.report.simulation import render_simulation

        render_simulation(result, report, facts=facts, command=shlex.join(["hetopt", *sys.argv[1:]]))


class SimulationProgress(LiveLine):
    """A live line on a terminal, nothing elsewhere."""

    def __init__(self) -> None:
        super().__init__("reading the trace")

    def __call__(self, policy: str, finished: int, total: int, step: int) -> None:
        """Progress of one policy."""
        self.text = f"{policy}: {finished} of {total} jobs done, step {step}"
