"""Results (document ``hetopt/result``): every number in one has been re-computed by the wrapper."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NoReturn

from pydantic import BeforeValidator, Field

from hetopt.core.certificate import Bound, Certificate
from hetopt.core.documents import Document, Part, read_json, read_text, write_text, written_json
from hetopt.core.errors import Fault, InfeasibleError, InputError, NoSolutionError, UnboundedError, shown
from hetopt.core.schedule import Schedule
from hetopt.core.status import Objective, Status, StopReason, Trust

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["HistoryPoint", "Result", "relative_gap"]


_EMBEDDED = ("schedule", "certificate")


def relative_gap(objective: int | None, bound: int | None) -> Fraction | None:
    """(objective - bound) / objective, exactly; None unless both sides exist; 0 when both are 0."""
    if objective is None or bound is None:
        return None
    if objective == bound:
        return Fraction(0)
    return Fraction(objective - bound, abs(objective)) if objective else None


@dataclass(frozen=True)
class HistoryPoint:
    """Incumbent value and bound (either may be unknown) after so many seconds."""

    seconds: float
    incumbent: int | None
    bound: int | None


class _Point(Part):
    seconds: Annotated[float, Field(ge=0)]
    incumbent: int | None
    bound: int | None


class _ResultDocument(Document):
    format: Literal["hetopt/result"] = "hetopt/result"
    version: Literal[1] = 1
    status: Annotated[Status, Field(strict=False)]
    stop_reason: Annotated[StopReason, Field(strict=False)]
    objective_kind: Annotated[Objective, Field(strict=False)]
    objective: int | None
    bound: int | None
    bound_trust: Annotated[Trust, Field(strict=False)] | None
    gap: float | None
    solver: str
    solver_version: str
    options: dict[str, Any]
    seed: int
    threads: Annotated[int, Field(ge=1)]
    deterministic: bool
    runtime_seconds: Annotated[float, Field(ge=0)]
    work: Annotated[int, Field(ge=0)] | None
    history: Annotated[tuple[_Point, ...], BeforeValidator(lambda v: tuple(v) if isinstance(v, list) else v)]
    warm_start: str | None
    message: str
    fingerprint: str
    schedule: Any
    certificate: Any

    @classmethod
    def cross_faults(cls, raw: Any) -> Iterator[Fault]:
        """See :meth:`Document.cross_faults`: the words for what became of a warm start."""
        fate = raw.get("warm_start")
        if isinstance(fate, str) and not _FATE.fullmatch(fate):
            rule = "says what became of a warm start: null, accepted, repaired, or rejected: and why"
            yield Fault("warm_start", shown(fate), rule, "write one of these")


_FATE: Final = re.compile(r"accepted|repaired|rejected: .+", re.DOTALL)


@dataclass(frozen=True)
class Result:
    """What a run found out; made by ``hetopt.solvers.run`` only.

    ``objective``, ``bound``, ``gap``, ``incumbent`` and ``certificate`` are None when unknown.
    ``bound`` is an integer (the exact bound rounded up); the exact one is ``exact_bound``.
    """

    status: Status
    stop_reason: StopReason
    objective_kind: Objective
    incumbent: Schedule | None
    objective: int | None
    exact_bound: Bound | None
    solver: str
    fingerprint: str
    solver_version: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    threads: int = 1
    deterministic: bool = True
    runtime_seconds: float = 0.0
    work: int | None = None
    history: tuple[HistoryPoint, ...] = ()
    warm_start: str | None = None
    message: str = ""
    extra: dict[str, Any] = field(default_factory=dict, compare=False)

    def __bool__(self) -> NoReturn:
        raise TypeError("a Result is neither true nor false; look at result.status")

    @property
    def bound(self) -> int | None:
        """Lower bound on the objective, or None."""
        return None if self.exact_bound is None else self.exact_bound.ceiling

    @property
    def bound_trust(self) -> Trust | None:
        """How far the bound can be trusted."""
        return None if self.exact_bound is None else self.exact_bound.trust

    @property
    def certificate(self) -> Certificate | None:
        """Evidence for the bound, when there is some."""
        return None if self.exact_bound is None else self.exact_bound.certificate

    @property
    def gap(self) -> Fraction | None:
        """(objective - bound) / objective, exactly."""
        return relative_gap(self.objective, self.bound)

    @property
    def schedule(self) -> Schedule:
        """The incumbent.

        Raises
        ------
        NoSolutionError
            There is none; the text says why.
        """
        if self.incumbent is None:
            raise NoSolutionError(self._why())
        return self.incumbent

    def _why(self) -> str:
        tail = f": {self.message}" if self.message else ""
        return f"{self.solver} found no schedule (status {self.status}, stopped by {self.stop_reason}){tail}"

    def raise_for_status(self) -> Result:
        """Raise InfeasibleError, UnboundedError or NoSolutionError where there is no schedule."""
        if self.status is Status.INFEASIBLE:
            raise InfeasibleError(self.message or f"{self.solver}: the problem is infeasible")
        if self.status is Status.UNBOUNDED:
            raise UnboundedError(self.message or f"{self.solver}: the problem is unbounded")
        if self.incumbent is None:
            raise NoSolutionError(self._why())
        return self

    def to_dict(self) -> dict[str, Any]:
        """The ``hetopt/result`` document as plain JSON values."""
        schedule = None if self.incumbent is None else self.incumbent.to_dict()
        return {**self._parts(), "schedule": schedule, "certificate": self._certificate()}

    def _certificate(self) -> dict[str, Any] | None:
        return None if self.certificate is None else self.certificate.to_dict()

    def _parts(self) -> dict[str, Any]:
        gap = self.gap
        return {
            "format": "hetopt/result",
            "version": 1,
            "status": str(self.status),
            "stop_reason": str(self.stop_reason),
            "objective_kind": str(self.objective_kind),
            "objective": self.objective,
            "bound": self.bound,
            "bound_trust": None if self.bound_trust is None else str(self.bound_trust),
            "gap": None if gap is None else float(gap),
            "solver": self.solver,
            "solver_version": self.solver_version,
            "options": self.options,
            "seed": self.seed,
            "threads": self.threads,
            "deterministic": self.deterministic,
            "runtime_seconds": self.runtime_seconds,
            "work": self.work,
            "history": [{"seconds": p.seconds, "incumbent": p.incumbent, "bound": p.bound} for p in self.history],
            "warm_start": self.warm_start,
            "message": self.message,
            "fingerprint": self.fingerprint,
        }

    @classmethod
    def from_dict(cls, raw: Any, source: str = "", faults: tuple[Fault, ...] = ()) -> Result:
        """Read a parsed document; shape and self-consistency are checked, nothing is re-computed.

        Use ``hetopt.verify`` to check it against its instance.
        """
        shallow = raw
        if isinstance(raw, dict):  # the embedded documents are read by their own readers, below
            shallow = {k: {} if k in _EMBEDDED and isinstance(v, dict) else v for k, v in raw.items()}
        doc = _ResultDocument.from_dict(shallow, source, faults)
        if doc.bound is not None and doc.bound_trust is None:
            raise InputError(
                Fault(
                    "bound_trust",
                    "null",
                    "a bound says how far it can be trusted",
                    "write REPORTED, DERIVED or VERIFIED",
                    source,
                )
            )
        certificate = None if doc.certificate is None else Certificate.from_dict(raw["certificate"], source)
        bound = None
        if doc.bound is not None and doc.bound_trust is not None:
            bound = Bound(Fraction(doc.bound), doc.solver, doc.bound_trust, certificate)
        if doc.status is Status.OPTIMAL and (doc.objective is None or doc.objective != doc.bound):
            raise InputError(
                Fault(
                    "status",
                    shown(str(doc.status)),
                    f"OPTIMAL means bound = objective, here {doc.bound} and {doc.objective}",
                    "run the solver again",
                    source,
                )
            )
        return cls(
            status=doc.status,
            stop_reason=doc.stop_reason,
            objective_kind=doc.objective_kind,
            incumbent=None if doc.schedule is None else Schedule.from_dict(raw["schedule"], source),
            objective=doc.objective,
            exact_bound=bound,
            solver=doc.solver,
            fingerprint=doc.fingerprint,
            solver_version=doc.solver_version,
            options=raw["options"],
            seed=doc.seed,
            threads=doc.threads,
            deterministic=doc.deterministic,
            runtime_seconds=doc.runtime_seconds,
            work=doc.work,
            history=tuple(HistoryPoint(p.seconds, p.incumbent, p.bound) for p in doc.history),
            warm_start=doc.warm_start,
            message=doc.message,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read from a file."""
        text, source = read_text(path)
        raw, faults = read_json(text, source)
        return cls.from_dict(raw, source, tuple(faults))

    def to_json(self) -> str:
        """The document as text."""
        schedule = None if self.incumbent is None else self.incumbent.to_written()
        return written_json({**self._parts(), "schedule": schedule, "certificate": self._certificate()})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write in one step."""
        write_text(path, self.to_json())

    def to_pandas(self) -> pd.DataFrame:
        """The schedule, one row a task."""
        return self.schedule.to_pandas()

    def __repr__(self) -> str:
        gap = "" if self.gap is None else f", gap {float(self.gap):.2%}"
        return f"Result({self.solver}: {self.status}, {self.objective_kind} {self.objective}, bound {self.bound}{gap}, {self.runtime_seconds:.2f} s)"

    def _repr_html_(self) -> str:
        gap = "unknown" if self.gap is None else f"{float(self.gap):.2%}"
        cells = {
            "solver": self.solver,
            "status": self.status,
            "stopped by": self.stop_reason,
            str(self.objective_kind): self.objective,
            "lower bound": f"{self.bound} ({self.bound_trust})" if self.bound is not None else "unknown",
            "gap": gap,
            "seconds": f"{self.runtime_seconds:.2f}",
        }
        rows = "".join(f"<tr><th>{k}</th><td>{'unknown' if v is None else v}</td></tr>" for k, v in cells.items())
        return f"<table>{rows}</table>"
