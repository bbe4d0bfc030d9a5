"""A figure a claim, drawn from results alone: the main pair and the others, with the published value as a line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hetopt.analysis.plots.interval_chart import IntervalRow, interval_height, intervals
from hetopt.analysis.plots.saving import save
from hetopt.analysis.reproduction.claims_file import Kind, PaperClaim
from hetopt.analysis.reproduction.page import Paper, figure_name

__all__ = ["write_figures"]


def _rows(claim: PaperClaim, measured: dict[str, Any]) -> list[IntervalRow]:
    main, rows = measured["main"], measured["rows"]
    if claim.kind in (Kind.RATIO, Kind.UP_TO, Kind.DIRECTION):
        out = [(f"{r['ours']} against {r['against']}", r["estimate"], r["low"], r["high"]) for r in [main, *rows]]
        for argument, parts in measured["sensitivity"].items():
            out += [(f"main pair, {argument} = {p['value']}", p["estimate"], p["low"], p["high"]) for p in parts]
        return out
    if claim.kind is Kind.AT_MOST:
        return [(r["ours"], r["estimate"], r["low"], r["high"]) for r in [main, *rows]]
    return [(r["instance"], r["measured"] / r["guarantee"], None, None) for r in rows]


def _label(claim: PaperClaim) -> str:
    if claim.kind is Kind.AT_MOST:
        return "seconds"
    if claim.kind in (Kind.GUARANTEE, Kind.REFUTATION):
        return "measured ratio over the factor (1: attained; above: exceeded)"
    return f"{(claim.metric or '').replace('_', ' ')} of the second over the first (above 1: the first is better)"


def write_figures(papers: Sequence[Paper], folder: Path) -> frozenset[str]:
    """Draw every claim that has figures; names of the files."""
    from hetopt.analysis.report.inline_svg import figure_axes

    names = set()
    folder.mkdir(exist_ok=True)
    for paper in papers:
        if paper.results is None:
            continue
        for claim in paper.claims.claims:
            measured = paper.results.claims[claim.id]["measured"]
            if measured["main"] is None:
                continue
            rows = _rows(claim, measured)
            marks = [] if claim.published is None else [(claim.published, f"published {claim.published:g}")]
            ax = intervals(rows, figure_axes(interval_height(rows)), label=_label(claim), marks=marks)
            name = figure_name(paper.claims.paper, claim.id)
            save(ax, folder / name)
            names.add(name)
    return frozenset(names)
