"""Reading and expanding specifications: every fault at once, keys that depend on content alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from hetopt.analysis.sweeps.expand import Run, expand, load_problem, shard
from hetopt.analysis.sweeps.spec import read_spec
from hetopt.analysis.sweeps.sweep import parse_shard
from hetopt.core.errors import InputError, UsageError
from hetopt.core.instance import Instance


def runs_of(text: str, folder: Path) -> list[Run]:
    path = folder / "s.toml"
    path.write_text(text)
    return expand(read_spec(path), folder, str(path))


def faults_of(text: str, folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        runs_of(text, folder)
    return str(caught.value)


def test_all_faults_of_a_file_come_at_once_with_file_and_key_path(tmp_path: Path) -> None:
    said = faults_of(
        """
        name = "x"
        seeds = []
        objective = "makespam"
        nonsense = 1
        [limits]
        time = -1
        [[instances]]
        library = "hand-*"
        files = ["a.json"]
        [[instances]]
        generate = { jobs = 3 }
        grid = { jobs = [1, 2], seed = [] }
        [[solvers]]
        name = "haer"
        [[solvers]]
        name = "fifo"
        [[solvers]]
        name = "fifo"
        [[policies]]
        name = "las-rounds"
        """,
        tmp_path,
    )
    for where in (
        "seeds",
        "objective",
        "nonsense",
        "limits.time",
        "instances[0]",
        "instances[1].grid.jobs",
        "instances[1].grid.seed",
        "solvers[0].name",
        "solvers[2].label",
        "workloads",
    ):
        assert f"s.toml: {where}: " in said, where
    assert "did you mean hare" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "not TOML"),
        ('name = "x"\n', "at least one solver"),
        ('name = "x"\n[[solvers]]\nname = "fifo"\n', "add a [[instances]] table"),
        ('name = "x"\n[[solvers]]\nname = "fifo"\n[[instances]]\nlibrary = "no-such-*"\n', "no shipped instance"),
        ('name = "x"\n[[solvers]]\nname = "fifo"\n[[instances]]\nfiles = ["no.json"]\n', "no such file"),
        (
            'name = "x"\n[[solvers]]\nname = "fifo"\nparams = {k = 1}\n[[instances]]\nlibrary = "hand-*"\n',
            "no parameter 'k'",
        ),
        (
            'name = "x"\n[[solvers]]\nname = "fifo"\nparams_file = "no"\n[[instances]]\nlibrary = "hand-*"\n',
            "folder solvers/",
        ),
        ('name = "x"\n[[solvers]]\nname = "fifo"\n[[instances]]\ngenerate = {jobs = 2, alhpa = 2}\n', "alhpa"),
        ('name = "x"\n[[solvers]]\nname = "fifo"\n[[instances]]\ngenerate = {jobs = 0}\n', "jobs 0"),
        ('name = "x"\n[[policies]]\nname = "fft"\n[[workloads]]\ngenerate = {lod = 2}\n', "lod"),
        ('name = "x"\n[[policies]]\nname = "fft"\n[[workloads]]\ntrace = {file = "a"}\n', "trace.gpus"),
        ('name = "x"\nversion = 2\n[[solvers]]\nname = "fifo"\n[[instances]]\nlibrary = "hand-*"\n', "version 1"),
    ],
)
def test_one_clear_line(text: str, said: str, tmp_path: Path) -> None:
    assert said in faults_of(text, tmp_path)


def test_faults_of_different_tables_are_found_together(tmp_path: Path) -> None:
    said = faults_of(
        'name = "x"\n[[solvers]]\nname = "hare"\nparams = {zz = 1}\n[[instances]]\nfiles = ["no.json"]\n'
        '[[instances]]\ngenerate = {family = "btch"}\n',
        tmp_path,
    )
    assert len(said.splitlines()) == 3


def test_combinations_and_keys(small: Path) -> None:
    runs = expand(read_spec(small), small.parent)
    assert len(runs) == 2 * (5 + 4)
    assert len({run.key for run in runs}) == len(runs)
    again = expand(read_spec(small), small.parent)
    assert [run.key for run in again] == [run.key for run in runs]
    assert {run.problem.name for run in runs if run.problem.source == "generate"} == {
        f"batch seed={s} alpha={a}" for s in (0, 1) for a in (2, 4)
    }


def test_what_counts_for_a_key_and_what_does_not(tmp_path: Path, two_jobs: Instance) -> None:
    two_jobs.save(tmp_path / "a.json")
    two_jobs.model_copy(update={"name": "other"}).save(tmp_path / "b.json")
    head, tail = 'name = "x"\n', '[[solvers]]\nname = "hare-eft"\n'
    base = head + '[[instances]]\nfiles = ["a.json"]\n' + tail

    def key(text: str) -> str:
        (run,) = runs_of(text, tmp_path)
        return run.key

    assert key(base) == key(base.replace("a.json", "b.json")), "the content counts, not the file or its name"
    assert key(base) == key(base.replace('"x"', '"y"') + 'label = "l"\n')
    assert key(base) == key(base.replace("a.json", "[ab].json")), "the same run twice is one run"
    for changed in (
        "seeds = [1]\n" + base,
        "limits = { time = 1.0 }\n" + base,
        "limits = { threads = 2 }\n" + base,
        'objective = "makespan"\n' + base,
        base.replace("hare-eft", "fifo"),
        base + "params = { gammas = [2.0] }\n",
    ):
        assert key(changed) != key(base), changed


def test_params_files_are_found_by_name_and_overridden(tmp_path: Path) -> None:
    (tmp_path / "solvers").mkdir()
    (tmp_path / "solvers" / "hare-eft.few.toml").write_text("gammas = [0.0, 1.0]\n")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    text = 'name = "x"\n[[instances]]\nlibrary = "hand-smith"\n[[solvers]]\nname = "hare-eft"\nparams_file = "hare-eft.few"\n'
    (run,) = runs_of(text, tmp_path / "deep" / "er")
    assert run.params == {"gammas": [0.0, 1.0]}
    (run,) = runs_of(text + "params = { gammas = [2.0] }\n", tmp_path / "deep" / "er")
    assert run.params == {"gammas": [2.0]}


def test_a_file_that_changes_after_expansion_is_refused(tmp_path: Path, two_jobs: Instance) -> None:
    two_jobs.save(tmp_path / "a.json")
    (run,) = runs_of('name = "x"\n[[instances]]\nfiles = ["a.json"]\n[[solvers]]\nname = "fifo"\n', tmp_path)
    assert load_problem(run.problem).fingerprint == two_jobs.fingerprint
    changed = two_jobs.model_copy(update={"jobs": two_jobs.jobs[:1]})
    changed.save(tmp_path / "a.json")
    with pytest.raises(UsageError, match="has changed"):
        load_problem(run.problem)


def test_traces_count_by_their_content(tmp_path: Path) -> None:
    row = "\t".join(["ResNet-18 (batch size 16)", "c", "d", "s", "0", "1000", "1", "1", "-1", "0"])
    (tmp_path / "t.trace").write_text(row + "\n")
    (tmp_path / "r.json").write_text('{"v100": {"(\'ResNet-18 (batch size 16)\', 1)": {"null": 10.0}}}')
    text = (
        'name = "x"\n[[{sort}]]\ntrace = {{file = "t.trace", throughputs = "r.json", gpus = {{v100 = 1}}{more}}}\n'
        '[[{what}]]\nname = "{name}"\n'
    )
    (run,) = runs_of(text.format(sort="workloads", more="", what="policies", name="las-rounds"), tmp_path)
    workload, gpus = load_problem(run.problem)
    assert (len(workload), gpus) == (1, {"v100": 1})
    (other,) = runs_of(text.format(sort="instances", more=", rounds = 2", what="solvers", name="fifo"), tmp_path)
    assert load_problem(other.problem).num_tasks == 2
    (tmp_path / "t.trace").write_text(row.replace("1000", "2000") + "\n")
    (changed,) = runs_of(text.format(sort="workloads", more="", what="policies", name="las-rounds"), tmp_path)
    assert changed.key != run.key


def test_shards_share_out_every_run_once(small: Path) -> None:
    runs = expand(read_spec(small), small.parent)
    for of in (1, 2, 5, 30):
        parts = [shard(runs, i + 1, of) for i in range(of)]
        assert sorted(r.key for part in parts for r in part) == sorted(r.key for r in runs)
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
    reordered = shard(runs[::-1], 1, 3)
    assert {r.key for r in reordered} == {r.key for r in shard(runs, 1, 3)}


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0", "-1/3", "1/3/2"])
def test_shards_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="shard"):
        parse_shard(text)
