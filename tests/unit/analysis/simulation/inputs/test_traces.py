"""Traces: what rows become, what thinning, stretching and repeating do, and what is said of broken files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from bayplan.admission import admit
from bayplan.analysis.simulation.inputs.csv_rows import FAULTS_SHOWN
from bayplan.analysis.simulation.inputs.traces import Trace, load_trace
from bayplan.controllers.nodes.kubelet import annotated_run_seconds
from bayplan.model.errors import InvalidObject
from bayplan.model.pod import Pod

DATA = Path(__file__).parents[6] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the recorded traces (../shared/data) are not there")

NODES = """\
sn,cpu_milli,memory_mib,gpu,model
n0,64000,262144,2,P100
n1,96000,393216,8,G2
n2,32000,262144,0,
n3,96000,393216,8,G2
"""
PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
p-late,4000,1024,1,460,,LS,Running,100,400,150
p-first,6000,2048,2,1000,G2|P100|G2,BE,Running,0,50,0
p-never,1000,0,0,0,,Burstable,Pending,100,130,
"""


def openb(folder: Path, nodes: str = NODES, pods: str = PODS) -> str:
    (folder / "openb_node_list_gpu_node.csv").write_text(nodes)
    (folder / "openb_pod_list_default.csv").write_text(pods)
    return f"openb:{folder}"


def csv_file(folder: Path, text: str, name: str = "work load.csv") -> str:
    (folder / name).write_text(text)
    return f"csv:{folder / name}"


def pods_of(trace: Trace) -> list[Pod]:
    return [pod for _, pod, _ in trace.arrivals]


def times_of(trace: Trace) -> list[tuple[str, float, float | None]]:
    return [(pod.metadata.name, seconds, run) for seconds, pod, run in trace.arrivals]


def faults_of(spec: str) -> list[str]:
    with pytest.raises(InvalidObject) as caught:
        load_trace(spec)
    return [str(fault) for fault in caught.value.faults]


# ---------------------------------------------------------------- openb


def test_openb_pods_come_in_order_and_run_from_when_they_were_scheduled(tmp_path: Path) -> None:
    trace = load_trace(openb(tmp_path))
    assert times_of(trace) == [("p-first", 0, 50), ("p-late", 100, 250), ("p-never", 100, 30)]
    assert len(trace.arrivals) == 3
    assert trace.arrivals.last_seconds == 100


def test_openb_gpus_are_an_extended_resource(tmp_path: Path) -> None:
    trace = load_trace(openb(tmp_path))
    first, late, never = pods_of(trace)
    resources = [pod.spec.containers[0].resources for pod in (first, late, never)]
    assert resources[0].requests == {"cpu": "6000m", "memory": "2048Mi", "alibabacloud.com/gpu-milli": "2000"}
    assert resources[0].limits == {"alibabacloud.com/gpu-milli": "2000"}
    assert resources[1].requests["alibabacloud.com/gpu-milli"] == "460"
    assert resources[2].requests == {"cpu": "1000m", "memory": "0Mi"}
    assert first.metadata.annotations["alibabacloud.com/gpu-count"] == "2"
    with_gpus, without = trace.nodes[0], trace.nodes[2]
    assert with_gpus.status.allocatable["alibabacloud.com/gpu-milli"] == "2000"
    assert with_gpus.metadata.labels["alibabacloud.com/gpu-card-model"] == "P100"
    assert set(without.status.allocatable) == {"cpu", "memory", "pods"}


def test_openb_models_are_a_node_affinity_each_named_once(tmp_path: Path) -> None:
    affinity = pods_of(load_trace(openb(tmp_path)))[0].spec.affinity
    assert affinity is not None
    assert affinity.node_affinity is not None
    assert affinity.node_affinity.required is not None
    (term,) = affinity.node_affinity.required.node_selector_terms
    (wanted,) = term.match_expressions
    assert (wanted.key, wanted.values) == ("alibabacloud.com/gpu-card-model", ["G2", "P100"])


def test_openb_qos_becomes_priority_or_not(tmp_path: Path) -> None:
    trace = load_trace(openb(tmp_path))
    pods = pods_of(trace)
    admit([*trace.classes, *pods])
    assert [pod.spec.priority for pod in pods] == [1000, 3000, 2000]
    plain = load_trace(openb(tmp_path), qos_priority=False)
    assert plain.classes == []
    assert {pod.spec.priority_class_name for pod in pods_of(plain)} == {""}


