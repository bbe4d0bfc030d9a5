"""A registry of named things that are imported only when asked for, open to plug-ins."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from hetopt.core.errors import SolverUnavailableError, UsageError

__all__ = ["PLUGIN", "Entry", "Registry"]

PLUGIN: Final = "plug-in"
"""Kind of the entries that come from entry points."""


@dataclass(frozen=True)
class Entry:
    """One named thing: where it lives and what it needs, as strings.

    Parameters
    ----------
    name
        Public name, lower case with dashes.
    target
        ``"package.module:attribute"``; imported on first use.
    kind, summary
        For tables and help.
    requires
        Import names of third-party packages that it needs.
    install
        What a user types to get what is missing.
    """

    name: str
    target: str
    kind: str = ""
    summary: str = ""
    requires: tuple[str, ...] = ()
    install: str = ""

    def missing(self) -> tuple[str, ...]:
        """Required packages that are not installed; nothing is imported to find out."""
        return tuple(package for package in self.requires if not _present(package))

    def load(self) -> Any:
        """Import and return the thing.

        Raises
        ------
        SolverUnavailableError
            A required package is missing; the text says how to get it.
        """
        absent = self.missing()
        if absent:
            how = self.install or f"pip install {' '.join(absent)}"
            raise SolverUnavailableError(
                f"{self.name} needs {', '.join(absent)}, not installed here; get it with: {how}"
            )
        module, _, attribute = self.target.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except Exception as error:  # somebody else's code may fail in any way; ours failing is a bug and stays one
            if self.kind != PLUGIN:
                raise
            why = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise SolverUnavailableError(
                f"the plug-in {self.name} ({self.summary}) cannot be loaded: {why}; repair or remove that package"
            ) from error


def _present(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


@dataclass
class Registry:
    """Names to :class:`Entry`; plug-ins come from an entry-point group, each giving one object.

    A plug-in's entry point resolves to a solver class (or other thing) with ``name``; one that takes
    a name that exists is left out, with a warning.
    """

    what: str
    group: str = ""
    entries: dict[str, Entry] = field(default_factory=dict)
    _plugins_read: bool = False

    def add(self, entry: Entry) -> None:
        """Register; a name is given once."""
        if entry.name in self.entries:
            raise UsageError(
                f"the {self.what} name {entry.name!r} is taken by {self.entries[entry.name].target}; choose another"
            )
        self.entries[entry.name] = entry

    def _read_plugins(self) -> None:
        if self._plugins_read or not self.group:
            return
        self._plugins_read = True
        for point in sorted(entry_points(group=self.group), key=lambda p: (p.name, p.value)):
            entry = _plugin_entry(point)
            if entry.name in self.entries:  # one bad package must not take the other solvers with it
                taken = self.entries[entry.name].target
                warnings.warn(
                    f"the plug-in {self.what} {entry.name!r} {entry.summary} is left out: the name is taken by {taken}",
                    stacklevel=2,
                )
                continue
            self.add(entry)

    def __iter__(self) -> Iterator[Entry]:
        self._read_plugins()
        return iter(self.entries.values())

    def names(self) -> tuple[str, ...]:
        """Every name, in order of registration."""
        return tuple(entry.name for entry in self)

    def entry(self, name: str) -> Entry:
        """The entry of a name.

        Raises
        ------
        UsageError
            There is none; the text names the nearest ones.
        """
        self._read_plugins()
        if name not in self.entries:
            near = difflib.get_close_matches(name, self.entries, n=3, cutoff=0.5)
            hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(self.entries)}"
            raise UsageError(f"no {self.what} is called {name!r}; {hint}")
        return self.entries[name]

    def load(self, name: str) -> Any:
        """Import the thing behind a name."""
        return self.entry(name).load()


def _plugin_entry(point: EntryPoint) -> Entry:
    package = point.dist.name if point.dist is not None else point.module
    return Entry(name=point.name, target=point.value, kind=PLUGIN, summary=f"from {package}")
