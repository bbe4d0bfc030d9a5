"""Everything for one paper: run its sweeps (resuming), measure, judge, write the results and the page."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from hetopt.analysis.reproduction.claims_file import PaperClaims, read_claims
from hetopt.analysis.reproduction.page import page_text, read_papers
from hetopt.analysis.reproduction.results import Reproduction, assess
from hetopt.analysis.sweeps.engine import Progress
from hetopt.analysis.sweeps.sweep import run_sweep
from hetopt.core.documents import write_text
from hetopt.core.errors import UsageError

__all__ = ["paper_folder", "reproduce", "write_page"]

FOLDERS: Final = {"full": "specs", "quick": "quick"}
"""Where the specifications of each mode are."""


def paper_folder(paper: str, root: str | os.PathLike[str] = "paper_repro") -> Path:
    """The folder of a paper.

    Raises
    ------
    UsageError
        There is none; the text names those that exist.
    """
    known = sorted(path.parent.name for path in Path(root).glob("*/claims.toml"))
    if paper not in known:
        where = f"known: {', '.join(known)}" if known else f"{root} has none; run it in a checkout of the repository"
        raise UsageError(f"no paper is called {paper!r}; {where}")
    return Path(root) / paper


def reproduce(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    quick: bool = False,
    jobs: int | None = None,
    retry_failed: bool = False,
    listener: Callable[[Progress], None] | None = None,
) -> tuple[Reproduction, bool]:
    """Run what the claims of a paper need, and judge them.

    Parameters
    ----------
    folder
        Of the paper: ``claims.toml``, ``specs/``, ``quick/``.
    out
        Records go to ``OUT/PAPER/MODE/SWEEP``; a second call resumes.
    quick
        The small specifications.
    jobs, retry_failed, listener
        As for sweeps.

    Returns
    -------
    The results, and whether somebody interrupted the runs (then they are of what was done).
    """
    claims: PaperClaims = read_claims(Path(folder) / "claims.toml")
    mode = "quick" if quick else "full"
    wanted: Sequence[str] = list(dict.fromkeys(c.sweep for c in claims.claims if c.sweep))
    tables, interrupted = {}, False
    for name in wanted:
        spec = Path(folder) / FOLDERS[mode] / f"{name}.toml"
        if not spec.is_file():
            raise UsageError(f"{spec}: no such file, and a claim of {claims.paper} needs the sweep {name}")
        place = Path(out) / claims.paper / mode / name
        summary, tables[name] = run_sweep(spec, place, jobs=jobs, retry_failed=retry_failed, listener=listener)
        if summary.interrupted:
            interrupted = True
            break
    return assess(claims, mode, tables), interrupted


def write_page(root: str | os.PathLike[str]) -> Path:
    """Write figures and README.md of a folder of papers from the results in it."""
    from hetopt.analysis.reproduction.figures import write_figures

    folder = Path(root)
    papers = read_papers(folder)
    names = write_figures(papers, folder / "figures")
    path = folder / "README.md"
    write_text(path, page_text(papers, names))
    return path
