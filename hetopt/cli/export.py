"""``hetopt export``: a formulation for other solvers."""

from __future__ import annotations

from typing import Annotated

import typer

from hetopt.cli import _options as opt


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export)


def export(
    instance: opt.InstanceArgument,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write here, and the name map to FILE.names.json; - prints."
        ),
    ],
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help="disjunctive-milp or time-indexed-milp.")
    ] = "disjunctive-milp",
    file_format: Annotated[
        str | None, typer.Option("--format", metavar="lp|mps|dzn|fjs", help="By default the ending of the file.")
    ] = None,
    objective: opt.ObjectiveOption = "total-weighted-completion",
) -> None:
    """Write an instance as LP, MPS, MiniZinc data or FJSPLIB, with a map from its names to ours."""
    from hetopt.cli._output import say
    from hetopt.core.errors import UsageError
    from hetopt.models.export import FORMATS
    from hetopt.models.export import export as write

    kind = file_format or (output.rpartition(".")[2].lower() if "." in output else "")
    if kind not in FORMATS:
        raise UsageError(f"--format {kind or 'is not given'}: the formats are {', '.join(FORMATS)}; name one of them")
    written = write(opt.instance_of(instance), model, kind, output, objective)
    if output != "-":
        say(*(f"wrote {path}" for path in written))
