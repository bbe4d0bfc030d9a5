"""JSON Schemas of the formats, generated from the models that read and write them.

A schema says less than a reader checks (names are unique, sums stay below limits, ...); whatever
it refuses, the reader refuses too.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["SCHEMAS", "SchemaEntry", "schema_of"]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class SchemaEntry:
    """Where the model of a format is.

    Parameters
    ----------
    target
        ``"module:Model"``.
    summary
        One line for the list of formats.
    embeds
        Fields that hold a complete document of another format, or null.
    rows
        Lists of objects whose field holds a document of another format: list, field, format.
    exact, exact_or_null
        Fields that hold an exact number: a whole number, or text ``"p/q"``; and those that may be null.
    """

    target: str
    summary: str
    embeds: dict[str, str] = field(default_factory=dict)
    rows: tuple[tuple[str, str, str], ...] = ()
    exact: tuple[str, ...] = ()
    exact_or_null: tuple[str, ...] = ()


SCHEMAS: Final[dict[str, SchemaEntry]] = {
    "clairvoyant": SchemaEntry("hetopt.core.instance:Instance", "an instance of clairvoyant JCT minimisation"),
    "schedule": SchemaEntry("hetopt.core.schedule:ScheduleDocument", "a schedule, one row a task"),
    "result": SchemaEntry(
        "hetopt.core.result:_ResultDocument",
        "what a solver run found out",
        embeds={"schedule": "schedule", "certificate": "certificate"},
    ),
    "certificate": SchemaEntry(
        "hetopt.core.certificate:_CertificateDocument", "evidence for a bound", exact=("bound",)
    ),
    "round": SchemaEntry("hetopt.core.round_problem:RoundProblem", "one scheduling round of FFT"),
    "allocation": SchemaEntry(
        "hetopt.core.allocation:_AllocationDocument", "the answer to a round", embeds={"certificate": "certificate"}
    ),
    "comparison": SchemaEntry("hetopt.analysis.comparison:ComparisonDocument", "solvers side by side"),
    "verification": SchemaEntry(
        "hetopt.analysis.certify.verification:Verification", "whether a document holds", exact_or_null=("bound",)
    ),
    "bounds": SchemaEntry(
        "hetopt.analysis.bounds:Bounds", "lower bounds side by side", rows=(("bounds", "certificate", "certificate"),)
    ),
    "check": SchemaEntry("hetopt.analysis.bound_check:BoundCheck", "the steps of the approximation bound"),
    "simulation": SchemaEntry("hetopt.core.simulation:SimulationDocument", "policies side by side on a workload"),
    "solvers": SchemaEntry("hetopt.analysis.inventory:SolversDocument", "the inventory of solvers"),
}

_EXACT: Final[dict[str, Any]] = {
    "anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^-?[0-9]+(/[0-9]*[1-9][0-9]*)?$"}]
}


def _model(entry: SchemaEntry) -> Any:
    module, _, name = entry.target.partition(":")
    return getattr(importlib.import_module(module), name)


def _raw(name: str) -> dict[str, Any]:
    """The schema of one format; what is embedded is still open."""
    entry = SCHEMAS[name]
    schema: dict[str, Any] = _model(entry).model_json_schema(mode="validation")
    properties = schema["properties"]
    for key in ("format", "version"):
        properties[key].pop("default", None)
    schema["required"] = [
        "format",
        "version",
        *(k for k in schema.get("required", ()) if k not in ("format", "version")),
    ]
    for key in entry.exact:
        properties[key] = dict(_EXACT)
    for key in entry.exact_or_null:
        properties[key] = {"anyOf": [*_EXACT["anyOf"], {"type": "null"}]}
    return schema


def _embedded(name: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """A reference to the schema of an embedded document, whose definitions move to the top."""
    key = f"document-{name}"
    if key not in definitions:
        inner = _raw(name)
        definitions.update(inner.pop("$defs", {}))
        definitions[key] = inner
    return {"anyOf": [{"$ref": f"#/$defs/{key}"}, {"type": "null"}]}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a format, by its name with or without ``hetopt/``.

    Raises
    ------
    UsageError
        There is no such format; the text names the nearest ones.
    """
    import difflib

    from hetopt.core.errors import UsageError

    short = name.removeprefix("hetopt/")
    if short not in SCHEMAS:
        near = difflib.get_close_matches(short, SCHEMAS, n=2, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(SCHEMAS)}"
        raise UsageError(f"no format is called {name!r}; {hint}")
    entry = SCHEMAS[short]
    schema = _raw(short)
    definitions: dict[str, Any] = schema.pop("$defs", {})
    for key, inner in entry.embeds.items():
        schema["properties"][key] = _embedded(inner, definitions)
    for list_key, key, inner in entry.rows:
        row = schema["properties"][list_key]["items"]
        target = definitions[row["$ref"].rsplit("/", 1)[-1]] if "$ref" in row else row
        target["properties"][key] = _embedded(inner, definitions)
    out: dict[str, Any] = {"$schema": _DIALECT, "title": f"hetopt/{short}", "description": entry.summary}
    out |= {k: v for k, v in schema.items() if k not in ("title", "description")}
    if definitions:
        out["$defs"] = definitions
    return out
