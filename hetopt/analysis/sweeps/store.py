"""One file a run, safe against everything short of a broken disk.

Layout of a sweep's folder::

    runs/KEY.json     a record, written by rename: whole or not there
    locks/KEY.lock    locked (flock) by the process that executes the run, free as soon as that process is gone
    rejected/         files that were found in runs/ and cannot be trusted
    spec.toml         the specification of the last call

A process claims a key, looks again whether a record is there, executes, writes, lets go.  So concurrent
invocations never execute a run twice at once, and whatever is killed loses the runs that it was executing and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from hetopt.analysis.sweeps.execute import State, sealed
from hetopt.analysis.sweeps.expand import RECORD_VERSION, Run
from hetopt.core.documents import canonical_json, fingerprint_of, read_json, write_text
from hetopt.core.errors import HetoptError, OutputError, UsageError, shown

__all__ = ["Claim", "RunStore", "Survey"]

_KEY: Final = re.compile(r"[0-9a-f]{64}")
_FIELDS: Final = {
    "format": str,
    "version": int,
    "key": str,
    "identity": dict,
    "state": str,
    "reason": str,
    "measures": dict,
    "provenance": dict,
    "checksum": str,
}


@dataclass
class Claim:
    """The right to execute one run, for as long as the process lives or until :meth:`release`."""

    key: str
    stream: IO[bytes] | None

    def release(self) -> None:
        """Let others have it."""
        if self.stream is not None:
            self.stream.close()
            self.stream = None


@dataclass
class Survey:
    """What a folder holds of the runs asked for: records by key, faults by file, and how many files are of other runs."""

    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    foreign: int = 0


class RunStore:
    """Records in a folder.

    Parameters
    ----------
    folder
        Made if it is not there.

    Raises
    ------
    OutputError
        It cannot be made or written.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.runs, self.locks, self.rejected = (self.folder / n for n in ("runs", "locks", "rejected"))
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
            self.locks.mkdir(exist_ok=True)
            probe = self.locks / f".probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise OutputError(f"{folder}: cannot be written: {error.strerror or error}; name another folder") from None

    def path(self, key: str) -> Path:
        """Where the record of a key is or will be."""
        return self.runs / f"{key}.json"

    def claim(self, key: str) -> Claim | None:
        """The right to execute a run, or None while another process has it.

        Raises
        ------
        UsageError
            This platform has no file locks that die with their process.
        """
        try:
            import fcntl
        except ImportError:
            raise UsageError(
                "sweeps need file locks (flock), which this platform lacks; run them on Linux or macOS"
            ) from None
        path = self.locks / f"{key}.lock"
        while True:
            stream = path.open("ab")
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                stream.close()
                return None
            except OSError as error:
                stream.close()
                raise UsageError(
                    f"{path}: cannot be locked: {error.strerror or error}; use a disk with file locks"
                ) from None
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(stream.fileno()), path.stat()):
                    return Claim(key, stream)
            stream.close()  # somebody has tidied the file away between opening and locking

    def read(self, key: str) -> dict[str, Any] | None:
        """The record of a key, None when there is none.

        Raises
        ------
        HetoptError
            There is a file that is not a sound record of this key; the text says why.
        """
        path = self.path(key)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise HetoptError(f"{path.name}: cannot be read: {error}") from None
        fault = _fault(text, key)
        if fault is not None:
            raise HetoptError(f"{path.name}: {fault}")
        found: dict[str, Any] = read_json(text, path.name)[0]
        return found

    def write(self, record: dict[str, Any]) -> None:
        """Store a record in one step."""
        write_text(self.path(record["key"]), canonical_json(record) + "\n")

    def reject(self, key: str) -> Path | None:
        """Put the file of a key aside (nothing is deleted); where it went."""
        source = self.path(key)
        self.rejected.mkdir(exist_ok=True)
        for number in range(10**6):
            target = self.rejected / f"{key}.{number}.json"
            try:
                os.link(source, target)  # never over an older one
            except FileExistsError:
                continue
            except FileNotFoundError:
                return None
            except OSError:
                os.replace(source, target)
                return target
            source.unlink(missing_ok=True)
            return target
        return None

    def survey(self, runs: list[Run]) -> Survey:
        """Records of these runs, and what is wrong in the folder."""
        out = Survey()
        wanted = {run.key for run in runs}
        for run in runs:
            try:
                record = self.read(run.key)
            except HetoptError as error:
                out.faults[run.key] = str(error)
                continue
            if record is not None:
                out.records[run.key] = record
        for path in self._files():
            if path.stem not in wanted:
                out.foreign += 1
        return out

    def tidy(self) -> int:
        """Remove half-written files of processes that are gone; how many there were."""
        removed = 0
        for path in sorted(self.runs.glob(".*.part")):
            key = path.name[1:65]
            claim = self.claim(key) if _KEY.fullmatch(key) else None
            if claim is not None:
                path.unlink(missing_ok=True)
                removed += 1
                claim.release()
        return removed

    def _files(self) -> Iterator[Path]:
        return (p for p in sorted(self.runs.iterdir()) if not p.name.startswith("."))


def _fault(text: str, key: str) -> str | None:
    """Why a file is no sound record of a key."""
    try:
        record, faults = read_json(text, "")
    except HetoptError as error:
        return f"not a JSON object ({error})"
    if faults or not isinstance(record, dict):
        return f"not a JSON object ({faults[0].rule if faults else shown(record)})"
    for name, kind in _FIELDS.items():
        if not isinstance(record.get(name), kind) or isinstance(record.get(name), bool):
            return f"no record of a run: {name} is {shown(record.get(name))}"
    if record["format"] != "hetopt/run" or record["version"] != RECORD_VERSION:
        return f"format {record['format']} version {record['version']} is not hetopt/run version {RECORD_VERSION}"
    if record["key"] != key:
        return f"it holds the run {record['key'][:12]}, and its name says another"
    if record["state"] not in set(State):
        return f"state {record['state']!r} is none of {', '.join(State)}"
    if fingerprint_of(record["identity"]) != key:
        return "the run that it describes has another key"
    if sealed(record)["checksum"] != record["checksum"]:
        return "its checksum is wrong: the file was damaged or edited"
    return None