def test_openb_another_pod_list_without_times(tmp_path: Path) -> None:
    """Then one pod comes each second and nobody leaves."""
    openb(tmp_path)
    with gzip.open(tmp_path / "openb_pod_list_other.csv.gz", "wt") as file:
        file.write("name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1000,1,0,0\nb,1000,1,1,1000\n")
    trace = load_trace(f"openb:{tmp_path / 'openb_pod_list_other.csv.gz'}")
    assert times_of(trace) == [("a", 0, None), ("b", 1, None)]


@pytest.mark.parametrize(
    ("nodes", "pods", "said"),
    [
        pytest.param(NODES.replace("gpu,", ""), PODS, "gpu_node.csv:1: gpu: missing column", id="node column"),
        pytest.param(
            NODES.replace("64000", "many"), PODS, "gpu_node.csv:2: cpu_milli: expected a whole", id="node cpu"
        ),
        pytest.param(NODES.replace("n1", "n0"), PODS, "gpu_node.csv:3: sn: n0 already exists", id="node twice"),
        pytest.param(NODES, PODS.replace("num_gpu", "gpus"), "default.csv:1: num_gpu: missing column", id="pod column"),
        pytest.param(NODES, PODS.replace("deletion_time", "end"), "default.csv:1: deletion_time:", id="time column"),
        pytest.param(NODES, PODS.replace("4000", "-4"), "default.csv:2: cpu_milli: must be 0 or more", id="negative"),
        pytest.param(NODES, PODS.replace("LS", "XL"), "default.csv:2: qos: expected one of", id="qos"),
        pytest.param(NODES, PODS.replace(",400,", ",1,"), "default.csv:2: deletion_time: 1 is before", id="times"),
        pytest.param(NODES, PODS.replace("2,1000", "2,500"), "default.csv:3: gpu_milli: multiple GPUs", id="shares"),
        pytest.param(NODES, PODS.replace("0,0,,B", "1,0,,B"), "default.csv:4: num_gpu: num_gpu 1 and", id="no share"),
        pytest.param(
            NODES,
            PODS.replace("p-first", "P_1"),
            "default.csv:3: name: 'P_1' is not a valid Kubernetes name",
            id="name",
        ),
        pytest.param(NODES, PODS.replace("p-first,", ""), "default.csv:3: has 10 fields, but the", id="short row"),
    ],
)
def test_broken_openb_files(tmp_path: Path, nodes: str, pods: str, said: str) -> None:
    (fault,) = faults_of(openb(tmp_path, nodes, pods))
    assert said in fault


def test_openb_files_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "openb_pod_list_x.csv").write_text(PODS)
    nodes, pods = faults_of(f"openb:{tmp_path}")
    assert "openb_node_list_gpu_node.csv" in nodes
    assert "; found: openb_pod_list_x.csv" in pods
    (missing,) = faults_of(f"openb:{tmp_path / 'nowhere'}")
    assert "no such file or directory" in missing


# ---------------------------------------------------------------- csv


CSV = """\
arrival,duration,cpu,memory,resource:nvidia.com/gpu,priority,class,label:app,count,name
10m,1h,500m,1Gi,,1000,high,web,2,web
5,90,2,,1,-5,,,,
0,,,,,,high,,,
"""


def test_csv_rows(tmp_path: Path) -> None:
    trace = load_trace(csv_file(tmp_path, CSV))
    assert times_of(trace) == [
        ("work-load-4", 0, None),
        ("work-load-3", 5, 90),
        ("web-1", 600, 3600),
        ("web-2", 600, 3600),
    ]
    pods = pods_of(trace)
    admit([*trace.classes, *pods])
    assert [pod.spec.priority for pod in pods] == [1000, -5, 1000, 1000]
    assert pods[1].spec.containers[0].resources.requests == {"cpu": "2", "nvidia.com/gpu": "1"}
    assert pods[2].metadata.labels == {"app": "web"}
    assert trace.nodes == []
    trace.check_classes([])


def test_run_times_reach_the_kubelet(tmp_path: Path) -> None:
    trace = load_trace(csv_file(tmp_path, CSV), stretch=0.125)
    assert [annotated_run_seconds(pod) for pod in pods_of(trace)] == [run for _, _, run in trace.arrivals]


def test_csv_gzipped_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress("\ufeffarrival,name\n1,x\n".encode()))
    assert times_of(load_trace(f"csv:{path}")) == [("x", 1, None)]


