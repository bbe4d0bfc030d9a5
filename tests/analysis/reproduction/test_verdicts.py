"""Every rule of the verdicts, on figures made up for it; faults of files of claims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hetopt.analysis.reproduction.claims_file import PaperClaim, read_claims
from hetopt.analysis.reproduction.measure import Measured
from hetopt.analysis.reproduction.verdict import Verdict, judge
from hetopt.core.errors import InputError

BASE: dict[str, Any] = {"id": "c", "says": "s", "where": "w", "sweep": "s", "metric": "m", "ours": "a", "against": "b"}


def pair(
    estimate: float, low: float | None, high: float | None, largest: float = 9.0, ours: str = "a"
) -> dict[str, Any]:
    return {
        "ours": ours, "against": "b", "estimate": estimate, "low": low, "high": high, "problems": 5, "smallest": 0.1,
        "largest": largest, "better": 1, "equal": 0, "worse": 0, "left_out": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "published", "main", "rows", "expected"),
    [
        ("ratio", 2.0, pair(2.1, 1.8, 2.4), (), Verdict.REPRODUCED),
        ("ratio", 2.0, pair(1.6, 1.2, 2.0), (), Verdict.REPRODUCED),
        ("ratio", 2.0, pair(1.59, 1.2, 2.0), (), Verdict.DIRECTION),
        ("ratio", 2.0, pair(2.6, 2.2, 3.0), (), Verdict.DIRECTION),
        ("ratio", 2.0, pair(1.9, 0.9, 4.0), (), Verdict.NOT_REPRODUCIBLE),
        ("ratio", 2.0, pair(0.8, 0.7, 0.9), (), Verdict.CONTRADICTED),
        ("ratio", 2.0, pair(2.0, None, None), (), Verdict.NOT_REPRODUCIBLE),
        ("ratio", 2.0, None, (), Verdict.NOT_MEASURED),
        ("up-to", 5.0, pair(2.0, 1.5, 2.5, 4.0), (pair(1.2, 1.1, 1.3, 5.1),), Verdict.REPRODUCED),
        ("up-to", 5.0, pair(2.0, 1.5, 2.5, 4.0), (pair(1.2, 1.1, 1.3, 5.1, ours="z"),), Verdict.DIRECTION),
        ("up-to", 5.0, pair(0.8, 0.7, 0.9, 6.0), (), Verdict.CONTRADICTED),
        ("direction", None, pair(1.1, 1.01, 1.2), (), Verdict.REPRODUCED),
        ("direction", None, pair(0.9, 0.8, 0.99), (), Verdict.CONTRADICTED),
        ("direction", None, pair(1.0, 0.8, 1.2), (), Verdict.NOT_REPRODUCIBLE),
        ("at-most", 1.5, pair(1.5, 1.0, 2.0), (), Verdict.REPRODUCED),
        ("at-most", 1.5, pair(15.0, 1.0, 20.0), (), Verdict.DIRECTION),
        ("at-most", 1.5, pair(15.1, 1.0, 20.0), (), Verdict.CONTRADICTED),
    ],
)
def test_ratios_and_times(kind: str, published: Any, main: Any, rows: Any, expected: Verdict) -> None:
    claim = PaperClaim(**BASE, kind=kind, published=published)
    assert judge(claim, Measured(main, rows))[0] is expected


@pytest.mark.parametrize(
    ("kind", "exceeded", "steps", "expected"),
    [
        ("guarantee", 0, True, Verdict.REPRODUCED),
        ("guarantee", 1, True, Verdict.CONTRADICTED),
        ("guarantee", 0, False, Verdict.CONTRADICTED),
        ("refutation", 0, True, Verdict.REPRODUCED),
        ("refutation", 2, True, Verdict.CONTRADICTED),
        ("refutation", 2, False, Verdict.NOT_MEASURED),
    ],
)
def test_guarantees(kind: str, exceeded: int, steps: bool, expected: Verdict) -> None:
    main = {
        "instance": "i",
        "measured": 3.1,
        "guarantee": 3.0,
        "instances": 4,
        "exceeded": exceeded,
        "steps_hold": steps,
    }
    claim = PaperClaim(id="c", says="s", where="w", kind=kind, sweep="s", metric="m", guarantee="g")
    assert judge(claim, Measured(main))[0] is expected


def test_no_figures_says_why() -> None:
    claim = PaperClaim(**BASE, kind="ratio", published=2.0)
    verdict, why = judge(claim, Measured(None, trouble=("b: not available: no licence",)))
    assert verdict is Verdict.NOT_MEASURED
    assert "no licence" in why
    verdict, why = judge(PaperClaim(id="c", says="s", where="w", kind="none", reason="R."), Measured(None))
    assert (verdict, why) == (Verdict.NOT_REPRODUCIBLE, "R.")


def test_all_faults_of_a_file_of_claims_at_once(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    path.write_text(
        'format = "hetopt/paper-claims"\nversion = 1\npaper = "X y"\ntitle = "t"\ncitation = "c"\naccess = "a"\n'
        '[[claims]]\nid = "a"\nsays = "s"\nwhere = "w"\nkind = "ratio"\n'
        '[[claims]]\nid = "a"\nsays = "s"\nwhere = "w"\nkind = "guess"\n'
        '[[claims]]\nid = "b"\nsays = "s"\nwhere = "w"\nkind = "none"\n'
    )
    with pytest.raises(InputError) as caught:
        read_claims(path)
    said = str(caught.value)
    for where in (
        "paper",
        "claims[0].published",
        "claims[0].ours",
        "claims[1].id",
        "claims[1].kind",
        "claims[2].reason",
    ):
        assert f"claims.toml: {where}: " in said, where


def test_a_contradiction_names_the_best_alternative_and_stays_one() -> None:
    claim = PaperClaim(**BASE, kind="ratio", published=2.0, alternatives=("z", "y"))
    rows = (
        pair(2.0, 1.9, 2.1, ours="z"),
        pair(1.5, 1.4, 1.6, ours="y"),
        {**pair(9.0, 8.0, 9.9, ours="z"), "against": "q"},
    )
    verdict, why = judge(claim, Measured(pair(0.5, 0.4, 0.6), rows))
    assert verdict is Verdict.CONTRADICTED
    assert why.endswith("With z in place of a, it is 2.00 (1.90 to 2.10).")
