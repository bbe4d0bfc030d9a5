"""``hetopt plot``: a schedule or result as a picture."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from hetopt.cli import _options as opt


class Chart(StrEnum):
    """What to draw."""

    GANTT = "gantt"
    CONVERGENCE = "convergence"
    UTILISATION = "utilisation"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plot")(plot)


def plot(
    instance: opt.InstanceArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A schedule or result.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Picture to write: .svg, .png or .pdf.")
    ],
    chart: Annotated[Chart, typer.Option("--chart", help="What to draw.")] = Chart.GANTT,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Title of the picture.")] = None,
) -> None:
    """Draw a schedule or result (needs the extra `report`)."""
    from hetopt.analysis import plots
    from hetopt.analysis.documents import load_any
    from hetopt.core.errors import UsageError
    from hetopt.core.result import Result
    from hetopt.core.schedule import Schedule

    if instance == "-" and file == "-":
        raise UsageError("only one of INSTANCE and FILE can be standard input")
    problem = opt.instance_of(instance)
    document = load_any(file)
    if not isinstance(document, (Result, Schedule)):
        raise UsageError(f"{file}: a schedule or result is needed here, found {type(document).__name__}")
    if chart is Chart.CONVERGENCE:
        if not isinstance(document, Result):
            raise UsageError(f"{file}: a schedule has no history; name a result to draw its convergence")
        axes = plots.convergence(document)
    elif chart is Chart.UTILISATION:
        axes = plots.utilisation(document, problem)
    else:
        axes = plots.gantt(document, problem)
    if title is not None:
        axes.set_title(title, loc="left")
    plots.save(axes, output)
