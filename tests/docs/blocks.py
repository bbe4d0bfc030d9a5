"""Code blocks of Markdown pages: found, run, and held against the output that the page shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```\s*$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"<!--\s*(?P<key>exit code|run by CI)\s*:\s*(?P<value>[^>]*?)\s*-->\s*\Z")


@dataclass(frozen=True)
class Block:
    """A fenced block: language, text, line in its file, and what the comment before it says."""

    language: str
    text: str
    line: int
    exit_code: int = 0
    run_elsewhere: str = ""


@dataclass(frozen=True)
class Command:
    """A line with a prompt (and its continuations), and the output lines shown below it."""

    text: str
    shown: tuple[str, ...]


def blocks_of(text: str) -> list[Block]:
    """The ``python`` and ``console`` blocks of a page, in order."""
    out = []
    for match in _FENCE.finditer(text):
        language = match["info"].strip()
        if language not in ("python", "console"):
            continue
        mark = _MARK.search(text[: match.start()])
        code = int(mark["value"]) if mark and mark["key"] == "exit code" else 0
        elsewhere = mark["value"] if mark and mark["key"] == "run by CI" else ""
        indent = len(match["indent"])
        body = "\n".join(line[indent:] for line in match["body"].splitlines())
        out.append(Block(language, body, text.count("\n", 0, match.start()) + 2, code, elsewhere))
    return out


def commands_of(body: str) -> list[Command]:
    """The commands of a console block; ``\\`` at the end of a line continues it."""
    out: list[tuple[list[str], list[str]]] = []
    continued = False
    for line in body.splitlines():
        if continued:
            out[-1][0].append(line)
        elif line.startswith("$ "):
            out.append(([line[2:]], []))
        elif not out:
            raise ValueError(f"a console block starts with a prompt, not with {line!r}")
        else:
            out[-1][1].append(line)
            continue
        continued = line.endswith("\\")
    return [Command("\n".join(command), tuple(shown)) for command, shown in out]


def absent_lines(shown: tuple[str, ...], printed: str) -> list[str]:
    """Shown lines that are not among the printed ones; ``...`` stands for anything; spaces at the ends do not count."""
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    out = []
    for line in shown:
        wanted = " ".join(line.split())
        if wanted in ("", "..."):
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in wanted.split("...")))
        if not any(pattern.fullmatch(candidate) for candidate in lines):
            out.append(line)
    return out


def pages(root: Path) -> list[Path]:
    """Every page with code that is to be run: README, CONTRIBUTING and the documentation, but not what Sphinx runs."""
    found = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    found = [p for p in found if p.is_file() and "_build" not in p.parts and "jupyter_execute" not in p.parts]
    return [p for p in found if not p.read_text(encoding="utf-8").startswith("---\njupytext")]
