"""Reading and writing JSON documents: strict parsing, all faults at once, stable bytes.

The standard parser accepts duplicate keys and ``NaN`` and overflows ``1e999`` to infinity.  Here
such values become markers while parsing and are reported with their JSON path afterwards, in the
same list as the faults that validation finds.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Self

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, model_validator

from hetopt.core.errors import Fault, InputError, OutputError, shown
from hetopt.core.text import LONE_SURROGATE, one_line

__all__ = [
    "MAX_EXACT",
    "Document",
    "JsonRows",
    "Part",
    "canonical_json",
    "exact_text",
    "fingerprint_of",
    "json_path",
    "parse_exact",
    "read_json",
    "read_text",
    "repeated_names",
    "write_bytes",
    "write_text",
    "written_json",
]

MAX_EXACT: Final = 2**53
"""Whole numbers below this are exact in binary64; the sum of weight x horizon stays below it."""


_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")
"""A surrogate as JSON escapes it: only texts with one are searched for halves of pairs."""


class _Marked:
    """A value that JSON readers must refuse, kept with its text until its path is known."""

    def __init__(self, text: str, rule: str, remedy: str) -> None:
        self.text, self.rule, self.remedy = text, rule, remedy

    def __repr__(self) -> str:
        return self.text


class _Pairs(dict[str, Any]):
    """An object whose repeated keys were noted while parsing."""

    repeated: tuple[str, ...] = ()


def _pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
    out = _Pairs(items)
    if len(out) != len(items):
        seen: set[str] = set()
        out.repeated = tuple(dict.fromkeys(k for k, _ in items if k in seen or seen.add(k)))  # type: ignore[func-returns-value]
        return out
    return dict(items)


def _constant(text: str) -> _Marked:
    return _Marked(text, "NaN and Infinity are refused", "write a finite number, or null where the format allows it")


def _float(text: str) -> float | _Marked:
    value = float(text)
    if math.isinf(value):
        return _Marked(text, "the number is too large for binary64", "use a coarser unit")
    return value


def _int(text: str) -> int | _Marked:
    if len(text) > 400:
        return _Marked(text[:20] + "...", f"a whole number of {len(text)} digits is too large", "use a coarser unit")
    return int(text)


def json_path(parts: Sequence[str | int]) -> str:
    """``("jobs", 3, "rounds", 0)`` as ``jobs[3].rounds[0]``."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            plain = part.isidentifier()
            text += (f".{part}" if text else part) if plain else f"[{json.dumps(part, ensure_ascii=False)}]"
    return text or "(top level)"


_PLAIN: Final = frozenset({int, float, str, bool, type(None)})


def _unmarked(value: Any) -> bool:
    """Whether a value holds nothing to report, for the flat ones of which long documents have millions."""
    kind = type(value)
    if kind is dict:
        return _PLAIN.issuperset(map(type, value.values()))
    return kind in _PLAIN or (kind is list and _PLAIN.issuperset(map(type, value)))


