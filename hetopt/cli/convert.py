"""``hetopt convert``: real traces and tables to instances, one sub-command a format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hetopt.cli import _options as opt

if TYPE_CHECKING:
    from hetopt.instances.report import Loaded

TickOption = Annotated[
    str,
    typer.Option("--tick", metavar="SECONDS", help="Length of a tick; auto: no time rounded up by more than 0.1 %."),
]
SyncOption = Annotated[
    str, typer.Option("--sync", metavar="SHARE", help="Share of a round that is synchronisation, 0 <= F < 1.")
]
NameOption = Annotated[str | None, typer.Option("--name", metavar="TEXT", help="Name of the instance.")]


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(
        help="Make instances of public traces and of tables.", no_args_is_help=True, rich_markup_mode=None
    )
    group.command("gavel")(gavel)
    group.command("table")(table)
    app.add_typer(group, name="convert")


def _tick(text: str) -> Any:
    return None if text == "auto" else text


def gavel(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="A Gavel trace, of either dialect.")],
    throughputs: Annotated[str, typer.Option("--throughputs", metavar="FILE", help="Gavel's throughput table (JSON).")],
    gpus: Annotated[str, typer.Option("--gpus", metavar="TYPE=COUNT,...", help="GPUs of each type; case is ignored.")],
    rounds: Annotated[int, typer.Option("--rounds", metavar="N", parser=opt.count, help="Training rounds per job.")],
    jobs: Annotated[
        int | None, typer.Option("--jobs", metavar="N", parser=opt.count, help="Only the first so many jobs.")
    ] = None,
    tick: TickOption = "1",
    sync: SyncOption = "0",
    name: NameOption = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Leave out jobs that no type can run, and say which, instead of refusing.")
    ] = False,
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Make an instance of a Gavel trace with its throughput table.

    The time of a round on type k is total steps / (rounds x rate on k), rounded up to ticks; no rate: the type is forbidden.
    """
    from hetopt.api import parse_gpus
    from hetopt.instances.traces import load_gavel

    loaded = load_gavel(
        trace,
        throughputs,
        parse_gpus(gpus),
        rounds,
        jobs=jobs,
        tick_seconds=_tick(tick),
        sync=sync,
        strict=not lenient,
        name=name,
    )
    _deliver(loaded, output, as_json)


def table(
    file: Annotated[str, typer.Argument(metavar="FILE.csv", help="One line a job; see the guide for the columns.")],
    gpus: Annotated[
        str | None, typer.Option("--gpus", metavar="TYPE=COUNT,...", help="GPUs of each type; one of each by default.")
    ] = None,
    rounds: Annotated[
        int, typer.Option("--rounds", metavar="N", parser=opt.count, help="Training rounds of jobs that do not say.")
    ] = 1,
    tick: TickOption = "1",
    sync: SyncOption = "0",
    name: NameOption = None,
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Make an instance of a table of times or throughputs of your own (CSV)."""
    from hetopt.api import parse_gpus
    from hetopt.instances.table import load_table

    loaded = load_table(
        file, None if gpus is None else parse_gpus(gpus), rounds=rounds, tick_seconds=_tick(tick), sync=sync, name=name
    )
    _deliver(loaded, output, as_json)


def _deliver(loaded: Loaded, output: str | None, as_json: bool) -> None:
    from hetopt.cli._output import deliver, say

    say(repr(loaded.instance), str(loaded.report))
    deliver(loaded.instance.to_json(), output=output or "-", as_json=as_json and output not in (None, "-"))
