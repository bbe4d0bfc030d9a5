"""Flexible job shops: the format by hand, its faults, and the published instances where they are at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from hetopt.analysis.fjsplib import CrossCheck, as_table, cross_check, main, verdict
from hetopt.core.errors import InputError, VerificationError
from hetopt.instances.traces.fjsplib import BestKnown, load_best_known, load_fjsplib

SHOP = "2 3 1.5\n2 1 1 4 2 2 3 3 5\n1\t1\t2\t6"
"""Job 1: 4 on machine 1, then 3 on machine 2 or 5 on machine 3; job 2: 6 on machine 2.  Optimum 9: 4 then 5 on machine 3."""
TABLE = "instance,path,jobs,machines,operations,lower_bound,upper_bound\nsmall,small.fjs,2,3,3,{},{}\n"


def write(folder: Path, text: str, low: int = 9, high: int = 9) -> Path:
    (folder / "small.fjs").write_text(text, newline="")
    (folder / "best_known.csv").write_text(TABLE.format(low, high))
    return folder / "small.fjs"


def test_the_format_by_hand(tmp_path: Path) -> None:
    instance, report = load_fjsplib(write(tmp_path, SHOP.replace("\n", "\r\n")))
    assert [g.count for g in instance.gpu_types] == [1, 1, 1]
    times = [[r.processing_time for r in job.rounds] for job in instance.jobs]
    assert times == [[(4, None, None), (None, 3, 5)], [(None, 6, None)]]
    assert all(r.scale == 1 and r.repeat == 1 for job in instance.jobs for r in job.rounds)
    assert report.notes == ()
    unused = load_fjsplib(write(tmp_path, "1 2\n1 1 1 3\n\n"))
    assert unused.report.notes == ("no operation uses machine 2",)


def test_numbering_from_zero_is_refused_unless_said(tmp_path: Path) -> None:
    path = write(tmp_path, "1 2\n2 1 0 3 1 1 4\n")
    with pytest.raises(InputError, match="machine 0"):
        load_fjsplib(path)
    instance = load_fjsplib(path, zero_based=True).instance
    assert [r.processing_time for r in instance.jobs[0].rounds] == [(3, None), (None, 4)]
    with pytest.raises(InputError, match="machine 2"):
        load_fjsplib(write(tmp_path, "1 2\n1 1 2 3\n"), zero_based=True)


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("", "", "no text"),
        ("2\n", "line 1", "'2'"),
        ("1 2\n1 1 3 4\n", "line 2 operation 1", "machine 3"),
        ("1 2\n1 1 1 0\n", "line 2 operation 1", "duration 0"),
        ("1 2\n1 2 1 3 1 4\n", "line 2 operation 1", "machine 1 twice"),
        ("1 2\n2 1 1 3\n", "line 2 operation 2", "0 numbers left"),
        ("1 2\n1 2 1 3\n", "line 2 operation 1", "3 numbers left"),
        ("1 2\n1 1 1 3 9\n", "line 2", "1 numbers after"),
        ("1 2\n1 1 1 3.5\n", "line 2", "3.5"),
        ("1 2\n0\n", "line 2", "0 operations"),
        ("3 2\n1 1 1 3\n", "", "1 lines of jobs"),
    ],
)
def test_faults_name_their_place(tmp_path: Path, text: str, where: str, what: str) -> None:
    with pytest.raises(InputError) as error:
        load_fjsplib(write(tmp_path, text))
    fault = error.value.faults[0]
    assert fault.where == where
    assert what in fault.found


def test_the_table_of_bounds_is_checked(tmp_path: Path) -> None:
    write(tmp_path, SHOP, 9, 8)
    with pytest.raises(InputError, match="at most the upper bound 8"):
        load_best_known(tmp_path / "best_known.csv")
    (tmp_path / "best_known.csv").write_text("instance,path\n")
    with pytest.raises(InputError, match="lower_bound"):
        load_best_known(tmp_path / "best_known.csv")


def test_verdicts() -> None:
    solved = BestKnown("x", "x", 1, 1, 1, 9, 9)
    unsolved = BestKnown("x", "x", 1, 1, 1, 7, 9)
    assert verdict(solved, 9, 9, optimal=True) == "proved equal"
    assert verdict(unsolved, 8, 8, optimal=True) == "proved, published open"
    assert verdict(solved, 9, 5, optimal=False) == "reached"
    assert verdict(solved, 10, 5, optimal=False) == "open"
    assert verdict(solved, None, None, optimal=False) == "open"
    assert verdict(solved, 8, 8, optimal=True) == "CONTRADICTION"
    assert verdict(solved, 12, 10, optimal=False) == "CONTRADICTION"


def test_the_cross_check_on_a_shop_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, SHOP)
    (check,) = cross_check(tmp_path)
    assert (check.verdict, check.found, check.proved_bound, check.gap) == ("proved equal", 9, 9, 0.0)
    state = tmp_path / "state.json"
    assert main([str(tmp_path), "--state", str(state)]) == 0
    assert "Proved equal to the published optimum: 1 of 1." in capsys.readouterr().out
    heard: list[CrossCheck] = []
    again = cross_check(tmp_path, done=[check], listener=heard.append)
    assert again == (check,)
    assert not heard
    assert "| small | 3 | 3 | 9 | 9 | 0.0 % | proved equal |" in as_table(again)
    write(tmp_path, SHOP, 10, 12)
    with pytest.raises(VerificationError, match="published 10"):
        cross_check(tmp_path)
    assert main([str(tmp_path)]) == 5
    write(tmp_path, SHOP.replace("2 3 1.5", "2 4 1.5"))
    with pytest.raises(VerificationError, match="the file has"):
        cross_check(tmp_path)


def test_published_instances_have_the_sizes_of_the_table(shared_data: Path) -> None:
    folder = shared_data / "fjsplib"
    rows = load_best_known(folder / "best_known.csv")
    assert len(rows) == 34
    for row in rows:
        instance = load_fjsplib(folder / row.path).instance
        assert (instance.num_jobs, len(instance.gpu_types), instance.num_rounds) == (
            row.jobs,
            row.machines,
            row.operations,
        )
    other = load_fjsplib(folder / "zero_based" / "mk01.txt", zero_based=True).instance
    assert [j.rounds for j in other.jobs] == [
        j.rounds for j in load_fjsplib(folder / "brandimarte/Mk01.fjs").instance.jobs
    ]
    assert load_fjsplib(folder / "brandimarte/Mk10.fjs").report.notes[0].count("machine") == 4


def test_small_published_optima_are_proved(shared_data: Path) -> None:
    names = ["SFJS1", "SFJS2", "SFJS4", "Kacem1"]
    checks = cross_check(shared_data / "fjsplib", names=names, time_limit=20)
    assert [c.verdict for c in checks] == ["proved equal"] * 4
