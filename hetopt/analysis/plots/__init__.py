"""Charts: each function draws one on matplotlib axes and returns them; none shows a window.

``ax=None`` makes a new figure.  Matplotlib is imported when a chart is first drawn (extra ``report``), plotly when
the interactive one is (extra ``interactive``).
"""

from __future__ import annotations

from hetopt.analysis.plots.cdf_chart import cdf
from hetopt.analysis.plots.convergence_chart import convergence
from hetopt.analysis.plots.decomposition import decomposition
from hetopt.analysis.plots.gantt_chart import gantt
from hetopt.analysis.plots.interactive_chart import gantt_interactive
from hetopt.analysis.plots.ratio_chart import ratios
from hetopt.analysis.plots.saving import save
from hetopt.analysis.plots.utilisation_chart import utilisation

__all__ = ["cdf", "convergence", "decomposition", "gantt", "gantt_interactive", "ratios", "save", "utilisation"]
