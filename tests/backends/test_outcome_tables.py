"""One test per row of each table of native outcomes, with fake outcomes: what may be read, and what may not."""

from __future__ import annotations

import numpy as np
import pytest

from hetopt.core.status import Status, StopReason
from hetopt.models.base import LinearWriter
from hetopt.solvers.backends import highs, pulp_backend
from hetopt.solvers.backends.answer import Reading, Request, read, safe_floor, whole_bound, without_columns
from hetopt.solvers.backends.pulp_backend import (
    CBC_RESULTS,
    PULP3_OUTCOMES,
    PULP4_OUTCOMES,
    Native,
    interpret,
    parse_cbc_log,
)


def knapsack():
    """Two columns, x + y >= 1, minimise 2 x + 3 y + 10: optimum 12 at (1, 0)."""
    writer = LinearWriter("knapsack")
    x = writer.add_variable("x_0", 0, 1, integer=True, cost=2.0)
    y = writer.add_variable("y_0", 0, 1, integer=True, cost=3.0)
    writer.add_row("cover", [(x, 1.0), (y, 1.0)], 1)
    writer.offset = 10.0
    return writer.finish()


POINT = np.array([0.0, 1.0])
ALL_ROWS = [
    *(("highs", k, r) for k, r in highs.OUTCOMES.items()),
    *(("pulp3", k, r) for k, r in PULP3_OUTCOMES.items()),
    *(("pulp4", k, r) for k, r in PULP4_OUTCOMES.items()),
    *(("cbc", k, r) for k, r in CBC_RESULTS.items()),
]


@pytest.mark.parametrize(
    ("table", "key", "reading"), ALL_ROWS, ids=lambda v: str(v) if not isinstance(v, Reading) else ""
)
def test_a_row_reads_only_what_it_allows(table, key, reading):
    full = read(reading, native=str(key), values=POINT, objective=13.0, bound=11.5)
    assert full.stop_reason is reading.stop_reason
    if reading.incumbent:
        assert full.status in (Status.OPTIMAL, Status.FEASIBLE)
        assert full.objective == 13.0 and full.values is not None
    else:
        assert full.status is reading.status
        assert full.objective is None and full.values is None
    assert (full.bound == 11.5) == reading.bound
    # the stand-ins that solvers leave behind: nothing found, 0, infinities
    empty = read(reading, native=str(key), values=None, objective=0.0, bound=float("-inf"))
    assert empty.values is None and empty.objective is None and empty.bound is None
    assert empty.status not in (Status.OPTIMAL, Status.FEASIBLE)
    nan = read(reading, native=str(key), values=np.array([np.nan, 0.0]), objective=float("nan"), bound=float("nan"))
    assert nan.values is None and nan.objective is None and nan.bound is None
    # optimality is claimed for a proof only, and a limit is never called optimal
    assert (reading.status is Status.OPTIMAL) <= (reading.stop_reason is StopReason.PROVED)


WANTED = {
    "highs": {"kOptimal"},
    "pulp3": {(1, 1)},
    "pulp4": {"Optimal"},
    "cbc": {"Optimal solution found"},
}


@pytest.mark.parametrize("table", sorted(WANTED))
def test_exactly_one_outcome_is_optimal(table):
    assert {key for name, key, reading in ALL_ROWS if name == table and reading.status is Status.OPTIMAL} == WANTED[
        table
    ]


def test_the_table_of_highs_has_every_status_of_the_installed_library():
    highspy = pytest.importorskip("highspy")
    names = {name for name in dir(highspy.HighsModelStatus) if name.startswith("k") and name not in ("kMin", "kMax")}
    assert names <= set(highs.OUTCOMES)
    assert int(highspy.SolutionStatus.kSolutionStatusFeasible) == highs.FEASIBLE_POINT


def test_the_table_of_pulp_3_has_every_pair():
    assert set(PULP3_OUTCOMES) == {(s, t) for s in (1, 0, -1, -2, -3) for t in (1, 0, -1, -2, 2)}


def native(**changes):
    made = {"pulp": 3, "status": 1, "sol_status": 1, "values": POINT, "bound": None, "log": "", "version": "fake"}
    return Native(**{**made, **changes})


