"""Builds the wheel, installs it bare into an empty environment and uses it there.  Run by CI: ``make wheel``.

Bare means: the required packages only, none of the extras, and not this folder on the path.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ROOT / "constraints" / f"py{sys.version_info[0]}{sys.version_info[1]}.txt"

# Modules of extras may fail to import for want of the extra, and for nothing else.
PROBE = """
import importlib, json, pkgutil, sys
import hetopt
extras = {"matplotlib", "jinja2", "plotly", "pyarrow", "flint", "distributed", "numba", "dask"}
failed, count = [], 0
for module in pkgutil.walk_packages(hetopt.__path__, "hetopt."):
    if module.name == "hetopt.__main__":
        continue
    count += 1
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in extras:
            failed.append(f"{module.name}: {error}")
    except Exception as error:
        failed.append(f"{module.name}: {type(error).__name__}: {error}")
for name in hetopt.__all__:
    try:
        getattr(hetopt, name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in extras:
            failed.append(f"hetopt.{name}: {error}")
print(json.dumps({"count": count, "failed": failed, "where": hetopt.__file__}))
"""


def sh(*command: str, cwd: Path | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
    run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=900)
    if check and run.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {run.returncode}\n{run.stdout}\n{run.stderr}")
    return run


def contents_are_right(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    strange = [n for n in names if not re.match(r"hetopt(-[^/]+\.dist-info)?/", n)]
    if strange:
        raise SystemExit(f"the wheel holds files outside of hetopt/: {strange[:5]}")
    if "hetopt/py.typed" not in names or not any(n.endswith("entry_points.txt") for n in names):
        raise SystemExit("the wheel lacks py.typed or its entry points")
    have = {n for n in names if n.startswith("hetopt/") and n.endswith(".py")}
    want = {str(p.relative_to(ROOT)) for p in (ROOT / "hetopt").rglob("*.py")}
    if have != want:
        raise SystemExit(f"the wheel and the folder differ: {sorted(have ^ want)[:5]}")
    if not any(n.startswith("hetopt/instances/library/") and n.endswith(".json") for n in names):
        raise SystemExit("the shipped instances are not in the wheel")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="hetopt-wheel-") as folder:
        place = Path(folder)
        sh(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(place), cwd=ROOT)
        (wheel,) = place.glob("hetopt-*.whl")
        contents_are_right(wheel)
        venv.create(place / "env", with_pip=True)
        python = str(place / "env" / "bin" / "python")
        sh(
            python,
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "--constraint",
            str(CONSTRAINTS),
            str(wheel),
        )
        seen = json.loads(sh(python, "-c", PROBE, cwd=place).stdout.splitlines()[-1])
        if seen["failed"] or str(place) not in seen["where"] or seen["count"] < 30:
            raise SystemExit(f"importing every module: {seen}")
        print(f"wheel: {seen['count']} modules imported in a bare environment")
        hetopt = str(place / "env" / "bin" / "hetopt")
        smoke = [
            ("--version",),
            (
                "generate",
                "--jobs",
                "3",
                "--gpus",
                "A=1,B=1",
                "--rounds",
                "2",
                "--scale",
                "1",
                "--seed",
                "1",
                "-o",
                "i.json",
            ),
            ("solve", "i.json", "--solver", "cpsat", "--time-limit", "60", "-o", "r.json"),
            ("verify", "i.json", "r.json"),
            ("compare", "i.json", "--solvers", "hare,fifo,milp-disjunctive", "--csv", "t.csv", "--time-limit", "20"),
            ("solvers", "--json"),
            ("schema", "result"),
        ]
        for words in smoke:
            sh(hetopt, *words, cwd=place)
            print("wheel: hetopt", *words)
        # what needs an extra says so in one line and with the exit code for it
        run = sh(hetopt, "plot", "i.json", "r.json", "-o", "g.svg", cwd=place, check=False)
        if run.returncode != 6 or "report" not in run.stderr or "Traceback" in run.stderr:
            raise SystemExit(f"plot without matplotlib: exit code {run.returncode}\n{run.stderr}")
        print("wheel: a missing extra is named in one line")


if __name__ == "__main__":
    main()
