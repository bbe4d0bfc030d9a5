"""Writing charts: SVG, PNG or PDF, the same bytes for the same chart."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hetopt.core.documents import write_bytes
from hetopt.core.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["drawn", "save"]

_METADATA: Final[dict[str, dict[str, Any]]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def drawn(chart: Axes | Figure, kind: str, *, dpi: float = 150, transparent: bool = False, tight: bool = True) -> bytes:
    """The bytes of a chart as ``svg``, ``pdf`` or ``png``; no date and no random identifier is in them.

    ``tight`` cuts or extends the paper to what is drawn, which takes drawing it twice.
    """
    import matplotlib as mpl

    figure = chart if hasattr(chart, "savefig") else chart.get_figure()
    if figure is None or not hasattr(figure, "savefig"):
        raise UsageError("the axes belong to no figure; draw on axes of a figure")
    stream = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "hetopt"}):
        figure.savefig(
            stream,
            format=kind,
            metadata=_METADATA[kind],
            dpi=dpi,
            transparent=transparent,
            bbox_inches="tight" if tight else None,
        )
    return stream.getvalue()


def save(chart: Axes | Figure, path: str | os.PathLike[str], *, dpi: float = 150, transparent: bool = False) -> None:
    """Write a chart in one step.

    Parameters
    ----------
    chart
        Axes or figure.
    path
        Ends in ``.svg``, ``.png`` or ``.pdf``.
    dpi
        Dots per inch of a PNG.
    transparent
        Whether the paper is left out.

    Raises
    ------
    UsageError
        Another ending.
    OutputError
        The place cannot be written; nothing is left half-written.
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in _METADATA:
        raise UsageError(
            f"{os.fspath(path)}: charts are written as {', '.join('.' + k for k in _METADATA)}; choose one as the ending"
        )
    write_bytes(path, drawn(chart, kind, dpi=dpi, transparent=transparent))
