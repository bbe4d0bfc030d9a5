"""The reference pages name everything that exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hetopt.cli._main import command
from hetopt.core.errors import ExitCode

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def commands(group: Any, prefix: str = "") -> dict[str, Any]:
    """Every command of the application, sub-commands as ``convert gavel``."""
    out: dict[str, Any] = {}
    for name, item in group.commands.items():
        path = f"{prefix}{name}"
        out |= commands(item, f"{path} ") if hasattr(item, "commands") else {path: item}
    return out


def test_every_command_and_option_is_on_the_reference_page() -> None:
    text = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    found = commands(command())
    assert {"solve", "compare", "verify", "schema", "solvers"} <= set(found)
    absent = []
    for name, item in found.items():
        section = re.search(rf"^### `?hetopt {re.escape(name)}\b.*?(?=^### |^## |\Z)", text, re.MULTILINE | re.DOTALL)
        if section is None:
            absent.append(f"section of {name}")
            continue
        common = text[text.index("## Options of many commands") :]
        for parameter in item.params:
            for option in parameter.opts:
                if (
                    option.startswith("--")
                    and option != "--help"
                    and option not in section[0]
                    and f"`{option}" not in common
                ):
                    absent.append(f"{name} {option}")
    assert absent == []


def test_every_exit_code_is_explained() -> None:
    text = (DOCS / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    for code in ExitCode:
        assert f"| {int(code)} |" in text


def test_every_format_is_on_the_formats_page() -> None:
    from hetopt.analysis.schemas import SCHEMAS

    text = (DOCS / "reference" / "formats.md").read_text(encoding="utf-8")
    assert [name for name in SCHEMAS if f"hetopt/{name}" not in text] == []


def test_pages_are_in_folders_that_the_index_globs() -> None:
    inside = {p.parent.name for p in DOCS.rglob("*.md") if "_build" not in p.parts and "jupyter_execute" not in p.parts}
    assert inside <= {"docs", "guide", "reference", "theory", "develop", "tutorials"}
