"""The real backends on toy models: what they answer, that they are silent, and that limits are kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from hetopt.core.errors import SolverUnavailableError, UsageError
from hetopt.core.solver import Limits
from hetopt.core.status import Status, StopReason
from hetopt.models.base import LinearWriter
from hetopt.solvers.backends import available, highs, pulp_backend
from hetopt.solvers.backends.answer import Request
from hetopt.solvers.run import run
from tests.backends.test_outcome_tables import knapsack
from tests.conftest import make_instance

ENGINES = ["highs", "cbc", pytest.param("pulp-highs", marks=pytest.mark.slow)]


def solve(engine: str, request: Request, **more):
    return highs.solve(request, **more) if engine == "highs" else pulp_backend.solve(request, engine, **more)


def contradiction():
    writer = LinearWriter("contradiction")
    x = writer.add_variable("x_0", 0, 1, integer=True, cost=1.0)
    y = writer.add_variable("y_0", 0, 1, integer=True)
    writer.add_row("both", [(x, 2.0), (y, 2.0)], 3, 3)
    return writer.finish()


def bottomless():
    writer = LinearWriter("bottomless")
    x = writer.add_variable("x_0", cost=-1.0)
    y = writer.add_variable("y_0", cost=-1.0)
    writer.add_row("cone", [(x, 1.0), (y, -1.0)], 0)
    return writer.finish()


def market_split(rows: int = 6, columns: int = 50):
    """Halve six sums at once, as nearly as can be: points are easy, the bound stays at 0 for hours."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(1, 1000, (rows, columns))
    writer = LinearWriter("market_split")
    x = [writer.add_variable(f"x_{j}", 0, 1, integer=True) for j in range(columns)]
    for i in range(rows):
        under, over = (writer.add_variable(f"{side}_{i}", 0, cost=1.0) for side in ("P", "N"))
        terms = [(c, float(a)) for c, a in zip(x, numbers[i], strict=True)]
        half = int(numbers[i].sum()) // 2
        writer.add_row(f"sum_{i}", [*terms, (under, 1.0), (over, -1.0)], half, half)
    return writer.finish()


@pytest.mark.parametrize("engine", ENGINES)
def test_toy_models_and_their_numbers(engine):
    answer = solve(engine, Request(knapsack()))
    assert (answer.status, answer.stop_reason) == (Status.OPTIMAL, StopReason.PROVED)
    assert answer.objective == pytest.approx(12.0) and answer.bound == pytest.approx(12.0)
    assert knapsack().rounded(answer.values).tolist() == [1.0, 0.0]
    infeasible = solve(engine, Request(contradiction()))
    assert (infeasible.status, infeasible.values, infeasible.objective, infeasible.bound) == (
        Status.INFEASIBLE,
        None,
        None,
        None,
    )


def test_an_unbounded_model_has_no_numbers():
    answer = highs.solve(Request(bottomless()))
    assert (answer.status, answer.values, answer.objective, answer.bound) == (Status.UNBOUNDED, None, None, None)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_that_its_time_limit_ends_is_never_optimal(engine):
    answer = solve(engine, Request(market_split(), seconds=1.5))
    assert answer.stop_reason is StopReason.TIME
    assert answer.status in (Status.FEASIBLE, Status.UNKNOWN)
    if answer.status is Status.FEASIBLE:
        assert not market_split().broken(answer.values, 1e-4)
        assert answer.bound is None or answer.bound < answer.objective
    if engine == "highs":
        assert answer.status is Status.FEASIBLE and answer.bound is not None


@pytest.mark.parametrize("engine", ENGINES)
def test_no_time_left_is_no_answer(engine):
    answer = solve(engine, Request(market_split(), seconds=0.0))
    assert (answer.status, answer.stop_reason, answer.values, answer.bound) == (
        Status.UNKNOWN,
        StopReason.TIME,
        None,
        None,
    )


def test_threads_may_change_between_two_solves_of_one_process():
    for threads in (2, 1, 2, 1):
        assert highs.solve(Request(knapsack(), threads=threads)).status is Status.OPTIMAL


def test_progress_is_reported_and_stopping_is_obeyed():
    model = market_split()
    found, bounds = [], []

    answer = highs.solve(
        Request(model),
        stop=lambda: len(found) >= 2,
        on_incumbent=lambda values, objective: found.append((values, objective)),
        on_bound=bounds.append,
    )
    assert (answer.status, answer.stop_reason) == (Status.FEASIBLE, StopReason.INTERRUPTED)
    assert [objective for _, objective in found] == sorted((o for _, o in found), reverse=True)
    assert bounds == sorted(bounds)
    for values, objective in found:
        assert not model.broken(values, 1e-5)
        assert model.objective(values) == pytest.approx(objective)


def test_an_error_in_a_callback_comes_out_and_ends_the_run():
    def fail(values, objective):
        raise ZeroDivisionError("in the callback")

    with pytest.raises(ZeroDivisionError, match="in the callback"):
        highs.solve(Request(market_split()), on_incumbent=fail)


def test_a_start_is_used():
    """Without any node or improvement the start is the answer, or something better."""
    model = market_split()
    point = np.zeros(model.num_columns)
    point[50::2] = model.row_lower  # no number chosen: every sum is short by its half
    assert not model.broken(point)
    for threads in (1, 2):
        answer = highs.solve(Request(model, start=point, nodes=0, threads=threads))
        assert answer.values is not None and answer.objective <= model.objective(point) + 1e-6
    seen = []
    highs.solve(Request(model, start=point, nodes=0), on_incumbent=lambda values, objective: seen.append(objective))
    assert seen[0] <= model.objective(point) + 1e-6


