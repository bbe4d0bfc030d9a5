"""The library: named instances shipped with the package, each with the best bounds known for it.

>>> from hetopt.instances import library
>>> library.load("hand-two-types").num_tasks
4
"""

from __future__ import annotations

import fnmatch
import os
from functools import cache
from pathlib import Path

from hetopt.core.errors import UsageError
from hetopt.core.instance import Instance
from hetopt.core.schedule import Schedule
from hetopt.instances.library.index import FOLDER, INDEX_FILE, Entry, Index, Known
from hetopt.instances.names import hint

__all__ = ["Entry", "Index", "Known", "by_fingerprint", "entry", "index", "load", "names", "resolve", "witness"]


@cache
def index() -> Index:
    """The index, read once."""
    return Index.load(INDEX_FILE)


def names(pattern: str = "*") -> tuple[str, ...]:
    """Names that match a shell pattern (``T*``, ``hand-*``) or that carry it as a tag, in the index's order."""
    return tuple(e.name for e in index().instances if fnmatch.fnmatchcase(e.name, pattern) or pattern in e.tags)


def entry(name: str) -> Entry:
    """The entry of a name.

    Raises
    ------
    UsageError
        There is none; the text names the nearest ones.
    """
    for found in index().instances:
        if found.name == name:
            return found
    raise UsageError(f"no library instance is called {name!r}; {hint(name, names())}")


def by_fingerprint(fingerprint: str) -> Entry | None:
    """The entry of the instance with this fingerprint (names do not count), or ``None``."""
    return next((found for found in index().instances if found.fingerprint == fingerprint), None)


def load(name: str) -> Instance:
    """The instance of a name."""
    return Instance.load(entry(name).path)


def witness(name: str) -> Schedule | None:
    """The stored schedule that attains the upper bound, or ``None``."""
    known = entry(name).upper
    return None if known is None or known.file is None else Schedule.load(FOLDER / known.file)


def resolve(name_or_path: str | os.PathLike[str]) -> Instance:
    """An instance from a file (``-``: standard input) or, where no such file exists, from the library.

    Raises
    ------
    InputError
        A file that cannot be read or breaks a rule.
    UsageError
        Neither a file nor a name of the library; the text names the nearest ones.
    """
    text = os.fspath(name_or_path)
    like_a_path = text == "-" or not isinstance(name_or_path, str) or os.sep in text or text.endswith(".json")
    if like_a_path or Path(text).exists():
        return Instance.load(text)
    if text in names():
        return load(text)
    raise UsageError(f"{text!r}: no such file, and no library instance of that name; {hint(text, names())}")
