"""``hetopt export``: a formulation for other solvers."""

from __future__ import annotations

from typing import Annotated

import typer

from hetopt.cli import _options as opt


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export)


def export(
    instance: Annotated[
        str,
        typer.Argument(metavar="INSTANCE", help="Instance or FFT round: file, -, or the name of a shipped instance."),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write here, and the name map to FILE.names.json; - prints."
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="disjunctive-milp (default), time-indexed-milp, midpoint-lp; of a round: fft-milp (default), fft-convex.",
        ),
    ] = None,
    file_format: Annotated[
        str | None, typer.Option("--format", metavar="lp|mps|dzn|fjs", help="By default the ending of the file.")
    ] = None,
    objective: opt.ObjectiveOption = "total-weighted-completion",
    rule: Annotated[
        str, typer.Option("--rule", metavar="NAME", help="Work conservation of a round: most-gpus, maximal or none.")
    ] = "most-gpus",
) -> None:
    """Write an instance or a round as LP, MPS, MiniZinc data or FJSPLIB, with a map from its names to ours."""
    from hetopt.analysis.documents import load_any
    from hetopt.cli._output import say
    from hetopt.core.errors import UsageError
    from hetopt.core.instance import Instance
    from hetopt.core.round_problem import RoundProblem
    from hetopt.models.export import FORMATS, export_round
    from hetopt.models.export import export as write
    from hetopt.solvers.rounds.usage import most_gpus

    kind = file_format or (output.rpartition(".")[2].lower() if "." in output else "")
    if kind not in FORMATS:
        raise UsageError(f"--format {kind or 'is not given'}: the formats are {', '.join(FORMATS)}; name one of them")
    document = load_any(instance)
    if isinstance(document, RoundProblem):
        most = most_gpus(document.arrays).value
        written = export_round(document, model or "fft-milp", kind, output, rule=rule, most_gpus=most)
    else:
        problem = document if isinstance(document, Instance) else opt.instance_of(instance)
        written = write(problem, model or "disjunctive-milp", kind, output, objective)
    if output != "-":
        say(*(f"wrote {path}" for path in written))
