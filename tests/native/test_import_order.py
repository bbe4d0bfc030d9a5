"""Each order in which the native libraries can be imported, each in an interpreter of its own.

A crash shows as a negative return code; the test asserts that hetopt's loader works after every
order, and that the two engines that would crash are refused instead.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

LP = """
def highs_lp(load):
    highspy = load()
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.addVar(1.0, 4.0)
    h.changeColCost(0, 1.0)
    h.run()
    assert h.getInfo().objective_function_value == 1.0

def cpsat(load):
    cp_model = load()
    model = cp_model.CpModel()
    v = model.new_int_var(0, 5, "v")
    model.maximize(v)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.solve(model)
    assert solver.objective_value == 5

def conic(load):
    cp = load()
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [x <= 0.5])
    problem.solve(solver="CLARABEL")
    assert abs(problem.value - 0.5) < 1e-6
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0.5])
    problem.solve(solver="HIGHS")
    assert abs(problem.value - 1) < 1e-6

def mip(load):
    pulp = load()
    problem = pulp.LpProblem("p", pulp.LpMinimize)
    v = problem.add_variable("v", 1, 4, pulp.LpInteger)
    problem += 2 * v
    problem.solve(pulp.HiGHS(msg=False))
    assert v.value() == 1
"""

USE_ALL = """
from hetopt.models import _native as n
highs_lp(n.load_highspy); cpsat(n.load_cpsat); conic(n.load_cvxpy); mip(n.load_pulp)
mip(n.load_pulp); conic(n.load_cvxpy); cpsat(n.load_cpsat); highs_lp(n.load_highspy)
"""


def interpreter(code: str) -> subprocess.CompletedProcess[str]:
    full = textwrap.dedent(LP) + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", full], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("import pulp", id="pulp"),
        pytest.param("import highspy, pulp", id="highspy-pulp", marks=pytest.mark.slow),
        pytest.param("import cvxpy, pulp", id="cvxpy-pulp", marks=pytest.mark.slow),
        pytest.param("import ortools.sat.python.cp_model, pulp", id="cpsat-pulp", marks=pytest.mark.slow),
        pytest.param("", id="nothing", marks=pytest.mark.slow),
    ],
)
def test_the_loader_works_after_every_order_of_the_user(before):
    done = interpreter(before + USE_ALL)
    assert done.returncode == 0, done.stderr[-2000:]


def test_after_our_order_the_engines_that_pulp_breaks_still_work():
    done = interpreter(
        """
        from hetopt.models import _native as n
        n.load_pulp()
        n.require_engine("osqp"); n.require_engine("ortools-highs")
        cp = n.load_cvxpy()
        x = cp.Variable(2)
        problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [x <= 0.5])
        problem.solve(solver="OSQP")
        assert abs(problem.value - 0.5) < 1e-3
        from ortools.linear_solver import pywraplp
        solver = pywraplp.Solver.CreateSolver("HIGHS")
        v = solver.NumVar(0, 3, "v")
        solver.Maximize(v)
        assert solver.Solve() == 0 and v.solution_value() == 3
        """
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(
    "order",
    [
        "import pulp",
        pytest.param("import pulp, cvxpy", marks=pytest.mark.slow),
        pytest.param("import highspy, pulp", marks=pytest.mark.slow),
    ],
)
def test_after_the_users_own_pulp_the_crashing_engines_are_refused(order):
    done = interpreter(
        order
        + """
from hetopt.core.errors import SolverUnavailableError
from hetopt.models import _native as n
n.load_cvxpy()
for engine in ("osqp", "ortools-highs"):
    try:
        n.require_engine(engine)
    except SolverUnavailableError as error:
        assert "pulp was imported before" in str(error)
    else:
        raise SystemExit(9)
n.require_engine("clarabel")
"""
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_pulp_before_osqp_still_crashes_without_us():
    """The hazard itself: when an upgrade removes it, this says so and the refusal can go."""
    done = interpreter(
        """
        import pulp
        import cvxpy as cp
        x = cp.Variable(2)
        cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [x <= 0.5]).solve(solver="OSQP")
        """
    )
    assert done.returncode == -11, (done.returncode, done.stderr[-2000:])


def test_importing_the_loader_loads_no_native_library():
    done = interpreter(
        """
        import sys
        from hetopt.models import _native
        loaded = {"pulp", "ortools", "cvxpy", "highspy"} & {m.partition(".")[0] for m in sys.modules}
        assert not loaded, loaded
        _native.load_highspy()
        loaded = {"pulp", "ortools", "cvxpy"} & {m.partition(".")[0] for m in sys.modules}
        assert not loaded, loaded
        """
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("package", ["pulp", "ortools", "cvxpy", "highspy"])
def test_a_missing_library_is_named_with_the_command_that_gets_it(package):
    done = interpreter(
        f"""
        import sys
        sys.modules[{package!r}] = None
        from hetopt.core.errors import SolverUnavailableError
        from hetopt.models import _native as n
        load = dict(pulp=n.load_pulp, ortools=n.load_cpsat, cvxpy=n.load_cvxpy, highspy=n.load_highspy)[{package!r}]
        try:
            load()
        except SolverUnavailableError as error:
            assert "pip install" in str(error) and {package!r} in str(error), error
        else:
            raise SystemExit(9)
        """
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_pulp_loads_where_the_others_are_missing():
    done = interpreter(
        """
        import sys
        for package in ("cvxpy", "ortools", "highspy"):
            sys.modules[package] = None
        from hetopt.models import _native as n
        assert n.load_pulp().LpProblem
        """
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_nothing_is_printed_and_the_descriptor_is_restored():
    done = interpreter(
        """
        import os, sys
        from hetopt.models import _native as n
        print("before", end=" ")
        before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
        n.load_highspy(); highs_lp(n.load_highspy); n.load_pulp(); mip(n.load_pulp); conic(n.load_cvxpy)
        print("after")
        with n.silenced_stdout():
            os.write(1, b"lost")
        try:
            with n.silenced_stdout():
                raise RuntimeError
        except RuntimeError:
            print("end")
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "before after\nend\n", "")


def test_a_closed_standard_output_is_no_problem():
    done = interpreter(
        """
        import os
        os.close(1)
        from hetopt.models import _native as n
        highs_lp(n.load_highspy)
        os._exit(0)
        """
    )
    assert done.returncode == 0, done.stderr[-2000:]
