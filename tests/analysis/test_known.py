"""Best known values of the library in comparisons."""

from __future__ import annotations

import pytest

from hetopt.analysis.compare import compare
from hetopt.analysis.known import best_known
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.status import Objective
from hetopt.instances import library
from tests.analysis import fakes


@pytest.mark.parametrize("name", ["hand-smith", "hand-two-types", "hand-relaxed"])
def test_values_are_those_of_the_index_in_every_objective(name: str) -> None:
    instance, entry = library.load(name), library.entry(name)
    assert entry.lower is not None and entry.upper is not None
    renamed = instance.model_copy(update={"name": "mine"})
    found = best_known(renamed, Objective.TOTAL_WEIGHTED_COMPLETION)
    assert found is not None and (found.lower_bound, found.objective) == (entry.lower.value, entry.upper.value)
    flow = best_known(instance, Objective.TOTAL_WEIGHTED_FLOW)
    witness = library.witness(name)
    assert flow is not None and witness is not None
    assert flow.objective == evaluate(instance, witness, Objective.TOTAL_WEIGHTED_FLOW)
    assert best_known(instance, Objective.MAKESPAN) is None


def test_ratio_to_optimum_against_the_library(two_jobs: Instance) -> None:
    table = compare(library.load("hand-two-types"), fakes.Ordered())
    (row,), (summary,) = table.rows, table.instances
    assert summary.optimum == library.entry("hand-two-types").optimum == 26
    assert row.objective is not None and row.ratio_to_optimum is not None
    assert row.ratio_to_optimum * 26 == row.objective
    assert summary.best_bound_source is not None and "library: hand-two-types" in summary.best_bound_source
    other = two_jobs.model_copy(update={"tick_seconds": 2.0})
    assert best_known(other, Objective.TOTAL_WEIGHTED_COMPLETION) is None
