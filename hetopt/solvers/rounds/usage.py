r"""The most GPUs that an allocation can use, with a proof where a short one exists.

.. math:: U^* = \max \sum_{j,i} d_j x_{ji},\quad \sum_i x_{ji} \le 1,\quad \sum_j d_j x_{ji} \le G_i,\quad x \in \{0,1\}.

This is a multiple subset-sum problem with eligibility (NP-hard in general).  Upper bound: a
maximum flow from classes of jobs with the same usable types to the types, in which type i takes
at most R_i, the largest sum of demands of jobs that may use it that is at most G_i.  Lower bound: largest
demand first, into the type with the most room, repaired by an integer programme over classes of
jobs that are alike in demand and usable types (few variables, whatever the number of jobs).

Guarantee: ``value`` is exact.  ``cut`` is a set of types that proves it by the flow bound when the
flow bound is reached, which it is for divisible demands (1, 2, 4, 8) without forbidden types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from hetopt.core.round_problem import RoundArrays

__all__ = ["Usage", "most_gpus", "reachable"]


@dataclass(frozen=True, eq=False)
class Usage:
    """The most GPUs usable.

    Attributes
    ----------
    value
        U*.
    gpu_type
        An allocation that uses them, (n,) int64, -1 where the job waits.
    cut
        Types S with: sum of R_i over S + sum of the demands of the jobs that can use a type outside S = U*;
        None when the flow bound is above U* and the value rests on an integer programme.
    room : (K,) int64
        R_i: what can be used of a type's GPUs whatever the prices (62 of 63 with even demands).
    """

    value: int
    gpu_type: NDArray[np.int64]
    cut: tuple[int, ...] | None
    room: NDArray[np.int64]


def reachable(capacity: int, demands: NDArray[np.int64]) -> int:
    """The largest sum of a sub-multiset of ``demands`` that is at most ``capacity`` (subset sum by bit sets)."""
    if int(demands.sum()) <= capacity:
        return int(demands.sum())
    sums, mask = 1, (1 << (capacity + 1)) - 1
    sizes, copies = np.unique(demands, return_counts=True)
    for size, number in zip(sizes.tolist(), copies.tolist(), strict=True):
        number = min(number, capacity // size)
        step = 1
        while number > 0:  # binary splitting of the copies
            take = min(step, number)
            sums |= (sums << (take * size)) & mask
            number -= take
            step *= 2
        if sums >> capacity & 1:
            return capacity
    return sums.bit_length() - 1


_known: WeakKeyDictionary[RoundArrays, Usage] = WeakKeyDictionary()


def most_gpus(arrays: RoundArrays) -> Usage:
    """U* of a round and an allocation that attains it; O(n log n) unless the integer programme is needed.

    Remembered as long as the round lives: solvers, models and the check of their answers all ask.
    """
    if arrays not in _known:
        _known[arrays] = _most_gpus(arrays)
    return _known[arrays]


def _most_gpus(arrays: RoundArrays) -> Usage:
    demand, allowed = arrays.demand, arrays.allowed
    types = allowed.shape[1]
    room = np.array([reachable(int(g), demand[allowed[:, i]]) for i, g in enumerate(arrays.count)], dtype=np.int64)
    bits = (
        1 << np.arange(types, dtype=np.int64) if types < 63 else np.array([1 << i for i in range(types)], dtype=object)
    )
    masks, member = np.unique(allowed @ bits, return_inverse=True)
    member = member.ravel()
    supply = np.bincount(member, weights=demand, minlength=len(masks)).astype(np.int64)
    upper, cut = _flow_bound(room, masks, supply)
    placed = _largest_first(demand, allowed, arrays.count)
    used = int(demand[placed >= 0].sum())
    if used < upper:
        placed = _by_classes(arrays, member)
        used = int(demand[placed >= 0].sum())
    return Usage(used, placed, cut if used == upper else None, room)


def _flow_bound(
    room: NDArray[np.int64], masks: NDArray[np.int64], supply: NDArray[np.int64]
) -> tuple[int, tuple[int, ...]]:
    """Maximum flow from classes to types, and the types on the source side of a minimum cut.

    The minimum cut picks a set S of types to pay for in full; every class that reaches a type outside
    S pays its supply.  With K types it is enough to look at all 2^K sets while K is small; beyond
    that, networkx finds the cut.
    """
    types = len(room)
    if types <= 12:
        best, chosen = None, 0
        for subset in range(1 << types):
            value = int(room[[i for i in range(types) if subset >> i & 1]].sum())
            value += int(supply[(masks & ~subset) != 0].sum())
            if best is None or value < best:
                best, chosen = value, subset
        return best or 0, tuple(i for i in range(types) if chosen >> i & 1)
    import networkx as nx

    graph: Any = nx.DiGraph()
    graph.add_nodes_from(("source", "sink"))
    for i, capacity in enumerate(room.tolist()):
        graph.add_edge(("type", i), "sink", capacity=capacity)
    for c, (mask, amount) in enumerate(zip(masks.tolist(), supply.tolist(), strict=True)):
        graph.add_edge("source", ("class", c), capacity=amount)
        for i in range(types):
            if mask >> i & 1:
                graph.add_edge(("class", c), ("type", i))
    flow, (reached, _) = nx.minimum_cut(graph, "source", "sink")
    return int(flow), tuple(i for i in range(types) if ("type", i) in reached)


def _largest_first(
    demand: NDArray[np.int64], allowed: NDArray[np.bool_], count: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Jobs by falling demand (then fewest usable types), each into its usable type with the most room."""
    left, need = count.tolist(), demand.tolist()
    placed = np.full(len(demand), -1, dtype=np.int64)
    number = allowed.sum(axis=1)
    usable = allowed.tolist()
    full = (1 << 62) - 1
    smallest = full  # a demand that found no room anywhere is not tried again where every type is usable
    for j in np.lexsort((number, -demand)).tolist():
        if need[j] >= smallest or number[j] == 0:
            continue
        best, at = -1, -1
        for i, room in enumerate(left):
            if room > best and room >= need[j] and usable[j][i]:
                best, at = room, i
        if at >= 0:
            placed[j] = at
            left[at] -= need[j]
        elif number[j] == len(left):
            smallest = need[j]
    return placed


