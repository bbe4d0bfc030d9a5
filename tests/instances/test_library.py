"""The library: files and index agree, bounds are witnessed or sourced, hand-solved optima are optima."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import pytest

from hetopt.core.certificate import Certificate
from hetopt.core.errors import InputError, UsageError
from hetopt.core.feasibility import violations
from hetopt.core.instance import Instance
from hetopt.core.objectives import evaluate
from hetopt.core.schedule import Schedule
from hetopt.core.status import Objective
from hetopt.instances import library
from hetopt.instances.library.__main__ import TABLES, main
from hetopt.instances.library.index import FOLDER, INDEX_FILE, Index, Known
from hetopt.instances.library.published import RATES, TYPES, published_instances
from hetopt.instances.library.refresh import added, as_csv, as_markdown, measured, refreshed, stored_instances
from tests.oracle import optimum

ENTRIES = library.index().instances
NAMES = [e.name for e in ENTRIES]


def test_at_least_twenty_from_3_to_350_tasks():
    sizes = [e.tasks for e in ENTRIES]
    assert len(sizes) >= 20
    assert min(sizes) == 3 and 300 <= max(sizes) <= 350
    assert any(90 <= size <= 115 for size in sizes)


def test_index_and_files_agree():
    assert sorted(NAMES) == sorted(stored_instances())
    for e in ENTRIES:
        instance = Instance.load(e.path)
        assert instance.name == e.name
        assert {key: getattr(e, key) for key in measured(instance)} == measured(instance)
    assert INDEX_FILE.read_text() == refreshed(library.index()).to_json()


def test_tables_for_readers_are_up_to_date():
    if not TABLES.is_dir():
        pytest.skip("only in a checkout")
    assert (TABLES / "index.md").read_text() == as_markdown(library.index())
    assert (TABLES / "index.csv").read_text() == as_csv(library.index())
    rows = list(csv.DictReader(io.StringIO(as_csv(library.index()))))
    assert [row["name"] for row in rows] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_upper_bounds_are_witnessed_or_sourced(name):
    e = library.entry(name)
    if e.upper is None:
        return
    assert e.upper.trust in ("witness", "published")
    assert (e.upper.trust == "witness") == (e.upper.file is not None)
    schedule = library.witness(name)
    if schedule is not None:
        instance = library.load(name)
        assert violations(instance, schedule) == []
        assert evaluate(instance, schedule, Objective.TOTAL_WEIGHTED_COMPLETION) == e.upper.value


@pytest.mark.parametrize("name", NAMES)
def test_lower_bounds_have_a_source(name):
    e = library.entry(name)
    if e.lower is None:
        return
    assert e.lower.trust in ("by-hand", "published", "solver", "certificate")
    assert (e.lower.trust == "certificate") == (e.lower.file is not None)
    if e.lower.trust == "by-hand":
        assert e.note
    if e.lower.file is not None:
        certificate = Certificate.load(FOLDER / e.lower.file)
        assert certificate.fingerprint == e.fingerprint
        assert -(-certificate.bound.numerator // certificate.bound.denominator) == e.lower.value


def test_no_stray_evidence():
    used = {k.file for e in ENTRIES for k in (e.lower, e.upper) if k is not None and k.file is not None}
    stored = {
        path.relative_to(FOLDER).as_posix()
        for kind in ("schedules", "certificates")
        for path in (FOLDER / kind).glob("*")
    }
    used |= {
        f"certificates/{name}.json"
        for name in library.names("theory")
        if (FOLDER / "certificates" / f"{name}.json").exists()
    }
    assert stored == used


@pytest.mark.parametrize("name", [e.name for e in ENTRIES if e.tasks <= 6])
def test_small_optima_by_exhaustive_search(name):
    assert library.entry(name).optimum == optimum(library.load(name))


def test_published_instances_are_as_built():
    built = {i.name: i for i in published_instances()}
    assert set(built) == set(library.names("published-figures"))
    for name, instance in built.items():
        assert instance.to_json() == library.load(name).to_json()


def test_quoted_rates_are_those_of_the_source(shared_data):
    from hetopt.instances.traces.gavel import load_throughputs

    table = load_throughputs(shared_data / "gavel" / "simulation_throughputs.json")
    for (model, scale), rates in RATES.items():
        for kind, rate in zip(TYPES, rates, strict=True):
            true = table.rate(kind.lower(), model, scale)
            assert (rate is None) == (true is None)
            assert rate is None or float(f"{true:.4g}") == rate


def test_theory_facts_are_exact():
    for name in library.names("theory"):
        e = library.entry(name)
        p, _, q = str(e.facts["midpoint_lp"]).partition("/")
        assert int(p) <= e.upper.value * int(q or 1)
        assert e.facts["hare"] >= e.upper.value
        if "counterexample" in e.tags:
            assert e.facts["hare"] > 3 * e.upper.value


def test_names_by_pattern_and_tag():
    assert library.names("hand-*") == library.names("hand-solved")
    assert "T08" in library.names("T*") and "U60" not in library.names("T*")
    assert len(library.names()) == len(NAMES) and library.names("nothing") == ()


def test_resolve(tmp_path, monkeypatch):
    assert library.resolve("T08") == library.load("T08")
    path = tmp_path / "x.json"
    library.load("T15").save(path)
    assert library.resolve(path) == library.resolve(str(path)) == library.load("T15")
    monkeypatch.chdir(tmp_path)
    path.rename(tmp_path / "T08")
    assert library.resolve("T08").name == "T15"  # an existing file comes first
    with pytest.raises(UsageError, match="did you mean hand-smith"):
        library.resolve("hand-smit")
    with pytest.raises(UsageError, match="did you mean T08"):
        library.load("t08")
    with pytest.raises(InputError, match="cannot be read"):
        library.resolve("none.json")
    with pytest.raises(InputError, match="cannot be read"):
        library.resolve(Path("T99"))


def test_by_fingerprint():
    assert library.by_fingerprint(library.load("T50").fingerprint).name == "T50"
    assert library.by_fingerprint("0") is None


def test_an_index_with_contradicting_bounds_is_refused():
    raw = library.index().to_dict()
    position = NAMES.index("T08")
    raw["instances"][position]["lower"]["value"] = 127
    with pytest.raises(InputError, match="no lower bound exceeds"):
        Index.from_dict(raw)
    raw["instances"][position]["lower"]["value"] = 126
    raw["instances"].append(raw["instances"][0])
    with pytest.raises(InputError, match="names are unique"):
        Index.from_dict(raw)
    assert Known(value=1, trust="solver", source="x").file is None


def test_entries_are_added_and_replaced(tmp_path, monkeypatch):
    instance = library.load("T08").model_copy(update={"name": "new"})
    monkeypatch.setattr(sys.modules["hetopt.instances.library.index"], "FOLDER", tmp_path)
    grown = added(Index.load(INDEX_FILE), instance, title="New", origin="a test", tags=("x",))
    assert [e.name for e in grown.instances] == [*NAMES, "new"]
    assert grown.instances[-1].tasks == instance.num_tasks and Instance.load(tmp_path / "new.json") == instance
    again = added(grown, instance, title="Newer", origin="a test")
    assert [e.name for e in again.instances] == [*NAMES, "new"] and again.instances[-1].title == "Newer"


def test_command_lists_the_index(capsys):
    assert main([]) == 0
    assert capsys.readouterr().out == as_csv(library.index())


def test_witness_is_absent_or_a_schedule():
    assert isinstance(library.witness("hand-smith"), Schedule)
    assert library.witness("T160") is None or library.entry("T160").upper is not None
