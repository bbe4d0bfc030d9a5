r"""A convex quadratic relaxation for unrelated machines, for a given split of the jobs' weights (after Skutella).

Sets: rounds g with a positive part of a weight, types k allowed for g, intervals l from ``starts`` (the last one unbounded).
Parameters: :math:`d_g` tasks, :math:`p_{gk}, s_{gk}`, part :math:`v_g` of one task, :math:`G_k` GPUs, heads.
Variables: :math:`y_{glk} \ge 0`, tasks of g processed on type k within interval l (0 before the head of g);
:math:`A_{glk}`, work on (l, k) of rounds not after g in the order of non-increasing :math:`v_g / p_{gk}`.

.. math::
   \min\ & \sum_{g,l,k} v_g (t_l + p_{gk}/2 + s_{gk})\, y_{glk}
      + \sum_{l,k} \frac{1}{2 G_k} \sum_g \delta_{gk} A_{glk}^2 \\
   \text{s.t. } & \sum_{l,k} y_{glk} = d_g \tag{1} \\
   & A_{glk} = A_{g'lk} + p_{gk} y_{glk} \quad (g' \text{ just before } g) \tag{2} \\
   & \sum_g p_{gk} y_{glk} \le G_k (t_{l+1} - t_l) \quad \text{except the last } l \tag{3}

:math:`\delta_{gk}` is the fall of the ratio v/p from g to its successor, so that :math:`\sum_g \delta_{gk} A_{gk}^2 = y' K y` with
:math:`K_{gh} = p_g p_h \min(v_g/p_g, v_h/p_h)`: convex, and sparse in this form.

Why it is a relaxation.  On one GPU within one interval, work in shares x has a weighted mean time of at least
:math:`t_l \sum v x + \tfrac12 x'Kx` (Smith's rule, level by level of v/p); convexity gives the factor :math:`1/G_k` for
:math:`G_k` alike GPUs together.  A task on type k ends p/2 + s after its midpoint.

References
----------
M. Skutella, "Convex quadratic and semidefinite programming relaxations in scheduling", Journal of the ACM 48 (2001), sections
3 (the convex program) and 5 (release dates by intervals).  Differences, our own: types of alike GPUs in one block, weights split over
chains of rounds, synchronisation as a cost per type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetopt.core.instance import Instance
from hetopt.models._native import load_cvxpy

__all__ = ["ConvexQp", "build_convex_qp"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConvexQp:
    """The built program and how to read it.

    Attributes
    ----------
    problem
        A cvxpy problem, minimisation; times in units of ``unit``, weights in units of ``top``.
    shape
        (R, intervals, K).
    """

    problem: Any
    shape: tuple[int, int, int]
    _tasks: Any
    _capacity: Any
    _column: NDArray[np.int64]
    _rows: NDArray[np.int64]
    unit: float
    top: float

    def point(self) -> Floats | None:
        """The solver's y, (R, intervals, K), never negative; None without a solution."""
        if self._tasks.value is None:
            return None
        out = np.zeros(int(np.prod(self.shape)))
        out[self._column] = np.maximum(np.asarray(self._tasks.value, dtype=np.float64), 0.0)
        return out.reshape(self.shape)

    def capacity_prices(self) -> Floats:
        """Multipliers of (3), (intervals, K), in weight; never negative, 0 in the last interval."""
        out = np.zeros(self.shape[1] * self.shape[2])
        if self._capacity is not None and self._capacity.dual_value is not None:
            out[self._rows] = np.maximum(np.asarray(self._capacity.dual_value, dtype=np.float64), 0.0) * self.top
        return out.reshape(self.shape[1:])


def build_convex_qp(instance: Instance, part: Floats, head: NDArray[np.int64], starts: tuple[int, ...]) -> ConvexQp:
    """The program for one split.

    Parameters
    ----------
    instance
        The instance.
    part : (R,) float64
        v_g >= 0; rounds with 0 do not occur.
    head : (R,) int64
        Earliest start of each round, ticks.
    starts
        Interval starts t_0 < t_1 < ..., t_0 at most every head.
    """
    cvxpy = load_cvxpy()
    from scipy import sparse

    a = instance.arrays
    intervals, types = len(starts), a.num_types
    shape = (a.num_rounds, intervals, types)
    t = np.array(starts, dtype=np.float64)
    first = np.searchsorted(t, head, side="right") - 1
    open_ = (np.arange(intervals)[None, :] >= first[:, None]) & (part > 0)[:, None]
    use = open_[:, :, None] & a.allowed[:, None, :]
    column = np.flatnonzero(use)
    g, layer, k = np.unravel_index(column, shape)
    top = float(part.max())
    p = a.processing_time.astype(np.float64)
    unit = max(1.0, float((p.min(axis=1, where=a.allowed, initial=np.inf) * a.scale).sum()) / a.num_gpus)
    v = part / top
    linear = v[g] * (t[layer] + p[g, k] / 2 + a.sync_time[g, k]) / unit
    # order within each (interval, type): falling v / p; ties by round
    ratio = v[g] / p[g, k]
    order = np.lexsort((g, -ratio, k, layer))
    block = (layer * types + k)[order]
    last = np.append(block[1:] != block[:-1], True)
    fresh = np.append(True, block[1:] != block[:-1])
    sorted_ratio = ratio[order]
    fall = sorted_ratio - np.where(last, 0.0, np.append(sorted_ratio[1:], 0.0))
    count = len(column)
    position = np.arange(count)
    work = p[g, k][order] / unit
    tasks = cvxpy.Variable(count, nonneg=True)
    prefix = cvxpy.Variable(count)
    used = np.unique(g)
    assign = sparse.csr_matrix((np.ones(count), (np.searchsorted(used, g), position)), shape=(len(used), count))
    pick = sparse.csr_matrix((work, (position, order)), shape=(count, count))
    chain = sparse.csr_matrix(
        (
            np.concatenate((np.ones(count), -np.ones(int((~fresh).sum())))),
            (
                np.concatenate((position, position[~fresh])),
                np.concatenate((position, position[~fresh] - 1)),
            ),
        ),
        shape=(count, count),
    )
    gpus = a.gpu_count[k[order]].astype(np.float64)
    # (v/p) x work^2 / 2: ratios are per tick, works in units, the objective in weight x units
    curvature = np.sqrt(np.maximum(fall, 0.0) * unit / gpus)
    constraints = [assign @ tasks == a.scale[used].astype(np.float64), chain @ prefix == pick @ tasks]
    capacity, rows = None, np.zeros(0, dtype=np.int64)
    ends = np.flatnonzero(last & (block < (intervals - 1) * types))
    if len(ends):
        rows = block[ends]
        length = np.diff(t)[rows // types] / unit
        capacity = prefix[ends] <= length * a.gpu_count[rows % types]
        constraints.append(capacity)
    objective = linear @ tasks + 0.5 * cvxpy.sum_squares(cvxpy.multiply(curvature, prefix))
    return ConvexQp(
        cvxpy.Problem(cvxpy.Minimize(objective), constraints), shape, tasks, capacity, column, rows, unit, top
    )
