r"""Convex forms of one FFT round in cvxpy: the linear relaxation, and time-shared allocation with a fairness utility.

Sets and parameters as in :mod:`~hetopt.models.rounds.fft_milp`.  Variables: :math:`x_{ji} \ge 0` for (j, i) in A, the share of the round
that job j runs on type i.  Relative progress of a job: :math:`\tau_j = \sum_i \theta_{ji} x_{ji} / \max_i \theta_{ji}`, 1 if it runs on its
fastest type all the time.

.. math::

    \min \; & \sum_{(j,i) \in A} c_{ji} x_{ji} - \lambda \sum_j u_\alpha(\tau_j) & (1) \\
    & \sum_i x_{ji} \le 1 & (2) \\
    & \sum_j d_j x_{ji} \le G_i & (3) \\
    & \sum_{(j,i) \in A} d_j x_{ji} = U^* & (4)

:math:`\lambda = 0` is the linear relaxation of ``fft-milp`` (a lower bound on its cost).  Else :math:`u_\alpha` is the alpha-fair utility:
:math:`\log \tau` for :math:`\alpha = 1` (proportional fairness), :math:`\tau^{1-\alpha} / (1 - \alpha)` otherwise (0: total progress; the larger, the closer to
max-min).  (4) only where the rule asks for it.

**Dual prices as rents.**  With multipliers :math:`\rho_i \ge 0` of (3) and :math:`\mu` of (4) (a subsidy per GPU that is used), the price of a GPU of type
i for one round is :math:`\pi_i = \rho_i - \mu`.  A job takes a type only if its cost plus the rent of its GPUs,
:math:`c_{ji} + d_j \pi_i`, is least among its options and at most 0; where :math:`\rho_i > 0` the type is full.  :math:`\rho_i` is what one more GPU of type i
would save in this round, as long as the same jobs stay marginal.

Size: n K variables, n + K + 1 rows in three sparse matrices; no scalar expressions, so cvxpy's work is O(n K).

References: FFT (ICS 2025) for the cost, in our reading; alpha-fairness: J. Mo and J. Walrand, IEEE/ACM Transactions on Networking 8 (2000);
using it inside the round is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import UsageError
from hetopt.core.round_problem import CostModel, RoundProblem
from hetopt.core.round_solver import WorkConservation
from hetopt.models._native import load_cvxpy
from hetopt.models.rounds.fft_milp import round_costs

__all__ = ["ConvexRound", "FftConvex"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConvexRound:
    """A built program and how to read it.

    Attributes
    ----------
    program
        A cvxpy problem, minimisation, costs in units of ``unit``; solve it with an engine named (HIGHS without a utility, else CLARABEL).
    unit
        Size of a cost.
    pair_job, pair_type : (P,) int64
        Job and type of each variable.
    """

    program: Any
    unit: float
    pair_job: NDArray[np.int64]
    pair_type: NDArray[np.int64]
    shape: tuple[int, int]
    _x: Any
    _room: Any
    _use: Any

    def shares(self) -> Floats | None:
        """Shares of the round, (n, K) within [0, 1]; None without a solution."""
        if self._x is None:
            return np.zeros(self.shape)
        if self._x.value is None:
            return None
        out = np.zeros(self.shape)
        out[self.pair_job, self.pair_type] = np.clip(np.asarray(self._x.value, dtype=np.float64), 0.0, 1.0)
        return out

    def rents(self) -> tuple[Floats, float]:
        """Multipliers of (3), (K,) and >= 0, and of (4) (0 where there is none), in units of cost per GPU and round."""
        if self._room is None or self._room.dual_value is None:
            return np.zeros(self.shape[1]), 0.0
        rent = np.maximum(np.asarray(self._room.dual_value, dtype=np.float64), 0.0) * self.unit
        common = 0.0
        if self._use is not None and self._use.dual_value is not None:
            common = -float(np.asarray(self._use.dual_value).ravel()[0]) * self.unit
        return rent, common

    def prices(self) -> Floats:
        """The price of a GPU of each type, rent less subsidy, (K,)."""
        rent, common = self.rents()
        return rent - common


@dataclass(frozen=True)
class FftConvex:
    """The formulation of this module.

    Parameters
    ----------
    fairness
        lambda >= 0, in units of the round's typical cost of a job (the median over jobs of their cheapest option's size).
    alpha
        Exponent of the utility, >= 0.
    """

    name: ClassVar[str] = "fft-convex"
    fairness: float = 0.0
    alpha: float = 1.0

    def __post_init__(self) -> None:
        for name in ("fairness", "alpha"):
            if not 0.0 <= getattr(self, name) < float("inf"):
                raise UsageError(f"{name} {getattr(self, name)}: a finite number >= 0 is needed")

    def build(
        self,
        problem: RoundProblem,
        cost: CostModel | None = None,
        rule: WorkConservation | str = WorkConservation.MOST_GPUS,
        *,
        most_gpus: int | None = None,
    ) -> ConvexRound:
        """The program of a round; ``most_gpus`` is U*, needed for that rule alone (``maximal`` has no convex form and counts as ``none``)."""
        cvxpy = load_cvxpy()
        from scipy import sparse

        cost, rule = cost or CostModel(), WorkConservation(rule)
        if rule is WorkConservation.MOST_GPUS and most_gpus is None:
            raise UsageError("the rule most-gpus needs the most GPUs that can be used; pass most_gpus")
        a = problem.arrays
        job, kind = (index.astype(np.int64) for index in np.nonzero(a.allowed))
        count = len(job)
        if not count:
            return ConvexRound(cvxpy.Problem(cvxpy.Minimize(0)), 1.0, job, kind, a.allowed.shape, None, None, None)
        demand = a.demand[job].astype(np.float64)
        costs = round_costs(problem, cost)[job, kind]
        cheapest = np.full(len(a.demand), np.inf)
        np.minimum.at(cheapest, job, np.abs(costs))
        unit = float(np.median(cheapest[np.isfinite(cheapest)])) or 1.0
        x = cvxpy.Variable(count, nonneg=True)
        pairs = np.arange(count)
        active = np.unique(job)
        position = np.searchsorted(active, job)
        once = sparse.csr_matrix((np.ones(count), (position, pairs)), shape=(len(active), count))
        fill = sparse.csr_matrix((demand, (kind, pairs)), shape=(len(a.count), count))
        room = fill @ x <= a.count.astype(np.float64)
        use = demand @ x == float(most_gpus or 0) if rule is WorkConservation.MOST_GPUS else None
        objective = (costs / unit) @ x
        if self.fairness > 0:
            rate = a.throughput[job, kind]
            best = np.zeros(len(a.demand))
            np.maximum.at(best, job, rate)
            progress = sparse.csr_matrix((rate / best[job], (position, pairs)), shape=(len(active), count)) @ x
            objective = objective - self.fairness * self._utility(cvxpy, progress)
        constraints = [once @ x <= 1, room, *([] if use is None else [use])]
        program = cvxpy.Problem(cvxpy.Minimize(objective), constraints)
        return ConvexRound(program, unit, job, kind, a.allowed.shape, x, room, use)

    def _utility(self, cvxpy: Any, progress: Any) -> Any:
        if self.alpha == 1.0:
            return cvxpy.sum(cvxpy.log(progress))
        if self.alpha == 0.0:
            return cvxpy.sum(progress)
        return cvxpy.sum(cvxpy.power(progress, 1.0 - self.alpha)) / (1.0 - self.alpha)
