from __future__ import annotations

from pathlib import Path

import pytest

SMALL = """
name = "small"
limits = { time = 10.0 }
[[instances]]
library = "hand-*"
[[instances]]
generate = { family = "batch", jobs = 3, gpus = { V100 = 2, T4 = 1 } }
grid = { seed = [0, 1], alpha = [2, 4] }
[[solvers]]
name = "fifo"
[[solvers]]
name = "wspt"
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path
