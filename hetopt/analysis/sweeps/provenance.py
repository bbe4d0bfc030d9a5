"""Where a record came from: versions, commit, machine.  No host, user or folder names."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

__all__ = ["available_cores", "machine", "provenance", "versions"]

_PACKAGES: Final = ("numpy", "scipy", "pydantic", "ortools", "highspy", "cvxpy", "pulp", "numba")
_CGROUP: Final = Path("/sys/fs/cgroup")


def _quota(folder: Path) -> float | None:
    """CPUs that a control group may use (version 2, then version 1); None: no limit is told."""
    try:
        quota, period = (folder / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        pass
    try:
        quota_us = int((folder / "cpu.cfs_quota_us").read_text())
        period_us = int((folder / "cpu.cfs_period_us").read_text())
        return quota_us / period_us if quota_us > 0 and period_us > 0 else None
    except (OSError, ValueError):
        return None


def _own_groups(root: Path, own: str) -> list[Path]:
    """The control group of the process and those above it."""
    folder = root / own.strip("/")
    out = []
    while True:
        out.append(folder)
        if folder == root or root not in folder.parents:
            return out
        folder = folder.parent


def available_cores(root: Path = _CGROUP) -> int:
    """Cores that this process really has: its affinity, and the quotas of its control groups."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this platform
        cores = os.cpu_count() or 1
    folders = [root, root / "cpu"]
    try:
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, own = line.split(":", 2)
            if controllers == "":
                folders += _own_groups(root, own)
            elif "cpu" in controllers.split(","):
                folders += _own_groups(root / "cpu", own)
    except (OSError, ValueError):
        pass
    quotas = [q for folder in folders if (q := _quota(folder)) is not None]
    return max(1, min([cores, *(int(q + 1e-9) for q in quotas)]))


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


@cache
def machine() -> dict[str, Any]:
    """CPU model, cores, memory in bytes, system."""
    return {
        "cpu": _cpu_model(),
        "cores": available_cores(),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
    }


@cache
def versions() -> dict[str, str]:
    """Versions of Python, hetopt and what solves."""
    out = {"python": platform.python_version()}
    for name in ("hetopt", *_PACKAGES):
        try:
            out[name] = version(name)
        except PackageNotFoundError:
            continue
    return out


@cache
def _commit() -> str | None:
    """Commit of the repository that this code is in, with ``+`` when tracked files differ from it; None outside of one."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(root), *words], capture_output=True, text=True, timeout=20, check=True
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.strip()

    commit = git("rev-parse", "HEAD")
    if commit is None:
        return None
    return commit + ("+" if git("status", "--porcelain", "--untracked-files=no", "--", "hetopt") else "")


def provenance() -> dict[str, Any]:
    """Everything at once."""
    return {"versions": versions(), "commit": _commit(), "machine": machine()}
