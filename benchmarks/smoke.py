"""Runs every benchmark of this folder with ``--quick``: do they still work?  Times are not looked at."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    scripts = sorted(p for p in HERE.glob("*.py") if p.name != "smoke.py" and not p.name.startswith("_"))
    if not scripts:
        print("no benchmarks", file=sys.stderr)
        return 1
    failed = []
    for script in scripts:
        print(f"== {script.name} --quick", flush=True)
        try:
            run = subprocess.run([sys.executable, str(script), "--quick"], cwd=HERE.parent, check=False, timeout=240)
            if run.returncode:
                failed.append(f"{script.name}: exit code {run.returncode}")
        except subprocess.TimeoutExpired:
            failed.append(f"{script.name}: not done after 240 s")
    print("\n".join(failed) or f"{len(scripts)} benchmarks ran")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
