"""The contract of the command line: what goes where, and with which exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hetopt.analysis.schemas import SCHEMAS, schema_of
from hetopt.core.instance import Instance
from hetopt.core.simulation import JobOutcome, PolicyOutcome, SimulationDocument, SimulationResult


def conforms(document: Any) -> None:
    """The document is of the format that it says."""
    jsonschema.Draft202012Validator(schema_of(document["format"])).validate(document)


def test_solve_writes_a_result_and_a_schedule(hetopt: Any, instance_file: Path, tmp_path: Path) -> None:
    ran = hetopt("solve", instance_file, "--solver", "wspt", "-o", "r.json", "--schedule-out", "s.json")
    assert (ran.code, ran.out) == (0, "")
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["schedule"] == json.loads((tmp_path / "s.json").read_text())
    conforms(result)
    assert hetopt("verify", instance_file, "r.json").code == 0
    assert hetopt("verify", instance_file, "s.json").code == 0


def test_json_prints_one_document_and_nothing_else(hetopt: Any, instance_file: Path) -> None:
    for words in (
        ("solve", instance_file, "--solver", "fifo", "--json", "--verbose"),
        ("solve", instance_file, "--solver", "fifo", "-o", "-"),
        ("compare", instance_file, "--solvers", "fifo,wspt", "--json", "--verbose"),
        ("solvers", "--json"),
        ("solvers", "fifo", "--json"),
        ("generate", "--jobs", "2", "--json"),
        ("generate", "--jobs", "2"),
    ):
        ran = hetopt(*words)
        assert ran.code == 0, ran.err
        conforms(ran.document)


ROUND = {
    "format": "hetopt/round", "version": 1, "name": "r", "round_seconds": 300, "now": 2,
    "gpu_types": [{"name": "V100", "count": 2}],
    "jobs": [{"name": "a", "demand": 2, "work": 40, "done": 11.5, "release_date": 1, "throughput": [1.5],
              "current_type": None, "migration_cost": [0], "fairness": 0.2}],
}  # fmt: skip


def test_every_format_that_is_written_conforms_to_its_schema(
    hetopt: Any, instance_file: Path, tmp_path: Path, two_jobs: Instance
) -> None:
    (tmp_path / "round.json").write_text(json.dumps(ROUND))
    written = {two_jobs.to_dict()["format"]: two_jobs.to_dict(), "hetopt/round": ROUND}
    for words in (
        ("solve", instance_file, "--solver", "hare", "-o", "r.json", "--schedule-out", "s.json", "--json"),
        ("bound", instance_file, "--work-limit", "50", "--certificate-out", "c.json", "--json"),
        ("check", instance_file, "--json"),
        ("compare", instance_file, "--solvers", "fifo,hare", "--json"),
        ("verify", instance_file, "r.json", "--json"),
        ("round", "round.json", "-o", "a.json", "--json"),
        ("solvers", "--json"),
    ):
        ran = hetopt(*words)
        assert ran.code == 0, ran.err
        written[ran.document["format"]] = ran.document
    for name in ("s.json", "c.json"):
        document = json.loads((tmp_path / name).read_text())
        written[document["format"]] = document
    job = JobOutcome("a", arrival=0.0, first_start=1.0, finish=5.0, gpu_seconds=4.0, alone=8.0)
    never = PolicyOutcome("none", (JobOutcome("a", 0.0, None, None, 0.0),), gpus=1, utilisation=None)
    simulated = SimulationResult("w", 0, (PolicyOutcome("fifo", (job,), gpus=1, utilisation=0.8), never)).to_dict()
    SimulationDocument.from_dict(simulated)
    written["hetopt/simulation"] = simulated
    assert {f"hetopt/{name}" for name in SCHEMAS} <= set(written)
    for name in SCHEMAS:
        conforms(written[f"hetopt/{name}"])
        odd = {**written[f"hetopt/{name}"], "unknown": 1}
        with pytest.raises(jsonschema.ValidationError):
            conforms(odd)


def test_tables_go_to_standard_error(hetopt: Any, instance_file: Path) -> None:
    for words, expected in (
        (("solvers",), "fifo"),
        (("compare", instance_file, "--solvers", "fifo,wspt"), "Ratio to bound"),
        (("schema",), "clairvoyant"),
        (("generate", "--family", "list"), "poisson"),
    ):
        ran = hetopt(*words)
        assert (ran.code, ran.out) == (0, "")
        assert expected in ran.err
        assert ran.err.isascii()


def test_a_document_may_also_go_to_a_file(hetopt: Any, instance_file: Path, tmp_path: Path) -> None:
    ran = hetopt("solve", instance_file, "--solver", "fifo", "-o", "r.json", "--json")
    assert ran.document == json.loads((tmp_path / "r.json").read_text())


def test_dash_is_standard_input(hetopt: Any, two_jobs: Instance, tmp_path: Path) -> None:
    solved = hetopt("solve", "-", "--solver", "wspt", "--json", stdin=two_jobs.to_json())
    assert solved.document["fingerprint"] == two_jobs.fingerprint
    two_jobs.save(tmp_path / "i.json")
    assert hetopt("verify", "i.json", "-", stdin=solved.out).code == 0
    ran = hetopt("verify", "-", "-")
    assert ran.code == 2
    assert "only one" in ran.err


def test_generate_is_repeatable_and_takes_every_knob(hetopt: Any, tmp_path: Path) -> None:
    words = ["generate", "--jobs", "5", "--gpus", "V100=2,T4=2", "--seed", "7", "--family", "poisson"]
    words += [
        "--alpha",
        "3",
        "--load",
        "0.7",
        "--rounds",
        "2..3",
        "--scale",
        "1,2",
        "--sync",
        "0.2",
        "--weights",
        "1..9",
    ]
    words += ["--tick", "0.5", "--param", "forbidden=0.2", "--name", "mine"]
    assert hetopt(*words, "-o", "a.json").code == 0
    assert hetopt(*words, "-o", "b.json").code == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    made = Instance.load(tmp_path / "a.json")
    assert (made.num_jobs, made.num_gpus, made.name, made.tick_seconds) == (5, 4, "mine", 0.5)
    assert all(2 <= sum(part.repeat for part in job.rounds) <= 3 for job in made.jobs)


def test_convert_table(hetopt: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("name,V100,T4\nbert,3.2,7\nresnet,4,\n")
    ran = hetopt("convert", "table", "t.csv", "--gpus", "v100=2,T4=1", "--rounds", "2", "--tick", "0.1", "-o", "i.json")
    assert ran.code == 0, ran.err
    made = Instance.load(tmp_path / "i.json")
    assert [g.count for g in made.gpu_types] == [2, 1]
    assert made.jobs[1].rounds[0].processing_time[1] is None


def test_compare_writes_report_csv_and_latex(hetopt: Any, instance_file: Path, tmp_path: Path) -> None:
    words = ["compare", instance_file, "--solvers", "fifo,wspt", "--csv", "t.csv", "--latex", "t.tex", "-o", "c.json"]
    ran = hetopt(*words)
    assert ran.code == 0, ran.err
    assert (tmp_path / "t.csv").read_text().startswith("instance,tasks,solver,objective")
    assert "\\toprule" in (tmp_path / "t.tex").read_text()
    conforms(json.loads((tmp_path / "c.json").read_text()))


def test_compare_report(hetopt: Any, instance_file: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    ran = hetopt("compare", instance_file, "--solvers", "fifo,wspt", "--report", "out/report.html")
    assert ran.code == 0, ran.err
    assert "<svg" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_plot(hetopt: Any, instance_file: Path, tmp_path: Path, ending: str) -> None:
    hetopt("solve", instance_file, "--solver", "fifo", "-o", "r.json", "--schedule-out", "s.json")
    assert hetopt("plot", instance_file, "r.json", "-o", f"r.{ending}").code == 0
    assert (
        hetopt("plot", instance_file, "s.json", "-o", f"s.{ending}", "--chart", "utilisation", "--title", "T").code == 0
    )
    assert (tmp_path / f"r.{ending}").stat().st_size > 1000
    assert hetopt("plot", instance_file, "s.json", "-o", "c.svg", "--chart", "convergence").code == 2


def test_schemas_of_all_formats(hetopt: Any) -> None:
    for name in SCHEMAS:
        ran = hetopt("schema", name)
        assert ran.code == 0
        schema = ran.document
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
        assert {"format", "version"} <= set(schema["required"])
        assert hetopt("schema", f"hetopt/{name}").out == ran.out


def test_schemas_refuse_what_readers_refuse(hetopt: Any, two_jobs: Instance, instance_file: Path) -> None:
    result = hetopt("solve", instance_file, "--solver", "wspt", "--json").document
    conforms(result)
    for broken in (
        {**result, "extra": 1},
        {**result, "version": 2},
        {k: v for k, v in result.items() if k != "format"},
        {**result, "objective": "7"},
        {**result, "schedule": {"format": "hetopt/schedule"}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(schema_of("result")).validate(broken)


def test_solvers_tells_what_each_can_do(hetopt: Any) -> None:
    rows = {row["name"]: row for row in hetopt("solvers", "--json").document["solvers"]}
    assert rows["wspt"]["installed"] is True
    assert "HEURISTIC" in rows["wspt"]["capabilities"]
    assert "makespan" in rows["wspt"]["objectives"]


def test_a_missing_library_is_named_with_the_way_to_get_it(hetopt: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from hetopt.core.registry import Entry
    from hetopt.solvers.catalogue import SOLVERS

    absent = Entry(
        "needs-more", "no.such:Thing", "exact", "needs what is not here", ("no_such_library",), "pip install it"
    )
    monkeypatch.setitem(SOLVERS.entries, "needs-more", absent)
    row = hetopt("solvers", "needs-more", "--json").document["solvers"][0]
    assert (row["installed"], row["install"], row["version"]) == (False, "pip install it", None)
    instance = hetopt("generate", "--jobs", "1").out
    ran = hetopt("solve", "-", "--solver", "needs-more", stdin=instance)
    assert ran.code == 6
    assert "pip install it" in ran.err


@pytest.mark.parametrize("objective", ["total-weighted-completion", "total-weighted-flow", "makespan"])
def test_objectives(hetopt: Any, instance_file: Path, objective: str) -> None:
    document = hetopt("solve", instance_file, "--solver", "fifo", "--objective", objective, "--json").document
    assert document["objective_kind"] == objective


def test_version_and_help(hetopt: Any) -> None:
    import hetopt as package

    assert hetopt("--version").out == f"hetopt {package.__version__}\n"
    assert "Exit codes" in hetopt("--help").out
    assert hetopt("solve", "-h").code == 0
    assert hetopt().code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("solve", "{i}", "--solver", "cpsat", "-o", "{absent}/r.json"),
        ("solve", "{i}", "--solver", "cpsat", "--schedule-out", "{absent}/s.json"),
        ("solve", "{i}", "--solver", "cpsat", "--log-file", "{absent}/log"),
        ("compare", "{i}", "--solvers", "cpsat", "--report", "{absent}/r.html"),
        ("compare", "{i}", "--solvers", "cpsat", "--csv", "{absent}/r.csv"),
        ("compare", "{i}", "--solvers", "cpsat", "--latex", "{absent}/r.tex"),
        ("bound", "{i}", "--certificate-out", "{absent}/c.json"),
        ("generate", "--jobs", "2", "-o", "{absent}/i.json"),
        ("schema", "result", "-o", "{absent}/s.json"),
        ("solvers", "-o", "{absent}/s.json"),
        ("export", "{i}", "--model", "disjunctive-milp", "-o", "{absent}/m.lp"),
    ],
)
def test_a_folder_that_is_not_there_is_refused_and_not_made(
    hetopt: Any, instance_file: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    absent = tmp_path / "absent"
    ran = hetopt(*(word.format(i=instance_file, absent=absent) for word in words))
    assert ran.code == 2
    assert not absent.exists()
    assert "there is no folder" in ran.err
    assert ran.err.count("\n") == 1
