"""The constants of the guarantee, exact or rounded up: alpha, V, W, rho, e, Phi, Psi, K.

With q_i = min_m p_{i,m} and sigma_i = min_m s_{i,m} over the GPUs that task i may use:

    alpha_p = max p_{i,m}/q_i      alpha_s = max s_{i,m}/sigma_i  (0/0 = 1, x/0 = infinity: None here)
    alpha_c = max (p_{i,m}+s_{i,m})/(q_i+sigma_i)
    V = sum_m max_i q_i/p_{i,m}
    W = min_v sum over m in E_v of min { q_i/p_{i,m} : m in E_i }
    rho = max(1, max q_i/q_k, i in an earlier round of the job of k)      e = 2 rho/(1+rho)

Square roots are irrational; they are replaced by rationals at most 2^-64 above them, so every
constant printed here is at least the true one and a check against it is slightly weaker, never
wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from hetopt.analysis.certify.midpoint.tasks import TaskProblem

__all__ = ["Constants", "constants_of", "factor_k", "phi", "phi_plain", "psi", "sqrt_up"]

_BITS = 64


def sqrt_up(x: Fraction) -> Fraction:
    """A rational in [sqrt(x), sqrt(x) + 2^-64]; exact when x is the square of a fraction of 2^64."""
    if x < 0:
        raise ValueError(f"the square root of {x} is not real")
    scaled = -((-x.numerator << (2 * _BITS)) // x.denominator)  # x 4^64, rounded up
    root = isqrt(scaled)
    return Fraction(root + (root * root < scaled), 1 << _BITS)


@dataclass(frozen=True)
class Constants:
    """See the module.  ``alpha_s`` and ``alpha`` are None for infinity.

    ``fewest`` is min_v |E_v|; ``forbidden`` says whether some task may not run somewhere;
    ``sync_free`` and ``all_at_zero`` whether all s are 0, and all releases.
    """

    num_gpus: int
    alpha_p: Fraction
    alpha_s: Fraction | None
    alpha_c: Fraction
    capacity: Fraction
    weakest: Fraction
    rho: Fraction
    e: Fraction
    fewest: int
    forbidden: bool
    sync_free: bool
    all_at_zero: bool

    @property
    def alpha(self) -> Fraction | None:
        """max(alpha_p, alpha_s): the alpha of the papers."""
        return None if self.alpha_s is None else max(self.alpha_p, self.alpha_s)


def constants_of(problem: TaskProblem) -> Constants:
    """Compute all of them from the data, exactly."""
    gpus = range(problem.num_gpus)
    alpha_p = alpha_c = Fraction(1)
    alpha_s: Fraction | None = Fraction(1)
    best: list[Fraction] = [Fraction(0)] * problem.num_gpus
    worst: list[Fraction | None] = [None] * problem.num_gpus
    for p_row, s_row in problem.kinds:
        pairs = {(p, s) for p, s in zip(p_row, s_row, strict=True) if p is not None and s is not None}
        q, sigma = min(p for p, _ in pairs), min(s for _, s in pairs)
        alpha_p = max(alpha_p, Fraction(max(p for p, _ in pairs), q))
        alpha_c = max(alpha_c, Fraction(max(p + s for p, s in pairs), q + sigma))
        longest = max(s for _, s in pairs)
        if longest and not sigma:
            alpha_s = None
        elif longest and alpha_s is not None:
            alpha_s = max(alpha_s, Fraction(longest, sigma))
        for m in gpus:
            p = p_row[m]
            if p is not None:
                ratio, low = Fraction(q, p), worst[m]
                best[m] = max(best[m], ratio)
                worst[m] = ratio if low is None else min(low, ratio)
    sets = set(problem.eligible)
    weakest = min(sum((worst[m] or Fraction(0) for m in usable), Fraction(0)) for usable in sets)
    rho = Fraction(1)
    for rounds in problem.rounds:
        longest_before = 0
        for tasks in rounds:
            here = [problem.shortest[i] for i in tasks]
            rho = max(rho, Fraction(longest_before, min(here)))
            longest_before = max(longest_before, *here)
    return Constants(
        num_gpus=problem.num_gpus,
        alpha_p=alpha_p,
        alpha_s=alpha_s,
        alpha_c=alpha_c,
        capacity=sum(best, Fraction(0)),
        weakest=weakest,
        rho=rho,
        e=2 * rho / (1 + rho),
        fewest=min(len(usable) for usable in sets),
        forbidden=any(len(usable) < problem.num_gpus for usable in sets),
        sync_free=not any(s for _, row in problem.kinds for s in row),
        all_at_zero=not any(problem.release),
    )


def psi(capacity: Fraction, weakest: Fraction, e: Fraction, alpha_c: Fraction) -> Fraction:
    """Psi(B, W, e, alpha_c) of Theorem 1 from its closed form, rounded up.

    The maximum over 0 <= y <= 1, e y^2 <= B of
    (B/W)(1 + sqrt(1 - e y^2/B)) + alpha_c (1-y) + (alpha_c - 1/W) e y.
    """
    ratio, b = capacity / weakest, e / capacity
    slope = alpha_c * (e - 1) - e / weakest
    if slope <= 0:
        return 2 * ratio + alpha_c
    bend = slope * slope / (ratio * ratio * b)
    top_squared = bend / b / (1 + bend)  # square of the unconstrained maximiser
    limit_squared = min(Fraction(1), 1 / b)
    if top_squared <= limit_squared:
        return ratio + alpha_c + ratio * sqrt_up(1 + bend)
    return ratio + alpha_c + slope * sqrt_up(limit_squared) + ratio * sqrt_up(1 - b * limit_squared)


def factor_k(start_factor: Fraction, alpha_c: Fraction) -> Fraction:
    """K = max(Psi, Psi/2 + alpha_c) of Theorem 2."""
    return max(start_factor, start_factor / 2 + alpha_c)


def phi(num_gpus: int, e: Fraction = Fraction(2)) -> Fraction:
    """Phi_e(M) of Corollary A, rounded up: Psi(M, M, e, 1); Phi(M) is the value at e = 2."""
    m = Fraction(num_gpus)
    return psi(m, m, e, Fraction(1))


def phi_plain(num_gpus: int, e: Fraction) -> Fraction:
    """Corollary B (no sync, no arrivals), rounded up: Phi0(M) when e = 1, otherwise Phi00(M)."""
    m = Fraction(num_gpus)
    if num_gpus == 1:
        return Fraction(2)
    if e == 1:
        return 1 + sqrt_up(Fraction(3, 2)) if num_gpus == 2 else 2 - 1 / m + sqrt_up(1 - 1 / m)
    return 1 + sqrt_up(Fraction(2)) if num_gpus == 2 else 3 - 2 / m + sqrt_up(1 - 2 / m)
