"""LP and MPS files read back by HiGHS: names, constants, two-sided rows, bounds."""

from __future__ import annotations

import re

import numpy as np
import pytest

from hetopt.core.instance import GpuType, Instance, Job, SyncRound
from hetopt.core.status import Objective
from hetopt.models._native import load_highspy
from hetopt.models.base import LinearWriter
from hetopt.models.export import MODELS, render
from hetopt.models.pulp_problem import to_pulp
from hetopt.models.writers import lp_text, mps_text
from hetopt.solvers.backends import highs
from hetopt.solvers.backends.answer import Request
from tests import oracle

INFINITY = float("inf")
MILPS = ["disjunctive-milp", "time-indexed-milp"]  # the relaxations have no job's optimum to compare with
ODD = ["bert+", "bert-", "a b", "a/b", "3x", "a:b", "ü", "x" * 300]


@pytest.fixture(scope="module")
def odd_instance() -> Instance:
    jobs = tuple(
        Job(name=name, weight=n + 1, release_date=2 * n, rounds=(SyncRound(scale=1, processing_time=(n % 3 + 2, 5)),))
        for n, name in enumerate(ODD)
    )
    return Instance(gpu_types=(GpuType(name="V100 (32 GB)", count=1), GpuType(name="T4:new", count=1)), jobs=jobs)


def read_back(path):
    highspy = load_highspy()
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    solver.setOptionValue("mip_rel_gap", 0.0)
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return solver


@pytest.mark.parametrize("model", MILPS)
@pytest.mark.parametrize("objective", list(Objective))
@pytest.mark.parametrize("format", ["lp", "mps"])
def test_files_with_any_job_name_mean_the_same(odd_instance, model, objective, format, tmp_path):
    path = tmp_path / f"model.{format}"
    exported = render(odd_instance, model, format, objective)
    path.write_text(exported.text, encoding="utf-8")
    solver = read_back(path)
    assert solver.getInfo().objective_function_value == pytest.approx(oracle.optimum(odd_instance, objective), abs=1e-4)
    assert exported.text.isascii()
    named = {c["name"]: c for c in exported.names["columns"]}
    of_file = {solver.getColName(j)[1] for j in range(solver.getNumCol())} - {"objective_constant"}
    assert of_file == set(named)
    assert {c["job_name"] for c in named.values() if "job_name" in c} == set(ODD)


def toy(offset: float, sign: float):
    """Two-sided rows, a free column, an integer column with a negative bound, an empty column."""
    writer = LinearWriter("toy")
    x = writer.add_variable("x_0", -3, 7, integer=True, cost=sign)
    y = writer.add_variable("y_0", -INFINITY, INFINITY, cost=sign * 0.1)
    writer.add_variable("z_0", 2, 2)
    w = writer.add_variable("w_0", -INFINITY, 4, cost=-sign)
    writer.add_row("both", [(x, 1.0), (y, 1.0)], -2.5, 8.25)
    writer.add_row("same", [(w, 1.0), (y, 1e-3)], 1.5, 1.5)
    writer.add_row("low", [(y, 1.0)], -1e6)
    writer.add_row("high", [(y, 1.0)], upper=1e6)
    writer.offset = offset
    return writer.finish()


@pytest.mark.parametrize("offset", [0.0, 5.0, -1e9 / 3])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("text", [lp_text, mps_text])
def test_every_kind_of_row_and_bound_survives(offset, sign, text, tmp_path):
    model = toy(offset, sign)
    direct = highs.solve(Request(model))
    path = tmp_path / ("toy.lp" if text is lp_text else "toy.mps")
    path.write_text(text(model))
    assert read_back(path).getInfo().objective_function_value == pytest.approx(direct.objective, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("name", ["e5", "3x", "a b", "x+", "ü", "", "E_1", "objective_constant", "x" * 300])
def test_unsafe_names_are_refused(name):
    writer = LinearWriter("toy")
    writer.add_variable(name, 0, 1)
    for text in (lp_text, mps_text):
        with pytest.raises(ValueError, match="is not a safe name"):
            text(writer.finish())


def test_double_names_are_refused():
    writer = LinearWriter("toy")
    writer.add_variable("x", 0, 1)
    writer.add_variable("x", 0, 1)
    with pytest.raises(ValueError, match="unique"):
        lp_text(writer.finish())


def test_lines_stay_short():
    writer = LinearWriter("toy")
    columns = [writer.add_variable(f"x_{i}", 0, 1, integer=True, cost=1.0) for i in range(500)]
    writer.add_row("all", [(c, 1.0) for c in columns], 3)
    assert max(map(len, lp_text(writer.finish()).splitlines())) <= 120


@pytest.mark.parametrize("model", MILPS)
def test_the_pulp_problem_is_the_same_model(odd_instance, model, tmp_path):
    """Row by row and column by column, not only in its optimum."""
    import importlib

    module, _, attribute = MODELS[model].partition(":")
    built = getattr(importlib.import_module(module), attribute)().build(odd_instance, Objective.TOTAL_WEIGHTED_FLOW)
    linear, problem = built.linear, to_pulp(built.linear)
    by_name = {v.name: v for v in problem.variables()}
    assert set(by_name) == {*linear.column_names, "objective_constant"}
    for j, name in enumerate(linear.column_names):
        variable = by_name[name]
        assert (variable.lowBound, variable.cat == "Integer") == (linear.lower[j], bool(linear.integer[j]))
        assert problem.objective.get(variable, 0.0) == linear.cost[j]
    assert problem.objective[by_name["objective_constant"]] == linear.offset
    constraints = problem.constraints() if callable(problem.constraints) else list(problem.constraints.values())
    rows = {c.name: c for c in constraints}
    assert set(rows) == set(linear.row_names)
    for i, name in enumerate(linear.row_names):
        part = slice(int(linear.row_start[i]), int(linear.row_start[i + 1]))
        wanted = {linear.column_names[j]: v for j, v in zip(linear.column[part], linear.value[part], strict=True)}
        assert {v.name: c for v, c in rows[name].items() if c} == wanted
        low, high = rows[name].getLb(), rows[name].getUb()
        assert (-INFINITY if low is None else low, INFINITY if high is None else high) == (
            linear.row_lower[i],
            linear.row_upper[i],
        )


def test_no_name_in_a_sheet_is_unknown_to_the_code():
    """The sheets cite constraint numbers that the code has, and the other way round."""
    from pathlib import Path

    root = Path(__file__).resolve().parents[2]
    for model in MILPS:
        target = MODELS[model]
        sheet = root / "models" / f"{model}.md"
        code = (root / (target.partition(":")[0].replace(".", "/") + ".py")).read_text(encoding="utf-8")
        cited = set(re.findall(r"# \((\d)\)", code))
        listed = set(re.findall(r"^(?:\| )?\((\d+)\)", sheet.read_text(encoding="utf-8"), flags=re.MULTILINE))
        assert cited <= listed and len(listed) >= 9 - 1, (model, cited, listed)


def test_with_floor_adds_exactly_the_objective():
    model = toy(5.0, 1.0)
    floored = model.with_floor(2.0)
    point = np.array([1.0, 2.0, 2.0, 3.0])
    assert floored.activity(point)[-1] == pytest.approx(model.objective(point) - 5.0)
    assert floored.row_lower[-1] == -3.0