def test_csv_classes_that_must_come_from_elsewhere(tmp_path: Path) -> None:
    trace = load_trace(csv_file(tmp_path, "arrival,class\n0,gold\n0,system-node-critical\n", "t.csv"))
    trace.check_classes(["gold"])
    with pytest.raises(InvalidObject, match=r"t\.csv:2: class: no PriorityClass gold"):
        trace.check_classes([])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "t.csv: is empty", id="empty"),
        pytest.param("arrival\n", "t.csv: contains no rows", id="no rows"),
        pytest.param("cpu\n1\n", "t.csv:1: arrival: missing column; found: cpu", id="no arrival"),
        pytest.param("arrival,cpus\n0,1\n", "t.csv:1: cpus: unknown column; expected one of: ", id="unknown"),
        pytest.param("arrival,cpu,cpu\n0,1,1\n", "t.csv:1: cpu: duplicate column", id="twice"),
        pytest.param("arrival,resource:cpu\n0,1\n", "resource:cpu: duplicate resource", id="cpu twice"),
        pytest.param("arrival,resource:gpu\n0,1\n", "resource:gpu: 'gpu' is not a valid resource name", id="resource"),
        pytest.param("arrival,label:a b\n0,1\n", "t.csv:1: label:a b: name part must consist", id="label key"),
        pytest.param("arrival,label:a\n0,b c\n", "t.csv:2: label:a: a valid label must be", id="label value"),
        pytest.param("arrival\nsoon\n", "t.csv:2: arrival: expected seconds or a duration", id="time"),
        pytest.param("arrival\n-1s\n", "t.csv:2: arrival: must be between 0 and", id="negative time"),
        pytest.param("arrival\nnan\n", "t.csv:2: arrival: must be between 0 and", id="not a number"),
        pytest.param("arrival,cpu\n0,1x\n", "t.csv:2: cpu: '1x' is not a quantity", id="quantity"),
        pytest.param("arrival,memory\n0,-1Gi\n", "t.csv:2: memory: must be 0 or more", id="negative quantity"),
        pytest.param("arrival,resource:a.b/c\n0,500m\n", "a.b/c must be a whole number", id="part of a device"),
        pytest.param("arrival,count\n0,0\n", "t.csv:2: count: must be between 1 and", id="count"),
        pytest.param("arrival,priority\n0,high\n", "t.csv:2: priority: expected a whole", id="priority"),
        pytest.param("arrival,priority,class\n0,1,a\n0,2,a\n", "t.csv:3: priority: 2, but class a had", id="classes"),
        pytest.param("arrival,priority,class\n0,1,system-a\n", "t.csv:2: class: system-a: classes", id="system"),
        pytest.param("arrival,name\n0,a\n\n0,a\n", "t.csv:4: name: trace/a already exists, from line 2", id="names"),
        pytest.param(
            "arrival,namespace\n0,a.b\n", "t.csv:2: namespace: 'a.b' is not a valid namespace", id="namespace"
        ),
        pytest.param('arrival,name\n0,"a\n', "is not CSV", id="quote"),
        pytest.param("arrival,cpu\n0\n", "t.csv:2: has 1 fields, but the header has 2", id="short"),
    ],
)
def test_broken_csv(tmp_path: Path, text: str, said: str) -> None:
    (fault,) = faults_of(csv_file(tmp_path, text, "t.csv"))
    assert said in fault


