"""Self-contained HTML reports of comparisons (extra ``report``)."""

from __future__ import annotations

from hetopt.analysis.report.rendering import html_of, render

__all__ = ["html_of", "render"]
