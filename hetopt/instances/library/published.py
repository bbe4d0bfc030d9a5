"""Instances built from published throughput figures.

The rates are facts quoted, rounded to four significant digits, from Gavel's simulation throughput table
(D. Narayanan, K. Santhanam, F. Kazhamiaka, A. Phanishayee, M. Zaharia: Heterogeneity-Aware Cluster
Scheduling Policies for Deep Learning Workloads, OSDI 2020; repository stanford-futuredata/gavel, commit
c4fa400, ``scheduler/simulation_throughputs.json``): steps per second summed over the workers, workers of a
job close together.  Work, weights, arrivals, rounds and the sync share are our own choice.
"""

from __future__ import annotations

from typing import Final

from hetopt.core.instance import Instance
from hetopt.core.workload import TrainingJob, Workload
from hetopt.instances.traces.convert import workload_to_instance

__all__ = ["RATES", "TYPES", "published_instances"]

TYPES: Final = ("V100", "P100", "K80")

# (model, scale factor): steps per second on V100, P100, K80; None: does not fit in memory
RATES: Final[dict[tuple[str, int], tuple[float | None, ...]]] = {
    ("ResNet-18 (batch size 64)", 1): (24.09, 22.30, 7.052),
    ("ResNet-18 (batch size 64)", 2): (74.14, 41.48, 12.50),
    ("ResNet-18 (batch size 64)", 4): (95.59, 74.99, 21.63),
    ("ResNet-50 (batch size 64)", 1): (4.395, 2.619, 0.6190),
    ("ResNet-50 (batch size 64)", 2): (7.922, 5.516, 1.264),
    ("ResNet-50 (batch size 64)", 4): (9.452, 10.36, 2.412),
    ("ResNet-50 (batch size 128)", 1): (2.497, 1.584, 0.3472),
    ("ResNet-50 (batch size 128)", 2): (4.223, 2.881, None),
    ("Transformer (batch size 64)", 1): (8.618, 5.092, 1.752),
    ("Transformer (batch size 64)", 2): (15.88, 7.887, 3.063),
    ("Transformer (batch size 64)", 4): (19.66, 13.31, 5.031),
    ("LM (batch size 20)", 1): (64.74, 58.17, 17.14),
    ("LM (batch size 20)", 2): (132.2, 62.33, 23.77),
    ("A3C", 1): (7.176, 5.681, 3.439),
    ("CycleGAN", 1): (4.426, 2.403, 0.5048),
    ("Recommendation (batch size 2048)", 1): (7.470, 16.60, 10.44),
}

# (model, scale factor, minutes on V100, weight, arrival in minutes)
_Row = tuple[str, int, int, int, int]

_SMALL: Final[tuple[_Row, ...]] = (
    ("ResNet-18 (batch size 64)", 1, 40, 1, 0),
    ("ResNet-50 (batch size 128)", 1, 60, 3, 0),
    ("Recommendation (batch size 2048)", 1, 50, 1, 0),
    ("A3C", 1, 30, 2, 10),
    ("Transformer (batch size 64)", 1, 45, 2, 20),
)

_MIX: Final[tuple[_Row, ...]] = (
    ("ResNet-50 (batch size 64)", 4, 90, 3, 0),
    ("Transformer (batch size 64)", 2, 60, 2, 0),
    ("LM (batch size 20)", 1, 80, 1, 0),
    ("CycleGAN", 1, 75, 2, 10),
    ("ResNet-50 (batch size 128)", 2, 100, 3, 20),
    ("Recommendation (batch size 2048)", 1, 60, 1, 30),
    ("ResNet-18 (batch size 64)", 2, 40, 1, 45),
    ("A3C", 1, 50, 2, 60),
    ("Transformer (batch size 64)", 4, 45, 3, 75),
    ("ResNet-50 (batch size 64)", 1, 60, 1, 90),
)

_LARGE: Final[tuple[_Row, ...]] = (
    *_MIX,
    ("LM (batch size 20)", 2, 70, 2, 100),
    ("ResNet-18 (batch size 64)", 4, 30, 1, 110),
    ("ResNet-50 (batch size 64)", 2, 80, 3, 120),
    ("CycleGAN", 1, 40, 1, 130),
)


def _instance(name: str, rows: tuple[_Row, ...], gpus: dict[str, int], rounds: int) -> Instance:
    jobs = []
    for n, (model, scale, minutes, weight, arrival) in enumerate(rows):
        rates = RATES[model, scale]
        first = rates[0]
        assert first is not None
        jobs.append(
            TrainingJob(
                name=f"{model} x{scale} #{n}",
                arrival=60.0 * arrival,
                work=round(60 * minutes * first),
                demand=scale,
                throughput=rates,
                weight=weight,
            )
        )
    workload = Workload(name=name, gpu_types=TYPES, jobs=tuple(jobs), work_unit="step")
    return workload_to_instance(workload, gpus, rounds=rounds, tick_seconds=60, sync="0.1").instance


def published_instances() -> tuple[Instance, ...]:
    """The instances, made afresh: three GPUs and 15 tasks; six GPUs and 57 tasks; eight GPUs and 112 tasks."""
    return (
        _instance("gavel-figures-15", _SMALL, {"V100": 1, "P100": 1, "K80": 1}, 3),
        _instance("gavel-figures-57", _MIX, {"V100": 2, "P100": 2, "K80": 2}, 3),
        _instance("gavel-figures-112", _LARGE, {"V100": 4, "P100": 2, "K80": 2}, 4),
    )
