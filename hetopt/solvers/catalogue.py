"""The catalogue of solvers: names and where they live, as strings; nothing is imported here.

Third parties add a solver through the entry-point group ``hetopt.solvers`` (see the developer
documentation); its name may not be one of these.
"""

from __future__ import annotations

from typing import Final

from hetopt.core.registry import Entry, Registry

__all__ = ["SOLVERS"]

SOLVERS: Final = Registry(what="solver", group="hetopt.solvers")


def _add(kind: str, name: str, target: str, summary: str, requires: tuple[str, ...] = (), install: str = "") -> None:
    SOLVERS.add(
        Entry(
            name=name, target=f"hetopt.solvers.{target}", kind=kind, summary=summary, requires=requires, install=install
        )
    )


# One line a solver, grouped by kind.
