"""Keeping the index in step with the files: computed fields, and the tables for readers."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hetopt.core.documents import write_text
from hetopt.core.instance import Instance
from hetopt.instances.library.index import FOLDER, INDEX_FILE, Entry, Index, Known
from hetopt.instances.library.published import published_instances

__all__ = [
    "added",
    "as_csv",
    "as_markdown",
    "measured",
    "refreshed",
    "save_published",
    "stored_instances",
    "updated",
    "write_all",
]

COLUMNS: Final = ("name", "jobs", "rounds", "tasks", "gpus", "types", "lower", "upper", "optimum", "sources", "tags")


def measured(instance: Instance) -> dict[str, Any]:
    """The fields of an entry that come from the instance itself."""
    return {
        "jobs": instance.num_jobs,
        "rounds": instance.num_rounds,
        "tasks": instance.num_tasks,
        "gpus": instance.num_gpus,
        "types": len(instance.gpu_types),
        "fingerprint": instance.fingerprint,
    }


def stored_instances() -> dict[str, Path]:
    """Every instance file of the library by name (the index itself is none)."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.json")) if path != INDEX_FILE}


def refreshed(index: Index) -> Index:
    """The index with every computed field taken afresh from the files."""
    entries = (e.model_copy(update=measured(Instance.load(e.path))) for e in index.instances)
    return Index(instances=tuple(entries))


def updated(index: Index, changes: Mapping[str, Mapping[str, Known | None]]) -> Index:
    """The index with other bounds: ``changes[name]`` maps ``lower`` or ``upper`` to what is known now."""
    return Index(
        instances=tuple(e.model_copy(update=dict(changes[e.name])) if e.name in changes else e for e in index.instances)
    )


def added(index: Index, instance: Instance, **about: Any) -> Index:
    """The index with an entry for ``instance`` (an old one of its name is replaced), whose file is written.

    ``about`` holds the other fields of the entry: ``title``, ``origin``, ``tags``, ``note``, ``lower``, ``upper``, ``facts``.
    """
    entry = Entry(name=instance.name, **about, **measured(instance))
    instance.save(entry.path)
    known = {e.name: e for e in index.instances}
    return Index(instances=tuple({**known, entry.name: entry}.values()))


def save_published() -> None:
    """Write the instances that are built from published figures."""
    for instance in published_instances():
        instance.save(FOLDER / f"{instance.name}.json")


def _row(e: Entry) -> dict[str, Any]:
    sources = dict.fromkeys(f"{k.trust}: {k.source}" for k in (e.lower, e.upper) if k is not None)
    return {
        "name": e.name,
        "jobs": e.jobs,
        "rounds": e.rounds,
        "tasks": e.tasks,
        "gpus": e.gpus,
        "types": e.types,
        "lower": "" if e.lower is None else e.lower.value,
        "upper": "" if e.upper is None else e.upper.value,
        "optimum": "" if e.optimum is None else e.optimum,
        "sources": "; ".join(sources),
        "tags": " ".join(e.tags),
    }


def as_csv(index: Index) -> str:
    """The index as CSV, one instance a line."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_row(e) for e in index.instances)
    return stream.getvalue()


def as_markdown(index: Index) -> str:
    """The index as a page: one table, then a paragraph for each instance."""
    head = (
        "# The instances of the library\n\n"
        "Written by `python -m hetopt.instances.library --write-index`; do not edit. Bounds are on the total weighted\n"
        "completion time (ticks x weight); an empty cell is not known.\n\n"
    )
    lines = [f"| {' | '.join(COLUMNS[:-2])} | tags |", f"|{'---|' * (len(COLUMNS) - 1)}"]
    for e in index.instances:
        row = _row(e)
        lines.append(f"| {' | '.join(str(row[c]) for c in COLUMNS[:-2])} | {row['tags']} |")
    paragraphs = []
    for e in index.instances:
        known = [
            f"{side.capitalize()} bound {k.value}: {k.trust}, {k.source}."
            for side, k in (("lower", e.lower), ("upper", e.upper))
            if k is not None
        ]
        facts = [f"{key} = {value}" for key, value in e.facts.items()]
        text = [f"{e.title}.", e.note, f"Origin: {e.origin}.", *known, f"Facts: {', '.join(facts)}." if facts else ""]
        paragraphs.append(f"## {e.name}\n\n" + " ".join(t for t in text if t))
    return head + "\n".join(lines) + "\n\n" + "\n\n".join(paragraphs) + "\n"


def write_all(index: Index, tables: Path | None) -> None:
    """Save the index, and its two tables in the folder given (if it exists)."""
    write_text(INDEX_FILE, index.to_json())
    if tables is not None and tables.is_dir():
        write_text(tables / "index.md", as_markdown(index))
        write_text(tables / "index.csv", as_csv(index))
