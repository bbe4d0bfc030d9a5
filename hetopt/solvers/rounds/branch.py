"""Branch and bound over the core of a round: few jobs, few options, bounds by prices at every node.

A node fixes some (job, option) pairs in or out.  Its bound is the restricted linear programme's, and
the programme's prices prove it by weak duality whatever the pairs, so the finished tree with one
price vector a leaf is a proof that anybody can check (certificate kind ``fft-round``).

Search: plunge towards "in", then continue at the open node of least bound.  Guarantee: exact
over the core.  Complexity: exponential in the worst case; on rounds of 4,000 jobs and 8 types some tens to
hundreds of nodes (benchmarks/rounds.py).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hetopt.solvers.rounds.prices import Market, RestrictedProgramme, reduced_costs

__all__ = ["Node", "branch_and_bound"]

Floats = NDArray[np.float64]
_INTEGRAL = 1e-6


@dataclass
class Node:
    """A node of the tree: a leaf with prices, or a branching on (job, option) with two children.

    ``option`` K means waiting.  ``bound`` is relative to the Lagrangian of the root's prices.
    """

    bound: float
    prices: Floats | None = None
    job: int = -1
    option: int = -1
    inside: Node | None = None
    outside: Node | None = None


@dataclass(order=True)
class _Open:
    bound: float
    serial: int
    node: Node = field(compare=False)
    fixed: tuple[tuple[int, bool], ...] = field(compare=False)


def branch_and_bound(
    market: Market,
    prices: Floats,
    core: NDArray[np.int64],
    width: float,
    *,
    cutoff: float,
    tolerance: float,
    node_limit: int | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Node:
    """Search the allocations in which every job uses an option within ``width`` of its cheapest.

    Parameters
    ----------
    market, prices
        The round and the root's prices.
    core : (m,) int64
        Jobs with more than one option within ``width``.
    width
        Largest reduced cost of an option that is kept.
    cutoff
        Value (above the root's Lagrangian) of the best allocation known; only better ones are of interest.
    tolerance
        Nodes whose bound is within this of the best value are pruned.
    node_limit
        Stop after so many nodes.
    stopped
        Polled between nodes (time limit, Ctrl-C).

    Returns
    -------
    The root of the tree; nodes that were not reached have the prices of their parent.
    """
    scale = min(cutoff, width) if np.isfinite(min(cutoff, width)) else 1.0
    programme = RestrictedProgramme(market, prices, core, width, penalty=64.0 * max(scale, 1e-9))
    number = programme.num_options
    best_value, improved = cutoff, False
    root = Node(0.0)
    open_nodes = [_Open(0.0, 0, root, ())]
    serial = nodes = 0
    plunge: _Open | None = heapq.heappop(open_nodes)
    while plunge is not None or open_nodes:
        current = plunge if plunge is not None else heapq.heappop(open_nodes)
        plunge = None
        least = min(current.bound, open_nodes[0].bound) if open_nodes else current.bound
        out_of_budget = (node_limit is not None and nodes >= node_limit) or (nodes > 0 and stopped())
        if out_of_budget or (improved and best_value <= least):
            return root
        nodes += 1
        lower, upper = np.zeros(number), np.ones(number)
        for column, taken in current.fixed:
            if taken:
                lower[column] = 1.0
            else:
                upper[column] = 0.0
        bound, x, node_prices, unpaid = programme.solve(lower, upper)
        current.node.bound = bound
        if bound >= best_value - tolerance:
            current.node.prices = node_prices
            continue
        distance = np.abs(x - np.rint(x))
        if unpaid and distance.max(initial=0.0) <= _INTEGRAL:
            current.node.prices = node_prices
            value = _value(market, programme, _allocation(programme, x))
            if value < best_value:
                best_value, improved = value, True
            continue
        weight = distance * market.demand[core[programme.col_job]]
        column = (
            int(np.argmax(weight)) if distance.max(initial=0.0) > _INTEGRAL else _free_column(programme, current.fixed)
        )
        if column < 0:  # everything is fixed and GPUs are short or over: no allocation here
            current.node.prices = node_prices
            continue
        job, option_of = int(core[programme.col_job[column]]), int(programme.col_option[column])
        node = current.node
        node.job, node.option = job, option_of
        node.inside, node.outside = Node(bound, node_prices), Node(bound, node_prices)
        serial += 2
        plunge = _Open(bound, serial - 1, node.inside, (*current.fixed, (column, True)))
        heapq.heappush(open_nodes, _Open(bound, serial, node.outside, (*current.fixed, (column, False))))
    return root


def _free_column(programme: RestrictedProgramme, fixed: tuple[tuple[int, bool], ...]) -> int:
    """A column that is not decided yet although the solution is integral (a penalty is paid), or -1."""
    decided = np.zeros(programme.num_options, dtype=bool)
    jobs_done = np.zeros(len(programme.core), dtype=bool)
    for column, taken in fixed:
        decided[column] = True
        if taken:
            jobs_done[programme.col_job[column]] = True
    free = np.flatnonzero(~decided & ~jobs_done[programme.col_job])
    return int(free[0]) if len(free) else -1


def _allocation(programme: RestrictedProgramme, x: Floats) -> NDArray[np.int64]:
    option: NDArray[np.int64] = programme.best.astype(np.int64).copy()
    chosen = x > 0.5
    option[programme.core[programme.col_job[chosen]]] = programme.col_option[chosen]
    return option


def _value(market: Market, programme: RestrictedProgramme, option: NDArray[np.int64]) -> float:
    """Cost above the root's Lagrangian value: reduced costs of the options plus the rent of idle GPUs; inf if over capacity."""
    slack = reduced_costs(market, programme.base)
    slack -= slack.min(axis=0)
    used = np.bincount(option, weights=market.demand, minlength=market.types + 1)[: market.types]
    idle = market.count - used
    if (idle < -0.5).any() or (market.idle is not None and abs(float(idle.sum()) - market.idle) > 0.5):
        return float("inf")
    rent = programme.base - (float(programme.base.min()) if market.idle is not None else 0.0)
    return float(slack[option, np.arange(market.jobs)].sum() + rent @ idle)
