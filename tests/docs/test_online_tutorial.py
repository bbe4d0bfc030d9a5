"""The tutorial on HLAS runs from top to bottom, and says what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "hlas-on-a-trace.md"


def test_every_cell_runs(capsys: pytest.CaptureFixture[str]) -> None:
    cells = re.findall(r"```\{code-cell\} python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(cells) >= 7
    namespace: dict[str, object] = {}
    for cell in cells:
        exec(compile(cell, str(PAGE), "exec"), namespace)
    printed = capsys.readouterr().out
    assert "certified lower bound" in printed
    assert "| hlas-gang |" in printed
    assert "shockwave" in printed
