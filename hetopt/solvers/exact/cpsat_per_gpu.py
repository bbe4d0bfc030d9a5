"""``cpsat-per-gpu``: CP-SAT with an interval per task and GPU; the obvious model, kept for comparison.

Same run as ``cpsat`` (:mod:`hetopt.solvers.exact.cpsat`), model :mod:`hetopt.models.clairvoyant.gpu_cpsat`.  Exact;
stops being able to prove at some 25 to 50 congested tasks, because equal GPUs are symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hetopt.models.clairvoyant.gpu_cpsat import GpuCpSat
from hetopt.models.clairvoyant.interval_cpsat import IntervalCpSat
from hetopt.solvers.exact.cpsat import CpSat

__all__ = ["CpSatPerGpu"]


@dataclass(frozen=True)
class CpSatPerGpu(CpSat):
    """Parameters as of :class:`~hetopt.solvers.exact.cpsat.CpSat`."""

    name: ClassVar[str] = "cpsat-per-gpu"
    formulation: ClassVar[type[IntervalCpSat]] = GpuCpSat
