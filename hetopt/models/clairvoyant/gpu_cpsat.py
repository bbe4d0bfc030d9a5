r"""CP-SAT with one optional interval per task and GPU, for comparison with the model per type.

As :mod:`~hetopt.models.clairvoyant.interval_cpsat`, with places :math:`m` = single GPUs instead of types:
:math:`x_{im}` chooses the GPU, constraint (4) becomes

.. math::
   \text{no-overlap}\{[S_i, S_i + p_{im}) : x_{im} = 1\} \quad \forall m. \tag{4'}

It is the model that comes to mind first.  Equal GPUs are symmetric, and the search proves every permutation of them
anew: it stops at some 25 to 50 tasks where the model per type goes on.  O(tasks x GPUs) intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hetopt.core.schedule import Schedule
from hetopt.models.clairvoyant.interval_cpsat import BuiltCpModel, IntervalCpSat, _decoded

__all__ = ["GpuCpSat"]


@dataclass(frozen=True)
class GpuCpSat(IntervalCpSat):
    """The formulation; fields as in :class:`~hetopt.models.clairvoyant.interval_cpsat.IntervalCpSat`."""

    name: ClassVar[str] = "gpu-cpsat"
    per_gpu: ClassVar[bool] = True

    def decode(self, built: BuiltCpModel, values: Callable[[Any], int]) -> Schedule:
        """The schedule in a solution, tasks of a round numbered by (start, GPU)."""
        gpu, start = _decoded(built, values)
        a = built.instance.arrays
        order = np.lexsort((gpu, start, np.repeat(np.arange(a.num_rounds), a.scale)))
        return Schedule.from_starts(built.instance, gpu[order], start[order])
