"""Charts as SVG inside an HTML page: text and axes in the page's own colour, tooltips, identifiers that do not clash."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree

from hetopt.core.text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["chart_style", "figure_axes", "inline_svg"]

_INK: Final = "#010203"
"""Stands for the colour of text and axes; becomes ``currentColor``, so that one drawing serves light and dark pages."""

_SVG: Final = "http://www.w3.org/2000/svg"
_XLINK: Final = "http://www.w3.org/1999/xlink"


def chart_style() -> AbstractContextManager[None]:
    """Matplotlib settings under which charts for :func:`inline_svg` are drawn."""
    import matplotlib as mpl

    settings: dict[Any, Any] = {k: v for k, v in mpl.rcParamsDefault.items() if not k.startswith("backend")}
    settings |= dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), _INK)
    settings |= {"svg.fonttype": "none", "svg.hashsalt": "hetopt", "font.size": 10, "grid.color": "#808080"}
    settings |= {"figure.facecolor": "none", "axes.facecolor": "none"}
    return mpl.rc_context(settings)


def figure_axes(height: float, width: float = 9.0) -> Axes:
    """Axes of a figure (inches) that no window knows about."""
    from matplotlib.figure import Figure

    figure: Figure = Figure(figsize=(width, height), layout="constrained")
    return figure.add_subplot()


def _local(element: ElementTree.Element) -> str:
    return str(element.tag).rsplit("}", 1)[-1]


def inline_svg(ax: Axes, prefix: str, label: str, titles: Sequence[str] = ()) -> str:
    """The chart as an ``<svg>`` element to put into a page; call it under :func:`chart_style`.

    Parameters
    ----------
    ax
        The chart.
    prefix
        Goes before every identifier; unique in the page.
    label
        What the chart shows, for screen readers.
    titles
        A tooltip for each training bar of a Gantt chart, in drawing order.
    """
    from hetopt.analysis.plots.saving import drawn

    root = ElementTree.fromstring(drawn(ax, "svg", transparent=True, tight=False))
    for parent in list(root.iter()):
        for child in list(parent):
            if _local(child) in ("metadata", "style"):  # the style would apply to the whole page
                parent.remove(child)
    if titles:
        _add_titles(root, titles)
    for group in root.iter(f"{{{_SVG}}}g"):
        kind = re.sub(r"-\d+$", "", group.get("id", ""))
        if kind in ("bars", "sync", "inside", "ratios", "incumbent", "bound", "cdf", "busy", "empty"):
            group.set("class", f"mark-{kind}")
    _rename(root, prefix)
    root.attrib.pop("width", None)
    root.attrib.pop("height", None)
    root.set("role", "img")
    root.set("aria-label", visible(label))
    root.set("class", "chart")
    for element in root.iter():
        style = element.get("style")
        if style is not None:
            element.set("style", _plain_style(style))
        path = element.get("d")
        if path is not None:
            element.set("d", _short_path(path))
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    text = ElementTree.tostring(root, encoding="unicode")
    return text.replace(_INK, "currentColor")


def _plain_style(style: str) -> str:
    """A style with the page's font in place of matplotlib's, and without what is the default anyway."""
    style = re.sub(r"font: ([^;]*?)(\d+(?:\.\d+)?px)[^;]*", r"font: \1\2 var(--font)", style)
    style = re.sub(r"font-family: [^;]*", "font-family: var(--font)", style)
    return style.replace("; stroke-linejoin: miter", "").replace("stroke-linecap: square; ", "")


def _short_path(path: str) -> str:
    """A path with two decimals (a 36th of a point is below what a screen shows) on one line."""
    return re.sub(r"-?\d+\.\d+", lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), " ".join(path.split()))


def _add_titles(root: ElementTree.Element, titles: Sequence[str]) -> None:
    for group in root.iter(f"{{{_SVG}}}g"):
        if group.get("id") != "bars":
            continue
        shapes = list(_shapes(group))
        if len(shapes) != len(titles):
            raise RuntimeError(f"{len(shapes)} bars were drawn for {len(titles)} tasks")
        for shape, title in zip(shapes, titles, strict=True):
            ElementTree.SubElement(shape, f"{{{_SVG}}}title").text = visible(title)


def _shapes(group: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """What a group draws, in order: a collection of one shape is written as a marker, a level deeper than others."""
    for element in group:
        if _local(element) in ("use", "path"):
            yield element
        elif _local(element) == "g":
            yield from _shapes(element)


def _rename(root: ElementTree.Element, prefix: str) -> None:
    href = f"{{{_XLINK}}}href"
    for element in root.iter():
        values: dict[str, Any] = element.attrib
        if "id" in values:
            values["id"] = f"{prefix}-{values['id']}"
        for key in (href, "href"):
            if str(values.get(key, "")).startswith("#"):
                values[key] = f"#{prefix}-{values[key][1:]}"
        for key, value in list(values.items()):
            if "url(#" in value:
                values[key] = value.replace("url(#", f"url(#{prefix}-")
