"""What can only be seen from outside: signals, pipes, full disks, plug-ins."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hetopt.core.instance import Instance

from .conftest import ended, start


@pytest.fixture
def folder(two_jobs: Instance, tmp_path: Path) -> Path:
    two_jobs.save(tmp_path / "i.json")
    return tmp_path


def wait_for(path: Path) -> None:
    for _ in range(3000):
        if path.exists():
            return
        time.sleep(0.02)
    raise AssertionError(f"{path} did not appear")


@pytest.mark.ci
def test_a_plug_in_adds_solvers(plugin: Path, folder: Path) -> None:
    listed = ended(start("solvers", "--json", cwd=folder, path=plugin))
    assert listed.code == 0
    rows = {row["name"]: row for row in listed.document["solvers"]}
    assert rows["random-order"]["installed"] is True
    assert "hetopt-example" in rows["random-order"]["summary"]
    assert [p["name"] for p in rows["random-order"]["parameters"]] == ["tries"]
    words = ("solve", "i.json", "--solver", "random-order", "--param", "tries=5", "--seed", "3", "--json")
    one, two = (ended(start(*words, cwd=folder, path=plugin, env={"PYTHONHASHSEED": h})) for h in ("1", "2"))
    assert one.code == 0, one.err
    assert one.document["options"] == {"tries": 5}
    assert one.document["schedule"] == two.document["schedule"]
    assert ended(start("solve", "i.json", "--solver", "random-order", cwd=folder)).code == 2, "gone without the plug-in"
    bad = ended(start("solve", "i.json", "--solver", "random-order", "--param", "tries=0", cwd=folder, path=plugin))
    assert (bad.code, bad.err) == (2, "hetopt: random-order: tries is 0; a whole number >= 1 is needed\n")


@pytest.mark.ci
def test_misbehaving_plug_ins(plugin: Path, folder: Path) -> None:
    listed = ended(start("solvers", "broken", "--json", cwd=folder, path=plugin))
    assert listed.code == 0
    assert "this plug-in is broken" in listed.document["solvers"][0]["problem"]
    broken = ended(start("solve", "i.json", "--solver", "broken", cwd=folder, path=plugin))
    assert broken.code == 6
    assert "this plug-in is broken" in broken.err
    liar = ended(start("solve", "i.json", "--solver", "liar", "-o", "r.json", cwd=folder, path=plugin))
    assert liar.code == 5
    assert "claims" in liar.err
    assert not (folder / "r.json").exists()
    crash = ended(start("solve", "i.json", "--solver", "liar", "--param", "crash=true", cwd=folder, path=plugin))
    assert crash.code == 1
    assert crash.err.count("\n") == 1
    assert "internal error: ZeroDivisionError" in crash.err
    shown = ended(
        start(
            "solve", "i.json", "--solver", "liar", "--param", "crash=true",
            cwd=folder, path=plugin, env={"HETOPT_TRACEBACK": "1"},
        )
    )  # fmt: skip
    assert "Traceback" in shown.err
    table = ended(start("compare", "i.json", "--solvers", "liar,wspt", "--json", cwd=folder, path=plugin))
    assert table.code == 0, table.err
    rows = {row["solver"]: row for row in table.document["rows"]}
    assert rows["liar"]["objective"] is None
    assert "claims" in rows["liar"]["message"]
    assert rows["wspt"]["objective"] > 0


def test_a_plug_in_may_not_take_a_name(folder: Path, tmp_path: Path) -> None:
    info = tmp_path / "site" / "greedy-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: greedy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[hetopt.solvers]\nwspt = greedy:Wspt\n")
    ran = ended(start("solve", "i.json", "--solver", "wspt", "--json", cwd=folder, path=info.parent))
    assert ran.code == 0
    assert ran.document["solver"] == "wspt"
    assert "warning: the plug-in solver 'wspt' from greedy is left out" in ran.err


@pytest.mark.parametrize("deaf", ["false", "true"])
def test_ctrl_c_keeps_the_best(plugin: Path, folder: Path, deaf: str) -> None:
    words = (
        "solve",
        "i.json",
        "--solver",
        "patient",
        "--param",
        f"ready={folder / 'ready'}",
        "--param",
        f"deaf={deaf}",
    )
    process = start(*words, "-o", "r.json", cwd=folder, path=plugin)
    wait_for(folder / "ready")
    process.send_signal(signal.SIGINT)
    if deaf == "true":  # it does not look: the second one ends it, and what it had recorded is kept
        time.sleep(0.3)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
    ran = ended(process)
    assert ran.code == 130, ran.err
    assert "Traceback" not in ran.err
    result = json.loads((folder / "r.json").read_text())
    assert (result["status"], result["stop_reason"], result["deterministic"]) == ("FEASIBLE", "INTERRUPTED", False)
    assert ended(start("verify", "i.json", "r.json", cwd=folder)).code == 0


def test_ctrl_c_with_nothing_found(plugin: Path, folder: Path) -> None:
    words = ("solve", "i.json", "--solver", "patient", "--param", f"ready={folder / 'ready'}", "--param", "empty=true")
    process = start(*words, "--json", cwd=folder, path=plugin)
    wait_for(folder / "ready")
    process.send_signal(signal.SIGINT)
    ran = ended(process)
    assert ran.code == 130
    document = ran.document
    assert (document["status"], document["objective"], document["bound"]) == ("UNKNOWN", None, None)


def test_ctrl_c_during_a_comparison_keeps_the_rows(plugin: Path, folder: Path) -> None:
    words = ("compare", "i.json", "--solvers", "wspt,patient,fifo", "--param", f"patient.ready={folder / 'ready'}")
    process = start(*words, "--csv", "t.csv", "--json", cwd=folder, path=plugin)
    wait_for(folder / "ready")
    process.send_signal(signal.SIGINT)
    ran = ended(process)
    assert ran.code == 130, ran.err
    assert ran.document["interrupted"] is True
    assert {row["solver"] for row in ran.document["rows"]} == {"wspt", "patient"}
    assert "patient" in (folder / "t.csv").read_text()


def test_no_solution_within_the_limits(plugin: Path, folder: Path) -> None:
    words = ("solve", "i.json", "--solver", "patient", "--param", "empty=true", "--time-limit", "0.05", "--json")
    ran = ended(start(*words, cwd=folder, path=plugin))
    assert ran.code == 4
    assert (ran.document["status"], ran.document["stop_reason"]) == ("UNKNOWN", "TIME")
    assert (ran.document["objective"], ran.document["bound"], ran.document["gap"]) == (None, None, None)
    stopped = ended(
        start("solve", "i.json", "--solver", "patient", "--time-limit", "0", "--json", cwd=folder, path=plugin)
    )
    assert stopped.code == 0
    assert stopped.document["status"] == "FEASIBLE", "a time limit never says OPTIMAL"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk(folder: Path) -> None:
    with open("/dev/full", "wb") as full:
        ran = ended(start("generate", "--jobs", "2", cwd=folder, stdout=full))
    assert ran.code == 2
    assert ran.err.splitlines()[-1] == "hetopt: standard output: cannot be written: No space left on device"
    assert "Exception ignored" not in ran.err
    ran = ended(start("solve", "i.json", "--solver", "wspt", "-o", "/dev/full", cwd=folder))
    assert ran.code == 2
    assert "/dev/full: cannot be written: No space left on device" in ran.err
    assert ran.document["status"] == "FEASIBLE"


def test_a_file_is_replaced_in_one_step_or_not_at_all(folder: Path) -> None:
    """A limit on the size of files stands for the full disk: the old file is intact and no part is left."""
    (folder / "r.json").write_text("old")
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100));"
        "from hetopt.cli import main; sys.exit(main(['solve', 'i.json', '--solver', 'wspt', '-o', 'r.json']))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 2, run.stderr
    assert (folder / "r.json").read_text() == "old"
    assert {p.name for p in folder.iterdir()} == {"i.json", "r.json"}
    assert json.loads(run.stdout)["format"] == "hetopt/result"


@pytest.mark.parametrize(
    ("words", "closed", "code", "line"),
    [
        (("solve", "-", "--solver", "fifo", "--json"), 0, 2, "hetopt: <stdin>: standard input is closed; "),
        (
            ("solve", "i.json", "--solver", "fifo", "--json"),
            1,
            2,
            "hetopt: standard output: cannot be written: it is closed",
        ),
        (("solve", "i.json", "--solver", "milp-disjunctive", "-o", "r.json"), 1, 0, "seconds"),
        (("solve", "i.json", "--solver", "fifo", "-o", "r.json"), 2, 0, ""),
        (("solve", "i.json", "--solver", "nobody"), 2, 2, ""),
    ],
)
def test_closed_descriptors(folder: Path, words: tuple[str, ...], closed: int, code: int, line: str) -> None:
    run = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}>&-', "sh", sys.executable, "-m", "hetopt", *words],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert run.returncode == code, run.stderr
    assert line in run.stderr if line else not run.stderr
    assert "internal error" not in run.stderr
    if code == 0:  # nothing that libraries print has gone into the file
        assert json.loads((folder / "r.json").read_text())["status"] in ("OPTIMAL", "FEASIBLE")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away(folder: Path, unbuffered: str) -> None:
    process = start("generate", "--jobs", "9000", cwd=folder, env={"PYTHONUNBUFFERED": unbuffered})
    assert process.stdout is not None
    assert process.stdout.read(10) == b'{"format":'
    process.stdout.close()
    process.stdout = None
    ran = ended(process)
    assert ran.code == 141
    assert "Traceback" not in ran.err
    assert "Exception ignored" not in ran.err


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_long_documents_come_whole_through_a_pipe(folder: Path, unbuffered: str) -> None:
    """A stream without a buffer takes as much as the pipe holds; the rest must not be lost."""
    words = ("generate", "--jobs", "9000", "--seed", "1")
    ran = ended(start(*words, cwd=folder, env={"PYTHONUNBUFFERED": unbuffered}))
    assert ran.code == 0
    assert len(ran.document["jobs"]) == 9000


def test_commands_can_be_joined_by_pipes(folder: Path) -> None:
    line = (
        f"{sys.executable} -m hetopt generate --jobs 3 --seed 2 2>/dev/null | tee j.json"
        f" | {sys.executable} -m hetopt solve - --solver wspt --json 2>/dev/null"
        f" | {sys.executable} -m hetopt verify j.json - --json 2>/dev/null"
    )
    run = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(run.stdout)["valid"] is True


def test_the_script_and_the_module_are_the_same(folder: Path) -> None:
    script = Path(sys.executable).with_name("hetopt")
    one = subprocess.run([script, "--help"], capture_output=True, text=True, timeout=60, check=True)
    assert one.stdout == ended(start("--help", cwd=folder)).out
