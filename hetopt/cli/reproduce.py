"""``hetopt reproduce``: the claims of a paper, one by one."""

from __future__ import annotations

from typing import Annotated

import typer

from hetopt.cli import _options as opt


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reproduce")(reproduce)


def reproduce(
    paper: Annotated[
        str | None, typer.Argument(metavar="PAPER", help="hare or fft; leave it out to write the page only.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small runs: minutes on two cores, not hours.")] = False,
    out: Annotated[
        str, typer.Option("--out", metavar="DIR", help="Folder of the records; a second call resumes.")
    ] = "out/repro",
    jobs: Annotated[int | None, typer.Option("--jobs", metavar="N", parser=opt.count, help="Worker processes.")] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run failed and timed-out runs again.")] = False,
    folder: Annotated[
        str, typer.Option("--folder", metavar="DIR", help="Where the papers are: claims and specifications.")
    ] = "paper_repro",
    page: Annotated[
        str | None,
        typer.Option(
            "--page", metavar="DIR", help="Store results there, and write its figures and README.md from them."
        ),
    ] = None,
) -> int:
    """Run what a paper's claims need and print a verdict for each.

    Records are kept: whatever ends a call, the next one goes on from there.
    """
    from pathlib import Path

    from hetopt.analysis.reproduction.reproduce import paper_folder, write_page
    from hetopt.analysis.reproduction.reproduce import reproduce as run_paper
    from hetopt.cli._output import say
    from hetopt.cli.sweep import progress_line
    from hetopt.core.errors import ExitCode, UsageError

    if paper is None:
        if page is None:
            raise UsageError("name a paper (hare or fft), or a folder with --page")
        say(f"written: {write_page(page)}")
        return int(ExitCode.DONE)
    source = paper_folder(paper, folder)
    with progress_line() as line:
        results, interrupted = run_paper(source, out, quick=quick, jobs=jobs, retry_failed=retry_failed, listener=line)
    target = Path(out) / paper / f"{results.mode}.json"
    target.parent.mkdir(parents=True, exist_ok=True)  # a paper without sweeps has made no folder
    results.save(target)
    for name, item in results.claims.items():
        say(f"{paper}: {name}: {item['verdict']}. {item['why']}")
    say(f"results: {target}")
    if page is not None and not interrupted:
        kept = Path(page) / paper / "results"
        kept.mkdir(parents=True, exist_ok=True)
        results.save(kept / f"{results.mode}.json")
        say(f"written: {write_page(page)}")
    return int(ExitCode.INTERRUPTED if interrupted else ExitCode.DONE)
