r"""The weight-splitting Lagrangian of the midpoint LP, solved at scale.

Problem.  With loads normalised to a machine of speed 1 (P_g := work of round g over the capacity),

.. math:: \min_{H \in Q} \max_{c} \; \sum_n c_{n0}\, \mathrm{path}_n + \sum_g c_g (H_g + \mathrm{tail}_g),
   \qquad c \ge 0,\; c_{n0} + \sum_{g \in n} c_g = w_n,

Q being the load polyhedron.  For fixed c the minimum is Smith's rule (sort by c_g / P_g), so every c gives a valid
bound; for fixed H the maximum is sum_n w_n max(path_n, max_g (H_g + tail_g)), so every H in Q gives an upper bound on
the LP.  Both sides meet at the LP (its proof is on the theory page).

Method.  First multiplicative weights on the splits against Smith's answers, whose weighted average is a point
of Q; then a primal-dual method with both sides smoothed: the splits move by exponential weights, H by a projection on Q
in the norm :math:`\sum P_g x_g^2`.  The projection of z sorts z; the correction is the
slope of the least concave non-decreasing majorant of the prefix deficits, an antitonic regression (so O(R log R)).

Guarantee.  The pair of values brackets the LP at any time.  Errors fall like 1/sqrt(iterations) in the
first phase (Hedge) and like 1/iterations in the second (for suitable steps; ours are tuned, so that rate is observed and not proved here).
Memory O(R); an iteration costs one or two sorts.

References
----------
Y. Freund, R. E. Schapire, "Adaptive game playing using multiplicative weights", Games and Economic Behavior 29 (1999);
A. Chambolle, T. Pock, "On the ergodic convergence rates of a first-order primal-dual algorithm", Mathematical
Programming 159 (2016), Theorem 1; D. Applegate et al., "Faster first-order primal-dual methods for linear programming
using restarts and sharpness", Mathematical Programming 201 (2023); M. Queyranne (1993) for Q.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Game", "Saddle", "project", "smith_midpoints", "solve_saddle"]

Floats = NDArray[np.float64]
_WARM: Final = 20
_CHECK: Final = 5
_RESTART: Final = 0.4


@dataclass(frozen=True, eq=False)
class Game:
    """Data in floating point: jobs are consecutive rounds, ``start`` (N,) their first rounds.

    Attributes
    ----------
    work, tail : (R,) float64
        P_g over the capacity; tail_g in ticks.
    path, weight : (N,) float64
    job, start : (R,), (N,) int64
    """

    work: Floats
    tail: Floats
    path: Floats
    weight: Floats
    job: NDArray[np.int64]
    start: NDArray[np.int64]

    def completion(self, midpoint: Floats) -> Floats:
        """C_n = max(path_n, max over rounds of H_g + tail_g), (N,)."""
        late: Floats = np.maximum(self.path, np.maximum.reduceat(midpoint + self.tail, self.start))
        return late

    def value_of_midpoints(self, midpoint: Floats) -> float:
        """Upper bound on the LP from a point of Q."""
        return float(self.weight @ self.completion(midpoint))


@dataclass(eq=False)
class Saddle:
    """Where the method has got to.

    Attributes
    ----------
    share : (R,) float64
        Share of its job's weight that each round has in the split of the best lower bound.
    midpoint : (R,) float64
        Point of Q with the least upper bound, ticks.
    lower, upper
        Floating-point values of the two.
    iterations
        Steps done.
    """

    share: Floats
    midpoint: Floats
    lower: float = -np.inf
    upper: float = np.inf
    iterations: int = 0
    stopped: bool = False
    trace: list[tuple[int, float, float]] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """Relative distance of the two values."""
        return (self.upper - self.lower) / max(abs(self.upper), 1e-300)


def smith_midpoints(priority: Floats, work: Floats) -> Floats:
    """Midpoints of the order of non-increasing priority on one machine of speed 1, (R,)."""
    order = np.argsort(-priority)  # any order of ties gives a point of Q of the same value
    ordered = work[order]
    out = np.empty_like(work)
    out[order] = np.cumsum(ordered) - 0.5 * ordered
    return out


def project(point: Floats, work: Floats) -> Floats:
    """The point of Q nearest in the norm sum of work x difference^2."""
    from scipy.optimize import isotonic_regression

    order = np.argsort(point)
    sorted_, ordered = point[order], work[order]
    lack = np.cumsum(ordered) - 0.5 * ordered - sorted_
    raised = isotonic_regression(lack, weights=ordered, increasing=False).x
    out = np.empty_like(point)
    out[order] = sorted_ + np.maximum(raised, 0.0)
    return out


class _Shares:
    """Shares of the jobs' weights, kept as logarithms: one per round and one per path."""

    def __init__(self, game: Game, start: Floats | None = None) -> None:
        self.game = game
        per_job = np.add.reduceat(game.work, game.start)
        self.log_round = np.log(game.work / per_job[game.job] if start is None else np.maximum(start, 1e-300))
        self.log_path = np.full(len(game.path), -np.log(10.0))

    def normalised(self) -> tuple[Floats, Floats]:
        """Shares of the rounds (R,) and of the paths (N,); the logarithms are brought to that scale."""
        g = self.game
        top = np.maximum(np.maximum.reduceat(self.log_round, g.start), self.log_path)
        self.log_round -= top[g.job]
        self.log_path -= top
        rounds, paths = np.exp(self.log_round), np.exp(self.log_path)
        total = np.add.reduceat(rounds, g.start) + paths
        log_total = np.log(total)
        self.log_round -= log_total[g.job]
        self.log_path -= log_total
        return rounds / total[g.job], paths / total

    def restart(self, rounds: Floats, paths: Floats) -> tuple[Floats, Floats]:
        """Go on from these shares."""
        self.log_round = np.log(np.maximum(rounds, 1e-300))
        self.log_path = np.log(np.maximum(paths, 1e-300))
        return self.normalised()