def test_all_faults_are_told_but_not_thousands(tmp_path: Path) -> None:
    faults = faults_of(csv_file(tmp_path, "arrival\n" + "x\n" * 1000, "t.csv"))
    assert "t.csv:2: " in faults[0]
    assert "t.csv:3: " in faults[1]
    assert len(faults) == FAULTS_SHOWN + 1
    assert faults[-1].endswith("and 980 more like these")


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        pytest.param(None, "t.csv", "no such file", id="missing"),
        pytest.param(b"arrival\n\xff\n", "t.csv", "is not UTF-8 text", id="bytes"),
        pytest.param(b"plain", "t.csv.gz", "cannot be read", id="not gzipped"),
        pytest.param(gzip.compress(b"arrival\n0\n" * 500)[:-12], "t.csv.gz", "cannot be read", id="cut off"),
    ],
)
def test_unreadable_files(tmp_path: Path, content: bytes | None, name: str, said: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    (fault,) = faults_of(f"csv:{tmp_path / name}")
    assert fault.startswith(str(tmp_path / name))
    assert said in fault


# ---------------------------------------------------------------- azure


AZURE = """\
arrival_s,batch,cores,memory_gib,duration_min_s,duration_max_s,censored
0,0,8,14,900,900,0
300,1,1,1.75,600,1200,0
300,1,1,1.75,432300,518400,1
"""


def test_azure_runs_for_the_middle_of_its_bounds(tmp_path: Path) -> None:
    path = tmp_path / "vms.csv"
    path.write_text(AZURE)
    trace = load_trace(f"azure:{path}")
    assert times_of(trace) == [("vm-000000", 0, 900), ("vm-000001", 300, 900), ("vm-000002", 300, None)]
    assert pods_of(trace)[1].spec.containers[0].resources.requests == {"cpu": "1000m", "memory": str(7 * 2**28)}


def test_broken_azure(tmp_path: Path) -> None:
    path = tmp_path / "vms.csv"
    path.write_text(AZURE.replace(",900,900,", ",900,100,").replace("1.75,600", "much,600"))
    longest, memory = faults_of(f"azure:{path}")
    assert "vms.csv:2: duration_max_s: 100 is less than" in longest
    assert "vms.csv:3: memory_gib: expected a number, not 'much'" in memory


# ---------------------------------------------------------------- what can be done with a trace


MINUTES = "arrival,duration,name\n" + "".join(f"{60 * minute},30,p{minute}\n" for minute in range(10))


def test_shrink_keeps_arrivals_evenly(tmp_path: Path) -> None:
    trace = load_trace(csv_file(tmp_path, MINUTES), shrink=0.5)
    assert [name for name, _, _ in times_of(trace)] == ["p1", "p3", "p5", "p7", "p9"]


def test_stretch_slows_arrivals_and_running_down(tmp_path: Path) -> None:
    trace = load_trace(csv_file(tmp_path, MINUTES), stretch=2)
    assert times_of(trace)[1] == ("p1", 120, 60)
    assert trace.arrivals.last_seconds == 1080


def test_repeat_goes_on_with_the_same_step(tmp_path: Path) -> None:
    trace = load_trace(csv_file(tmp_path, MINUTES), repeat=2)
    times = times_of(trace)
    assert len(times) == len(trace.arrivals) == 20
    assert times[9:11] == [("p9", 540, 30), ("p0-r2", 600, 30)]
    assert trace.arrivals.last_seconds == times[-1][1] == 1140


def test_without_departures_nobody_leaves(tmp_path: Path) -> None:
    trace = load_trace(csv_file(tmp_path, MINUTES), departures=False)
    assert {run for _, _, run in times_of(trace)} == {None}
    assert {annotated_run_seconds(pod) for pod in pods_of(trace)} == {None}


def test_some_of_the_nodes_evenly(tmp_path: Path) -> None:
    spec = openb(tmp_path)
    assert [node.metadata.name for node in load_trace(spec, nodes=2).nodes] == ["n0", "n2"]
    assert load_trace(spec, nodes=0).nodes == []
    with pytest.raises(InvalidObject, match="nodes: must be between 0 and 4, not 5"):
        load_trace(spec, nodes=5)


def test_taking_the_arrivals_twice_gives_new_pods(tmp_path: Path) -> None:
    trace = load_trace(csv_file(tmp_path, MINUTES))
    first, second = pods_of(trace), pods_of(trace)
    assert first == second
    first[0].spec.priority = 7
    assert second[0].spec.priority is None
    assert first[1].spec.priority is None


def test_what_becomes_of_the_pods_leaves_the_trace_alone(tmp_path: Path) -> None:
    trace = load_trace(openb(tmp_path))
    before = trace.arrivals.digest()
    for pod in pods_of(trace):
        pod.spec.containers[0].resources.requests["cpu"] = "7"
    assert trace.arrivals.digest() == before


@pytest.mark.parametrize("spec", ["", "openb", "csv:", "swim:x"])
def test_unknown_kind_of_trace(spec: str) -> None:
    assert "trace: expected openb:DIR, csv:FILE or azure:FILE" in faults_of(spec)[0]


def test_options_out_of_range(tmp_path: Path) -> None:
    with pytest.raises(InvalidObject) as caught:
        load_trace(csv_file(tmp_path, MINUTES), shrink=0, stretch=float("inf"), repeat=0)
    assert [fault.field for fault in caught.value.faults] == ["shrink", "stretch", "repeat"]


# ---------------------------------------------------------------- the real ones


@needs_data
def test_openb_as_published() -> None:
    trace = load_trace(f"openb:{DATA / 'openb'}")
    assert (len(trace.nodes), len(trace.arrivals)) == (1213, 8152)
    assert sum(int(node.status.allocatable["alibabacloud.com/gpu-milli"]) for node in trace.nodes) == 6_212_000
    admit([*trace.nodes, *trace.classes, *pods_of(trace)])


@needs_data
def test_azure_as_published() -> None:
    trace = load_trace(f"azure:{DATA / 'azure-v1' / 'azure_v1_vm_arrivals_24h.csv.gz'}")
    assert len(trace.arrivals) == 74_576
    assert trace.arrivals.last_seconds == 86_100
    twice = load_trace(f"azure:{DATA / 'azure-v1' / 'azure_v1_vm_arrivals_24h.csv.gz'}", repeat=2)
    assert twice.arrivals.last_seconds == 86_400 + 86_100
