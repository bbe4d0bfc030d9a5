"""Certificates of kind ``fft-round``: type prices, and a search tree with prices at its leaves.

All numbers are integers over one power of two.  The builder evaluates its own evidence in exact
integer arithmetic and states the bound that it really proves (usually the target, the cost of the
best allocation less 1e-9 of it).  The checker in ``hetopt.analysis.certify`` shares no code with this module.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetopt.core.certificate import Certificate
from hetopt.core.round_problem import CostModel, RoundProblem
from hetopt.core.round_solver import WorkConservation
from hetopt.solvers.rounds.branch import Node
from hetopt.solvers.rounds.prices import Market
from hetopt.solvers.rounds.usage import Usage

__all__ = ["build_certificate"]

_DIGITS = 44
"""Binary digits of the evidence beyond the size of the bound."""


def build_certificate(
    problem: RoundProblem,
    cost: CostModel,
    rule: WorkConservation,
    usage: Usage,
    market: Market,
    active: NDArray[np.int64],
    prices: NDArray[np.float64],
    root: Node | None,
    target: Fraction,
) -> Certificate:
    """Evidence for the largest bound up to ``target`` that the search supports, exactly evaluated."""
    size = abs(target) or Fraction(1)
    unit = 1 << max(0, _DIGITS - (size.numerator.bit_length() - size.denominator.bit_length()))
    builder = _Builder(problem, cost, rule, usage, market, active, unit)
    root_prices = builder.integers(prices)
    tree = None if root is None else builder.tree(root, root_prices)
    goal = (target.numerator * unit) // target.denominator
    bound, tree = builder.proved(root_prices, tree, goal)
    data: dict[str, Any] = {
        "cost": cost.to_dict(),
        "rule": str(rule),
        "used": usage.value if rule is WorkConservation.MOST_GPUS else None,
        "usage_cut": list(usage.cut) if rule is WorkConservation.MOST_GPUS and usage.cut is not None else None,
        "denominator": unit,
        "prices": root_prices,
        "goal": goal,
        "tree": tree,
    }
    return Certificate("fft-round", bound, problem.fingerprint, data)


class _Builder:
    def __init__(
        self,
        problem: RoundProblem,
        cost: CostModel,
        rule: WorkConservation,
        usage: Usage,
        market: Market,
        active: NDArray[np.int64],
        unit: int,
    ) -> None:
        self.unit = unit
        self.active, self.types = active.tolist(), market.types
        self.counts: list[int] = usage.room.tolist()
        self.free = rule is WorkConservation.NONE
        self.idle = 0 if self.free else sum(self.counts) - usage.value
        self.must_run = market.must_run
        self.demand = [int(problem.arrays.demand[j]) for j in self.active]
        allowed = problem.arrays.allowed
        self.costs: list[dict[int, int]] = []  # floor of cost x scale, by type
        for j in self.active:
            exact = {i: problem.exact_cost(j, i, cost) for i in np.flatnonzero(allowed[j]).tolist()}
            self.costs.append({i: (c.numerator * unit) // c.denominator for i, c in exact.items()})

    def integers(self, prices: NDArray[np.float64]) -> list[int]:
        """Prices in units; never negative where GPUs may stay unused."""
        whole = [int(Fraction(float(p)) * self.unit) for p in prices]
        return [max(p, 0) for p in whole] if self.free else whole

    def options(self, position: int, prices: list[int]) -> dict[int, int]:
        """Reduced costs of the options of a job; waiting is option K."""
        d = self.demand[position]
        out = {i: c + d * prices[i] for i, c in self.costs[position].items()}
        if not self.must_run:
            out[self.types] = 0
        return out

    def constant(self, prices: list[int]) -> int:
        rent = 0 if self.free else self.idle * min(prices)
        paid: int = sum(p * g for p, g in zip(prices, self.counts, strict=True))
        return rent - paid

    def tree(self, node: Node, fallback: list[int]) -> dict[str, Any]:
        """The search tree as nested JSON values; unfinished nodes get the root's prices."""
        if node.inside is None or node.outside is None:
            return {"prices": fallback if node.prices is None else self.integers(node.prices)}
        return {
            "job": self.active[node.job],
            "option": node.option if node.option < self.types else None,
            "in": self.tree(node.inside, fallback),
            "out": self.tree(node.outside, fallback),
        }

    def proved(
        self, prices: list[int], tree: dict[str, Any] | None, goal: int
    ) -> tuple[Fraction, dict[str, Any] | None]:
        """min(goal, least leaf bound), with options excluded by the root's prices for that goal; the tree if it is needed."""
        root = [self.options(p, prices) for p in range(len(self.active))]
        least = [min(o.values()) for o in root]
        value = sum(least) + self.constant(prices)
        if tree is None or goal <= value:
            return Fraction(value, self.unit), None
        kept = [
            {o for o, r in options.items() if r - low <= goal - value} for options, low in zip(root, least, strict=True)
        ]
        fixed = [p for p, options in enumerate(kept) if len(options) == 1]
        loose = [p for p, options in enumerate(kept) if len(options) > 1]
        base, used = 0, [0] * self.types
        for p in fixed:
            (option,) = kept[p]
            if option < self.types:
                base += self.costs[p][option]
                used[option] += self.demand[p]
        where = {j: p for p, j in enumerate(self.active)}

        def leaf(leaf_prices: list[int], allowed: dict[int, set[int]]) -> int:
            total = base + sum(u * q for u, q in zip(used, leaf_prices, strict=True)) + self.constant(leaf_prices)
            for p in loose:
                options = self.options(p, leaf_prices)
                total += min(options[o] for o in allowed.get(p, kept[p]))
            return total

        def walk(node: dict[str, Any], allowed: dict[int, set[int]]) -> int | None:
            """Least leaf bound below a node; None when the root's prices exclude everything below it."""
            if "prices" in node:
                return leaf(node["prices"], allowed)
            p = where[node["job"]]
            option = self.types if node["option"] is None else node["option"]
            now = allowed.get(p, kept[p])
            parts = ((now & {option}, "in"), (now - {option}, "out"))
            both = [b for some, side in parts if some and (b := walk(node[side], {**allowed, p: some})) is not None]
            return min(both) if both else None

        reached = walk(tree, {})
        return Fraction(goal if reached is None else max(value, min(goal, reached)), self.unit), tree