def _marks(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[Fault]:
    stack: list[tuple[Any, tuple[str | int, ...]]] = [(value, path)]
    while stack:
        item, where = stack.pop()
        if isinstance(item, _Marked):
            yield Fault(json_path(where), item.text, item.rule, item.remedy)
        elif isinstance(item, dict):
            if isinstance(item, _Pairs):
                for key in item.repeated:
                    yield Fault(
                        json_path((*where, key)),
                        "the key twice",
                        "keys of one object are unique",
                        "remove one of the two",
                    )
            stack.extend((v, (*where, k)) for k, v in reversed(item.items()) if not _unmarked(v))
        elif isinstance(item, list):
            stack.extend((item[i], (*where, i)) for i in range(len(item) - 1, -1, -1) if not _unmarked(item[i]))


def _halves(value: Any) -> Iterator[Fault]:
    """Keys and values with half of a surrogate pair."""
    stack: list[tuple[Any, tuple[str | int, ...]]] = [(value, ())]
    while stack:
        item, where = stack.pop()
        if isinstance(item, str) and LONE_SURROGATE.search(item):
            yield Fault(json_path(where), ascii(item), *_RULES["string_unicode"])
        elif isinstance(item, dict):
            for key in item:
                if LONE_SURROGATE.search(key):
                    yield Fault(json_path((*where, one_line(key))), f"the key {key!a}", *_RULES["string_unicode"])
            stack.extend((v, (*where, one_line(k))) for k, v in reversed(item.items()))
        elif isinstance(item, list):
            stack.extend((item[i], (*where, i)) for i in range(len(item) - 1, -1, -1) if not _unmarked(item[i]))


def read_text(path: str | os.PathLike[str]) -> tuple[str, str]:
    """The text of a file (``-``: standard input) and the name to use in messages."""
    name = os.fspath(path)
    if name == "-" and sys.stdin is None:
        raise InputError(
            Fault("", "", "standard input is closed", "give it a document, or name a file in place of -", "<stdin>")
        )
    try:
        raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise InputError(
            Fault("", "", f"cannot be read: {error.strerror or error}", "name a readable file", name)
        ) from None
    label = "<stdin>" if name == "-" else name
    try:
        return raw.decode("utf-8-sig"), label
    except UnicodeDecodeError as error:
        fault = Fault(
            f"byte {error.start}", f"0x{raw[error.start]:02x}", "documents are UTF-8", "save the file as UTF-8", label
        )
        raise InputError(fault) from None


def read_json(text: str, source: str = "") -> tuple[Any, list[Fault]]:
    """Parse JSON text; returns the value and the faults that only the parser can see.

    Raises
    ------
    InputError
        The text is not JSON at all (with line and column).
    """
    try:
        value = json.loads(text, object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_float, parse_int=_int)
    except json.JSONDecodeError as error:
        found = shown(error.doc[error.pos : error.pos + 12]) if error.pos < len(error.doc) else "the end of the file"
        where = f"line {error.lineno} column {error.colno}"
        raise InputError(
            Fault(where, found, f"not JSON: {error.msg.lower()}", "correct the syntax there", source)
        ) from None
    except RecursionError:
        raise InputError(
            Fault("(top level)", "deep nesting", "the document is nested too deeply", "flatten it", source)
        ) from None
    faults = [*_marks(value), *(_halves(value) if _HALF.search(text) else ())]
    return value, [replace(fault, source=source) for fault in faults]


# ---------------------------------------------------------------------------------------- writing


def canonical_json(value: Any) -> str:
    """The canonical text that fingerprints are taken of (``formats.md``)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def fingerprint_of(value: Any) -> str:
    """SHA-256 of the canonical text, in hexadecimal."""
    return hashlib.sha256(canonical_json(value).encode("utf-8")).hexdigest()


def _flat(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


class JsonRows(str):
    """Text that :func:`written_json` takes over as it is: many rows, written by whoever holds their columns."""

    __slots__ = ()


def written_json(document: Mapping[str, Any]) -> str:
    """Text of a document as it is written to disk: one job (task, row) a line, so that it diffs well.

    ``format`` and ``version`` come first as the document gives them; a top-level list of objects
    is broken into one element a line, an embedded document too; everything else stays flat.
    """

    def body(doc: Mapping[str, Any]) -> str:
        parts = []
        for key, value in doc.items():
            if isinstance(value, JsonRows):
                text = str(value)
            elif isinstance(value, Mapping) and "format" in value:
                text = body(value)
            elif isinstance(value, (list, tuple)) and value and all(isinstance(v, Mapping) for v in value):
                rows = ",\n".join(body(v) if "format" in v else _flat(v) for v in value)
                text = f"[\n{rows}\n]"
            else:
                text = _flat(value)
            parts.append(f"{json.dumps(key, ensure_ascii=False)}: {text}")
        return "{" + ", ".join(parts) + "}"

    return body(document) + "\n"


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file in one step (temporary file, flush, rename), or raise and leave what was there.

    ``-`` is standard output.

    Raises
    ------
    OutputError
        The place cannot be written or the disk is full; the old file, if any, is intact.
    """
    name = os.fspath(path)
    if name == "-":
        _write_stdout(text)
        return
    write_bytes(name, _encoded(text))


def _encoded(text: str) -> bytes:
    """UTF-8; half a surrogate pair (a file name that is not UTF-8) becomes an escape, which JSON reads as the same."""
    return text.encode("utf-8", "backslashreplace")


def _write_stdout(text: str) -> None:
    """All of the text: an unbuffered stream (PYTHONUNBUFFERED) takes as much as a pipe holds and says how much."""
    if sys.stdout is None:
        raise OutputError("standard output: cannot be written: it is closed; name a file with -o")
    try:
        sys.stdout.flush()
        stream = getattr(sys.stdout, "buffer", None)
        if stream is None:  # replaced by a stream of text
            sys.stdout.write(text)
        else:
            rest = memoryview(_encoded(text))
            while rest:
                rest = rest[stream.write(rest) or 0 :]
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"standard output: cannot be written: {error.strerror or error}") from None


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a binary file in one step; as :func:`write_text`, without standard output."""
    name = os.fspath(path)
    target = Path(name)

    def refuse(error: OSError) -> NoReturn:
        raise OutputError(
            f"{name}: cannot be written: {error.strerror or error}; name a writable place with room for {len(data)} bytes"
        ) from None

    if target.exists() and not target.is_file():  # a device or a pipe: no rename possible
        try:
            target.write_bytes(data)
        except OSError as error:
            refuse(error)
        return
    if not target.parent.exists():  # a misspelt folder is refused, not made
        raise OutputError(
            f"{name}: cannot be written: there is no folder {target.parent}; create it, or correct the name"
        )
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        os.chmod(temporary, mode)
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        refuse(error)
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


# ----------------------------------------------------------------------------------- exact numbers


def exact_text(value: Fraction | int) -> int | str:
    """An exact number as formats write it: an integer, or text ``"p/q"``."""
    number = Fraction(value)
    return number.numerator if number.denominator == 1 else f"{number.numerator}/{number.denominator}"


def parse_exact(value: Any, where: str) -> Fraction:
    """Read an exact number (an integer or text ``"p/q"`` in lowest or any terms, q > 0)."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, str):
        top, _, bottom = value.partition("/")
        digits = (top.removeprefix("-"), bottom or "1")
        if all(d.isascii() and d.isdigit() and len(d) <= 4000 for d in digits) and int(digits[1]) > 0:
            return Fraction(int(top), int(digits[1]))
    raise InputError(
        Fault(
            where, shown(value), "an exact number is an integer or text p/q with q > 0", 'write for example 7 or "22/7"'
        )
    )


