"""Running the command line in this process, and in processes of its own with a third party's plug-in installed."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hetopt.cli import main
from hetopt.core.instance import Instance

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one document on standard output."""
        return json.loads(self.out)


@pytest.fixture
def hetopt(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """``hetopt("solve", "i.json", stdin=...)`` in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object, stdin: str | bytes = b"") -> Ran:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def instance_file(two_jobs: Instance, tmp_path: Path) -> Path:
    """The example of the format, in the current folder of :func:`hetopt`."""
    path = tmp_path / "two-jobs.json"
    two_jobs.save(path)
    return path


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PYTHONPATH into which pip has installed the example package; needs no network."""
    target = tmp_path_factory.mktemp("plugin")
    source = tmp_path_factory.mktemp("plugin-source") / "example"
    import shutil

    shutil.copytree(ROOT / "tests" / "plugin_example", source, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps"),
            *("--no-build-isolation", "--target", str(target), str(source)),
        ],
        check=True,
        timeout=120,
    )
    return target


def start(*words: object, cwd: Path, path: Path | None = None, **options: Any) -> subprocess.Popen[bytes]:
    """``hetopt`` in a process of its own; ``path`` comes onto PYTHONPATH."""
    environment = {**os.environ, **options.pop("env", {})}
    if path is not None:
        environment["PYTHONPATH"] = os.pathsep.join(p for p in (str(path), os.environ.get("PYTHONPATH")) if p)
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen([sys.executable, "-m", "hetopt", *map(str, words)], cwd=cwd, env=environment, **options)


def ended(process: subprocess.Popen[bytes]) -> Ran:
    """Wait for a started process."""
    out, err = process.communicate(timeout=120)
    return Ran(process.returncode, (out or b"").decode(), (err or b"").decode())
