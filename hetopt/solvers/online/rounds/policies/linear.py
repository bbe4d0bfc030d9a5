r"""Linear programmes over shares of time: the base polytope of Gavel's policies, solved by HiGHS.

.. math:: X = \{x \ge 0 : \sum_i z_i x_{ij} \le N_j\ \forall j,\ \sum_j x_{ij} \le 1\ \forall i,\ x_{ij} = 0\ \text{where } T_{ij} = 0\}.

Rows are scaled so that multiplying the throughputs of a job by any constant changes nothing: callers
pass normalised throughputs, which :func:`tidy` rounds to 12 digits, so that programmes of scaled data
are equal bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import NoSolutionError

__all__ = [
    "Programme",
    "TieBreak",
    "isolated_throughput",
    "proportional_throughput",
    "solve_centre",
    "solve_linear",
    "tidy",
    "variables",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class TieBreak(StrEnum):
    """Which of many optimal shares: the centre of the optimal face, a vertex with the most throughput, or any vertex.

    Interior-point solvers, which the published artefact of Gavel uses, end in the centre; once shares are turned into
    rounds this matters more than any other detail (see the cross-check in the documentation).
    """

    CENTRE = "centre"
    MOST = "most"
    VERTEX = "vertex"


def tidy(values: Floats) -> Floats:
    """Values rounded to 12 significant digits."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        exponent = np.where(values != 0, np.floor(np.log10(np.abs(values))), 0.0)
        scale = 10.0 ** (11 - exponent)
        rounded = np.round(values * scale) / scale
    return np.asarray(np.where(np.isfinite(rounded), rounded, values), dtype=np.float64)


def proportional_throughput(rate: Floats, count: Ints) -> Floats:
    """T_i^prop = sum_j T_ij N_j / sum_j N_j, (n,) float64, overflow-safe."""
    return np.asarray(rate @ (count / count.sum()), dtype=np.float64)


def isolated_throughput(rate: Floats, count: Ints, demand: Ints) -> Floats:
    """T_i^iso of the jobs present: the rate on an equal share of the cluster, (n,) float64."""
    return np.asarray(rate @ count.astype(np.float64) / np.maximum(len(demand) * demand, count.sum()), dtype=np.float64)


@dataclass(frozen=True)
class Programme:
    """The variables of the polytope: one per (job, type) where the job can run.

    Attributes
    ----------
    job, kind : (v,) int64
        Of each variable.
    rows, limits
        The constraints of X, sparse (K + n, v) and (K + n,).
    """

    shape: tuple[int, int]
    job: Ints
    kind: Ints
    rows: Any
    limits: Floats

    def matrix(self, x: Floats) -> Floats:
        """Shares as an (n, K) matrix, clipped to [0, 1]."""
        out = np.zeros(self.shape)
        out[self.job, self.kind] = np.clip(x[: len(self.job)], 0.0, 1.0)
        return out

    def by_job(self, coefficient: Floats) -> Any:
        """Sparse (n, v): row i is sum_j coefficient_ij x_ij."""
        from scipy import sparse

        v = len(self.job)
        return sparse.csr_matrix((coefficient[self.job, self.kind], (self.job, np.arange(v))), (self.shape[0], v))


def variables(rate: Floats, count: Ints, demand: Ints) -> Programme:
    """The polytope X of a state."""
    from scipy import sparse

    job, kind = np.nonzero(rate > 0)
    v, (n, kinds) = len(job), rate.shape
    rows = sparse.csr_matrix(
        (
            np.concatenate([demand[job].astype(np.float64), np.ones(v)]),
            (np.concatenate([kind, kinds + job]), np.concatenate([np.arange(v)] * 2)),
        ),
        (kinds + n, v),
    )
    limits = np.concatenate([count.astype(np.float64), np.ones(n)])
    return Programme((n, kinds), job.astype(np.int64), kind.astype(np.int64), rows, limits)


def solve_linear(
    cost: Floats,
    rows: Any,
    limits: Floats,
    *,
    equal: tuple[Any, Floats] | None = None,
    upper: Floats | None = None,
    what: str,
) -> Floats:
    """Minimise ``cost @ y`` with ``rows @ y <= limits``, y >= 0 (and y <= upper), by the dual simplex method of HiGHS.

    Raises
    ------
    NoSolutionError
        It was not solved to optimality; never a point that is not optimal.
    """
    from scipy import optimize

    programme: Any = optimize.linprog
    top = np.full(len(cost), np.inf) if upper is None else upper
    answer = programme(
        cost,
        A_ub=rows,
        b_ub=limits,
        A_eq=None if equal is None else equal[0],
        b_eq=None if equal is None else equal[1],
        bounds=np.column_stack([np.zeros(len(cost)), top]),
        method="highs-ds",
    )
    if answer.status != 0 or answer.x is None:
        raise NoSolutionError(f"{what}: the linear programme was not solved ({answer.message})")
    return np.asarray(answer.x, dtype=np.float64)


def solve_centre(cost: Floats, rows: Any, limits: Floats, *, upper: Floats | None = None, what: str) -> Floats:
    """As :func:`solve_linear`, but a point in the middle of the optimal face: interior point, no crossover.

    Raises
    ------
    NoSolutionError
        It was not solved to optimality.
    """
    from scipy import sparse

    from hetopt.models._native import load_highspy

    highspy = load_highspy()
    columns = sparse.csc_matrix(rows)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(cost), len(limits)
    lp.col_cost_ = cost
    lp.col_lower_ = np.zeros(len(cost))
    lp.col_upper_ = np.full(len(cost), highspy.kHighsInf) if upper is None else upper
    lp.row_lower_ = np.full(len(limits), -highspy.kHighsInf)
    lp.row_upper_ = limits
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = columns.indptr, columns.indices
    lp.a_matrix_.value_ = columns.data
    engine = highspy.Highs()
    for key, value in (
        ("output_flag", False),
        ("solver", "ipx"),
        ("run_crossover", "off"),
        ("presolve", "off"),
    ):  # the method has one thread; to ask for one would fail where HiGHS has run with another number before
        engine.setOptionValue(key, value)
    engine.passModel(lp)
    engine.run()
    status = engine.getModelStatus()
    if status == highspy.HighsModelStatus.kNotset:
        raise NoSolutionError(f"{what}: HiGHS did not run its interior-point method")
    if status != highspy.HighsModelStatus.kOptimal:  # too ill-conditioned for it: any optimal vertex
        return solve_linear(cost, rows, limits, upper=upper, what=what)
    return np.maximum(np.asarray(engine.getSolution().col_value, dtype=np.float64), 0.0)