# ---------------------------------------------------------------------------------------- documents

_RULES: Final[dict[str, tuple[str, str]]] = {
    "missing": ("the field is required", "add it"),
    "extra_forbidden": ("the key is not known", "remove it or correct its spelling"),
    "int_type": ("a whole number is required", "write a whole number without quotes, fraction or exponent"),
    "int_from_float": ("a whole number is required", "round it, or use a finer unit"),
    "float_type": ("a number is required", "write a number without quotes"),
    "finite_number": ("a finite number is required", "write a finite number"),
    "string_type": ("text is required", "write text in quotes"),
    "string_unicode": ("half of a surrogate pair is no character", "write whole characters"),
    "string_too_short": ("the text must not be empty", "write a name"),
    "bool_type": ("true or false is required", "write true or false"),
    "list_type": ("a list is required", "write a list in brackets"),
    "tuple_type": ("a list is required", "write a list in brackets"),
    "dict_type": ("an object is required", "write an object in braces"),
    "model_type": ("an object is required", "write an object in braces"),
    "model_attributes_type": ("an object is required", "write an object in braces"),
    "too_short": ("the list must not be empty", "add at least one entry"),
    "literal_error": ("the value is not one of those allowed", ""),
}


def _found_at(raw: Any, path: Sequence[str | int]) -> str:
    for part in path:
        try:
            raw = raw[part]
        except (KeyError, IndexError, TypeError):
            return "nothing"
    return shown(raw)


def _faults_of(error: ValidationError, raw: Any) -> Iterator[Fault]:
    for item in error.errors(include_url=False):
        path = item["loc"]
        kind, context = item["type"], item.get("ctx", {})
        inner = context.get("error")
        if isinstance(inner, InputError):  # raised by a validator of ours
            prefix = json_path(path) if path else ""
            for fault in inner.faults:
                where = f"{prefix}.{fault.where}" if prefix and fault.where else prefix or fault.where
                yield replace(fault, where=where)
            continue
        rule, remedy = _RULES.get(kind, (item["msg"].lower(), "correct the value"))
        if kind in ("greater_than", "greater_than_equal", "less_than", "less_than_equal"):
            sign = {"greater_than": ">", "greater_than_equal": ">=", "less_than": "<", "less_than_equal": "<="}[kind]
            bound = next(v for k, v in context.items() if k in ("gt", "ge", "lt", "le"))
            rule, remedy = f"the value must be {sign} {bound}", "correct the value"
        elif kind == "literal_error":
            remedy = f"write {context['expected']}"
        elif kind == "float_type" and re.fullmatch("-?[0-9]+(\\.\\.\\.)?", _found_at(raw, path)):
            rule, remedy = "the number is too large for binary64", "use a coarser unit"
        elif kind == "missing":
            yield Fault(json_path(path), "nothing", rule, remedy)
            continue
        yield Fault(json_path(path), _found_at(raw, path), rule, remedy)


if TYPE_CHECKING:
    _Base = BaseModel
else:

    class _Reporting(type(BaseModel)):
        """Direct construction in Python reports faults as reading a file does."""

        def __call__(cls, *args, **fields):
            try:
                return super().__call__(*args, **fields)
            except ValidationError as error:
                raise InputError(list(_faults_of(error, fields))) from None

    class _Base(BaseModel, metaclass=_Reporting):
        pass


