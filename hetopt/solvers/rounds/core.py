r"""The integer programme over the core of a round: the options whose reduced cost is within a width, in HiGHS.

Jobs outside the core take their cheapest option.  Jobs of the core that are alike in demand and costs are one integer
variable per option (their number), so ties and copies bring no symmetry.  With the slack :math:`r_{co} \ge 0` of an option's
reduced cost, idle GPUs :math:`s_i` and what the fixed jobs leave, :math:`\bar G_i`:

.. math:: \min \sum r_{co} x_{co} + \sum_i (\pi_i - \underline\pi) s_i, \quad \sum_o x_{co} = n_c, \quad
          \sum_c d_c x_{ci} + s_i = \bar G_i, \quad \sum_i s_i = S .

The objective is the cost above the Lagrangian value of the prices, scaled so that HiGHS's absolute tolerances (1e-6) are well
below 1e-9 of the whole cost; that is what makes a gap of 1e-9 provable in floating point.

Guarantee: exact over the core, on the word of HiGHS; exponential in the worst case.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetopt.models._native import load_highspy
from hetopt.solvers.rounds.prices import Market, reduced_costs

__all__ = ["CoreAnswer", "solve_core"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CoreAnswer:
    """What the core's programme says.

    Attributes
    ----------
    option : (n,) int64 or None
        Option of each job of the market (K: waits) in the best allocation over the core.
    bound
        Lower bound on the cost above the Lagrangian for every allocation over the core; inf: there is none.
    complete
        Whether the programme was solved to its end.
    nodes
        Nodes of HiGHS's search.
    """

    option: NDArray[np.int64] | None
    bound: float
    complete: bool
    nodes: int


def solve_core(
    market: Market,
    prices: Floats,
    width: float,
    *,
    unit: float,
    stop_gap: float,
    seconds: float | None,
    node_limit: int | None,
    stopped: Callable[[], bool],
    start: NDArray[np.int64] | None = None,
) -> CoreAnswer:
    """The best allocation in which every job uses an option within ``width`` of its cheapest.

    Parameters
    ----------
    market, prices, width
        What the core is.
    unit
        A cost difference that does not matter (1e-9 of the cost or so): it becomes 1e-4 for HiGHS.
    stop_gap
        Difference between cost and bound that is good enough; 0: none.
    seconds, node_limit
        Limits.
    stopped
        Polled.
    start : (n,) int64
        An allocation to start from, ignored where it leaves the core.
    """
    options = reduced_costs(market, prices)
    best = options.argmin(axis=0)
    options -= options[best, np.arange(market.jobs)]
    near = options <= width
    core = np.flatnonzero(near.sum(axis=0) > 1)
    outside = np.ones(market.jobs, dtype=bool)
    outside[core] = False
    types = market.types
    taken = np.bincount(best[outside], weights=market.demand[outside], minlength=types + 1)[:types]
    _, first, member, size = np.unique(
        np.vstack([market.demand[core], market.cost[:, core]]).T,
        axis=0,
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    member = member.ravel()
    sample = core[first]
    col_class, col_option = np.nonzero(near[:, sample].T)
    scale = 1e-4 / unit
    number = len(col_class)
    cost = options[col_option, sample[col_class]] * scale
    idle_cost = (prices - (float(prices.min()) if market.idle is not None else 0.0)) * scale
    runs = col_option < types
    classes = len(sample)
    rows = classes + types + (market.idle is not None)
    column = np.concatenate([np.arange(number), np.flatnonzero(runs), number + np.arange(types)])
    row = np.concatenate([col_class, classes + col_option[runs], classes + np.arange(types)])
    value = np.concatenate([np.ones(number), market.demand[sample[col_class[runs]]], np.ones(types)])
    right = np.concatenate([size.astype(np.float64), market.count - taken])
    upper = np.concatenate([size[col_class].astype(np.float64), np.full(types, np.inf)])
    if market.idle is not None:
        column = np.concatenate([column, number + np.arange(types)])
        row = np.concatenate([row, np.full(types, classes + types)])
        value = np.concatenate([value, np.ones(types)])
        right = np.append(right, market.idle)
        upper[number:] = market.idle
    order = np.lexsort((row, column))
    highspy = load_highspy()
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = number + types, rows
    lp.col_cost_ = np.concatenate([cost, idle_cost])
    lp.col_lower_, lp.col_upper_ = np.zeros(number + types), upper
    lp.row_lower_ = lp.row_upper_ = right
    begins = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=number + types))])
    lp.a_matrix_.start_ = begins.astype(np.int32)
    lp.a_matrix_.index_, lp.a_matrix_.value_ = row[order].astype(np.int32), value[order]
    kinds = highspy.HighsVarType
    lp.integrality_ = [kinds.kInteger] * number + [kinds.kContinuous] * types
    settings: dict[str, Any] = {
        "mip_rel_gap": 0.0,
        "mip_abs_gap": stop_gap * scale,
        "mip_feasibility_tolerance": 1e-7,
    }
    if seconds is not None:
        settings["time_limit"] = max(0.0, seconds)
    if node_limit is not None:
        settings["mip_max_nodes"] = node_limit
    known = None
    if start is not None and near[start, np.arange(market.jobs)].all():
        known = np.zeros(number + types)
        position = np.full((classes, types + 1), -1)
        position[col_class, col_option] = np.arange(number)
        np.add.at(known, position[member, start[core]], 1.0)
        used = np.bincount(start, weights=market.demand, minlength=types + 1)[:types]
        known[number:] = market.count - used
    status, x, bound, nodes = _run(lp, settings, known, stopped)
    complete = status in ("kOptimal", "kInfeasible")
    if status == "kInfeasible":
        return CoreAnswer(None, np.inf, True, nodes)
    bound = bound / scale if bound is not None and np.isfinite(bound) else 0.0
    if x is None:
        return CoreAnswer(None, max(0.0, bound), complete, nodes)
    count = np.rint(x[:number]).astype(np.int64)
    option = best.astype(np.int64)
    waiting = (
        [core[member == c].tolist() for c in range(classes)] if classes < len(core) else [[int(j)] for j in sample]
    )
    for c, o, amount in zip(col_class.tolist(), col_option.tolist(), count.tolist(), strict=True):
        for _ in range(amount):
            option[waiting[c].pop()] = o
    return CoreAnswer(option, max(0.0, bound), complete, nodes)


def _run(
    lp: Any, settings: dict[str, Any], start: Floats | None, stopped: Callable[[], bool]
) -> tuple[str, Floats | None, float | None, int]:
    """HiGHS in a thread of its own, where its scheduler has one thread whatever the caller's has."""
    highspy = load_highspy()
    box: dict[str, Any] = {}
    give_up = threading.Event()

    def work() -> None:
        try:
            highs = highspy.Highs()
            for option, setting in (("output_flag", False), ("threads", 1), ("random_seed", 0), *settings.items()):
                highs.setOptionValue(option, setting)
            highs.passModel(lp)
            if start is not None:
                solution = highspy.HighsSolution()
                solution.col_value = start.tolist()
                highs.setSolution(solution)

            def look(event: Any) -> None:
                if give_up.is_set():
                    event.interrupt()

            highs.cbMipInterrupt += look
            highs.run()
            info = highs.getInfo()
            box["status"] = highs.getModelStatus().name
            box["x"] = np.array(highs.getSolution().col_value) if info.primal_solution_status == 2 else None
            box["bound"] = float(info.mip_dual_bound)
            box["nodes"] = max(0, int(info.mip_node_count))
        except BaseException as error:  # raised again in the caller's thread
            box["error"] = error

    thread = threading.Thread(target=work, name="hetopt-core", daemon=True)
    thread.start()
    began = time.perf_counter()
    while thread.is_alive():
        thread.join(0.002 if time.perf_counter() - began < 1.0 else 0.02)
        if stopped():
            give_up.set()
    if "error" in box:
        raise box["error"]
    return box["status"], box["x"], box["bound"], box["nodes"]
