"""The golden LP and MPS files in the root folder ``models`` are what the code writes today."""

from __future__ import annotations

from pathlib import Path

import pytest

from hetopt.core.instance import Instance
from hetopt.core.round_problem import RoundProblem
from hetopt.models.golden import golden_files, main, round_files

FOLDER = Path(__file__).resolve().parents[2] / "models" / "golden"


def test_the_files_are_those_that_the_code_writes():
    made = dict(golden_files(Instance.load(FOLDER / "instance.json")))
    made |= dict(round_files(RoundProblem.load(FOLDER / "round.json")))
    assert {path.name for path in FOLDER.iterdir()} == {*made, "instance.json", "round.json"}
    for name, text in made.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, (
            f"{name}: see models/README.md for how to make it anew"
        )


def test_the_command_makes_them_anew(tmp_path, capsys):
    for name in ("instance.json", "round.json"):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    assert main([str(tmp_path)]) == 0
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {p.name: p.read_bytes() for p in FOLDER.iterdir()}
    assert main([]) == 2
    assert main([str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err


@pytest.mark.parametrize("short", ["completion", "flow", "makespan"])
def test_the_two_formulations_agree_on_the_golden_instance(short, tmp_path):
    from tests.models.test_writers import read_back

    values = {
        round(read_back(FOLDER / f"{model}-{short}.{format}").getInfo().objective_function_value, 4)
        for model in ("disjunctive-milp", "time-indexed-milp")
        for format in ("lp", "mps")
    }
    assert len(values) == 1


@pytest.mark.parametrize("rule", ["most-gpus", "maximal", "none"])
def test_round_files_have_the_optimum_of_brute_force(rule):
    from tests.models.test_writers import read_back
    from tests.solvers.rounds.oracle import optimum

    best = float(optimum(RoundProblem.load(FOLDER / "round.json"), rule))
    for format in ("lp", "mps"):
        exact, relaxed = (
            read_back(FOLDER / f"{model}-{rule}.{format}").getInfo().objective_function_value
            for model in ("fft-milp", "fft-convex")
        )
        assert exact == pytest.approx(best, rel=1e-9)
        assert relaxed <= exact + 1e-9
