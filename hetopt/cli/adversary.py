"""``hetopt adversary``: search for instances on which a heuristic does badly."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hetopt.cli import _options as opt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from hetopt.analysis.adversary import Progress


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("adversary")(adversary)


class _Line:
    """The live line: steps done and the best ratio."""

    def __init__(self) -> None:
        self.text = "starting"

    def __call__(self, news: Progress) -> None:
        from hetopt.cli._progress import LOGGER

        best = "-" if news.best is None else f"{float(news.best.exact_ratio):.4f} ({news.best.name})"
        self.text = f"step {news.step} of {news.budget}, {news.measured} measured, best ratio {best}"
        if news.improved:
            LOGGER.info("%s", self.text)

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text(f"{self.text} (Ctrl-C keeps what is found; the same command goes on)")


@contextmanager
def _noting_interrupts() -> Iterator[list[int]]:
    """The search ends quietly on Ctrl-C; the list tells whether there was one."""
    seen: list[int] = []

    def handler(number: int, frame: Any) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGINT, handler)
    except ValueError:  # not the main thread: nobody can press Ctrl-C here
        yield seen
        return
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)


def adversary(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DIR", help="Hall of fame; a search in it is resumed.")
    ],
    rule: Annotated[str, typer.Option("--rule", metavar="NAME", help="The heuristic to do badly.")] = "hare",
    rounds: Annotated[
        str, typer.Option("--rounds", metavar="alike|any", help="Whether the rounds of a job have to be equal.")
    ] = "any",
    gpus: Annotated[int, typer.Option("--gpus", metavar="M", parser=opt.count, help="Number of GPUs, all alike.")] = 3,
    budget: Annotated[
        int,
        typer.Option("--work-limit", metavar="STEPS", parser=opt.natural, help="Steps in all, earlier ones included."),
    ] = 2000,
    max_tasks: Annotated[
        int | None, typer.Option("--max-tasks", metavar="N", parser=opt.count, help="Most tasks of an instance.")
    ] = None,
    from_scratch: Annotated[
        bool, typer.Option("--from-scratch", help="Start from random instances only, not from the known families.")
    ] = False,
    seed: opt.SeedOption = 0,
    time_limit: opt.TimeLimitOption = None,
    as_json: opt.JsonOption = False,
    verbose: opt.VerboseOption = False,
) -> int:
    """Search for instances with a large ratio of a heuristic to a known schedule, and keep them with their proofs."""
    from hetopt.analysis.adversary import search
    from hetopt.cli._output import deliver, say, table
    from hetopt.cli._progress import drawn, logging_to
    from hetopt.core.errors import ExitCode

    line = _Line()
    with logging_to(None, verbose=verbose), _noting_interrupts() as interrupts, drawn(line):
        hall = search(
            rule,
            rounds=rounds,
            gpus=gpus,
            out=output,
            budget=budget,
            seed=seed,
            max_tasks=max_tasks,
            families=not from_scratch,
            time_limit=time_limit,
            listener=line,
        )
    rows = [(e.name, f"{float(e.exact_ratio):.6f}", e.rule_value, e.schedule_value) for e in hall.entries]
    table("", ("instance", "ratio", rule, "schedule"), rows)
    say(f"{hall.steps} steps, {hall.measured} measured; everything is in {output}")
    deliver(hall.to_json(), output=None, as_json=as_json)
    return int(ExitCode.INTERRUPTED if interrupts else ExitCode.DONE)
