"""A linear model as a PuLP problem, for PuLP's solvers and for whoever wants to change the formulation by hand.

Only what PuLP 3.3 and 4 have in common is used: ``add_variable`` and named constraints.
"""

from __future__ import annotations

import math
from typing import Any

from hetopt.models._native import load_pulp
from hetopt.models.base import LinearModel
from hetopt.models.writers import CONSTANT

__all__ = ["to_pulp"]


def to_pulp(model: LinearModel, *, alone: bool = False) -> Any:
    """The model as a ``pulp.LpProblem`` with the same names.

    The constant of the objective is the coefficient of a column fixed at 1, because PuLP's writers (and
    so most of its solvers) drop constants.  ``alone`` as for ``load_pulp``.
    """
    pulp = load_pulp(alone=alone)
    problem = pulp.LpProblem(model.name, pulp.LpMinimize)
    variables = [
        problem.add_variable(
            name,
            None if math.isinf(lower) else lower,
            None if math.isinf(upper) else upper,
            pulp.LpInteger if integer else pulp.LpContinuous,
        )
        for name, lower, upper, integer in zip(
            model.column_names, model.lower.tolist(), model.upper.tolist(), model.integer.tolist(), strict=True
        )
    ]
    terms = [cost * variable for cost, variable in zip(model.cost.tolist(), variables, strict=True) if cost]
    if model.offset:
        terms.append(model.offset * problem.add_variable(CONSTANT, 1, 1, pulp.LpContinuous))
    problem += pulp.lpSum(terms)
    column, value, start = model.column.tolist(), model.value.tolist(), model.row_start.tolist()
    for i, (name, low, high) in enumerate(
        zip(model.row_names, model.row_lower.tolist(), model.row_upper.tolist(), strict=True)
    ):
        row = pulp.lpSum(value[e] * variables[column[e]] for e in range(start[i], start[i + 1]))
        if low == high:
            problem += row == low, name
            continue
        if math.isfinite(low):
            problem += row >= low, name
        if math.isfinite(high):
            problem += row <= high, name + ("_high" if math.isfinite(low) else "")
    return problem
