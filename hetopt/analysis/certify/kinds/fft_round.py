"""Certificates of kind ``fft-round``: type prices, and a tree of cases with prices at its leaves.

For any prices, sum over jobs of the cheapest option at cost + demand x price, less the price of all GPUs that some
set of jobs can use (62 of 63 where demands are even), plus the idle GPUs at the lowest price, is at most the cost of every allocation that the rule admits.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hetopt.analysis.certify.reading import Proved, Refused, keys, listed, one_of, whole
from hetopt.core.errors import UsageError
from hetopt.core.round_problem import CostModel, RoundProblem

__all__ = ["prove"]

_KEYS = ("cost", "rule", "used", "usage_cut", "denominator", "prices", "goal", "tree")
_TERMS = ("age", "size", "migration", "fairness", "work")
WAIT = -1


def prove(problem: RoundProblem, data: Any) -> Proved:
    """The bound that the prices and the tree prove, exactly."""
    if not isinstance(problem, RoundProblem):
        raise Refused("kind: 'fft-round' is about an FFT round, the problem is an instance")
    keys(data, _KEYS, "data")
    rule = one_of(data["rule"], ("most-gpus", "none"), "data.rule")
    unit = whole(data["denominator"], "data.denominator", 1)
    proof = _Proof(problem, _cost(data["cost"]), rule == "none", unit)
    if rule == "none":
        if data["used"] is not None or data["usage_cut"] is not None:
            raise Refused("data.used: null is required where no number of GPUs is asked for")
    else:
        proof.use(whole(data["used"], "data.used"), data["usage_cut"])
    prices = proof.prices(data["prices"], "data.prices")
    goal = data["goal"]
    if not isinstance(goal, int) or isinstance(goal, bool):
        raise Refused("data.goal: a whole number is required")
    return Proved(Fraction(proof.value(prices, goal, data["tree"]), unit), None)


def _cost(raw: Any) -> CostModel:
    keys(raw, _TERMS, "data.cost")
    try:
        return CostModel(**raw)
    except UsageError as error:
        raise Refused(f"data.cost: {error}") from None


class _Proof:
    def __init__(self, problem: RoundProblem, cost: CostModel, free: bool, unit: int) -> None:
        counts = [gpu_type.count for gpu_type in problem.gpu_types]
        self.free, self.idle, self.all_run = free, 0, False
        self.options: dict[int, dict[int, int]] = {}  # job -> type -> cost in units, rounded down
        self.demand: dict[int, int] = {}
        for j, job in enumerate(problem.jobs):
            usable = [i for i, rate in enumerate(job.throughput) if rate is not None and job.demand <= counts[i]]
            exact = {i: problem.exact_cost(j, i, cost) * unit for i in usable}
            if usable:
                self.options[j] = {i: c.numerator // c.denominator for i, c in exact.items()}
                self.demand[j] = job.demand
        # what the jobs can use of each type at all: no allocation uses more of it, whatever the number of GPUs
        self.counts = [
            _largest_sum(g, [self.demand[j] for j, o in self.options.items() if i in o]) for i, g in enumerate(counts)
        ]

    def use(self, used: int, cut: Any) -> None:
        """Restrict to allocations that use exactly ``used`` GPUs, and check that none uses more.

        A set S of types bounds what can be used: at most R_i on each type of S (the largest sum of demands of jobs that
        may use it within its capacity), and at most the demand of the jobs that can use a type outside S.
        """
        if cut is None:
            raise Refused(
                "data.usage_cut: null: that no allocation uses more GPUs rests on a solver's word, not on this certificate"
            )
        chosen = {whole(i, "data.usage_cut") for i in listed(cut, "data.usage_cut")}
        if any(i >= len(self.counts) for i in chosen):
            raise Refused("data.usage_cut: no such type")
        inside = sum(self.counts[i] for i in chosen)
        outside = sum(self.demand[j] for j, o in self.options.items() if not set(o) <= chosen)
        if inside + outside != used:
            raise Refused(f"data.used: the cut shows that at most {inside + outside} GPUs can be used, not {used}")
        self.idle = sum(self.counts) - used
        self.all_run = used == sum(self.demand.values())

    def prices(self, raw: Any, where: str) -> list[int]:
        prices = listed(raw, where, len(self.counts))
        for i, price in enumerate(prices):
            if not isinstance(price, int) or isinstance(price, bool) or (self.free and price < 0):
                rule = "a whole number >= 0" if self.free else "a whole number"
                raise Refused(f"{where}[{i}]: {rule} is required")
        return prices

    def reduced(self, job: int, prices: list[int]) -> dict[int, int]:
        """Cost + rent of each option of a job; waiting costs nothing."""
        out = {i: c + self.demand[job] * prices[i] for i, c in self.options[job].items()}
        if not self.all_run:
            out[WAIT] = 0
        return out

    def rent(self, prices: list[int]) -> int:
        idle = 0 if self.free else self.idle * min(prices)
        return idle - sum(p * g for p, g in zip(prices, self.counts, strict=True))

    def value(self, prices: list[int], goal: int, tree: Any) -> int:
        """Root value, or up to ``goal`` with the tree: options too dear for an allocation below the goal are dropped."""
        reduced = {j: self.reduced(j, prices) for j in self.options}
        root = sum(min(o.values()) for o in reduced.values()) + self.rent(prices)
        if tree is None or goal <= root:
            if tree is not None:
                raise Refused("data.tree: null is required where the goal is not above what the prices prove alone")
            return root
        kept = {
            j: {o for o, r in options.items() if r - min(options.values()) <= goal - root}
            for j, options in reduced.items()
        }
        single = {j: next(iter(k)) for j, k in kept.items() if len(k) == 1}
        base, used = 0, [0] * len(self.counts)
        for j, option in single.items():
            if option != WAIT:
                base += self.options[j][option]
                used[option] += self.demand[j]
        loose = [j for j in kept if j not in single]

        def leaf(node: dict[str, Any], allowed: dict[int, set[int]], where: str) -> int:
            at = self.prices(node["prices"], f"{where}.prices")
            total = base + sum(u * p for u, p in zip(used, at, strict=True)) + self.rent(at)
            for j in loose:
                options = self.reduced(j, at)
                total += min(options[o] for o in allowed.get(j, kept[j]))
            return total

        least: int | None = None
        stack: list[tuple[Any, dict[int, set[int]], str]] = [(tree, {}, "data.tree")]
        while stack:
            node, allowed, where = stack.pop()
            if isinstance(node, dict) and "prices" in node:
                keys(node, ("prices",), where)
                found = leaf(node, allowed, where)
                least = found if least is None else min(least, found)
                continue
            keys(node, ("job", "option", "in", "out"), where)
            job = whole(node["job"], f"{where}.job")
            if job not in self.options:
                raise Refused(f"{where}.job: job {job} has no usable type")
            option = WAIT if node["option"] is None else whole(node["option"], f"{where}.option")
            now = allowed.get(job, kept[job])
            for side, part in (("in", now & {option}), ("out", now - {option})):
                if part:  # with nothing left there is no allocation in this case
                    stack.append((node[side], {**allowed, job: part}, f"{where}.{side}"))
        return goal if least is None else max(root, min(goal, least))


def _largest_sum(capacity: int, demands: list[int]) -> int:
    """The largest sum of some of the demands within the capacity."""
    if sum(demands) <= capacity:
        return sum(demands)
    sums = 1
    for demand in demands:
        sums |= (sums << demand) & ((1 << (capacity + 1)) - 1)
        if sums >> capacity & 1:
            return capacity
    return sums.bit_length() - 1
