"""``hetopt convert``: real traces and tables to instances, one sub-command a format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hetopt.cli import _options as opt

if TYPE_CHECKING:
    from hetopt.instances.report import Loaded

TickOption = Annotated[
    str,
    typer.Option(
        "--tick",
        metavar="SECONDS",
        help="Length of a tick; auto: no training or sync time rounded up by more than 0.1 %.",
    ),
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
    for command in (shockwave, philly, tiresias, alibaba, pollux, fjsplib):
        group.command(command.__name__)(command)
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


GpusOption = Annotated[
    str, typer.Option("--gpus", metavar="TYPE=COUNT,...", help="GPUs of each type; case is ignored.")
]
RoundsOption = Annotated[int, typer.Option("--rounds", metavar="N", parser=opt.count, help="Training rounds per job.")]
JobsOption = Annotated[
    int | None, typer.Option("--jobs", metavar="N", parser=opt.count, help="Only the first so many rows.")
]
SpeedsOption = Annotated[
    str | None,
    typer.Option(
        "--speeds", metavar="TYPE=SPEED,...", help="Speeds of GPU types, made up, since the trace has none; 1."
    ),
]
LenientOption = Annotated[
    bool, typer.Option("--lenient", help="Leave out rows that give no job, and say which, instead of refusing.")
]


def _pairs(text: str | None, option: str) -> dict[str, str] | None:
    from hetopt.core.errors import UsageError

    if text is None:
        return None
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    if not parts or not all(name.strip() and value.strip() for name, _, value in parts):
        raise UsageError(f"{option} {text!r}: write NAME=VALUE,NAME=VALUE")
    return {name.strip(): value.strip() for name, _, value in parts}


def parse_speeds(text: str | None) -> dict[str, float] | None:
    """Speeds of GPU types from ``V100=1,T4=0.4``; None for None."""
    from hetopt.core.errors import UsageError

    pairs = _pairs(text, "--speeds")
    if pairs is None:
        return None
    try:
        return {name: float(value) for name, value in pairs.items()}
    except ValueError:
        raise UsageError(f"--speeds {text!r}: speeds are numbers > 0, for example V100=1,T4=0.4") from None


def _convert(
    trace: str,
    kind: str,
    gpus: str,
    rounds: int,
    *,
    tick: str,
    sync: str,
    name: str | None,
    lenient: bool,
    output: str | None,
    as_json: bool,
    **more: Any,
) -> None:
    from hetopt.api import parse_gpus
    from hetopt.core.errors import UsageError
    from hetopt.instances.traces import detect_format, load_workload, workload_to_instance

    found = detect_format(trace)
    if found != kind:
        raise UsageError(f"{trace} looks like a {found} trace: use hetopt convert {found}")
    cluster = parse_gpus(gpus)
    types = None if kind == "pollux" else tuple(cluster)
    read = load_workload(trace, types=types, strict=not lenient, **more)
    loaded = workload_to_instance(
        read.workload,
        cluster,
        rounds=rounds,
        tick_seconds=_tick(tick),
        sync=sync,
        strict=not lenient,
        report=read.report,
        name=name,
    )
    _deliver(loaded, output, as_json)


def shockwave(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="A Shockwave trace (12 fields).")],
    gpus: GpusOption,
    rounds: RoundsOption,
    throughputs: Annotated[
        str | None,
        typer.Option(
            "--throughputs", metavar="FILE", help="Throughput table; without it V100 only, from the durations."
        ),
    ] = None,
    jobs: JobsOption = None,
    tick: TickOption = "1",
    sync: SyncOption = "0",
    name: NameOption = None,
    lenient: LenientOption = False,
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Make an instance of a Shockwave trace."""
    _convert(
        *(trace, "shockwave", gpus, rounds),
        tick=tick,
        sync=sync,
        name=name,
        lenient=lenient,
        output=output,
        as_json=as_json,
        throughputs=throughputs,
        jobs=jobs,
    )


