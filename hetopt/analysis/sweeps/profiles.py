r"""Performance profiles: the share of problems on which a solver is within a factor tau of the best of all.

.. math:: \rho_s(\tau) = \frac{1}{|P|} \left|\left\{p \in P : \frac{t_{p,s}}{\min_{s'} t_{p,s'}} \le \tau\right\}\right|

A run without a value counts as never within any factor.  With more than two solvers a profile says
which is best, and not who beats whom (the second reference): paired comparisons say that.

References
----------
Dolan, More: Benchmarking optimization software with performance profiles, Math. Program. 91 (2002) 201-213.
Gould, Scott: A note on performance profiles for benchmarking software, ACM TOMS 43 (2016), article 15.
"""

from __future__ import annotations

from dataclasses import dataclass

from hetopt.analysis.sweeps.collect import SweepTable

__all__ = ["Profile", "performance_profiles"]


@dataclass(frozen=True)
class Profile:
    """One solver's profile.

    Attributes
    ----------
    ratios
        Ascending ratios to the best, one a problem (and seed) that it has a value for.
    problems
        Number of problems (and seeds) in all: the denominator.
    """

    solver: str
    ratios: tuple[float, ...]
    problems: int

    def share(self, tau: float) -> float:
        """rho(tau)."""
        return sum(r <= tau for r in self.ratios) / self.problems if self.problems else 0.0


def performance_profiles(table: SweepTable, metric: str) -> tuple[Profile, ...]:
    """Profiles of every solver with a value of the metric (less is better, values > 0), over all its problems and seeds."""
    found = {s: {k: v for k, v in table.values(metric, s).items() if v > 0} for s in table.solvers}
    found = {s: values for s, values in found.items() if values}
    best: dict[tuple[str, int], float] = {}
    for values in found.values():
        for place, value in values.items():
            best[place] = min(value, best.get(place, value))
    return tuple(
        Profile(s, tuple(sorted(v / best[place] for place, v in values.items())), len(best))
        for s, values in found.items()
    )
