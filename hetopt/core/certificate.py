"""Certificates (document ``hetopt/certificate``): evidence for a bound; checking is not done here.

A solver hands over evidence; the judge is ``hetopt.analysis.certify``, which no solver can import.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from pydantic import Field

from hetopt.core.documents import Document, exact_text, parse_exact, write_text, written_json
from hetopt.core.status import Trust

__all__ = ["Bound", "Certificate"]


class _CertificateDocument(Document):
    format: Literal["hetopt/certificate"] = "hetopt/certificate"
    version: Literal[1] = 1
    kind: str = Field(min_length=1)
    bound: int | str
    fingerprint: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Certificate:
    """Evidence for a bound on one problem.

    Parameters
    ----------
    kind
        Name of the proof system; each has a documented schema of ``data``.
    bound
        The value that the evidence proves, exactly.
    fingerprint
        Fingerprint of the instance (or round) that it is about.
    data
        Plain JSON values; exact numbers as integers or ``"p/q"``.
    """

    kind: str
    bound: Fraction
    fingerprint: str
    data: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The document as plain JSON values."""
        return {
            "format": "hetopt/certificate",
            "version": 1,
            "kind": self.kind,
            "bound": exact_text(self.bound),
            "fingerprint": self.fingerprint,
            "data": self.data,
        }

    @classmethod
    def from_dict(cls, raw: Any, source: str = "") -> Certificate:
        """Read a parsed document; all faults of its shape at once."""
        document = _CertificateDocument.from_dict(raw, source)
        return cls(document.kind, parse_exact(document.bound, "bound"), document.fingerprint, raw["data"])

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read from a file."""
        from hetopt.core.documents import read_json, read_text

        text, source = read_text(path)
        raw, faults = read_json(text, source)
        _CertificateDocument.from_dict(raw, source, faults)
        return cls.from_dict(raw, source)

    def to_json(self) -> str:
        """The document as text."""
        return written_json(self.to_dict())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write in one step."""
        write_text(path, self.to_json())


@dataclass(frozen=True)
class Bound:
    """A lower bound with where it comes from and how far it is to be trusted.

    ``value`` is exact (for REPORTED bounds: the reported float, moved to the safe side).
    """

    value: Fraction
    source: str
    trust: Trust
    certificate: Certificate | None = None

    def shifted(self, by: int) -> Bound:
        """The bound for an objective that differs by a constant; the evidence stays what it was."""
        return Bound(self.value + by, self.source, self.trust, self.certificate)

    @property
    def ceiling(self) -> int:
        """The bound for integer objectives: rounded up."""
        return -(-self.value.numerator // self.value.denominator)
