r"""Sia's integer programme (Jayaram Subramanya et al., SOSP 2023), for jobs of a fixed number of GPUs.

.. math:: \max \sum_i \Big[\sum_c A_{ic}\, r_{ic} G_{ic}^p + \lambda (1 - \sum_c A_{ic})\Big],\qquad
          \sum_c A_{ic} \le 1,\quad \sum_i \sum_{c\ \text{of type}\ g} \text{gpus}(c) A_{ic} \le N_g,\quad A\ \text{binary};

for p < 0 the sum is minimised with lambda > 0.  Rigid jobs have one configuration a type:
G_ig = z_i T_ig / min_g T_ig.  A configuration other than the present one is discounted by
max(T_i - N_i S_i, 0) / (T_i + S_i) with age T, restarts N, restart cost S.  The published code takes p = -0.5 and
lambda = 1.1; the paper's text says p = 0.5.  For p < 0 our reading divides by the discount, so
that a restart is dearer, not cheaper.  "-like": adaptive GPU counts, which are Sia's point, are not part of this.

Guarantee: each round is optimal to 1e-9 unless the node limit ran out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hetopt.core.errors import NoSolutionError, UsageError
from hetopt.core.round_solver import WorkConservation
from hetopt.solvers.online.rounds.policies.market import cheapest
from hetopt.solvers.online.rounds.state import Clairvoyance, RoundState

__all__ = ["SiaMemory", "SiaRigid", "configuration_choice"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def configuration_choice(
    goodput: Floats, gpus: Ints, kind: Ints, count: Ints, power: float, idle: float
) -> tuple[float, Ints]:
    """The programme for any configurations: its value in its own sense, and the configuration of each job (-1: none).

    Parameters
    ----------
    goodput : (n, C) float64
        G, > 0; 0 or less: the job cannot take it.
    gpus, kind : (C,) int64
        GPUs and type of each configuration.
    count : (K,) int64
        GPUs of each type.
    power
        p, not 0.
    idle
        lambda, what a job without GPUs counts.
    """
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    n, _ = goodput.shape
    job, config = np.nonzero(goodput > 0)
    v = len(job)
    value = goodput[job, config] ** power - idle
    rows = sparse.csr_matrix(
        (
            np.concatenate([np.ones(v), gpus[config].astype(np.float64)]),
            (np.concatenate([job, n + kind[config]]), np.concatenate([np.arange(v)] * 2)),
        ),
        (n + len(count), v),
    )
    limits = np.concatenate([np.ones(n), count.astype(np.float64)])
    answer = milp(
        -value if power > 0 else value,
        integrality=np.ones(v, dtype=np.int64),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(rows, ub=limits),
        options={"mip_rel_gap": 0.0},
    )
    if answer.x is None or answer.status != 0:
        raise NoSolutionError(f"Sia's programme was not solved: {answer.message}")
    picked = np.flatnonzero(answer.x > 0.5)
    out = np.full(n, -1, dtype=np.int64)
    out[job[picked]] = config[picked]
    return float(value[picked].sum()) + idle * n, out


@dataclass(frozen=True)
class SiaMemory:
    """Restarts of each job known at the last decision, and prices to start from."""

    ids: tuple[int, ...] = ()
    last_type: tuple[int, ...] = ()
    restarts: tuple[int, ...] = ()
    prices: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SiaRigid:
    """Sia-like: the integer programme over types, for jobs of fixed demand (knows throughputs, no sizes).

    Parameters
    ----------
    power
        p, not 0.
    idle
        lambda.
    nodes
        Most nodes of the search a round.
    """

    name: ClassVar[str] = "sia-like"
    clairvoyance: ClassVar[Clairvoyance] = Clairvoyance.NONE

    power: float = -0.5
    idle: float = 1.1
    nodes: int = 20_000

    def __post_init__(self) -> None:
        if self.power == 0 or not abs(self.power) < 100:
            raise UsageError(f"power {self.power}: a number other than 0 between -100 and 100")
        if not 0 <= self.idle < float("inf"):
            raise UsageError(f"idle {self.idle}: a finite number >= 0")

    def decide(self, state: RoundState, memory: SiaMemory | None) -> tuple[Ints, SiaMemory]:
        """Solve the programme; count restarts."""
        old = memory or SiaMemory()
        place_of = {i: p for p, i in enumerate(old.ids)}
        places = [place_of.get(i) for i in state.ids.tolist()]
        restarts = np.array([0 if p is None else old.restarts[p] for p in places], dtype=np.int64)
        last = np.array([-1 if p is None else old.last_type[p] for p in places], dtype=np.int64)
        cost = self._costs(state, restarts)
        chosen, prices = cheapest(state, cost, WorkConservation.NONE, nodes=self.nodes, prices=old.prices)
        moved = (chosen >= 0) & (last >= 0) & (chosen != state.current)
        following = SiaMemory(
            tuple(state.ids.tolist()),
            tuple(np.where(chosen >= 0, chosen, last).tolist()),
            tuple((restarts + moved).tolist()),
            prices,
        )
        return chosen, following

    def _costs(self, state: RoundState, restarts: Ints) -> Floats:
        allowed = state.rate > 0
        least = np.where(allowed, state.rate, np.inf).min(axis=1, keepdims=True)
        goodput = np.where(allowed, state.demand[:, None] * state.rate / least, 1.0)
        age, loss = state.age, state.moving
        with np.errstate(divide="ignore", invalid="ignore"):
            discount = np.where(age + loss > 0, np.maximum(age - restarts * loss, 0.0) / (age + loss), 1.0)
        kinds = np.arange(len(state.count))[None, :]
        elsewhere = state.started[:, None] & (kinds != state.current[:, None])
        factor = np.where(elsewhere, np.maximum(discount, 1e-3)[:, None], 1.0)
        if self.power > 0:
            return np.asarray(-(factor * goodput**self.power - self.idle), dtype=np.float64)
        return np.asarray(goodput**self.power / factor - self.idle, dtype=np.float64)
