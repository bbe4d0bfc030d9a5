"""Files of claims (format ``hetopt/paper-claims``): what a paper says, what is measured for it, what would count."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from hetopt.core.documents import Document, Part, read_text
from hetopt.core.errors import Fault, InputError, shown

__all__ = ["Kind", "PaperClaim", "PaperClaims", "read_claims"]

_Text = Annotated[str, Field(min_length=1)]


class Kind(StrEnum):
    """How a claim is measured; :mod:`hetopt.analysis.reproduction.verdict` has the rules."""

    RATIO = "ratio"
    UP_TO = "up-to"
    DIRECTION = "direction"
    AT_MOST = "at-most"
    GUARANTEE = "guarantee"
    REFUTATION = "refutation"
    NONE = "none"


NEEDS: Final[dict[Kind, tuple[str, ...]]] = {
    Kind.RATIO: ("published", "sweep", "metric", "ours", "against", "setup"),
    Kind.UP_TO: ("published", "sweep", "metric", "ours", "against", "setup"),
    Kind.DIRECTION: ("sweep", "metric", "ours", "against", "setup"),
    Kind.AT_MOST: ("published", "sweep", "metric", "ours", "setup"),
    Kind.GUARANTEE: ("sweep", "metric", "guarantee", "setup"),
    Kind.REFUTATION: ("sweep", "metric", "guarantee", "setup"),
    Kind.NONE: ("reason",),
}
"""What each kind of claim must say."""


class PaperClaim(Part):
    """One claim.

    ``ours`` against ``against`` is the main pair, chosen before the run; ``alternatives`` stand for ``ours`` and ``others`` for
    ``against`` in the study of how much depends on that choice; ``pairs`` are further pairs; ``sensitivity`` names
    grid arguments.
    """

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    says: _Text
    where: _Text
    kind: Annotated[Kind, Field(strict=False)]
    published: Annotated[float, Field(gt=0)] | None = None
    sweep: str | None = None
    metric: str | None = None
    ours: str | None = None
    against: str | None = None
    guarantee: str | None = None
    alternatives: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    sensitivity: tuple[str, ...] = ()
    setup: str = ""
    reason: str = ""


class PaperClaims(Document):
    """All claims of a paper."""

    format: Literal["hetopt/paper-claims"] = "hetopt/paper-claims"
    version: Literal[1] = 1
    paper: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    title: _Text
    citation: _Text
    access: _Text
    claims: Annotated[tuple[PaperClaim, ...], Field(min_length=1)]

    @classmethod
    def cross_faults(cls, raw: Any) -> Iterator[Fault]:
        """Ids are unique, and each kind of claim says what it needs."""
        seen: set[str] = set()
        items = raw.get("claims")
        for i, item in enumerate(items if isinstance(items, (list, tuple)) else ()):
            if not isinstance(item, dict):
                continue
            if item.get("id") in seen:
                yield Fault(f"claims[{i}].id", shown(item["id"]), "ids are unique", "rename one of them")
            seen.add(str(item.get("id")))
            if item.get("kind") in set(Kind):
                for key in NEEDS[Kind(item["kind"])]:
                    if not item.get(key):
                        rule = f"a claim of the kind {item['kind']} says its {key}"
                        yield Fault(f"claims[{i}].{key}", shown(item.get(key)), rule, "add it")


def read_claims(path: str | os.PathLike[str]) -> PaperClaims:
    """Read a file of claims.

    Raises
    ------
    InputError
        Every fault with file and key path.
    """
    text, label = read_text(Path(path))
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(Fault("", "", f"not TOML: {error}", "correct the syntax there", label)) from None
    return PaperClaims.from_dict(raw, label)
