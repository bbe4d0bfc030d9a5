"""``hetopt verify``: checks a document against its instance, with no solver."""

from __future__ import annotations

from typing import Annotated

import typer

from hetopt.cli import _options as opt


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)


def verify(
    instance: opt.InstanceArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Schedule, result, certificate or allocation.")],
    output: opt.OutputOption = None,
    as_json: opt.JsonOption = False,
) -> int:
    """Check a schedule, result, certificate or allocation (told by its format), with no solver."""
    from hetopt.analysis.certify import verify as judge
    from hetopt.analysis.documents import load_any
    from hetopt.cli._output import deliver, say
    from hetopt.core.documents import written_json
    from hetopt.core.errors import ExitCode, UsageError

    if instance == "-" and file == "-":
        raise UsageError("only one of INSTANCE and FILE can be standard input")
    problem = opt.instance_of(instance)
    verification = judge(problem, load_any(file))
    say(str(verification))
    deliver(written_json(verification.to_dict()), output=output, as_json=as_json)
    return int(ExitCode.DONE if verification.valid else ExitCode.VERIFICATION_FAILED)
