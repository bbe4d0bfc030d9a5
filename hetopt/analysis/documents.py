"""Reading a document of any format, told by its ``format`` key."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any, Final

from hetopt.core.documents import read_json, read_text
from hetopt.core.errors import Fault, InputError, UsageError, shown
from hetopt.core.instance import Instance

__all__ = ["READERS", "load_any", "load_instance", "parse_any", "read_raw"]

READERS: Final[dict[str, str]] = {
    "hetopt/clairvoyant": "hetopt.core.instance:Instance",
    "hetopt/schedule": "hetopt.core.schedule:Schedule",
    "hetopt/result": "hetopt.core.result:Result",
    "hetopt/certificate": "hetopt.core.certificate:Certificate",
    "hetopt/bounds": "hetopt.analysis.bounds:Bounds",
    "hetopt/check": "hetopt.analysis.bound_check:BoundCheck",
    "hetopt/comparison": "hetopt.analysis.comparison:ComparisonDocument",
    "hetopt/verification": "hetopt.analysis.certify.verification:Verification",
    "hetopt/solvers": "hetopt.analysis.inventory:SolversDocument",
    "hetopt/round": "hetopt.core.round_problem:RoundProblem",
    "hetopt/allocation": "hetopt.core.allocation:Allocation",
}
"""Format to ``"module:class"`` of what reads it, by its class method ``from_dict(raw, source)``."""


def read_raw(source: str | os.PathLike[str]) -> tuple[dict[str, Any], str]:
    """Parsed JSON of a document and the file's name for messages; what only the parser sees is refused here.

    Raises
    ------
    InputError
        Unreadable, not JSON, not an object, or with duplicate keys, NaN or Infinity.
    """
    text, label = read_text(source)
    raw, faults = read_json(text, label)
    if not isinstance(raw, dict):
        faults.append(_no_object(raw, label))
    if faults:
        raise InputError(faults)
    return raw, label


def _no_object(raw: Any, source: str) -> Fault:
    return Fault("(top level)", shown(raw), "a document is a JSON object", "write an object in braces", source)


def parse_any(text: str, source: str = "") -> Any:
    """The object of a document's text.

    Raises
    ------
    InputError
        Not JSON, an unknown format, or a document that breaks rules: all faults at once.
    """
    raw, faults = read_json(text, source)
    if not isinstance(raw, dict):
        raise InputError([*faults, _no_object(raw, source)])
    found = raw.get("format")
    target = READERS.get(found) if isinstance(found, str) else None
    if target is None:
        what = "nothing" if "format" not in raw else shown(found)
        remedy = f"write one of {', '.join(READERS)}"
        raise InputError([*faults, Fault("format", what, "the format is not one that is read here", remedy, source)])
    module, _, name = target.partition(":")
    reader = getattr(importlib.import_module(module), name)
    document = None
    try:
        document = reader.from_dict(raw, source)
    except InputError as error:
        seen = {fault.where for fault in faults}
        faults.extend(fault for fault in error.faults if fault.where not in seen)
    if faults:
        raise InputError(faults)
    return document


def load_any(source: str | os.PathLike[str]) -> Any:
    """The object of a file (``-``: standard input), or a shipped instance by name; a file comes first.

    Raises
    ------
    InputError
        See :func:`parse_any`; also when the file cannot be read.
    UsageError
        Neither a file nor a shipped name.
    """
    if not isinstance(source, (str, os.PathLike)):
        raise UsageError(f"a path or the name of a shipped instance is needed; found {type(source).__name__}")
    name = os.fspath(source)
    looks_like_path = any(mark in name for mark in ("/", os.sep)) or Path(name).suffix != ""
    if name == "-" or isinstance(source, os.PathLike) or looks_like_path or Path(name).exists():
        text, label = read_text(name)
        return parse_any(text, label)
    from hetopt.instances.library import resolve

    return resolve(name)


def load_instance(source: str | os.PathLike[str]) -> Instance:
    """As :func:`load_any`, for what must be an instance."""
    document = load_any(source)
    if not isinstance(document, Instance):
        rule = "an instance (hetopt/clairvoyant) is needed here"
        raise InputError(Fault("format", type(document).__name__, rule, "name an instance file", os.fspath(source)))
    return document
