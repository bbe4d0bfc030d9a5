"""Independent checks in exact arithmetic: certificates of bounds, documents, and the midpoint bound.

Nothing here shares code with what produces schedules, bounds or certificates; there is no solver
and no floating point in any decision.  Start with ``check.py`` and ``kinds/``: they are short
enough to be read in one sitting.
"""

from hetopt.analysis.certify.check import Verdict, check_certificate, trusted, trusted_result
from hetopt.analysis.certify.verification import Verification, verify

__all__ = ["Verdict", "Verification", "check_certificate", "trusted", "trusted_result", "verify"]