Oracle = Callable[[Floats], Floats]
Stop = Callable[[Saddle], bool]


def solve_saddle(
    game: Game,
    *,
    tolerance: float,
    max_iterations: int,
    stop: Stop,
    oracle: Oracle | None = None,
    start: Floats | None = None,
) -> Saddle:
    """Bracket the LP to a relative gap of ``tolerance``, or stop when told.

    Parameters
    ----------
    game
        The data.
    tolerance, max_iterations
        When to end.
    stop
        Asked after every step; True ends the run.
    oracle
        For a stronger polyhedron than Q: from priorities c_g / P_g to optimal midpoints (preemptive WSPT).  Then only the
        first phase runs, as the projection is for Q.
    start
        Shares (R,) to begin with.
    """
    shares = _Shares(game, start)
    weight = game.weight[game.job]
    answer = oracle or (lambda priority: smith_midpoints(priority, game.work))
    state = Saddle(np.zeros_like(game.work), np.zeros_like(game.work))

    def lower(round_share: Floats, path_share: Floats, midpoint: Floats) -> None:
        value = float(game.weight @ (path_share * game.path) + (weight * round_share) @ (midpoint + game.tail))
        if value > state.lower:
            state.lower, state.share = value, round_share

    def upper(midpoint: Floats) -> None:
        value = game.value_of_midpoints(midpoint)
        if value < state.upper:
            state.upper, state.midpoint = value, midpoint.copy()

    def done() -> bool:
        state.trace.append((state.iterations, state.lower, state.upper))
        if state.gap <= tolerance or state.iterations >= max_iterations:
            return True
        state.stopped = stop(state)
        return state.stopped

    average, mass = np.zeros_like(game.work), 0.0
    warm = max_iterations if oracle is not None else min(_WARM, max_iterations)
    for step in range(1, warm + 1):
        rounds, paths = shares.normalised()
        midpoint = answer(weight * rounds / game.work)
        lower(rounds, paths, midpoint)
        mass += step
        average += (midpoint - average) * (step / mass)
        upper(average)
        state.iterations = step
        if done():
            return state
        late = midpoint + game.tail
        best = np.maximum(np.maximum.reduceat(late, game.start), game.path)
        rate = 4.0 / np.sqrt(step)
        shares.log_round += rate * (late - best[game.job]) / best[game.job]
        shares.log_path += rate * (game.path - best) / best
    if oracle is not None:
        return state
    _smooth(game, shares, state, average, lower, upper, done)
    return state


def _smooth(
    game: Game,
    shares: _Shares,
    state: Saddle,
    midpoint: Floats,
    lower: Callable[[Floats, Floats, Floats], None],
    upper: Callable[[Floats], None],
    done: Callable[[], bool],
) -> None:
    """Second phase: both players smoothed, weighted averages of both."""
    horizon = float(game.work.sum())
    density = float(game.weight.sum()) / horizon
    weight = game.weight[game.job]
    per_job = game.weight / np.add.reduceat(game.work, game.start)
    tau = 0.01 * horizon / density
    sigma = 0.5 / (tau * per_job)
    sigma_round = sigma[game.job]
    rounds, paths = shares.normalised()
    mean_h, mean_r, mean_p, mass, step = np.zeros_like(midpoint), np.zeros_like(rounds), np.zeros_like(paths), 0.0, 0
    restarted_at = np.inf
    while True:
        step += 1
        moved = project(midpoint - tau * weight * rounds / game.work, game.work)
        shares.log_round += sigma_round * (2 * moved - midpoint + game.tail)
        shares.log_path += sigma * game.path
        midpoint = moved
        rounds, paths = shares.normalised()
        mass += step
        mean_h += (midpoint - mean_h) * (step / mass)
        mean_r += (rounds - mean_r) * (step / mass)
        mean_p += (paths - mean_p) * (step / mass)
        state.iterations += 1
        if step % _CHECK == 0:
            upper(mean_h)
            lower(mean_r.copy(), mean_p, smith_midpoints(weight * mean_r / game.work, game.work))
        if done():
            return
        if step >= 4 * _CHECK and step % _CHECK == 0 and state.gap < _RESTART * restarted_at:
            # averages become the new start: older, worse iterates no longer weigh on them
            restarted_at = state.gap
            midpoint = mean_h.copy()
            rounds, paths = shares.restart(mean_r, mean_p)
            mean_h, mean_r, mean_p = np.zeros_like(mean_h), np.zeros_like(mean_r), np.zeros_like(mean_p)
            mass, step = 0.0, 0
