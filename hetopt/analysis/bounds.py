"""All lower bounds of an instance side by side, each with its time, trust and certificate.

Every relaxation of the catalogue is run; its certificate is checked in exact arithmetic, and only
then is the bound called VERIFIED.  What fails becomes a row that says why.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from hetopt.analysis.certify import trusted
from hetopt.analysis.certify.check import CHECKED_ROUNDS
from hetopt.core.certificate import Bound
from hetopt.core.documents import Document, Part, exact_text, parse_exact
from hetopt.core.errors import HetoptError, SolverUnavailableError, UsageError, VerificationError
from hetopt.core.instance import Instance
from hetopt.core.result import Result
from hetopt.core.solver import Limits
from hetopt.core.status import Objective, SolverKind, Trust
from hetopt.solvers.catalogue import SOLVERS
from hetopt.solvers.run import run, was_interrupted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BoundRow", "Bounds", "compute_bounds", "relaxations"]


class BoundRow(Part):
    """One relaxation: ``value`` is exact (null: no bound), ``message`` says what went wrong or is worth knowing."""

    kind: str
    value: int | str | None
    trust: Annotated[Trust, Field(strict=False)] | None
    seconds: Annotated[float, Field(strict=False)]
    certificate: Any
    message: str = ""

    @property
    def exact(self) -> Fraction | None:
        """The bound as a fraction."""
        return None if self.value is None else parse_exact(self.value, "value")


class Bounds(Document):
    """Lower bounds of one instance (document ``hetopt/bounds``).

    ``interrupted``: the user stopped it; the last row is the one that was running, those after it were not run.
    """

    format: Literal["hetopt/bounds"] = "hetopt/bounds"
    version: Literal[1] = 1
    fingerprint: str
    objective_kind: Annotated[Objective, Field(strict=False)] = Objective.TOTAL_WEIGHTED_COMPLETION
    bounds: Annotated[tuple[BoundRow, ...], BeforeValidator(lambda v: tuple(v) if isinstance(v, list) else v)]
    interrupted: bool = False

    def __iter__(self) -> Iterator[BoundRow]:  # type: ignore[override]
        return iter(self.bounds)

    def __len__(self) -> int:
        return len(self.bounds)

    def __getitem__(self, kind: str) -> BoundRow:
        for row in self.bounds:
            if row.kind == kind:
                return row
        raise KeyError(kind)

    @property
    def best(self) -> BoundRow | None:
        """The largest bound; of equal ones a verified one."""
        known = [row for row in self.bounds if row.exact is not None]
        return max(known, key=lambda row: (row.exact or 0, row.trust is Trust.VERIFIED), default=None)

    def to_pandas(self) -> pd.DataFrame:
        """One row a relaxation."""
        import pandas as pd

        rows = [
            {
                "kind": row.kind,
                "bound": None if row.exact is None else float(row.exact),
                "trust": None if row.trust is None else str(row.trust),
                "seconds": row.seconds,
                "message": row.message,
            }
            for row in self.bounds
        ]
        return pd.DataFrame(rows)

    def _repr_html_(self) -> str:
        return str(self.to_pandas().to_html(index=False))


def relaxations() -> tuple[str, ...]:
    """Names of the relaxations in the catalogue, in its order."""
    return tuple(entry.name for entry in SOLVERS if entry.kind == SolverKind.RELAXATION)


def _chosen(kinds: str | Sequence[str]) -> tuple[str, ...]:
    known = relaxations()
    if kinds == "all":
        return known
    names = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    for name in names:
        if name not in known:
            raise UsageError(f"no lower bound is called {name!r}; known: {', '.join(known)}, or all of them: all")
    if not names:
        raise UsageError(f"name at least one kind of bound; known: {', '.join(known)}, or all of them: all")
    return names


def compute_bounds(
    instance: Instance,
    kinds: str | Sequence[str] = "all",
    *,
    objective: Objective | str = Objective.TOTAL_WEIGHTED_COMPLETION,
    time_limit: float | None = None,
    work_limit: int | None = None,
    seed: int = 0,
    threads: int = 1,
    params: dict[str, dict[str, Any]] | None = None,
) -> Bounds:
    """Run relaxations and check their certificates.

    Parameters
    ----------
    instance
        The instance.
    kinds
        ``"all"``, a name, or names of relaxations.
    objective
        What to bound; a relaxation that says nothing about it becomes a row that says so.
    time_limit
        Seconds for all together; what one leaves over is shared by those after it.  With a limit, certificates of
        instances of more than 5,000 rounds are not checked here (the rows stay DERIVED): checking is exact and takes
        as long as it takes; ``verify`` does it.  The seconds of a row contain the check.
    work_limit, seed, threads
        As for a solver, for each.
    params
        Parameters by name of the relaxation.

    Raises
    ------
    UsageError
        An unknown name or objective.
    SolverUnavailableError
        A relaxation asked for by name needs a library that is not installed.
    VerificationError
        A bound is above the value of a feasible schedule.
    """
    names = _chosen(kinds)
    try:
        objective = Objective(objective)
    except ValueError:
        raise UsageError(f"no objective is called {objective!r}; known: {', '.join(Objective)}") from None
    if time_limit is not None and not time_limit >= 0:
        raise UsageError(f"time limit {time_limit}: a time limit is a number of seconds >= 0")
    begin = time.perf_counter()
    rows: list[BoundRow] = []
    interrupted = False
    for position, name in enumerate(names):
        if interrupted:
            break
        share = None
        if time_limit is not None:
            share = max(0.0, time_limit - (time.perf_counter() - begin)) / (len(names) - position)
        start = time.perf_counter()
        try:
            result = run(
                name,
                instance,
                objective=objective,
                limits=Limits(share, work_limit, threads),
                seed=seed,
                params=(params or {}).get(name),
            )
            interrupted = was_interrupted(result)
            checked = time_limit is None or instance.num_rounds <= CHECKED_ROUNDS
            row = _row(instance, name, result, objective, checked)
            rows.append(row.model_copy(update={"seconds": round(time.perf_counter() - start, 6)}))
        except VerificationError:
            raise
        except SolverUnavailableError as error:
            if kinds != "all":
                raise
            rows.append(_failed(name, start, str(error)))
        except HetoptError as error:
            if kinds != "all" and len(names) == 1:
                raise
            rows.append(_failed(name, start, str(error)))
        except KeyboardInterrupt:  # outside a solver: while a certificate was checked
            interrupted = True
            rows.append(_failed(name, start, "interrupted"))
    return Bounds(
        fingerprint=instance.fingerprint, objective_kind=objective, bounds=tuple(rows), interrupted=interrupted
    )


def _failed(name: str, start: float, message: str) -> BoundRow:
    seconds = round(time.perf_counter() - start, 6)
    return BoundRow(kind=name, value=None, trust=None, seconds=seconds, certificate=None, message=message)


def _row(instance: Instance, name: str, result: Result, objective: Objective, checked: bool) -> BoundRow:
    bound: Bound | None = result.exact_bound
    message = result.message
    if was_interrupted(result) and "interrupted" not in message:
        message = f"interrupted; {message}" if message else "interrupted"
    if bound is None:
        why = message or f"no bound within the limits ({result.status}, stopped by {result.stop_reason})"
        return BoundRow(
            kind=name, value=None, trust=None, seconds=result.runtime_seconds, certificate=None, message=why
        )
    better, reasons = trusted(instance, bound, objective) if checked else (bound, [])
    if not checked and bound.certificate is not None:
        note = f"certificate not checked: over {CHECKED_ROUNDS} rounds that takes longer than the limit; verify does it"
        message = f"{message}; {note}" if message else note
    if reasons and bound.certificate is not None:
        # evidence that does not hold is no evidence: the number is not passed on
        why = f"the certificate is refused: {'; '.join(reasons)}"
        return BoundRow(
            kind=name,
            value=None,
            trust=None,
            seconds=result.runtime_seconds,
            certificate=bound.certificate.to_dict(),
            message=why,
        )
    return BoundRow(
        kind=name,
        value=exact_text(better.value),
        trust=better.trust,
        seconds=result.runtime_seconds,
        certificate=None if better.certificate is None else better.certificate.to_dict(),
        message=message,
    )
