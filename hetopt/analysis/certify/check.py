"""Checking certificates: recompute what the evidence proves, in exact arithmetic, and compare."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from hetopt.analysis.certify.reading import Proved, Refused
from hetopt.core.certificate import Bound, Certificate
from hetopt.core.documents import exact_text
from hetopt.core.instance import Instance
from hetopt.core.objectives import offset
from hetopt.core.result import Result
from hetopt.core.round_problem import RoundProblem
from hetopt.core.status import Objective, Trust

__all__ = ["KINDS", "Verdict", "check_certificate", "trusted", "trusted_result"]

_PLACE = "hetopt.analysis.certify.kinds"
KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "midpoint-lp": f"{_PLACE}.midpoint_lp:prove_base",
        "midpoint-lp-strong": f"{_PLACE}.midpoint_lp:prove_strong",
        "combinatorial": f"{_PLACE}.combinatorial:prove",
        "convex-qp": f"{_PLACE}.convex_qp:prove",
        "time-indexed-lagrangian": f"{_PLACE}.time_indexed:prove",
        "fft-round": f"{_PLACE}.fft_round:prove",
    }
)
"""Kinds of certificates and the function that checks each."""

ROUND_KINDS: Final = frozenset({"fft-round"})
"""Those that are about an FFT round; all others are about an instance."""


@dataclass(frozen=True)
class Verdict:
    """Whether a certificate proves its bound.

    Attributes
    ----------
    valid
        True if it does.
    bound
        What its evidence proves, recomputed; None if nothing.
    objective
        What the bound is about; None for problems with one objective only.
    reasons
        Why it is refused; empty when valid.
    """

    valid: bool
    bound: Fraction | None
    objective: Objective | None
    reasons: tuple[str, ...]

    def value_for(self, instance: Instance, objective: Objective) -> Fraction | None:
        """The bound in another objective that differs by a constant; None where it says nothing about that."""
        if self.bound is None or not self.valid:
            return None
        if self.objective is objective:
            return self.bound
        sums = (Objective.TOTAL_WEIGHTED_COMPLETION, Objective.TOTAL_WEIGHTED_FLOW)
        if self.objective not in sums or objective not in sums:
            return None
        return self.bound - offset(instance, self.objective) + offset(instance, objective)


def _refused(*reasons: str) -> Verdict:
    return Verdict(False, None, None, reasons)


def check_certificate(problem: Instance | RoundProblem, certificate: Certificate) -> Verdict:
    """Check a certificate against its problem: rational arithmetic only, no solver, no floating point.

    The value of the evidence has to *equal* the stated bound, so a changed number is refused.
    """
    if certificate.fingerprint != problem.fingerprint:
        return _refused(
            f"the certificate is about {certificate.fingerprint[:12]}..., the problem is {problem.fingerprint[:12]}..."
        )
    if certificate.kind not in KINDS:
        return _refused(f"no kind of certificate is called {certificate.kind!r}; known: {', '.join(KINDS)}")
    about_round = certificate.kind in ROUND_KINDS
    if about_round != isinstance(problem, RoundProblem):
        what = "an FFT round" if about_round else "an instance"
        return _refused(f"certificates of kind {certificate.kind!r} are about {what}; the problem is not one")
    module, _, name = KINDS[certificate.kind].partition(":")
    prove: Callable[[Any, Any], Proved] = getattr(importlib.import_module(module), name)
    try:
        proved = prove(problem, certificate.data)
    except Refused as refusal:
        return _refused(str(refusal))
    if proved.bound != certificate.bound:
        reason = (
            f"the evidence proves {exact_text(proved.bound)}, the certificate states {exact_text(certificate.bound)}"
        )
        return Verdict(False, proved.bound, proved.objective, (reason,))
    return Verdict(True, proved.bound, proved.objective, ())


def trusted(instance: Instance, bound: Bound, objective: Objective) -> tuple[Bound, tuple[str, ...]]:
    """The bound with trust VERIFIED if its certificate proves it; otherwise unchanged, with the reasons."""
    if bound.certificate is None:
        return bound, ("there is no certificate",)
    verdict = check_certificate(instance, bound.certificate)
    if not verdict.valid:
        return bound, verdict.reasons
    value = verdict.value_for(instance, objective)
    if value is None:
        return bound, (f"the certificate is about {verdict.objective}, not {objective}",)
    if value < bound.value:
        return bound, (f"the certificate proves {exact_text(value)}, less than the bound {exact_text(bound.value)}",)
    return Bound(value, bound.source, Trust.VERIFIED, bound.certificate), ()


CHECKED_ROUNDS: Final = 5_000
"""Up to so many rounds ``solve`` and ``compare`` check certificates themselves (about a second); above, ``hetopt verify`` does."""


def trusted_result(instance: Instance, result: Result, most_rounds: int = CHECKED_ROUNDS) -> Result:
    """The result with its bound VERIFIED where the certificate proves it; unchanged otherwise, and above ``most_rounds``."""
    if result.exact_bound is None or instance.num_rounds > most_rounds:
        return result
    bound, reasons = trusted(instance, result.exact_bound, result.objective_kind)
    return result if reasons else dataclasses.replace(result, exact_bound=bound)