class Part(_Base):
    """A piece of a document: frozen, strict about types, unknown keys refused.

    Construction raises :class:`~hetopt.core.errors.InputError` with every fault at once.
    """

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", allow_inf_nan=False, revalidate_instances="never"
    )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A validated copy with some fields replaced (pydantic's own skips validation and keeps stale caches)."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**{**fields, **(update or {})})


class Document(Part):
    """A document with a format name and a version; subclasses fix both with ``Literal`` types."""

    format: str
    version: int

    @model_validator(mode="after")
    def _check_cross_fields(self, info: ValidationInfo) -> Self:
        """Objects made in Python obey the rules across fields too; ``from_dict`` has checked them already."""
        has_rules = type(self).cross_faults.__func__ is not Document.cross_faults.__func__  # type: ignore[attr-defined]
        if has_rules and not (info.context or {}).get("checked"):
            faults = list(self.cross_faults(self.model_dump()))
            if faults:
                raise InputError(faults)
        return self

    @classmethod
    def cross_faults(cls, raw: Any) -> Iterator[Fault]:
        """Faults that concern more than one field.

        Runs on *unvalidated* data, so that these are reported together with the faults of single
        fields; implementations look only at what has the right type.
        """
        yield from ()

    @classmethod
    def from_dict(cls, raw: Any, source: str = "", faults: Sequence[Fault] = ()) -> Self:
        """Validate parsed JSON; every fault is reported at once.

        Raises
        ------
        InputError
            With one fault a line.
        """
        found = list(faults)
        if not isinstance(raw, dict):
            raise InputError(
                [
                    *found,
                    Fault(
                        "(top level)", shown(raw), "a document is a JSON object", "write an object in braces", source
                    ),
                ]
            )
        expected = {name: cls.model_fields[name].default for name in ("format", "version")}
        for name, value in expected.items():
            given = raw.get(name)
            if name not in raw or given != value or type(given) is not type(value):
                what = "nothing" if name not in raw else shown(given)
                found.append(
                    Fault(
                        name,
                        what,
                        f"this reader needs {name} {value!r}",
                        "convert the file, or use a matching release of hetopt",
                        source,
                    )
                )
        if any(f.where in expected for f in found):
            raise InputError(found)
        marked = {f.where for f in found}
        document: Self | None = None
        more: list[Fault] = []
        try:
            document = cls.model_validate(_strict(raw), context={"checked": True})
        except ValidationError as error:
            more.extend(_faults_of(error, raw))
        crossing = list(cls.cross_faults(raw))
        said = {fault.where for fault in crossing}  # these know more about the document and say what to do
        more = [*(fault for fault in more if fault.where not in said), *crossing]
        found.extend(
            Fault(f.where, f.found, f.rule, f.remedy, source) for f in dict.fromkeys(more) if f.where not in marked
        )
        if found or document is None:
            raise InputError(found)
        return document

    @classmethod
    def from_json(cls, text: str, source: str = "") -> Self:
        """Read a document from text (strict JSON); all faults at once."""
        raw, faults = read_json(text, source)
        return cls.from_dict(raw, source, faults)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a document from a file (``-``: standard input)."""
        text, source = read_text(path)
        return cls.from_json(text, source)

    def to_dict(self) -> dict[str, Any]:
        """The document as plain JSON values, in field order."""
        return self.model_dump(mode="json")

    def to_json(self) -> str:
        """The document as text, one row a line."""
        return written_json(self.to_dict())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the document in one step; see :func:`write_text`."""
        write_text(path, self.to_json())


def repeated_names(key: str, items: Sequence[Any]) -> Iterator[Fault]:
    """A fault for each name of a list of objects that an earlier one has; looks only at what has the right type."""
    seen: dict[str, int] = {}
    for i, item in enumerate(items):
        name = item.get("name") if isinstance(item, dict) else None
        if isinstance(name, str) and name:
            if name in seen:
                rule = f"names are unique and {key}[{seen[name]}] has this one"
                yield Fault(f"{key}[{i}].name", shown(name), rule, "rename one of the two")
            seen.setdefault(name, i)


def _strict(value: Any) -> Any:
    """Lists as tuples, since strict validation of JSON data from Python would refuse lists there."""
    if isinstance(value, dict):
        return {k: _strict(v) for k, v in value.items()}
    if isinstance(value, list):
        return tuple(_strict(v) for v in value)
    return value


Version1 = Literal[1]
Check = Callable[[Any], Iterator[Fault]]