def _by_classes(arrays: RoundArrays, member: NDArray[np.int64]) -> NDArray[np.int64]:
    """Integer programme over classes (usable types, demand): how many jobs of each class go to each type."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    demand, allowed, count = arrays.demand, arrays.allowed, arrays.count
    keys, first, cls, size = np.unique(
        np.stack([member, demand], axis=1), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    pairs = [(c, i) for c in range(len(keys)) for i in range(len(count)) if allowed[first[c], i]]
    weight = np.array([keys[c][1] for c, _ in pairs], dtype=np.float64)
    most = np.array([min(size[c], count[i] // keys[c][1]) for c, i in pairs], dtype=np.float64)
    rows = np.zeros((len(keys) + len(count), len(pairs)))
    for v, (c, i) in enumerate(pairs):
        rows[c, v] = 1.0
        rows[len(keys) + i, v] = weight[v]
    limit = np.concatenate([size, count]).astype(np.float64)
    answer = milp(
        -weight,
        integrality=np.ones(len(pairs), dtype=np.int64),
        bounds=Bounds(0, most),
        constraints=LinearConstraint(rows, ub=limit),
        options={"mip_rel_gap": 0.0},
    )
    if answer.x is None or answer.status != 0:
        raise RuntimeError(f"the usage programme was not solved: {answer.message}")
    numbers = np.rint(answer.x).astype(np.int64)
    placed = np.full(len(demand), -1, dtype=np.int64)
    waiting = {c: np.flatnonzero(cls.ravel() == c).tolist() for c in range(len(keys))}
    for (c, i), number in zip(pairs, numbers.tolist(), strict=True):
        for _ in range(number):
            placed[waiting[c].pop(0)] = i
    return placed
