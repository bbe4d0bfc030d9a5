"""``hetopt convert`` for every trace format, and ``simulate`` on a trace without throughputs, from outside."""

from __future__ import annotations

import json

import pytest

PHILLY = (
    "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,660,1,660,aa\n2017-10-09 06:01:55,100,2,200,bb\n"
)
TIRESIAS = "job_id,num_gpu,submit_time,duration,model_name\n1,1,0,100,vgg\n1,2,30,50,vgg\n"
PODS = (
    "name,num_gpu,gpu_milli,gpu_spec,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "p0,1,1000,T4,Succeeded,5,110,10\np1,0,0,,Succeeded,5,110,10\n"
)
SHOCKWAVE = "LM\tcmd\tdir\t--steps\t1\t200\t2\tstatic\t1\t-1.0\t100\t7\n"
WORKLOAD = "name,time,application,num_replicas,batch_size\nbert-0,5,bert,1,4\n"


@pytest.fixture
def files(tmp_path):
    for name, text in {
        "philly.csv": PHILLY,
        "tiresias.csv": TIRESIAS,
        "pods.csv": PODS,
        "s.trace": SHOCKWAVE,
        "w.csv": WORKLOAD,
        "shop.fjs": "1 2\n2 1 1 3 2 1 4 2 6\n",
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "prof" / "bert").mkdir(parents=True)
    (tmp_path / "prof/bert/placements.csv").write_text("placement,local_bsz,step_time,sync_time\n1,4,2.0,0.5\n")
    (tmp_path / "prof/bert/validation-4.csv").write_text("progress,iteration\n10,10\n")
    return tmp_path


@pytest.mark.parametrize(
    ("args", "times"),
    [
        (
            ("philly", "philly.csv", "--gpus", "V100=2,T4=2", "--speeds", "T4=0.5", "--rounds", "2"),
            [[330, 660], [50, 100]],
        ),
        (("tiresias", "tiresias.csv", "--gpus", "V100=2", "--rounds", "1"), [[100], [50]]),
        (("alibaba", "pods.csv", "--gpus", "T4=2,G2=2", "--rounds", "1", "--lenient"), [[100, None]]),
        (("shockwave", "s.trace", "--gpus", "V100=2", "--rounds", "4"), [[25]]),
        (("pollux", "w.csv", "--profiles", "T4=prof", "--gpus", "T4=2", "--rounds", "1"), [[20]]),
        (("fjsplib", "shop.fjs"), [[3, None]]),
    ],
)
def test_each_format_becomes_an_instance(hetopt, files, args, times):
    ran = hetopt("convert", *args, "--json")
    assert ran.code == 0, ran.err
    assert [job["rounds"][0]["processing_time"] for job in ran.document["jobs"]] == times
    assert "rows became jobs" in ran.err


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("philly", "tiresias.csv", "--gpus", "V100=2", "--rounds", "1"), "hetopt convert tiresias"),
        (("philly", "philly.csv", "--gpus", "V100=2", "--speeds", "T4=0.5", "--rounds", "1"), "no such type"),
        (("philly", "philly.csv", "--gpus", "V100=2", "--speeds", "V100=x", "--rounds", "1"), "speeds are numbers"),
        (("philly", "philly.csv", "--gpus", "V100=2", "--speeds", "V100", "--rounds", "1"), "NAME=VALUE"),
        (("alibaba", "pods.csv", "--gpus", "T4=2", "--rounds", "1"), "needs no GPU"),
        (("alibaba", "pods.csv", "--gpus", "T4=2", "--fractions", "x", "--rounds", "1"), "fractions"),
        (("fjsplib", "philly.csv"), "line 1"),
        (("pollux", "w.csv", "--profiles", "T4=nowhere", "--gpus", "T4=2", "--rounds", "1"), "no profile"),
        (("shockwave", "s.trace", "--gpus", "K80=2", "--rounds", "1"), "only V100"),
    ],
)
def test_mistakes_are_one_clear_line(hetopt, files, args, word):
    ran = hetopt("convert", *args)
    assert ran.code == 2
    assert word in ran.err
    assert "Traceback" not in ran.err


def test_simulate_task_level_policies_on_a_trace_without_throughputs(hetopt, files):
    args = (
        "simulate",
        "philly.csv",
        "--policy",
        "hlas,fifo-gang",
        "--gpus",
        "V100=1,T4=2",
        "--speeds",
        "T4=0.5",
        "--json",
    )
    plain = hetopt(*args)
    assert plain.code == 0, plain.err
    document = plain.document
    assert [p["policy"] for p in document["policies"]] == ["hlas", "fifo-gang"]
    assert all(p["jobs"] == 2 for p in document["policies"])
    assert hetopt(*args).document == document
    noisy = hetopt(*args, "--noise", "0.3", "--switch-seconds", "4", "--sync", "0.2").document
    assert json.dumps(noisy) != json.dumps(document)
    assert hetopt(*args, "--noise", "9").code == 2
