"""Progress of one solver run: a live line on a terminal, nothing elsewhere; log lines with ``--verbose``."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from rich.text import Text

    from hetopt.core.result import HistoryPoint

LOGGER = logging.getLogger("hetopt")


def _gap_text(incumbent: int | None, bound: int | None) -> str:
    from hetopt.core.result import relative_gap

    gap = relative_gap(incumbent, bound)
    return "-" if gap is None else f"{float(gap):.2%}"


class Progress:
    """Keeps the last point of the history; rich asks it for the line to draw."""

    def __init__(self, label: str) -> None:
        self.label, self.start = label, time.perf_counter()
        self.incumbent: int | None = None
        self.bound: int | None = None

    def __call__(self, point: HistoryPoint) -> None:
        """A new point of the history."""
        self.incumbent, self.bound = point.incumbent, point.bound
        LOGGER.info("%8.2f s  %s", point.seconds, self.line())

    def line(self) -> str:
        """Incumbent, bound and gap as text."""
        known = ["-" if value is None else str(value) for value in (self.incumbent, self.bound)]
        gap = _gap_text(self.incumbent, self.bound)
        return f"{self.label}: incumbent {known[0]}, bound {known[1]}, gap {gap}"

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text(f"{self.line()}, {time.perf_counter() - self.start:.0f} s (Ctrl-C stops and keeps the best)")


@contextmanager
def live(label: str, *, quiet: bool = False) -> Iterator[Progress]:
    """A progress listener, drawn while the block runs if standard error is a terminal."""
    progress = Progress(label)
    with nullcontext() if quiet else drawn(progress):
        yield progress


@contextmanager
def drawn(line: Any) -> Iterator[None]:
    """Draws what rich can draw while the block runs, if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.live import Live

    with Live(line, console=Console(stderr=True), refresh_per_second=4, transient=True):
        yield


class LiveLine:
    """A text with the seconds behind it, drawn within ``with``; subclasses are called with news and set ``text``."""

    def __init__(self, text: str) -> None:
        self.text, self._start, self._drawing = text, time.perf_counter(), ExitStack()

    def __enter__(self) -> Self:
        self._drawing.enter_context(drawn(self))
        return self

    def __exit__(self, *error: object) -> None:
        self._drawing.close()

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text(f"{self.text}, {time.perf_counter() - self._start:.0f} s (Ctrl-C keeps what is done)")


def check_log(log_file: str) -> None:
    """Refuse a log file that cannot be written before anything long is begun."""
    from hetopt.core.errors import OutputError

    try:
        with open(log_file, "w", encoding="utf-8"):
            pass
    except OSError as error:
        raise OutputError(f"--log-file {log_file}: cannot be written: {error.strerror or error}") from None


@contextmanager
def logging_to(log_file: str | None, *, verbose: bool) -> Iterator[None]:
    """Sends the log of hetopt to a file and, with ``verbose``, to standard error."""
    handlers: list[logging.Handler] = []
    if verbose:
        handlers.append(logging.StreamHandler(sys.stderr))
    if log_file is not None:
        check_log(log_file)
        handlers.append(logging.FileHandler(log_file, mode="w", encoding="utf-8"))
    before = LOGGER.level
    for handler in handlers:
        handler.setFormatter(logging.Formatter("%(message)s"))
        LOGGER.addHandler(handler)
    if handlers:
        LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.setLevel(before)
        for handler in handlers:
            LOGGER.removeHandler(handler)
            handler.close()