def philly(
    trace: Annotated[str, typer.Argument(metavar="FILE.csv", help="The Philly job list as Pollux ships it.")],
    gpus: GpusOption,
    rounds: RoundsOption,
    speeds: SpeedsOption = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="HASH", help="Only the jobs of this virtual cluster.")
    ] = None,
    min_seconds: Annotated[float, typer.Option("--min-seconds", help="Leave out shorter jobs.")] = 0.0,
    max_gpus: Annotated[
        int | None, typer.Option("--max-gpus", parser=opt.count, help="Leave out jobs with more GPUs.")
    ] = None,
    jobs: JobsOption = None,
    tick: TickOption = "1",
    sync: SyncOption = "0",
    name: NameOption = None,
    lenient: LenientOption = False,
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Make an instance of the Philly job list: work is the duration, and GPU types have the speeds given."""
    _convert(
        *(trace, "philly", gpus, rounds),
        tick=tick,
        sync=sync,
        name=name,
        lenient=lenient,
        output=output,
        as_json=as_json,
        speeds=parse_speeds(speeds),
        cluster=cluster,
        min_seconds=min_seconds,
        max_gpus=max_gpus,
        jobs=jobs,
    )


def tiresias(
    trace: Annotated[str, typer.Argument(metavar="FILE.csv", help="A Tiresias trace.")],
    gpus: GpusOption,
    rounds: RoundsOption,
    speeds: SpeedsOption = None,
    jobs: JobsOption = None,
    tick: TickOption = "1",
    sync: SyncOption = "0",
    name: NameOption = None,
    lenient: LenientOption = False,
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Make an instance of a Tiresias trace: work is the duration, and GPU types have the speeds given."""
    _convert(
        *(trace, "tiresias", gpus, rounds),
        tick=tick,
        sync=sync,
        name=name,
        lenient=lenient,
        output=output,
        as_json=as_json,
        speeds=parse_speeds(speeds),
        jobs=jobs,
    )


def alibaba(
    trace: Annotated[str, typer.Argument(metavar="FILE.csv", help="A pod list of Alibaba's GPU trace of 2023.")],
    gpus: GpusOption,
    rounds: RoundsOption,
    speeds: SpeedsOption = None,
    fractions: Annotated[
        str, typer.Option("--fractions", help="Pods with a fraction of a GPU: drop, or give them a whole one (whole).")
    ] = "drop",
    jobs: JobsOption = None,
    tick: TickOption = "1",
    sync: SyncOption = "0",
    name: NameOption = None,
    lenient: LenientOption = False,
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Make an instance of Alibaba's pods of 2023; each runs on the GPU types that it asks for."""
    _convert(
        *(trace, "alibaba", gpus, rounds),
        tick=tick,
        sync=sync,
        name=name,
        lenient=lenient,
        output=output,
        as_json=as_json,
        speeds=parse_speeds(speeds),
        fractions=fractions,
        jobs=jobs,
    )


def pollux(
    trace: Annotated[str, typer.Argument(metavar="FILE.csv", help="A Pollux workload.")],
    profiles: Annotated[
        str,
        typer.Option("--profiles", metavar="TYPE=FOLDER,...", help="Folder of step-time profiles of each GPU type."),
    ],
    gpus: GpusOption,
    rounds: RoundsOption,
    clusters: Annotated[
        str | None,
        typer.Option("--clusters", metavar="TYPE=NAME,...", help="For a clone of Sia: the cluster in the file names."),
    ] = None,
    jobs: JobsOption = None,
    tick: TickOption = "1",
    sync: SyncOption = "0",
    name: NameOption = None,
    lenient: LenientOption = False,
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Make an instance of a Pollux workload with measured step times."""
    _convert(
        *(trace, "pollux", gpus, rounds),
        tick=tick,
        sync=sync,
        name=name,
        lenient=lenient,
        output=output,
        as_json=as_json,
        profiles=_pairs(profiles, "--profiles"),
        clusters=_pairs(clusters, "--clusters"),
        jobs=jobs,
    )


def fjsplib(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A flexible job shop in the FJSPLIB format.")],
    zero_based: Annotated[bool, typer.Option("--zero-based", help="Machines are numbered from 0.")] = False,
    name: NameOption = None,
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Make an instance of a flexible job shop: machine = GPU type of count 1; solve it with --objective makespan."""
    from hetopt.instances.traces import load_fjsplib

    _deliver(load_fjsplib(file, zero_based=zero_based, name=name), output, as_json)


def _deliver(loaded: Loaded, output: str | None, as_json: bool) -> None:
    from hetopt.cli._output import deliver, say

    say(repr(loaded.instance), str(loaded.report))
    deliver(loaded.instance.to_json(), output=output or "-", as_json=as_json and output not in (None, "-"))
