"""No page shows code that does not run or output that is not printed."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .blocks import Block, absent_lines, blocks_of, commands_of, pages

ROOT = Path(__file__).resolve().parents[2]
PAGES = pages(ROOT)


def environment() -> dict[str, str]:
    """The ``hetopt`` of this interpreter comes first; nothing is drawn on a screen."""
    first = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return os.environ | {"PATH": first, "MPLBACKEND": "Agg", "NO_COLOR": "1", "COLUMNS": "160"}


def run_console(block: Block, folder: Path, where: str) -> None:
    commands = commands_of(block.text)
    for number, command in enumerate(commands):
        last = number == len(commands) - 1
        done = subprocess.run(
            ["bash", "-c", command.text],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        expected = block.exit_code if last else 0
        assert done.returncode == expected, f"{where}: `{command.text}` ended with {done.returncode}\n{done.stdout}"
        absent = absent_lines(command.shown, done.stdout)
        assert not absent, f"{where}: `{command.text}` does not print {absent}; it prints\n{done.stdout}"


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=() if p.name == "README.md" and p.parent == ROOT else pytest.mark.ci) for p in PAGES],
    ids=[str(p.relative_to(ROOT)) for p in PAGES],
)
def test_blocks_of_a_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [b for b in blocks_of(page.read_text(encoding="utf-8")) if not b.run_elsewhere]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    name = page.relative_to(ROOT).as_posix()
    namespace: dict[str, object] = {"__name__": f"page_{page.stem}".replace("-", "_")}
    sys.modules[str(namespace["__name__"])] = type(sys)(str(namespace["__name__"]))  # dataclasses look it up
    try:
        for block in blocks:
            where = f"{name}:{block.line}"
            if block.language == "console":
                run_console(block, tmp_path, where)
                continue
            linecache.cache[where] = (len(block.text), None, [f"{line}\n" for line in block.text.splitlines()], where)
            exec(compile(block.text, where, "exec"), namespace)
    finally:
        del sys.modules[str(namespace["__name__"])]
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")


def test_what_ci_runs_elsewhere_is_really_run_there() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for page in PAGES:
        for block in blocks_of(page.read_text(encoding="utf-8")):
            if not block.run_elsewhere:
                continue
            commands = [c.text for c in commands_of(block.text) if not c.text.startswith(("git clone ", "cd "))]
            assert commands, f"{page.name}:{block.line}: nothing that CI could run"
            for command in commands:
                assert command in script, f"{page.name}:{block.line}: .ci/run does not contain `{command}`"


def test_the_checks_can_fail(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="ended with 3"):
        run_console(Block("console", "$ exit 3", 1), tmp_path, "page:1")
    with pytest.raises(AssertionError, match="does not print"):
        run_console(Block("console", "$ echo one two\none three", 1), tmp_path, "page:1")
    run_console(Block("console", "$ echo one   two 3.7 s\none two ... s\n$ exit 4", 1, exit_code=4), tmp_path, "page:1")


def test_blocks_are_found() -> None:
    text = "x\n```python\na = 1\n```\n<!-- exit code: 2 -->\n```console\n$ b \\\n  c\nout\n```\n```json\n{}\n```\n"
    assert blocks_of(text) == [Block("python", "a = 1", 3), Block("console", "$ b \\\n  c\nout", 7, 2)]
    (command,) = commands_of("$ b \\\n  c\nout")
    assert (command.text, command.shown) == ("b \\\n  c", ("out",))
    assert any(blocks_of(page.read_text(encoding="utf-8")) for page in PAGES)
