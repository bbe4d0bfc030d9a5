"""A tiny reproduction from end to end, and the committed page: made from the committed results and nothing else."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from hetopt.analysis.reproduction.page import figure_name, page_text, read_papers
from hetopt.analysis.reproduction.reproduce import paper_folder, reproduce, write_page
from hetopt.analysis.reproduction.results import load_results
from hetopt.analysis.reproduction.verdict import Verdict
from hetopt.analysis.sweeps.expand import expand
from hetopt.analysis.sweeps.spec import read_spec
from hetopt.core.documents import fingerprint_of
from hetopt.core.errors import InputError, UsageError

ROOT = Path(__file__).resolve().parents[3] / "paper_repro"
PAPERS = ("fft", "hare")

SMALLER = (
    (r"jobs = \d+, gpus = \{ V100 = 4, P100 = 4, K80 = 4 \}", "jobs = 4, gpus = { V100 = 4, P100 = 4, K80 = 4 }"),
    (r"jobs = \d+, gpus = \{ A100", "jobs = 5, gpus = { A100"),
    (r"jobs = 4000, types = 8, gpus = 1000", "jobs = 12, types = 2, gpus = 8"),
    (r"rounds = \[5, 10, 20\]", "rounds = [2, 3]"),
    (r"seed = \[[\d, ]+\]", "seed = [0]"),
    (r"load = \[[\d., ]+\]", "load = [1.0]"),
    (r"alpha = \[[\d., ]+\]", "alpha = [2]"),
    (r'library = "[^"]+"', 'library = "ratio-m3"'),
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of papers with specifications that take a moment."""
    folder = tmp_path_factory.mktemp("papers")
    for paper in PAPERS:
        (folder / paper / "quick").mkdir(parents=True)
        shutil.copy(ROOT / paper / "claims.toml", folder / paper)
        for spec in sorted((ROOT / paper / "quick").glob("*.toml")):
            text = spec.read_text()
            for pattern, replacement in SMALLER:
                text = re.sub(pattern, replacement, text)
            (folder / paper / "quick" / spec.name).write_text(text)
        results, interrupted = reproduce(folder / paper, folder / "out", quick=True, jobs=1)
        assert not interrupted
        (folder / paper / "results").mkdir()
        results.save(folder / paper / "results" / "quick.json")
    return folder


def skeleton(page: str) -> list[str]:
    """Headings, anchors, and the claims of the overview."""
    lines = [re.sub(r"^(\| \[[^\]]+\]).*", r"\1", line) for line in page.splitlines()]
    return [line for line in lines if re.match(r"#|<a id|\| \[|\*Claim\*|\*Our set-up\*", line)]


@pytest.mark.ci
def test_the_tiny_run_has_a_verdict_for_every_claim(tiny: Path) -> None:
    for paper in PAPERS:
        results = load_results(tiny / paper / "results" / "quick.json")
        verdicts = results.verdicts()
        assert Verdict.NOT_MEASURED not in verdicts.values(), results.claims
        assert all(set(states) == {"done"} for states in results.document["sweeps"].values())
    assert load_results(tiny / "hare" / "results" / "quick.json").verdicts()["alpha-2-plus-alpha"] == "contradicted"
    assert load_results(tiny / "hare" / "results" / "quick.json").verdicts()["guarantee"] == "reproduced"


@pytest.mark.ci
def test_a_second_call_runs_nothing_and_finds_the_same(tiny: Path) -> None:
    heard = []
    results, _ = reproduce(tiny / "hare", tiny / "out", quick=True, jobs=1, listener=heard.append)
    assert heard == []
    assert results.document["claims"] == load_results(tiny / "hare" / "results" / "quick.json").document["claims"]


@pytest.mark.ci
def test_the_page_of_the_tiny_run_has_the_structure_of_the_committed_one(tiny: Path) -> None:
    text = page_text(read_papers(tiny))
    assert skeleton(text) == skeleton((ROOT / "README.md").read_text())


@pytest.mark.ci
def test_a_page_with_its_figures(tiny: Path, tmp_path: Path) -> None:
    """One paper with its two quickest claims, drawn and written."""
    shutil.copytree(tiny / "hare", tmp_path / "hare")
    claims = (tmp_path / "hare" / "claims.toml").read_text().split("[[claims]]")
    kept = [part for part in claims[1:] if 'kind = "guarantee"' in part or 'kind = "none"' in part]
    (tmp_path / "hare" / "claims.toml").write_text("[[claims]]".join([claims[0], *kept]))
    page = write_page(tmp_path).read_text()
    assert "The claims have changed since these results were made" in page
    (image,) = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page)
    assert "<svg" in (tmp_path / image).read_text()


def test_the_committed_page_is_what_the_committed_results_give() -> None:
    papers = read_papers(ROOT)
    assert [p.claims.paper for p in papers] == list(PAPERS)
    figures = frozenset(p.name for p in (ROOT / "figures").glob("*.svg"))
    assert page_text(papers, figures) == (ROOT / "README.md").read_text()
    for paper in papers:
        assert paper.results is not None
        assert paper.results.document["claims_fingerprint"] == fingerprint_of(paper.claims.to_dict())
        measured = {n for n, item in paper.results.claims.items() if item["measured"]["main"] is not None}
        assert {figure_name(paper.claims.paper, n) for n in measured} <= figures


def test_the_page_follows_the_results() -> None:
    papers = read_papers(ROOT)
    results = papers[0].results
    assert results is not None
    before = page_text(papers)
    item = next(iter(results.claims.values()))
    item["verdict"] = "splendid"
    assert "**splendid**" in page_text(papers)
    assert page_text(papers) != before


@pytest.mark.parametrize("path", sorted(ROOT.glob("*/*/*.toml")), ids=lambda p: "-".join(p.parts[-3:]))
def test_every_specification_expands(path: Path) -> None:
    runs = expand(read_spec(path), path.parent, str(path))
    assert runs
    limits = [run.limits["time"] for run in runs]
    assert None not in limits


def test_each_mode_has_the_sweeps_that_the_claims_name() -> None:
    for paper in read_papers(ROOT):
        wanted = {c.sweep for c in paper.claims.claims if c.sweep}
        for mode in ("specs", "quick"):
            assert {p.stem for p in (ROOT / paper.claims.paper / mode).glob("*.toml")} == wanted
        labels = {}
        for sweep in wanted:
            path = ROOT / paper.claims.paper / "specs" / f"{sweep}.toml"
            labels[sweep] = {run.label for run in expand(read_spec(path), path.parent)}
        for claim in paper.claims.claims:
            if claim.ours is not None:
                named = {claim.ours, *claim.alternatives, *claim.others, *(x for pair in claim.pairs for x in pair)}
                assert named | ({claim.against} - {None}) <= labels[claim.sweep or ""], claim.id


def test_wrong_names(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="known: fft, hare"):
        paper_folder("gavel", ROOT)
    with pytest.raises(UsageError, match="checkout"):
        paper_folder("hare", tmp_path)
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(InputError, match="hetopt/reproduction"):
        load_results(tmp_path / "x.json")


def test_run_scripts_use_the_public_interface_only() -> None:
    for paper in PAPERS:
        text = (ROOT / paper / "run.py").read_text()
        assert re.findall(r"^(?:from|import) (hetopt\S*)", text, re.MULTILINE) == ["hetopt"]
