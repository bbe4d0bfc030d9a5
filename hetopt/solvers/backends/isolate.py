"""Run a function in a fresh process, with hard limits and nothing left behind.

For whatever cannot be trusted to stop by itself: external executables, and native code that looks at
its clock too rarely.  The child is the leader of a process group of its own; whatever happens, the whole
group is killed at the end and its temporary folder (also its ``TMPDIR``) is removed.  If the
parent itself is killed, even by SIGKILL, the child notices that its standard input has closed,
removes the folder and kills the group.

The function is named by ``module:function`` and takes a :class:`Channel` and the payload; the payload, what it
reports and what it returns go through pickle, in files of the folder.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from hetopt.core.errors import HetoptError

__all__ = [
    "Channel",
    "IsolatedCrash",
    "IsolatedError",
    "IsolatedMemory",
    "IsolatedStopped",
    "IsolatedTimeout",
    "child_main",
    "run_isolated",
]

POLL: Final = 0.02
"""Seconds between two looks at the child."""


class IsolatedError(Exception):
    """The function did not return; its subclasses say why.  ``last`` is what it reported last, or None."""

    def __init__(self, text: str, last: Any = None) -> None:
        super().__init__(text)
        self.last = last


class IsolatedTimeout(IsolatedError):
    """It was killed at the time limit."""


class IsolatedStopped(IsolatedError):
    """It was asked to stop and did not within the grace."""


class IsolatedMemory(IsolatedError):
    """It ran out of the memory that it was given."""


class IsolatedCrash(IsolatedError):
    """It ended without a word, or with an exception that is no error of ours (the text holds its traceback)."""


class Channel:
    """What the function in the child has of the outside world."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stop = threading.Event()

    def report(self, value: Any) -> None:
        """Hand something over while still running; only the latest is kept."""
        _write(self.folder / "report.pickle", value)

    def stop_requested(self) -> bool:
        """Whether the parent has asked to stop."""
        return self._stop.is_set()

    def request_stop(self) -> None:
        """Note the wish of the parent."""
        self._stop.set()


def _write(path: Path, value: Any) -> None:
    scratch = path.with_suffix(".part")
    scratch.write_bytes(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))
    os.replace(scratch, path)


def _read(path: Path) -> Any:
    return pickle.loads(path.read_bytes())


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, number)
        elif process.poll() is None:
            process.terminate()


def run_isolated(
    target: str,
    payload: Any,
    *,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    stop: Callable[[], bool] | None = None,
    stop_grace: float = 3.0,
    on_report: Callable[[Any], None] | None = None,
    log_file: str = "",
) -> Any:
    """Call ``target(channel, payload)`` in a fresh process and return what it returns.

    Parameters
    ----------
    target
        ``"module:function"``, importable in the child, which has the same ``sys.path``.
    payload
        Anything that pickles.
    time_limit
        Seconds until the group is killed, start-up included.
    memory_limit
        Bytes of address space for each process of the group.
    stop
        Polled; once True, the group gets SIGINT (``channel.stop_requested()`` turns True, and executables
        such as CBC end their search), and is killed ``stop_grace`` seconds later.
    on_report
        Called with what the function reports.
    log_file
        File that receives what the group prints; ``""`` drops it.

    Raises
    ------
    HetoptError
        The function raised one; it is raised again here.
    IsolatedError
        See its subclasses.
    """
    began = time.perf_counter()
    folder = Path(tempfile.mkdtemp(prefix="hetopt-"))
    process: subprocess.Popen[bytes] | None = None
    try:
        _write(folder / "call.pickle", (target, payload, memory_limit))
        environment = {
            **os.environ,
            "TMPDIR": str(folder),
            "TEMP": str(folder),
            "TMP": str(folder),
            "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
            "PYTHONUNBUFFERED": "1",
        }
        with open(log_file or os.devnull, "ab") as log, open(folder / "stderr", "wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-c", f"from {__name__} import child_main; child_main()", str(folder)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=errors,
                env=environment,
                start_new_session=os.name == "posix",
            )
        return _attend(process, folder, began, time_limit, stop, stop_grace, on_report)
    finally:
        if process is not None:
            _signal_group(process, signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
            if process.stdin is not None:
                process.stdin.close()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _attend(
    process: subprocess.Popen[bytes],
    folder: Path,
    began: float,
    time_limit: float | None,
    stop: Callable[[], bool] | None,
    stop_grace: float,
    on_report: Callable[[Any], None] | None,
) -> Any:
    stopped_at: float | None = None
    stamp, last = 0, None
    report = folder / "report.pickle"

    def look() -> None:
        nonlocal stamp, last
        with contextlib.suppress(FileNotFoundError):
            status = report.stat()
            if status.st_mtime_ns != stamp:
                stamp, last = status.st_mtime_ns, _read(report)
                if on_report is not None:
                    on_report(last)

    while process.poll() is None:
        look()
        now = time.perf_counter()
        if time_limit is not None and now - began >= time_limit:
            raise IsolatedTimeout(f"killed after {now - began:.1f} s", last)
        if stopped_at is None and stop is not None and stop():
            stopped_at = now
            _signal_group(process, signal.SIGINT)
        if stopped_at is not None and now - stopped_at >= stop_grace:
            raise IsolatedStopped(f"did not stop within {stop_grace:g} s and was killed", last)
        time.sleep(POLL)
    look()
    try:
        kind, value = _read(folder / "result.pickle")
    except FileNotFoundError:
        tail = (folder / "stderr").read_text(encoding="utf-8", errors="replace").strip()[-2000:]
        if stopped_at is not None:
            raise IsolatedStopped("ended when asked to stop", last) from None
        how = f"ended with {process.returncode} and no result" + (f": {tail}" if tail else "")
        memory = "MemoryError" in tail or "bad_alloc" in tail
        raise (IsolatedMemory if memory else IsolatedCrash)(how, last) from None
    if kind == "value":
        return value
    if kind == "memory":
        raise IsolatedMemory(value, last)
    if kind == "error" and isinstance(value, HetoptError):
        raise value
    raise IsolatedCrash(str(value), last)


# ------------------------------------------------------------------------------------------- in the child


def _watch_parent(folder: Path) -> None:
    """Wait until standard input closes, which it does only when the parent is gone, and leave nothing behind."""
    with contextlib.suppress(OSError, ValueError):
        while os.read(0, 1024):
            pass
    shutil.rmtree(folder, ignore_errors=True)
    if os.name == "posix":
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def child_main() -> None:
    """Entry point of the child: ``sys.argv[1]`` is the folder."""
    import traceback

    folder = Path(sys.argv[1])
    threading.Thread(target=_watch_parent, args=(folder,), daemon=True).start()
    channel = Channel(folder)
    # a handler, not SIG_IGN: executables that we start get the default back and can be stopped
    signal.signal(signal.SIGINT, lambda number, frame: channel.request_stop())
    target, payload, memory = _read(folder / "call.pickle")
    try:
        if memory is not None and os.name == "posix":
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        module, _, function = target.partition(":")
        result = ("value", getattr(importlib.import_module(module), function)(channel, payload))
    except MemoryError:
        result = ("memory", "out of memory")
    except HetoptError as error:
        result = ("error", error)
    except Exception:
        result = ("crash", traceback.format_exc()[-4000:])
    try:
        _write(folder / "result.pickle", result)
    except Exception:  # what does not pickle is reported as such
        _write(folder / "result.pickle", ("crash", traceback.format_exc()[-4000:]))
    if sys.stdout is not None:
        sys.stdout.flush()
    os._exit(0)  # no waiting for threads of native libraries
