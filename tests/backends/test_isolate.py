"""Running a function in a fresh process: values, errors, limits, and nothing left behind."""

from __future__ import annotations

import os
import time

import pytest

from hetopt.core.errors import UsageError
from hetopt.solvers.backends.isolate import (
    IsolatedCrash,
    IsolatedMemory,
    IsolatedStopped,
    IsolatedTimeout,
    run_isolated,
)

HERE = __name__


def double(channel, payload):
    return payload * 2


def complain(channel, payload):
    raise UsageError("from the child")


def fail(channel, payload):
    return 1 // payload


def vanish(channel, payload):
    os._exit(7)


def hang(channel, payload):
    channel.report({"step": payload})
    while True:
        time.sleep(0.05)


def obey(channel, payload):
    while not channel.stop_requested():
        time.sleep(0.01)
    return "stopped"


def hoard(channel, payload):
    return len(bytearray(payload))


def noisy(channel, payload):
    print("to the log")
    os.system("echo also to the log")
    return os.environ["TMPDIR"], str(channel.folder), os.getpgrp() == os.getpid()


def unpicklable(channel, payload):
    return lambda: None


@pytest.fixture(autouse=True)
def _temporary(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield
    assert os.listdir(tmp_path) == []


def test_values_come_back():
    assert run_isolated(f"{HERE}:double", [1, 2]) == [1, 2, 1, 2]


def test_errors_of_ours_come_back_as_they_are():
    with pytest.raises(UsageError, match="from the child"):
        run_isolated(f"{HERE}:complain", None)


@pytest.mark.parametrize(
    ("function", "text"),
    [("fail", "ZeroDivisionError"), ("vanish", "ended with 7"), ("unpicklable", "pickle"), ("nobody", "nobody")],
)
def test_anything_else_is_a_crash_with_its_story(function, text):
    with pytest.raises(IsolatedCrash, match=text):
        run_isolated(f"{HERE}:{function}", 0)


def test_the_time_limit_is_hard_and_the_last_report_survives():
    seen = []
    with pytest.raises(IsolatedTimeout) as caught:
        run_isolated(f"{HERE}:hang", 3, time_limit=1.5, on_report=seen.append)
    assert caught.value.last == {"step": 3} == seen[-1]


def test_stopping_is_a_request_first_and_then_a_kill():
    assert run_isolated(f"{HERE}:obey", None, stop=_after(30)) == "stopped"
    with pytest.raises(IsolatedStopped):
        run_isolated(f"{HERE}:hang", 0, stop=_after(30), stop_grace=0.2)


def _after(looks: int):
    left = [looks]

    def stop() -> bool:
        left[0] -= 1
        return left[0] < 0

    return stop


@pytest.mark.skipif(os.name != "posix", reason="memory limits need POSIX")
def test_the_memory_limit_is_hard():
    assert run_isolated(f"{HERE}:hoard", 1000, memory_limit=4 << 30) == 1000
    with pytest.raises(IsolatedMemory):
        run_isolated(f"{HERE}:hoard", 8 << 30, memory_limit=4 << 30)


def test_output_goes_to_the_log_and_temporary_files_to_our_folder(capfd, tmp_path_factory):
    log = tmp_path_factory.mktemp("log") / "log"
    temporary, folder, leads = run_isolated(f"{HERE}:noisy", None, log_file=str(log))
    assert temporary == folder and not os.path.exists(folder)
    assert leads
    assert log.read_text() == "to the log\nalso to the log\n"
    assert capfd.readouterr() == ("", "")
