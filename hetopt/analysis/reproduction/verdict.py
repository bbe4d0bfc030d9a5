"""The rules by which figures become verdicts: one for each kind of claim, the same for every paper.

* ``ratio``, a published factor f, a measured geometric mean r with its 95 % interval: *reproduced* if f / 1.25 <= r <= 1.25 f and
  the whole interval is above 1; else *reproduced in direction* if the interval is above 1; *contradicted* if it is below 1.
* ``up-to``: *reproduced* if the largest ratio over all workloads and baselines reaches f and the interval of the main pair
  is above 1; direction and contradiction as for ratios, by the main pair.
* ``direction``: *reproduced* if the interval is above 1, *contradicted* if it is below 1.
* ``at-most`` seconds: *reproduced* if the median is at most f, *in direction* up to 10 f (another machine and solver),
  *contradicted* above.
* ``guarantee``: *reproduced* if no instance exceeds it and every step of the proof holds, else *contradicted*.
* ``refutation``: *contradicted* if some exactly checked instance exceeds it, else *reproduced* on what was looked at.

An interval that contains 1, or one of a single problem, decides nothing: *not reproducible from public material*, because
the set-up in which it would show is not public.  Without figures the state is *not measured*.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from hetopt.analysis.reproduction.claims_file import Kind, PaperClaim
from hetopt.analysis.reproduction.measure import Measured

__all__ = ["Verdict", "judge"]

NEAR: Final = 1.25
SLOWER: Final = 10.0


class Verdict(StrEnum):
    """What came of a claim."""

    REPRODUCED = "reproduced"
    DIRECTION = "reproduced in direction"
    CONTRADICTED = "contradicted"
    NOT_REPRODUCIBLE = "not reproducible from public material"
    NOT_MEASURED = "not measured"


def judge(claim: PaperClaim, measured: Measured) -> tuple[Verdict, str]:
    """The verdict, and why in a sentence."""
    if claim.kind is Kind.NONE:
        return Verdict.NOT_REPRODUCIBLE, claim.reason
    main = measured.main
    if main is None:
        why = "; ".join(measured.trouble[:3]) or "there are no figures for the main pair"
        return Verdict.NOT_MEASURED, f"No run has figures for it: {why}."
    if claim.kind is Kind.AT_MOST:
        return _at_most(claim, main)
    if claim.kind is Kind.GUARANTEE:
        return _guarantee(main)
    if claim.kind is Kind.REFUTATION:
        return _refutation(main)
    return _ratio(claim, measured, main)


def _ratio(claim: PaperClaim, measured: Measured, main: dict[str, Any]) -> tuple[Verdict, str]:
    low, high, r = main["low"], main["high"], main["estimate"]
    if low is None or high is None:
        return Verdict.NOT_REPRODUCIBLE, "One problem has no spread, so nothing can be decided."
    shown = f"{r:.2f} ({low:.2f} to {high:.2f})"
    if high < 1:
        return (
            Verdict.CONTRADICTED,
            f"At our set-up the other is better: the ratio is {shown}.{_instead(claim, measured)}",
        )
    if low <= 1:
        return (
            Verdict.NOT_REPRODUCIBLE,
            f"At our set-up the interval {shown} contains 1: the difference does not show, and the set-up in which it does is not public.",
        )
    if claim.kind is Kind.DIRECTION:
        return Verdict.REPRODUCED, f"The whole interval {shown} is above 1."
    published = claim.published or 0.0
    if claim.kind is Kind.UP_TO:
        top = max([main, *(row for row in measured.rows if row["ours"] == claim.ours)], key=lambda row: row["largest"])
        best = f"the largest ratio of all workloads and baselines is {top['largest']:.2f}, against {top['against']}"
        if top["largest"] >= published:
            return Verdict.REPRODUCED, f"Ratios up to the published one occur: {best}."
        return Verdict.DIRECTION, f"Better than the main baseline by {shown}; {best}, below {published:g}."
    if published / NEAR <= r <= published * NEAR:
        return Verdict.REPRODUCED, f"The measured ratio {shown} is within a factor {NEAR:g} of {published:g}."
    side = "below" if r < published else "above"
    return Verdict.DIRECTION, f"Better, by {shown}, which is {side} the published {published:g}."


def _instead(claim: PaperClaim, measured: Measured) -> str:
    """What the best alternative reading of the method gives against the same baseline; it changes no verdict."""
    rows = [r for r in measured.rows if r["ours"] in claim.alternatives and r["against"] == claim.against]
    best = max(rows, key=lambda r: float(r["estimate"]), default=None)
    if best is None or best["low"] is None:
        return ""
    span = f"{best['estimate']:.2f} ({best['low']:.2f} to {best['high']:.2f})"
    return f" With {best['ours']} in place of {claim.ours}, it is {span}."


def _at_most(claim: PaperClaim, main: dict[str, Any]) -> tuple[Verdict, str]:
    published, median = claim.published or 0.0, main["estimate"]
    text = f"{main['ours']}: median {median:.2f} s of {main['problems']}"
    if median <= published:
        return Verdict.REPRODUCED, f"{text}, at most {published:g} s."
    if median <= SLOWER * published:
        return Verdict.DIRECTION, f"{text}: the same order of magnitude on this machine with this solver and gap."
    return Verdict.CONTRADICTED, (
        f"{text}: more than {SLOWER:g} times the published {published:g} s with a free solver, one thread and a proved gap."
    )


def _guarantee(main: dict[str, Any]) -> tuple[Verdict, str]:
    if main["exceeded"] or not main["steps_hold"]:
        return Verdict.CONTRADICTED, f"{main['exceeded']} of {main['instances']} instances exceed it."
    return Verdict.REPRODUCED, (
        f"No instance of {main['instances']} exceeds it and every step of the proof holds exactly; the nearest, "
        f"{main['instance']}, has {main['measured']:.3f} of {main['guarantee']:.3f}."
    )


def _refutation(main: dict[str, Any]) -> tuple[Verdict, str]:
    if not main["steps_hold"]:
        return Verdict.NOT_MEASURED, "A step of the exact check fails, so the instances prove nothing."
    if main["exceeded"]:
        return Verdict.CONTRADICTED, (
            f"{main['exceeded']} of {main['instances']} exactly checked instances exceed it: on {main['instance']} the plan is "
            f"{main['measured']:.4f} times a schedule that is there to see, and alpha (2 + alpha) is {main['guarantee']:g}."
        )
    return Verdict.REPRODUCED, f"None of {main['instances']} instances exceeds it."