def test_a_time_limited_run_that_pulp_calls_optimal_is_not():
    answer = interpret(native(sol_status=2), Request(knapsack(), seconds=1.0), "pulp-highs")
    assert (answer.status, answer.stop_reason, answer.objective, answer.bound) == (
        Status.FEASIBLE,
        StopReason.TIME,
        13.0,
        None,
    )


CBC_LOG = """
Result - Stopped on time limit

Objective value:                13.00000000
Lower bound:                    11.500
Gap:                            0.13
Enumerated nodes:               42
"""


def test_the_log_of_cbc_outranks_what_pulp_says():
    answer = interpret(native(log=CBC_LOG), Request(knapsack(), seconds=1.0), "cbc")
    assert (answer.status, answer.stop_reason) == (Status.FEASIBLE, StopReason.TIME)
    assert (answer.objective, answer.bound, answer.nodes) == (13.0, 11.5, 42)
    assert parse_cbc_log("nothing to see") == (None, None, None)


def test_a_result_line_of_cbc_that_is_not_in_the_table_proves_nothing():
    answer = interpret(native(log="Result - Something new\n"), Request(knapsack()), "cbc")
    assert (answer.status, answer.stop_reason, answer.values) == (Status.UNKNOWN, StopReason.ERROR, None)


@pytest.mark.parametrize("values", [np.zeros(2), np.array([2.0, 0.0]), np.array([np.inf, 0.0]), None])
def test_a_point_that_breaks_the_rows_is_no_incumbent(values):
    answer = interpret(native(values=values), Request(knapsack()), "pulp-highs")
    assert (answer.status, answer.stop_reason, answer.bound) == (Status.UNKNOWN, StopReason.ERROR, None)
    limited = interpret(native(values=values, sol_status=2), Request(knapsack(), seconds=1.0), "pulp-highs")
    assert (limited.status, limited.stop_reason, limited.objective) == (Status.UNKNOWN, StopReason.TIME, None)


def test_pulp_4_speaks_by_name():
    request = Request(knapsack(), seconds=1.0)
    answer = interpret(native(pulp=4, status="TimeLimit", sol_status=None, bound=11.0), request, "cbc")
    assert (answer.status, answer.stop_reason, answer.bound) == (Status.FEASIBLE, StopReason.TIME, 11.0)
    answer = interpret(native(pulp=4, status="Optimal", sol_status=None, bound=12.0), request, "gurobi")
    assert (answer.status, answer.bound) == (Status.OPTIMAL, 12.0)
    answer = interpret(native(pulp=4, status="Brand new", sol_status=None), request, "gurobi")
    assert (answer.status, answer.stop_reason) == (Status.UNKNOWN, StopReason.ERROR)


def test_a_limit_without_a_clock_is_the_limit_of_nodes():
    answer = interpret(native(sol_status=2), Request(knapsack(), nodes=5), "pulp-highs")
    assert answer.stop_reason is StopReason.WORK


@pytest.mark.parametrize(
    ("reported", "whole"),
    [
        (46.00000000000001, 46),
        (45.9999999, 46),
        (45.9, 46),
        (46.1, 47),
        (-46.00000000000001, -46),
        (0.0, 0),
        (1e12 + 0.4, 999_999_999_001),
    ],
)
def test_bounds_are_moved_to_the_safe_side_and_then_up(reported, whole):
    assert whole_bound(reported) == whole
    assert safe_floor(reported) < reported


def test_models_without_columns_are_answered_without_a_backend():
    writer = LinearWriter("empty")
    writer.add_row("r", [], 0, 1)
    writer.offset = 4.0
    answer = without_columns(writer.finish())
    assert (answer.status, answer.objective, answer.bound) == (Status.OPTIMAL, 4.0, 4.0)
    writer.add_row("s", [], 1, 1)
    assert without_columns(writer.finish()).status is Status.INFEASIBLE
    assert without_columns(knapsack()) is None


def test_every_engine_names_how_to_get_it():
    for engine in pulp_backend.ENGINES.values():
        assert engine.install and engine.classes
