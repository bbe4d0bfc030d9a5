"""``hetopt verify``: checks a document against its instance, with no solver."""

from __future__ import annotations

from typing import Annotated

import typer

from hetopt.cli import _options as opt


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)


def verify(
    problem: Annotated[
        str, typer.Argument(metavar="INSTANCE", help="Instance (round, for an allocation): file, - or shipped name.")
    ],
    file: Annotated[str, typer.Argument(metavar="FILE", help="Schedule, result, certificate or allocation.")],
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
) -> int:
    """Check a schedule, result, certificate or allocation (told by its format), with no solver."""
    from hetopt import api
    from hetopt.cli._output import deliver, say
    from hetopt.core.errors import ExitCode, UsageError

    if problem == "-" and file == "-":
        raise UsageError("only one of INSTANCE and FILE can be standard input")
    verification = api.verify(problem, file)
    say(
        f"{verification.document}: {'valid' if verification.valid else f'NOT valid, {len(verification.violations)} violations'}"
    )
    say(*(str(finding) for finding in verification.violations), *verification.notes)
    deliver(verification.to_json(), output=output, as_json=as_json)
    return int(ExitCode.DONE if verification.valid else ExitCode.VERIFICATION_FAILED)
