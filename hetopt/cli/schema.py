"""``hetopt schema``: the JSON Schema of a format."""

from __future__ import annotations

from typing import Annotated

import typer

from hetopt.cli import _options as opt


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="clairvoyant, schedule, result, ...")] = None,
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Print the JSON Schema of a format; without a name, list the formats."""
    import json

    from hetopt.analysis.schemas import SCHEMAS, schema_of
    from hetopt.cli._output import deliver, table

    if name is None:
        table("", ("format", "what it is"), [(key, entry.summary) for key, entry in SCHEMAS.items()], left=(0, 1))
        return
    text = json.dumps(schema_of(name), indent=2, ensure_ascii=False) + "\n"
    deliver(text, output=output or "-", as_json=as_json and output not in (None, "-"))
