r"""Denominators of finish-time fairness: the time that a job would take alone on a 1/n share (our reading).

With m(t) active jobs (arrived, unfinished), an equal share gives job i, which needs z_i GPUs of one
type, the rate

.. math:: T^{iso}_i(m) = \sum_j T_{ij} \frac{N_j / (m z_i)}{\max(1, \sum_l N_l / (m z_i))}
          = \frac{\sum_j T_{ij} N_j}{\max(m z_i, \sum_l N_l)} ,

and T_alone = W_i / (mean of T_iso over the job's life) (FFT, ICS 2025, our reading; the share is
that of Gavel's isolated policy).  T_ij is 0 where the job cannot run.  m(t) is a step function of
the run's own arrivals and finishes, so the mean is exact: one pass per distinct demand.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hetopt.solvers.online.rounds.setting import TICKS_PER_SECOND, JobTable

__all__ = ["isolated_rate", "times_alone"]


def isolated_rate(
    rate: NDArray[np.float64], count: NDArray[np.int64], demand: NDArray[np.int64], active: int
) -> NDArray[np.float64]:
    """T_iso with ``active`` jobs, (n,) float64; ``rate`` (n, K) is 0 where a job cannot run."""
    share = rate @ count.astype(np.float64)
    return np.asarray(share / np.maximum(active * demand, count.sum()), dtype=np.float64)


def times_alone(table: JobTable, finish: NDArray[np.int64]) -> list[float | None]:
    """T_alone of every job in seconds; None for those that did not finish.

    Parameters
    ----------
    table
        The jobs.
    finish : (n,) int64
        Ticks, -1 where unfinished.
    """
    n = len(finish)
    done = np.flatnonzero(finish >= 0)
    out: list[float | None] = [None] * n
    if not len(done):
        return out
    present = np.ones(n, dtype=np.bool_)
    present[list(table.waiting_for_ever)] = False
    moments, place = np.unique(np.concatenate([table.arrival[present], finish[done]]), return_inverse=True)
    change = np.bincount(
        place.ravel(),
        weights=np.concatenate([np.ones(int(present.sum())), -np.ones(len(done))]),
        minlength=len(moments),
    )
    active = np.cumsum(change)[:-1]
    spans = np.diff(moments) / TICKS_PER_SECOND
    gpus = float(table.count.sum())
    share = table.rate @ table.count.astype(np.float64)
    for demand in np.unique(table.demand[done]).tolist():
        area = np.concatenate([[0.0], np.cumsum(spans / np.maximum(active * demand, gpus))])
        jobs = done[table.demand[done] == demand]
        first = np.searchsorted(moments, table.arrival[jobs])
        last = np.searchsorted(moments, finish[jobs])
        life = (finish[jobs] - table.arrival[jobs]) / TICKS_PER_SECOND
        mean = share[jobs] * (area[last] - area[first]) / life
        for j, value in zip(jobs.tolist(), (table.work[jobs] / mean).tolist(), strict=True):
            out[j] = value
    return out
