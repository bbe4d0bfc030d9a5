"""``hetopt round`` and the export of rounds: one document on standard output, weights and rules, clear refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.solvers.rounds.test_fast import random_round


@pytest.fixture
def round_file(tmp_path: Path) -> Path:
    path = tmp_path / "round.json"
    random_round(8).save(path)
    return path


def test_an_allocation_with_its_certificate_verifies(hetopt: Any, round_file: Path) -> None:
    ran = hetopt("round", round_file, "--json", "--certificate-out", "proof.json", "-o", "a.json")
    assert ran.code == 0
    assert ran.document["format"] == "hetopt/allocation"
    assert ran.document["status"] == "OPTIMAL"
    assert hetopt("verify", round_file, "a.json").code == 0
    assert hetopt("verify", round_file, "proof.json").code == 0


@pytest.mark.parametrize("solver", ["fft-fast", "fft-milp", "fft-convex"])
def test_weights_and_work_are_recorded_and_verified(hetopt: Any, round_file: Path, solver: str) -> None:
    words = ("--weight-age", "0.5", "--weight-fairness", "2", "--work", "remaining", "--rule", "none")
    ran = hetopt("round", round_file, "--solver", solver, *words, "-o", "a.json", "--json")
    assert ran.code == 0
    cost = ran.document["options"]["cost"]
    assert (cost["age"], cost["size"], cost["fairness"], cost["work"]) == (0.5, 1.0, 2.0, "remaining")
    assert hetopt("verify", round_file, "a.json").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("--rule", "mst"),
        ("--weight-age", "-1"),
        ("--weight-size", "nan"),
        ("--work", "half"),
        ("--solver", "fifo"),
        ("--param", "gap=2"),
        ("--certificate-out", "-", "--json"),
    ],
)
def test_refusals_are_one_line(hetopt: Any, round_file: Path, words: tuple[str, ...]) -> None:
    ran = hetopt("round", round_file, *words)
    assert ran.code == 2
    assert ran.out == ""
    assert len(ran.err.strip().splitlines()) == 1
    assert "internal error" not in ran.err


def test_an_instance_is_no_round(hetopt: Any, instance_file: Path) -> None:
    ran = hetopt("round", instance_file)
    assert ran.code == 2
    assert "hetopt/round" in ran.err


@pytest.mark.parametrize("model", ["fft-milp", "fft-convex"])
def test_a_round_is_exported_with_its_names(hetopt: Any, round_file: Path, model: str) -> None:
    assert hetopt("export", round_file, "--model", model, "--rule", "maximal", "-o", "r.lp").code == 0
    assert Path("r.lp.names.json").is_file()
    assert hetopt("export", round_file, "-o", "r.dzn").code == 2
    assert hetopt("export", round_file, "--model", "midpoint-lp", "-o", "r.lp").code == 2
