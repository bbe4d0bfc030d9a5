"""Results of a reproduction (format ``hetopt/reproduction``): the only thing that pages and figures are made of."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from hetopt.analysis.reproduction.claims_file import PaperClaims
from hetopt.analysis.reproduction.measure import Measured, measure
from hetopt.analysis.reproduction.verdict import judge
from hetopt.analysis.sweeps.collect import SweepTable
from hetopt.core.documents import fingerprint_of, read_json, read_text, write_text, written_json
from hetopt.core.errors import Fault, InputError

__all__ = ["Reproduction", "assess", "load_results"]

_KEYS: Final = ("format", "version", "paper", "mode", "claims_fingerprint", "claims", "sweeps", "provenance")


@dataclass(frozen=True)
class Reproduction:
    """Verdicts of a paper's claims in one mode (``quick`` or ``full``)."""

    document: Mapping[str, Any]

    @property
    def paper(self) -> str:
        """Short name of the paper."""
        return str(self.document["paper"])

    @property
    def mode(self) -> str:
        """``quick`` or ``full``."""
        return str(self.document["mode"])

    @property
    def claims(self) -> dict[str, Any]:
        """What came of each claim, by id, in the order of the claims."""
        return {item["id"]: item for item in self.document["claims"]}

    def verdicts(self) -> dict[str, str]:
        """Verdict by claim."""
        return {name: item["verdict"] for name, item in self.claims.items()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write in one step; folders are made."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_text(path, written_json(self.document))


def assess(claims: PaperClaims, mode: str, tables: Mapping[str, SweepTable]) -> Reproduction:
    """Measure and judge every claim.

    Parameters
    ----------
    claims
        What is claimed.
    mode
        ``quick`` or ``full``.
    tables
        Table of each sweep, by the name that the claims use.
    """
    out = []
    for claim in claims.claims:
        measured: Measured = measure(claim, tables.get(claim.sweep or ""))
        verdict, why = judge(claim, measured)
        out.append({"id": claim.id, "verdict": str(verdict), "why": why, "measured": _plain(asdict(measured))})
    origins = {fingerprint_of(dict(p)): dict(p) for table in tables.values() for p in table.provenances}
    document = {
        "format": "hetopt/reproduction",
        "version": 1,
        "paper": claims.paper,
        "mode": mode,
        "claims_fingerprint": fingerprint_of(claims.to_dict()),
        "claims": out,
        "sweeps": {name: dict(sorted(table.states.items())) for name, table in tables.items()},
        "provenance": list(origins.values()),
    }
    return Reproduction(document)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def load_results(path: str | os.PathLike[str]) -> Reproduction:
    """Read results.

    Raises
    ------
    InputError
        No such document.
    """
    text, label = read_text(Path(path))
    raw, faults = read_json(text, label)
    if faults or not isinstance(raw, dict) or raw.get("format") != "hetopt/reproduction" or set(raw) != set(_KEYS):
        rule = "results of a reproduction have the format hetopt/reproduction, version 1"
        raise InputError([*faults, Fault("format", "", rule, "make them with hetopt reproduce", label)])
    return Reproduction(raw)
