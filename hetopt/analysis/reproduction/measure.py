"""Figures for a claim, taken from the table of its sweep; nothing is decided here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hetopt.analysis.reproduction.claims_file import Kind, PaperClaim
from hetopt.analysis.sweeps.collect import SweepTable, percentile
from hetopt.analysis.sweeps.execute import State
from hetopt.analysis.sweeps.paired import PairedComparison, compare_pair

__all__ = ["Measured", "measure"]

SEED = 0
"""Of the bootstrap."""


@dataclass(frozen=True)
class Measured:
    """What was measured for a claim, as plain JSON values.

    Attributes
    ----------
    main
        The figure that the verdict is about; None when nothing could be measured.
    rows
        Further figures: other baselines, other versions of ours, further pairs.
    sensitivity
        Main figure by value of each grid argument.
    runs
        How many runs it rests on, and how many of them have no figures.
    trouble
        Reasons of runs without figures, each once.
    """

    main: dict[str, Any] | None
    rows: tuple[dict[str, Any], ...] = ()
    sensitivity: dict[str, tuple[dict[str, Any], ...]] | None = None
    runs: int = 0
    without: int = 0
    trouble: tuple[str, ...] = ()


def measure(claim: PaperClaim, table: SweepTable | None) -> Measured:
    """Figures of one claim; ``table`` is None where there is no sweep."""
    if claim.kind is Kind.NONE or table is None:
        return Measured(None)
    used = _used(claim, table)
    bad = [row for row in used if row["state"] != State.DONE]
    trouble = tuple(dict.fromkeys(f"{row['solver']}: {row['reason'].splitlines()[0]}" for row in bad))
    if claim.kind in (Kind.RATIO, Kind.UP_TO, Kind.DIRECTION):
        main, rows, parts = _pairs(claim, table)
    elif claim.kind is Kind.AT_MOST:
        main, rows, parts = _times(claim, table)
    else:
        main, rows, parts = _guarantees(claim, table)
    return Measured(main, tuple(rows), parts, len(used) + len(table.missing), len(bad) + len(table.missing), trouble)


def _used(claim: PaperClaim, table: SweepTable) -> list[Any]:
    named = {claim.ours, claim.against, *claim.alternatives, *claim.others, *(x for pair in claim.pairs for x in pair)}
    named.discard(None)
    return [row for row in table.rows if not named or row["solver"] in named]


def _pair(pair: PairedComparison) -> dict[str, Any] | None:
    if pair.ratio is None:
        return None
    r = pair.ratio
    return {
        "ours": pair.mine,
        "against": pair.other,
        "estimate": r.estimate,
        "low": r.low,
        "high": r.high,
        "problems": r.count,
        "smallest": pair.smallest,
        "largest": pair.largest,
        "better": pair.wins,
        "equal": pair.ties,
        "worse": pair.losses,
        "left_out": pair.left_out,
    }


def _pairs(
    claim: PaperClaim, table: SweepTable
) -> tuple[dict[str, Any] | None, list[dict[str, Any]], dict[str, tuple[dict[str, Any], ...]]]:
    ours, against, metric = claim.ours or "", claim.against or "", claim.metric or ""

    def between(mine: str, other: str, part: SweepTable = table) -> dict[str, Any] | None:
        return _pair(compare_pair(part, metric, mine, other, SEED))

    wanted = [(ours, other) for other in claim.others]
    wanted += [(mine, other) for mine in claim.alternatives for other in (against, *claim.others)]
    wanted += list(claim.pairs)
    rows = [row for mine, other in wanted if (row := between(mine, other)) is not None]
    parts: dict[str, tuple[dict[str, Any], ...]] = {}
    for name in claim.sensitivity:
        column = f"arg.{name}"
        values = sorted({row[column] for row in table.rows if row.get(column) is not None})
        parts[name] = tuple(
            {"value": value, **row}
            for value in values
            if (row := between(ours, against, table.where(**{column: value})))
        )
    return between(ours, against), rows, parts


def _spread(values: list[float]) -> dict[str, Any] | None:
    ordered = sorted(values)
    if not ordered:
        return None
    return {
        "estimate": percentile(ordered, 0.5),
        "low": ordered[0],
        "high": ordered[-1],
        "problems": len(ordered),
    }


def _times(
    claim: PaperClaim, table: SweepTable
) -> tuple[dict[str, Any] | None, list[dict[str, Any]], dict[str, tuple[dict[str, Any], ...]]]:
    """Median, least and largest value of each method."""
    found = []
    for solver in (claim.ours or "", *claim.alternatives):
        spread = _spread(list(table.values(claim.metric or "", solver).values()))
        found.append(None if spread is None else {"ours": solver, **spread})
    return found[0], [row for row in found[1:] if row is not None], {}


def _guarantees(
    claim: PaperClaim, table: SweepTable
) -> tuple[dict[str, Any] | None, list[dict[str, Any]], dict[str, tuple[dict[str, Any], ...]]]:
    """The measured ratio beside the guarantee on every instance; the main figure is the one with the least room."""
    rows = []
    for row in table.done:
        ratio, limit = row.get(claim.metric or ""), row.get(claim.guarantee or "")
        if isinstance(ratio, (int, float)) and isinstance(limit, (int, float)):
            steps = bool(row.get("ok"))
            fields = {"instance": row["problem"], "measured": ratio, "guarantee": limit, "steps_hold": steps}
            rows.append({**fields, "alpha": row.get("alpha"), "gpus": row.get("gpus")})
    rows.sort(key=lambda r: -r["measured"] / r["guarantee"])
    if not rows:
        return None, [], {}
    main = {
        **rows[0],
        "instances": len(rows),
        "exceeded": sum(r["measured"] > r["guarantee"] for r in rows),
        "steps_hold": all(r["steps_hold"] for r in rows),
    }
    parts: dict[str, tuple[dict[str, Any], ...]] = {}
    for name in claim.sensitivity:
        groups: dict[Any, list[dict[str, Any]]] = {}
        for row in rows:
            groups.setdefault(row.get(name), []).append(row)
        parts[name] = tuple(
            {
                "value": value,
                "measured": max(r["measured"] for r in group),
                "guarantee": min(r["guarantee"] for r in group),
                "problems": len(group),
            }
            for value, group in sorted(groups.items(), key=lambda item: (item[0] is None, item[0] or 0))
        )
    return main, rows[:12], parts
