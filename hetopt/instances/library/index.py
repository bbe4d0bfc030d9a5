"""The index of the library: what each instance is, and what is known about its optimum."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from hetopt.core.documents import Document, Part
from hetopt.core.errors import Fault

__all__ = ["FOLDER", "INDEX_FILE", "Entry", "Index", "Known"]

FOLDER: Final = Path(__file__).resolve().parent
INDEX_FILE: Final = FOLDER / "index.json"


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


_Texts = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]


class Known(Part):
    """A bound on the optimum and where it came from.

    ``value`` is total weighted completion time, in ticks x weight.  ``trust`` says what stands behind
    it: ``by-hand`` (the proof is in the entry's note), ``witness`` (an upper bound: ``file`` holds a schedule of that value),
    ``published`` (a value from a study or paper, ``source`` says which), ``solver`` (a solver's word), ``certificate`` (``file``
    holds a certificate that can be checked).
    """

    value: Annotated[int, Field(ge=0)]
    trust: Literal["by-hand", "witness", "published", "solver", "certificate"]
    source: Annotated[str, Field(min_length=1)]
    file: str | None = None


class Entry(Part):
    """One instance of the library.

    ``jobs`` to ``fingerprint`` are computed from the instance's file; ``facts`` holds further exact
    numbers (integers, or text ``p/q``), such as ``midpoint_lp`` and ``hare`` for counterexamples.
    """

    name: Annotated[str, Field(min_length=1)]
    title: Annotated[str, Field(min_length=1)]
    origin: Annotated[str, Field(min_length=1)]
    tags: _Texts = ()
    note: str = ""
    jobs: Annotated[int, Field(ge=1)]
    rounds: Annotated[int, Field(ge=1)]
    tasks: Annotated[int, Field(ge=1)]
    gpus: Annotated[int, Field(ge=1)]
    types: Annotated[int, Field(ge=1)]
    fingerprint: str
    lower: Known | None = None
    upper: Known | None = None
    facts: dict[str, int | str] = Field(default_factory=dict)

    @property
    def optimum(self) -> int | None:
        """The optimal value where both bounds agree, else ``None``."""
        if self.lower is None or self.upper is None or self.lower.value != self.upper.value:
            return None
        return self.upper.value

    @property
    def path(self) -> Path:
        """The instance's file."""
        return FOLDER / f"{self.name}.json"


class Index(Document):
    """All entries, in order of name groups as they were added."""

    format: Literal["hetopt/library-index"] = "hetopt/library-index"
    version: Literal[1] = 1
    instances: Annotated[tuple[Entry, ...], BeforeValidator(_as_tuple)]

    @classmethod
    def cross_faults(cls, raw: Any) -> Iterator[Fault]:
        """Names are unique and no lower bound exceeds an upper bound."""
        seen: set[str] = set()
        items = raw.get("instances")
        for i, item in enumerate(items if isinstance(items, (list, tuple)) else ()):
            if not isinstance(item, dict):
                continue
            if item.get("name") in seen:
                yield Fault(f"instances[{i}].name", repr(item["name"]), "names are unique", "rename one")
            seen.add(str(item.get("name")))
            lower, upper = (_value(item.get(side)) for side in ("lower", "upper"))
            if lower is not None and upper is not None and lower > upper:
                rule = f"no lower bound exceeds the upper bound {upper}"
                yield Fault(f"instances[{i}].lower.value", str(lower), rule, "find out which of the two is wrong")


def _value(known: Any) -> int | None:
    value = known.get("value") if isinstance(known, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
