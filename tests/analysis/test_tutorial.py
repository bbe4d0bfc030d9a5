"""The tutorial notebook runs from top to bottom, and shows what its text says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "reproduce-and-break-the-bound.md"


def test_the_notebook_runs_and_breaks_the_claim(monkeypatch, capsys):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    cells = re.findall(r"```\{code-cell\} python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(cells) >= 6
    space: dict = {}
    for number, cell in enumerate(cells):
        exec(compile(cell, f"cell {number}", "exec"), space)
    out = capsys.readouterr().out
    assert "BROKEN" not in out and out.count("holds") == 17
    assert "LP, exactly: 24110289/388" in out and "ratio: 3.02649" in out
    ratios = [float(x) for x in re.findall(r"GPUs: ratio ([0-9.]+)", out)]
    assert ratios[0] > 2.9 and ratios[1] > 3.03 and ratios[2] > 3.11
    matplotlib.pyplot.close("all")
