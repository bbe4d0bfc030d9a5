"""Matching names that people type: GPU types ignoring case, near matches in messages."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from hetopt.core.errors import Fault, InputError, shown

__all__ = ["hint", "match_types"]


def hint(name: str, known: Sequence[str], most: int = 12) -> str:
    """``did you mean a, b?``, or the names known (the first few of them)."""
    folded = {k.casefold(): k for k in known}
    near = [folded[m] for m in difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.5)]
    if near:
        return f"did you mean {', '.join(near)}?"
    more = f", ... ({len(known)} in all)" if len(known) > most else ""
    return f"known: {', '.join(known[:most])}{more}"


def match_types(asked: Sequence[str], known: Sequence[str], source: str = "") -> list[int]:
    """The index in ``known`` of each name asked for: an exact match first, else the only one ignoring case.

    Raises
    ------
    InputError
        Names that match nothing, or more than one thing; all at once.
    """
    faults, out = [], []
    for name in asked:
        exact = [k for k, other in enumerate(known) if other == name]
        loose = exact or [k for k, other in enumerate(known) if other.casefold() == name.casefold()]
        if len(loose) == 1:
            out.append(loose[0])
        elif loose:
            rule = f"matches {', '.join(repr(known[k]) for k in loose)} ignoring case"
            faults.append(Fault("gpus", shown(name), rule, "spell it as the file does", source))
        else:
            faults.append(Fault("gpus", shown(name), "the GPU type is not in the file", hint(name, known), source))
    if faults:
        raise InputError(faults)
    return out
