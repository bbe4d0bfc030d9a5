"""Simulations side by side: rows, frames, charts, report, and the dispatch by kind of policy."""

from __future__ import annotations

import pytest

import hetopt
from hetopt.analysis.plots.simulation_chart import completion_times, fairness, over_time
from hetopt.analysis.report.simulation import simulation_html
from hetopt.analysis.simulate import simulate
from hetopt.analysis.simulations import rows_of, to_pandas
from hetopt.core.errors import UsageError
from hetopt.core.simulation import PolicyOutcome, SimulationResult
from hetopt.core.workload import TrainingJob, Workload
from hetopt.solvers.online.rounds.policies.fft import Fft

WORKLOAD = Workload(
    "six",
    ("A", "B"),
    tuple(TrainingJob(f"j{n}", 50.0 * n, 500.0 + 100 * n, 1 + n % 2, (2.0, 1.0 + n % 3)) for n in range(6)),
)
GPUS = {"A": 2, "B": 2}


@pytest.fixture(scope="module")
def result():
    return simulate(WORKLOAD, {"FFT": "fft", "unfair FFT": Fft(fairness=False), "s <rtf>": "srtf-rounds"}, GPUS)


def test_labels_and_rows(result):
    rows = rows_of(result)
    assert [r.policy for r in rows] == ["FFT", "unfair FFT", "s <rtf>"]
    for row, outcome in zip(rows, result.policies, strict=True):
        summary = outcome.to_dict()
        assert row.mean_jct == summary["jct"]["mean"] and row.p99_jct == summary["jct"]["p99"]
        assert row.unfair == summary["finish_time_fairness"]["fraction_above_one"]
        assert row.jain == summary["jain_index"] and row.decisions == len(outcome.decision_seconds) > 0
        assert 0 <= row.decision_median <= row.decision_max


def test_frames(result):
    frame = to_pandas(result)
    assert list(frame["policy"]) == ["FFT", "unfair FFT", "s <rtf>"]
    jobs = to_pandas(result, jobs=True)
    assert len(jobs) == 18
    assert jobs.groupby("policy")["jct"].mean()["FFT"] == pytest.approx(frame["mean_jct"][0])


def test_charts_show_the_figures(result):
    ax = completion_times(result)
    lines = [line for line in ax.get_lines() if (line.get_gid() or "").startswith("jct")]
    assert len(lines) == 3
    for line, outcome in zip(lines, result.policies, strict=True):
        assert line.get_xdata()[1:] == pytest.approx([v / 3600 for v in sorted(outcome.jcts)])
        assert line.get_ydata()[-1] == 1.0
    ax = fairness(result)
    assert len([line for line in ax.get_lines() if (line.get_gid() or "").startswith("ftf")]) == 3
    ax = over_time(result, "GPUs in use", share=True)
    assert max(max(line.get_ydata()) for line in ax.get_lines()) <= 1.0


def test_a_long_series_is_averaged():
    points = tuple((float(t), float(t % 2)) for t in range(10_000))
    outcome = PolicyOutcome("p", (), 1, None, series={"waiting jobs": points})
    ax = over_time(SimulationResult("w", 0, (outcome,)), "waiting jobs")
    (line,) = ax.get_lines()
    assert len(line.get_xdata()) < 2000 and line.get_ydata()[5] == pytest.approx(0.5, abs=0.1)


def test_charts_without_anything_to_show():
    empty = SimulationResult("w", 0, (PolicyOutcome("p", (), 1, None),))
    for ax in (completion_times(empty), fairness(empty), over_time(empty, "waiting jobs")):
        assert any(t.get_gid() == "empty" for t in ax.texts)


def test_report(result):
    page = simulation_html(result, facts={"GPUs": "2 <A>"}, command="hetopt simulate x")
    assert "s &lt;rtf&gt;" in page and "s <rtf>" not in page and "2 &lt;A&gt;" in page and "hetopt simulate x" in page
    assert page.count("<svg") == 4 and page.count("<strong>") >= 5
    assert simulation_html(result) == simulation_html(result)


@pytest.mark.parametrize(
    ("policies", "words"),
    [
        ([], "no policy is given"),
        (["fft", "fft"], "stands twice"),
        (["nothing"], "no policy is called 'nothing'"),
        ([3], "no policy"),
    ],
)
def test_wrong_policies(policies, words):
    with pytest.raises(UsageError, match=words):
        simulate(WORKLOAD, policies, GPUS)


def test_wrong_parameters():
    with pytest.raises(UsageError, match="not simulated"):
        simulate(WORKLOAD, "fft", GPUS, params={"allox": {}})
    with pytest.raises(UsageError, match="seed"):
        simulate(WORKLOAD, "fft", GPUS, seed=1.5)
    with pytest.raises(UsageError, match="error, wait"):
        simulate(WORKLOAD, "fft", GPUS, unrunnable="sometimes")


def test_public_function():
    out = hetopt.simulate(WORKLOAD, "srtf-rounds", gpus="A=2,B=2", round_seconds=60)
    assert len(out.policies) == 1 and len(out.policies[0].jcts) == 6
