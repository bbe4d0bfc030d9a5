"""The chart of the decomposition shows the identity S = G + path + A, piece by piece."""

from __future__ import annotations

import pytest

from hetopt.analysis.bound_check import BoundCheck, check_bound
from hetopt.analysis.counterexamples import row
from hetopt.core.errors import UsageError

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def test_it_draws_full_times_path_and_chosen_task_on_given_axes():
    import matplotlib.pyplot as plt
    from matplotlib.colors import to_rgba

    from hetopt.analysis.plots import decomposition

    check = check_bound(row("three-jobs-m4-small").problem())
    figure, axes = plt.subplots()
    assert decomposition(check, ax=axes) is axes
    assert "187 = full 98 + path 60 + release 29" in axes.get_title(loc="left")
    numbers = [
        float(x.split()[-1]) for x in axes.get_title(loc="left").split(": ")[1].replace(" = ", " + ").split(" + ")
    ]
    assert numbers[0] == 187 and sum(numbers[1:]) == 187
    colours = {tuple(c.get_facecolor()[0]) for c in axes.collections if len(c.get_facecolor())}
    assert to_rgba("#222222") in colours
    assert axes.get_xlabel() == "ticks" and len(axes.get_yticklabels()) == 4
    text = {t.get_text() for t in axes.get_legend().get_texts()}
    assert {"head", "root", "path task", "full time", "release date", "chosen task"} <= text
    plt.close(figure)
    fresh = decomposition(check, task=0, title="mine")
    assert fresh.get_title(loc="left") == "mine"
    plt.close(fresh.figure)


def test_wrong_tasks_and_checks_without_evidence_are_refused():
    from hetopt.analysis.plots import decomposition

    check = check_bound(row("three-jobs-m4-small").problem())
    with pytest.raises(UsageError, match="numbered 0 to 12"):
        decomposition(check, task=13)
    with pytest.raises(UsageError, match="no evidence"):
        decomposition(BoundCheck.from_dict(check.to_dict()))
