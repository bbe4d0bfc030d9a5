"""``hetopt solvers``: what is installed, what it can do, and how to get what is missing."""

from __future__ import annotations

from typing import Annotated

import typer

from hetopt.cli import _options as opt


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("solvers")(solvers)


def solvers(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show one solver with its parameters.")] = None,
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """List the solvers: installed or not, version, capabilities, how to get what is missing."""
    from hetopt.analysis.inventory import inventory
    from hetopt.cli._output import deliver, facts, table
    from hetopt.core.documents import written_json

    document = inventory(name)
    deliver(written_json(document.model_dump(mode="json")), output=output, as_json=as_json)
    rows = document.solvers
    table(
        "",
        ("solver", "kind", "installed", "version", "can", "what it is"),
        [
            (
                s.name,
                s.kind,
                "yes" if s.installed else "no",
                s.version,
                " ".join(c.lower() for c in s.capabilities),
                s.summary,
            )
            for s in rows
        ],
        left=(0, 1, 2, 3, 4, 5),
    )
    for s in rows:
        if not s.installed:
            facts({f"{s.name} is not usable": s.problem, **({"get it with": s.install} if s.install else {})})
    if name is not None:
        (only,) = rows
        facts({"objectives": " ".join(only.objectives)})
        table(
            "", ("parameter", "type", "default"), [(p.name, p.type, p.default) for p in only.parameters], left=(0, 1, 2)
        )
