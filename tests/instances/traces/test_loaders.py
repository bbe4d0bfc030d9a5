"""Loaders on miniature files written by hand: meanings, faults with their places, drops by reason, detection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hetopt.core.errors import InputError, UsageError
from hetopt.instances.traces import (
    TraceFormat,
    detect_format,
    load_alibaba_nodes,
    load_alibaba_workload,
    load_data_sheets,
    load_iteration_times,
    load_philly_workload,
    load_pollux_workload,
    load_profile,
    load_service_samples,
    load_shockwave_workload,
    load_tiresias_cluster,
    load_tiresias_workload,
    load_worker_times,
    load_workload,
    throughput_table,
    workload_to_instance,
)

Write = Callable[[str, str], Path]

TABLE = '{"v100": {"(\'LM\', 1)": {"null": 2.0}, "(\'LM\', 2)": {"null": 3.0}}, "k80": {"(\'LM\', 1)": {"null": 0.5}, "(\'LM\', 2)": {"null": 0}}}'
SHOCK = "LM\tpython3 x %s\tlm\t--steps\t1\t{steps}\t{scale}\t{mode}\t1\t-1.0\t{duration}\t{arrival}"
PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,aa\n2017-10-09 06:01:55,100.0,4,400.0,bb\n2017-10-09 07:01:55,66.0,1,66.0,aa\n\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "p0,1,1,1,1000,,LS,Succeeded,5,110,10\n"
    "p1,1,1,1,460,,LS,Running,5,200,10\n"
    "p2,1,1,0,0,,LS,Succeeded,5,110,10\n"
    "p3,1,1,2,1000,V100M16|V100M32|V100M32,LS,Running,6,200,60\n"
    "p4,1,1,1,1000,T4,BE,Pending,6,200,\n"
    "p5,1,1,1,1000,A10,BE,Succeeded,6,200,7\n"
    "p6,1,1,1,1000,,BE,Failed,6,200,7\n"
    "p7,1,1,1,1000,,BE,Succeeded,6,7,7\n"
)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, newline="")
        return path

    return put


def shock(**changes: object) -> str:
    return SHOCK.format(**{"steps": 200, "scale": 1, "mode": "static", "duration": 100, "arrival": 7, **changes})


def test_shockwave_with_and_without_a_table(write: Write) -> None:
    path = write("s.trace", "\r\n".join([shock(), shock(), shock(scale=2, steps=300, mode="gns")]))
    table = write("t.json", TABLE)
    workload, report = load_shockwave_workload(path, table, ("V100", "K80"))
    assert [j.name for j in workload.jobs] == ["LM #1", "LM #2", "LM #3"]
    assert workload.jobs[0].throughput == (2.0, 0.5)
    assert workload.jobs[2].throughput == (3.0, None)
    assert workload.jobs[0].duration(0) == float(workload.jobs[0].attribute("duration") or 0)
    assert (report.rows, report.kept) == (3, 3)
    alone = load_shockwave_workload(path).workload
    assert alone.gpu_types == ("V100",)
    assert [j.throughput for j in alone.jobs] == [(2.0,), (2.0,), (3.0,)]
    assert [j.attribute("mode") for j in alone.jobs] == ["static", "static", "gns"]
    with pytest.raises(InputError, match="only V100"):
        load_shockwave_workload(path, types=("K80",))


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"mode": "fast"}, "mode"),
        ({"steps": 1.5}, "total_steps"),
        ({"duration": 0}, "duration"),
        ({"arrival": "nan"}, "arrival_time"),
    ],
)
def test_shockwave_faults(write: Write, change: dict[str, object], where: str) -> None:
    path = write("s.trace", shock() + "\n" + shock(**change) + "\n" + shock().replace("\t1\t-1.0", "\t-1.0"))
    with pytest.raises(InputError) as error:
        load_shockwave_workload(path)
    assert [f.where for f in error.value.faults] == [f"line 2 {where}", "line 3"]
    report = load_shockwave_workload(path, strict=False).report
    assert dict(report.reasons) == {"malformed row": 2}
    assert (report.rows, report.kept) == (3, 1)


def test_shockwave_jobs_without_a_rate(write: Write) -> None:
    path = write("s.trace", shock() + "\n" + shock(scale=4))
    table = write("t.json", TABLE)
    with pytest.raises(InputError, match="scale factors 1, 2, not for 4"):
        load_shockwave_workload(path, table)
    assert dict(load_shockwave_workload(path, table, strict=False).report.reasons) == {
        "no rate for the scale factor": 1
    }


def test_philly(write: Write) -> None:
    path = write("p.csv", PHILLY)
    workload, report = load_philly_workload(path, {"V100": 1.0, "T4": 0.5})
    assert [j.arrival for j in workload.jobs] == [3600.0, 0.0, 3600.0]
    assert [j.demand for j in workload.jobs] == [1, 4, 1]
    assert workload.jobs[1].duration(1) == 200.0
    assert report.rows == 3
    some, told = load_philly_workload(path, cluster="aa", min_seconds=66)
    assert [j.arrival for j in some.jobs] == [0.0, 0.0]
    assert told.notes == ("1 rows left out on request: another cluster",)
    assert len(load_philly_workload(path, max_gpu_hours=0.1).workload) == 2
    assert len(load_philly_workload(path, max_gpus=1).workload) == 2
    bad = write("bad.csv", PHILLY.replace("06:01:55", "6:1:55").replace("66.0,1,66.0,aa", "0,1,66.0,aa", 1))
    with pytest.raises(InputError) as error:
        load_philly_workload(bad)
    assert [f.where for f in error.value.faults] == ["line 2 duration", "line 3 timestamp"]
    assert dict(load_philly_workload(bad, strict=False).report.reasons) == {"malformed row": 2}
    with pytest.raises(UsageError, match="a speed is a number > 0"):
        load_philly_workload(path, {"V100": 0.0})


def test_tiresias(write: Write) -> None:
    path = write(
        "t.csv",
        "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\r\n7,1,0,606,vgg,164,30\r\n7,8,30,1,vgg,147,2\r\n",
    )
    workload, _ = load_tiresias_workload(path)
    assert [(j.name, j.arrival, j.work, j.demand) for j in workload.jobs] == [
        ("vgg #2", 0, 164, 1),
        ("vgg #3", 30, 147, 8),
    ]
    assert load_tiresias_cluster(write("c.csv", "num_switch,num_node_p_switch,num_gpu_p_node\n2,3,4")) == 24
    with pytest.raises(InputError, match="one row"):
        load_tiresias_cluster(write("c.csv", "num_switch,num_node_p_switch,num_gpu_p_node\n2,3,4\n2,3,4"))
    assert load_service_samples(write("y.csv", "duration\r\n5\r\n3\r\n")) == (3.0, 5.0)


def test_alibaba_pods(write: Write) -> None:
    path = write("pods.csv", PODS)
    workload, report = load_alibaba_workload(path, ("V100M16", "T4"))
    assert [(j.name, j.arrival, j.work, j.demand, j.throughput) for j in workload.jobs] == [
        ("p0", 5, 100, 1, (1.0, 1.0)),
        ("p3", 6, 140, 2, (1.0, None)),
    ]
    assert dict(report.reasons) == {
        "failed": 1,
        "fraction of a GPU": 1,
        "needs no GPU": 1,
        "never ran": 1,
        "no run time": 1,
        "runs on no requested type": 1,
    }
    assert report.notes == ("1 jobs still ran at the end of the trace: their work is cut off there",)
    more = load_alibaba_workload(path, ("v100m16", "T4"), fractions="whole", failed=True, speeds={"T4": 0.5})
    assert [j.name for j in more.workload.jobs] == ["p0", "p1", "p3", "p6"]
    assert more.workload.jobs[0].throughput == (1.0, 0.5)
    with pytest.raises(InputError) as error:
        load_alibaba_workload(path, ("T4",), strict=True)
    assert len(error.value.faults) == 7
    with pytest.raises(InputError, match="not in the file"):
        load_alibaba_workload(path, ("H100",))


def test_alibaba_nodes_and_worker_times(write: Write) -> None:
    nodes = write(
        "n.csv", "sn,cpu_milli,memory_mib,gpu,model\na,1,1,2,P100\nb,1,1,0,\nc,1,1,4,T4\nd,1,1,2,P100\ne,1,1,1,T4\n"
    )
    assert list(load_alibaba_nodes(nodes).items()) == [("T4", 5), ("P100", 4)]
    with pytest.raises(InputError, match="line 2 model"):
        load_alibaba_nodes(write("n.csv", "sn,cpu_milli,memory_mib,gpu,model\na,1,1,2,\n"))
    times = load_worker_times(
        write("w.csv", ",worker,gpu,time,batch_time_norm\n0,0,25,1,476\n1,1,25,1,509\n2,0,25,11,480\n")
    )
    assert [(w.worker, w.gpu_percent, w.times) for w in times] == [(0, 25, (476.0, 480.0)), (1, 25, (509.0,))]
    with pytest.raises(InputError, match="percent elsewhere"):
        load_worker_times(write("w.csv", ",worker,gpu,time,batch_time_norm\n0,0,25,1,476\n1,0,20,1,509\n"))


def pollux_files(write: Write, order: str = "placement,local_bsz,step_time,sync_time", suffix: str = "") -> Path:
    rows = [("1", 4, 1.0, 0.0), ("1", 8, 2.0, 0.0), ("2", 4, 1.5, 0.5), ("2", 8, 2.5, 0.5), ("11", 4, 3.0, 1.0)]
    names = order.split(",")
    at = {"placement": 0, "local_bsz": 1, "step_time": 2, "sync_time": 3}
    text = order + "\n" + "\n".join(",".join(str(row[at[n]]) for n in names) for row in rows)
    path = write(f"prof/bert/placements{suffix}.csv", text)
    write(f"prof/bert/scalability{suffix}.csv", "num_nodes,num_replicas,local_bsz,step_time,sync_time\n6,6,4,9,3\n")
    write("prof/bert/validation-12.csv", "progress,iteration,metric\n10,10,1\n20,21,2\n")
    write("prof/bert/validation-16.csv", "progress,iteration,metric\n10,8\n".replace("8\n", "8,0\n"))
    return path.parent


def test_pollux_profiles(write: Write) -> None:
    profile = load_profile(pollux_files(write), "T4")
    assert profile.iterations == {12: 21, 16: 8}
    assert profile.servers(2) == 1  # placement "2" is two GPUs on one server, "11" two servers
    assert profile.step_time(1, 6).step == 1.5  # between the local batches
    assert profile.step_time(1, 2).step == 1.0  # below the smallest
    # local batch 16: two sub-steps of 8 that synchronise once
    two = profile.step_time(2, 32)
    assert (two.step, two.sync) == (4.5, 0.5)
    assert profile.step_time(6, 24).step == 9.0
    assert profile.step_time(3, 12) is None


def test_a_clone_of_sia_has_its_columns_in_another_order(write: Write) -> None:
    ours = load_profile(pollux_files(write), "T4")
    theirs = load_profile(pollux_files(write, "local_bsz,step_time,sync_time,placement", "-aws"), "T4", cluster="aws")
    assert theirs.steps == ours.steps


def test_pollux_workloads(write: Write) -> None:
    folder = pollux_files(write).parent
    path = write(
        "w.csv",
        "name,time,application,num_replicas,batch_size\nbert-0,5,bert,2,12\nbert-1,6,bert,3,12\nx-1,6,x,1,12\nbert-2,7,bert,1,99\n",
    )
    with pytest.raises(InputError) as error:
        load_pollux_workload(path, {"T4": folder})
    assert [f.where for f in error.value.faults] == ["line 3", "line 4", "line 5"]
    workload, report = load_pollux_workload(path, {"T4": folder}, strict=False)
    assert dict(report.reasons) == {"no rate for the scale factor": 1, "no run with the batch": 1, "unknown model": 1}
    (job,) = workload.jobs
    assert (job.work, job.demand, job.arrival) == (21, 2, 5)
    assert job.duration(0) == pytest.approx(21 * 2.0)  # local batch 6
    assert job.attribute("sync_share") == "0.25"


def test_measurements(write: Write) -> None:
    one = load_iteration_times(write("a100_1gpu_half.csv", "resnet,vgg\n20,9\n10,6\n10,6\n"))
    two = load_iteration_times(write("t4_1gpu_half.csv", "vgg,resnet,x\n12,24,1\n12,24,1\n"))
    assert one.median("resnet") == 0.01
    assert throughput_table([one, two]) == {
        "resnet": {"a100": 1200.0, "t4": pytest.approx(500.0)},
        "vgg": {"a100": pytest.approx(2000.0), "t4": pytest.approx(1000.0)},
    }
    assert one.spread("resnet") == 0.0
    with pytest.raises(InputError, match="one file a GPU type"):
        throughput_table([one, one])
    with pytest.raises(InputError, match="reads GPU_Ngpu"):
        load_iteration_times(write("a100.csv", "resnet\n1\n"))
    sheets = load_data_sheets(
        write("d.csv", "device,mem,mem_type,mem_bw,num_sm,double,single,half\nT4,16,G,320,40,,8.1,\n")
    )
    assert (sheets[0].memory, sheets[0].double, sheets[0].single, sheets[0].half) == (16.0, None, 8.1, None)


def test_formats_are_told_by_content(write: Write) -> None:
    gavel = "LM\tcmd\t--steps\t1\t100\t3.0\t1"
    assert detect_format(write("x", "\n" + shock())) is TraceFormat.SHOCKWAVE
    assert detect_format(write("x", gavel)) is TraceFormat.GAVEL
    assert detect_format(write("x", PHILLY)) is TraceFormat.PHILLY
    assert detect_format(write("x", PODS)) is TraceFormat.ALIBABA
    assert detect_format(write("x", "job_id,num_gpu,submit_time,duration,model_name\n")) is TraceFormat.TIRESIAS
    assert detect_format(write("x", "name,time,application,num_replicas,batch_size\n")) is TraceFormat.POLLUX
    with pytest.raises(InputError, match="no job"):
        detect_format(write("x", " \n"))
    for text in ("a\tb\n", "{}", "time,jobs\n"):
        with pytest.raises(InputError, match="12 \\(Shockwave\\)"):
            detect_format(write("x", text))


def test_one_entry_for_all(write: Write) -> None:
    path = write("p.csv", PHILLY)
    workload = load_workload(path, types=("V100", "T4"), speeds={"T4": 0.5}).workload
    assert workload.jobs[0].throughput == (1.0, 0.5)
    instance = workload_to_instance(workload, {"V100": 4, "T4": 4}, rounds=2).instance
    assert instance.jobs[1].rounds[0].processing_time == (50, 100)
    with pytest.raises(UsageError, match="no use for it"):
        load_workload(path, throughputs="x.json")
    with pytest.raises(UsageError, match="no such type"):
        load_workload(path, types=("V100",), speeds={"K80": 1.0})
    with pytest.raises(InputError, match="needs its throughput table"):
        load_workload(write("x", "LM\tcmd\t--steps\t1\t100\t3.0\t1"))
    with pytest.raises(InputError, match="profiles"):
        load_workload(write("x", "name,time,application,num_replicas,batch_size\nbert-0,5,bert,2,12\n"))
    with pytest.raises(UsageError, match="ask for at most"):
        load_workload(path, jobs=9)
