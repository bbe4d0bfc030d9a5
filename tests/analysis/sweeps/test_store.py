"""Records on disk: what is not sound is not trusted, locks end with their process, nothing is done twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hetopt.analysis.sweeps.collect import collect
from hetopt.analysis.sweeps.engine import Finished, execute_runs
from hetopt.analysis.sweeps.execute import State, make_record, run_one, sealed
from hetopt.analysis.sweeps.expand import Run, expand, shard
from hetopt.analysis.sweeps.spec import read_spec
from hetopt.analysis.sweeps.store import RunStore
from hetopt.core.errors import HetoptError, OutputError


class Inline:
    """An engine in this process that counts, and can stop after some runs as Ctrl-C does."""

    room = 2

    def __init__(self, stop_after: int | None = None) -> None:
        self.executed: list[str] = []
        self.waiting: list[Run] = []
        self.stop_after = stop_after

    def __enter__(self) -> Inline:
        return self

    def __exit__(self, *error: object) -> None:
        self.waiting = []

    def submit(self, run: Run) -> None:
        self.waiting.append(run)

    def completed(self) -> Any:
        if self.stop_after is not None and len(self.executed) >= self.stop_after:
            raise KeyboardInterrupt
        run = self.waiting.pop(0)
        self.executed.append(run.key)
        yield Finished(run, run_one(run))


@pytest.fixture
def runs(small: Path) -> list[Run]:
    return expand(read_spec(small), small.parent)


def stored(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted((folder / "runs").iterdir())}


def test_interrupted_then_resumed_equals_done_at_once(runs: list[Run], tmp_path: Path) -> None:
    store = RunStore(tmp_path / "a")
    first = Inline(stop_after=5)
    summary = execute_runs(store, runs, first)
    assert summary.interrupted
    assert summary.executed == 5 == len(stored(tmp_path / "a"))
    kept = stored(tmp_path / "a")
    second = Inline()
    execute_runs(store, runs, second)
    assert not set(first.executed) & set(second.executed), "nothing is executed twice"
    assert {k: v for k, v in stored(tmp_path / "a").items() if k in kept} == kept
    third = Inline()
    summary = execute_runs(store, runs, third)
    assert (third.executed, summary.present, summary.executed) == ([], len(runs), 0)


def test_shards_together_are_the_whole(runs: list[Run], tmp_path: Path) -> None:
    for i in (1, 2, 3):
        execute_runs(RunStore(tmp_path), shard(runs, i, 3), Inline())
    assert set(stored(tmp_path)) == {f"{run.key}.json" for run in runs}


def _edit(text: str) -> str:
    record = json.loads(text)
    record["measures"]["objective"] = 1
    return json.dumps(record)


def _edit_and_seal(text: str) -> str:
    record = json.loads(text)
    record["identity"]["seed"] = 77
    return json.dumps(sealed(record))


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda text: text[: len(text) // 2], "not a JSON object"),
        (lambda text: "", "not a JSON object"),
        (lambda text: "[]", "not a JSON object"),
        (lambda text: '{"format": "hetopt/result", "version": 1}', "no record of a run"),
        (_edit, "checksum"),
        (_edit_and_seal, "another key"),
        (lambda text: json.dumps(sealed({**json.loads(text), "state": "splendid"})), "state"),
        (lambda text: json.dumps(sealed({**json.loads(text), "version": 2})), "version"),
        (lambda text: json.dumps(sealed({**json.loads(text), "key": "0" * 64})), "its name says another"),
    ],
)
def test_damaged_and_foreign_files_are_reported_and_never_trusted(
    damage: Any, why: str, runs: list[Run], tmp_path: Path
) -> None:
    store, one = RunStore(tmp_path), runs[0]
    execute_runs(store, [one], Inline())
    path = store.path(one.key)
    sound = path.read_text()
    assert store.read(one.key) is not None
    path.write_text(damage(sound))
    with pytest.raises(HetoptError, match=why):
        store.read(one.key)
    table = collect(read_spec(tmp_path / "small.toml"), [one], store)
    assert (table.rows, len(table.missing)) == ((), 1)
    again = Inline()
    summary = execute_runs(store, [one], again)
    assert again.executed == [one.key]
    assert len(summary.rejected) == 1 and why in summary.rejected[0]
    assert store.read(one.key) is not None
    assert [p.read_text() for p in store.rejected.iterdir()] == [damage(sound)], "put aside, not destroyed"


def test_files_of_other_runs_are_left_alone(runs: list[Run], tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    execute_runs(store, runs[:3], Inline())
    (store.runs / "notes.txt").write_text("mine")
    survey = store.survey(runs[:1])
    assert (len(survey.records), survey.foreign) == (1, 3)
    assert (store.runs / "notes.txt").read_text() == "mine"


def test_failed_runs_are_kept_and_retried_on_request_only(runs: list[Run], tmp_path: Path) -> None:
    store, one = RunStore(tmp_path), runs[0]
    store.write(make_record(one, State.FAILED, reason="the cat"))
    engine = Inline()
    execute_runs(store, [one], engine)
    assert engine.executed == []
    execute_runs(store, [one], engine, retry_failed=True)
    assert engine.executed == [one.key]
    record = store.read(one.key)
    assert record is not None and record["state"] == "done"
    execute_runs(store, [one], engine, retry_failed=True)
    assert engine.executed == [one.key], "what is done stays"


def test_half_written_files_are_tidied_unless_their_process_lives(runs: list[Run], tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    parts = [store.runs / f".{run.key}.json.abc.part" for run in runs[:2]]
    for part in parts:
        part.write_text("{")
    claim = store.claim(runs[0].key)
    assert claim is not None
    assert store.tidy() == 1
    assert [p.exists() for p in parts] == [True, False]
    claim.release()
    assert store.tidy() == 1


def test_a_claim_excludes_others_and_ends_with_its_process(tmp_path: Path) -> None:
    store, key = RunStore(tmp_path), "a" * 64
    code = (
        "import sys, time\nfrom hetopt.analysis.sweeps.store import RunStore\n"
        f"claim = RunStore(sys.argv[1]).claim({key!r})\nprint(claim is not None, flush=True)\ntime.sleep(100)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == "True"
        assert store.claim(key) is None
        engine = Inline()
        other.send_signal(signal.SIGKILL)
        other.wait()
    claim = store.claim(key)
    assert claim is not None
    assert store.claim(key) is None, "also within one process"
    claim.release()
    assert engine.executed == []


def test_runs_under_way_elsewhere_are_not_executed(runs: list[Run], tmp_path: Path) -> None:
    store, engine = RunStore(tmp_path), Inline()
    claim = store.claim(runs[0].key)
    summary = execute_runs(store, runs[:3], engine)
    assert (summary.elsewhere, summary.executed) == (1, 2)
    assert claim is not None
    claim.release()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        RunStore(tmp_path / "file" / "sub")


def test_kill_9_loses_the_runs_in_flight_and_nothing_else(tmp_path: Path, small: Path) -> None:
    """The command is killed several times at moments of its own choosing; in the end everything is there once, and sound."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "hetopt", "sweep", str(small), "--out", str(out), "--jobs", "1"]
    seen: dict[str, bytes] = {}
    for wanted in (2, 9):
        with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as run:
            end = time.monotonic() + 120
            while len(list((out / "runs").glob("[0-9a-f]*.json"))) < wanted and run.poll() is None:
                assert time.monotonic() < end
                time.sleep(0.01)
            run.send_signal(signal.SIGKILL)
            run.wait()
        now = {k: v for k, v in stored(out).items() if not k.startswith(".")}
        assert len(now) >= wanted
        assert {k: v for k, v in now.items() if k in seen} == seen, "finished runs stay as they are"
        seen = now
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    everything = expand(read_spec(small), small.parent)
    assert set(stored(out)) == {f"{run.key}.json" for run in everything}
    survey = RunStore(out).survey(everything)
    assert (len(survey.records), survey.faults, survey.foreign) == (len(everything), {}, 0)
    assert f"{len(seen)} there already, {len(everything) - len(seen)} executed" in done.stderr
    assert os.listdir(out / "rejected") == [] if (out / "rejected").exists() else True
