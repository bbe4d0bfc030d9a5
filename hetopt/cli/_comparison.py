"""Progress and parameters of commands that run several solvers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from hetopt.cli._options import params_of, read_params
from hetopt.cli._progress import LiveLine

if TYPE_CHECKING:
    from hetopt.analysis.compare import Progress

LOGGER = logging.getLogger("hetopt")


def settings_of(pairs: list[str] | None, path: str | None, solvers: list[str]) -> dict[str, dict[str, Any]]:
    """Parameters by solver, from ``[solver]`` tables of a file and ``[solver.]key=value`` pairs.

    A pair without a solver's name goes to every compared solver that has the parameter.

    Raises
    ------
    UsageError
        A parameter that no compared solver has, or a solver that is not compared.
    """
    from hetopt.core.errors import UsageError

    out: dict[str, dict[str, Any]] = {}
    if path is not None:
        for solver, values in read_params(path).items():
            if not isinstance(values, dict):
                raise UsageError(f"--params {path}: {solver!r} is no table; write [{solver}] above its parameters")
            out[solver] = dict(values)
    for pair in pairs or ():
        key, sign, value = pair.partition("=")
        solver, dot, name = key.rpartition(".")
        (parameter, read), *_ = params_of([f"{name}{sign}{value}"], None).items()
        takers = [solver] if dot else [s for s in solvers if parameter in parameters_of(s)]
        if not takers:
            raise UsageError(f"--param {pair!r}: none of {', '.join(solvers)} has a parameter {parameter!r}")
        for taker in takers:
            out.setdefault(taker, {})[parameter] = read
    for solver in out:
        if solver not in solvers:
            raise UsageError(
                f"parameters are given for {solver!r}, which is not compared; compared: {', '.join(solvers)}"
            )
    return out


def parameters_of(solver: str) -> tuple[str, ...]:
    """Names of a solver's parameters; none where it cannot be loaded here."""
    import dataclasses

    from hetopt.core.errors import SolverUnavailableError
    from hetopt.solvers.catalogue import SOLVERS

    try:
        made = SOLVERS.load(solver)
    except SolverUnavailableError:
        return ()
    return tuple(field.name for field in dataclasses.fields(made)) if dataclasses.is_dataclass(made) else ()


class CompareProgress(LiveLine):
    """A listener of :func:`hetopt.analysis.compare.compare`: a live line on a terminal, log lines elsewhere."""

    def __init__(self) -> None:
        super().__init__("starting")

    def __call__(self, news: Progress) -> None:
        """A run has started, improved or ended."""
        head = f"{news.index}/{news.total} {news.instance}, {news.solver}"
        if news.result is not None:
            self.text = f"{head}: {news.result.status} {news.result.objective} in {news.result.runtime_seconds:.2f} s"
            LOGGER.info("%s", self.text)
        elif news.error is not None:
            self.text = f"{head}: {news.error}"
            LOGGER.info("%s", self.text)
        elif news.point is not None:
            known = ["-" if value is None else str(value) for value in (news.point.incumbent, news.point.bound)]
            self.text = f"{head}: incumbent {known[0]}, bound {known[1]}"
        else:
            self.text = head
