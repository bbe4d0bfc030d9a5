"""Solvers seen through the command line, in processes of their own: silence, logs, limits, repeatability."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hetopt.core.instance import Instance

from .conftest import ended, start


@pytest.fixture
def folder(two_jobs: Instance, tmp_path: Path) -> Path:
    two_jobs.save(tmp_path / "i.json")
    return tmp_path


@pytest.mark.parametrize("solver", ["cpsat", "milp-disjunctive"])
def test_standard_output_is_one_document_even_when_verbose(folder: Path, solver: str) -> None:
    """The libraries print banners and logs on file descriptor 1 if nobody stops them."""
    words = ("solve", "i.json", "--solver", solver, "--json", "--verbose", "--log-file", "log.txt")
    ran = ended(start(*words, cwd=folder))
    assert ran.code == 0, ran.err
    assert ran.document["status"] == "OPTIMAL"
    assert ran.out.startswith("{")
    assert (folder / "log.txt").stat().st_size > 0
    assert len(ran.err.splitlines()) > 8, "verbose says more than the summary"


def test_nothing_but_the_summary_is_said_when_quiet(folder: Path) -> None:
    ran = ended(start("solve", "i.json", "--solver", "cpsat", "-o", "r.json", cwd=folder))
    assert ran.out == ""
    assert len(ran.err.splitlines()) <= 8
    assert {p.name for p in folder.iterdir()} == {"i.json", "r.json"}


@pytest.mark.parametrize("solver", ["cpsat", "milp-time-indexed", "auto", "local-search"])
def test_no_time_at_all_never_claims_what_is_not_known(folder: Path, solver: str) -> None:
    ran = ended(start("solve", "T35", "--solver", solver, "--time-limit", "0", "--json", cwd=folder))
    document = ran.document
    assert ran.code in (0, 4)
    assert document["status"] in ("FEASIBLE", "UNKNOWN")
    assert (document["objective"] is None) == (document["schedule"] is None) == (ran.code == 4)
    assert (document["gap"] is None) == (document["objective"] is None or document["bound"] is None)
    if document["bound"] is not None:
        assert document["bound"] <= 1430  # the optimum


@pytest.mark.ci
@pytest.mark.parametrize("words", [("hare-eft",), ("local-search", "--work-limit", "500")])
def test_the_same_bytes_in_every_process(folder: Path, words: tuple[str, ...]) -> None:
    seen = set()
    for number in ("0", "77"):
        process = start(
            "solve", "T15", "--solver", *words, "--seed", "5", "-o", f"r{number}.json", "--schedule-out", f"s{number}.json",
            cwd=folder, env={"PYTHONHASHSEED": number},
        )  # fmt: skip
        assert ended(process).code == 0
        document = json.loads((folder / f"r{number}.json").read_text())
        for point in (document, *document["history"]):
            point.pop("runtime_seconds", None)
            point.pop("seconds", None)
        seen.add((json.dumps(document), (folder / f"s{number}.json").read_bytes()))
    assert len(seen) == 1


@pytest.mark.ci
def test_a_warm_start_is_never_made_worse(folder: Path) -> None:
    assert ended(start("solve", "T50", "--solver", "hare-eft", "-o", "w.json", cwd=folder)).code == 0
    start_value = json.loads((folder / "w.json").read_text())["objective"]
    words = ("solve", "T50", "--solver", "cpsat", "--warm-start", "w.json", "--time-limit", "1", "--json")
    document = ended(start(*words, cwd=folder)).document
    assert document["objective"] <= start_value
    assert document["warm_start"] == "accepted"
    other = ended(start("solve", "i.json", "--solver", "cpsat", "--warm-start", "w.json", "--json", cwd=folder))
    assert other.code == 0
    assert other.document["warm_start"].startswith("rejected: ")


@pytest.mark.ci
def test_bounds_are_written_with_certificates_that_verify(folder: Path) -> None:
    words = ("bound", "i.json", "--kind", "combinatorial,midpoint-lp", "--json", "--certificate-out", "c.json")
    ran = ended(start(*words, cwd=folder))
    assert ran.code == 0, ran.err
    assert {row["trust"] for row in ran.document["bounds"]} == {"VERIFIED"}
    assert ended(start("verify", "i.json", "c.json", cwd=folder)).code == 0
    certificate = json.loads((folder / "c.json").read_text())
    certificate["bound"] = "123456789"
    (folder / "c.json").write_text(json.dumps(certificate))
    assert ended(start("verify", "i.json", "c.json", cwd=folder)).code == 5


@pytest.mark.ci
def test_check_export_round_and_adversary(folder: Path) -> None:
    checked = ended(start("check", "i.json", "--rule", "r1", "--explain", "--json", cwd=folder))
    assert checked.code == 0, checked.err
    assert checked.document["ok"] is True
    assert "holds" in checked.err
    exported = ended(start("export", "i.json", "--model", "disjunctive-milp", "-o", "m.mps", cwd=folder))
    assert exported.code == 0, exported.err
    assert (folder / "m.mps").stat().st_size > 0
    assert json.loads((folder / "m.mps.names.json").read_text())["jobs"] == ["resnet", "bert"]
    problem = {
        "format": "hetopt/round", "version": 1, "round_seconds": 300, "now": 12,
        "gpu_types": [{"name": "V100", "count": 2}, {"name": "K80", "count": 2}],
        "jobs": [
            {"name": "a", "demand": 2, "work": 40, "done": 11.5, "release_date": 3, "throughput": [1.5, 0.4],
             "current_type": 0, "migration_cost": [0, 0.3], "fairness": 0.2},
            {"name": "b", "demand": 1, "work": 10, "done": 0, "release_date": 5, "throughput": [1.0, None]},
        ],
    }  # fmt: skip
    (folder / "round.json").write_text(json.dumps(problem))
    solved = ended(start("round", "round.json", "-o", "a.json", "--certificate-out", "c.json", cwd=folder))
    assert solved.code == 0, solved.err
    for name in ("a.json", "c.json"):
        verified = ended(start("verify", "round.json", name, cwd=folder))
        assert verified.code == 0, verified.err
    hall = ended(start("adversary", "--gpus", "3", "--work-limit", "2", "-o", "hall", "--json", cwd=folder))
    assert hall.code == 0, hall.err
    assert hall.document["steps"] == 2
