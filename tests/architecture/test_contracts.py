"""The import contracts hold, and would notice if they did not."""

from __future__ import annotations

import configparser
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytest.importorskip("importlinter", reason="import-linter belongs to the developer tools (make setup-dev)")


def lint(config: Path) -> subprocess.CompletedProcess[str]:
    code = "from importlinter.cli import lint_imports; import sys; sys.exit(lint_imports(config_filename=sys.argv[1], no_cache=True))"
    return subprocess.run(
        [sys.executable, "-c", code, str(config)], cwd=ROOT, capture_output=True, text=True, timeout=200, check=False
    )


def test_contracts_are_kept() -> None:
    run = lint(ROOT / ".importlinter")
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_broken_contract_is_noticed(tmp_path: Path) -> None:
    """The same tool with one layer turned upside down: it has to complain."""
    parser = configparser.ConfigParser()
    parser["importlinter"] = {"root_package": "hetopt", "include_external_packages": "True"}
    parser["importlinter:contract:upside-down"] = {
        "name": "upside down",
        "type": "layers",
        "layers": "\nhetopt.core\nhetopt.solvers",
    }
    config = tmp_path / "importlinter.ini"
    with config.open("w") as stream:
        parser.write(stream)
    run = lint(config)
    assert run.returncode == 1
    assert "upside down BROKEN" in run.stdout