def test_a_target_stops_the_run():
    answer = highs.solve(Request(market_split(), target=1e6))
    assert (answer.native, answer.stop_reason) == ("kObjectiveTarget", StopReason.GAP)
    assert answer.status is Status.FEASIBLE


def test_a_large_model_runs_in_a_process_of_its_own_and_ends_in_time(monkeypatch):
    monkeypatch.setattr(highs, "ISOLATE_ENTRIES", 10)
    seen = []
    answer = highs.solve(Request(market_split(), seconds=3.0), on_incumbent=lambda v, o: seen.append(o))
    assert answer.stop_reason is StopReason.TIME
    assert answer.status is Status.FEASIBLE and answer.values is not None
    assert seen and min(seen) >= answer.objective - 1e-6


def test_nothing_is_printed_and_the_log_goes_to_its_file(capfd, tmp_path):
    instance = make_instance({"a": 1}, [(n + 1, 0, [(2, [n + 2], [1])]) for n in range(3)])
    for engine in ("highs", "cbc"):
        assert run("milp-disjunctive", instance, params={"backend": engine}).status is Status.OPTIMAL
    assert capfd.readouterr() == ("", "")
    for engine in ("highs", "cbc"):
        log = tmp_path / f"{engine}.log"
        run("milp-disjunctive", instance, params={"backend": engine, "log_file": str(log)})
        assert len(log.read_text()) > 200
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("engine", "word"), [("highs", "Primal bound"), ("isolated", "Primal bound"), ("cbc", "Result - Optimal")]
)
def test_the_log_goes_to_the_logger_when_somebody_listens(engine, word, caplog, monkeypatch):
    request = Request(knapsack(), seconds=30.0)
    if engine == "isolated":
        monkeypatch.setattr(highs, "ISOLATE_ENTRIES", 1)
    name = "cbc" if engine == "cbc" else "highs"
    assert solve(name, request).status is Status.OPTIMAL
    assert caplog.text == ""
    with caplog.at_level("INFO", logger="hetopt"):
        assert solve(name, request).status is Status.OPTIMAL
    assert word in caplog.text


def test_missing_solvers_are_named_with_what_is_there(monkeypatch):
    monkeypatch.setenv("PATH", "")
    for engine in ("gurobi", "cplex", "scip"):
        with pytest.raises(SolverUnavailableError, match=r"get it with: .*installed: highs"):
            pulp_backend.solve(Request(knapsack()), engine)
    with pytest.raises(UsageError, match="no backend is called 'ECOS'; known: highs, cbc"):
        pulp_backend.solve(Request(knapsack()), "ECOS")


def test_the_table_of_backends():
    rows = {row.name: row for row in available()}
    assert {"highs", "cpsat", "cvxpy", "cbc", "gurobi", "cplex", "scip"} <= set(rows)
    assert rows["highs"].installed and rows["highs"].version
    assert all(row.install for row in rows.values())


def leftovers(folder) -> list[str]:
    return sorted(os.listdir(folder))


def processes_with(text: str) -> list[str]:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line:
            found.append(line)
    return found


KILLED = """
import sys, threading
sys.path.insert(0, {root!r})
from hetopt.solvers.backends import pulp_backend
from hetopt.solvers.backends.answer import Request
from tests.backends.test_solving import market_split
print("ready", flush=True)
pulp_backend.solve(Request(market_split(), seconds=60.0), "cbc")
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks for processes in /proc")
@pytest.mark.parametrize(
    "name", ["SIGTERM", pytest.param("SIGKILL", marks=pytest.mark.slow), pytest.param("SIGINT", marks=pytest.mark.slow)]
)
def test_a_killed_run_leaves_no_file_and_no_process(name, tmp_path):
    """Whatever kills the parent while CBC runs: the child, CBC and the temporary folder go too."""
    import signal
    import time

    root = str(__import__("pathlib").Path(__file__).resolve().parents[2])
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED.format(root=root))],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        for _ in range(600):  # until CBC itself is at work, its input read
            logs = list(tmp_path.glob("hetopt-*/log"))
            if logs and "Continuous objective value" in logs[0].read_text(errors="replace"):
                break
            time.sleep(0.05)
        else:
            pytest.fail("CBC never started")
        assert any("cbc" in line for line in processes_with(str(tmp_path)))
        process.send_signal(getattr(signal, name))
        process.wait(30)
        for _ in range(200):
            if not processes_with(str(tmp_path)) and not leftovers(tmp_path):
                break
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert processes_with(str(tmp_path)) == []
    assert leftovers(tmp_path) == []


def test_many_solves_leave_no_files(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    for _ in range(2):
        assert pulp_backend.solve(Request(knapsack()), "cbc").status is Status.OPTIMAL
    broken = Request(knapsack(), start=np.zeros(7))  # the child fails
    answer = pulp_backend.solve(broken, "cbc")
    assert (answer.status, answer.stop_reason) == (Status.UNKNOWN, StopReason.ERROR)
    assert "argument" in answer.message
    assert leftovers(tmp_path) == []


def test_limits_reach_the_result_through_the_run_wrapper():
    instance = make_instance(
        {"a": 2, "b": 1}, [(n % 3 + 1, n, [(3, [7 + n, 9], [1, 2]), (2, [11, 5 + n], [0, 1])]) for n in range(6)]
    )
    result = run("milp-disjunctive", instance, limits=Limits(time=1.0), params={"backend": "highs"})
    assert (result.status, result.stop_reason) == (Status.FEASIBLE, StopReason.TIME)
    assert result.bound is not None and result.bound < result.objective
    document = json.loads(result.to_json())
    assert document["gap"] is not None
