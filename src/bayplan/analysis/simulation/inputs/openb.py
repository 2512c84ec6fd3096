"""The Alibaba GPU cluster trace of 2023 (openb) in its own CSV files: nodes, pods, and QoS classes as priorities.

Takes a folder with `openb_node_list_gpu_node.csv` and `openb_pod_list_default.csv`, or one of the other pod lists by
name, plain or gzipped. GPUs are the extended resource `alibabacloud.com/gpu-milli`, 1000 for each GPU: without more,
only their sum is a limit. That a share must fit into one GPU is checked by a plugin (examples/openb); how many GPUs a
pod requests, and how much of each, is also in its annotations.

A pod arrives at its creation time and runs for as long as it did; one that never ran, for as long as it existed. In a
list without times one pod arrives per second, and none leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from bayplan.analysis.simulation.inputs.csv_rows import CsvRow, RowFaults, read_rows, requiring
from bayplan.analysis.simulation.inputs.recorded_trace import (
    Pattern,
    RecordedArrival,
    Recording,
    is_object_name,
    pod_spec,
)
from bayplan.model.cluster import PriorityClass
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.meta import ObjectMeta, RawQuantity
from bayplan.model.names import label_value_faults
from bayplan.model.node import Node, NodeStatus
from bayplan.model.well_known import HOSTNAME, OPERATING_SYSTEM

GPU_MILLI: Final = "alibabacloud.com/gpu-milli"
GPU_COUNT: Final = "alibabacloud.com/gpu-count"
GPU_MODEL: Final = "alibabacloud.com/gpu-card-model"
QOS: Final = "qos"
MILLI_PER_GPU: Final = 1000
GPUS_MAX: Final = 1024
PODS_PER_NODE: Final = "1001"  # as in the nodes published with the trace

#: The trace has no priorities. Its QoS classes in order; the two latency-sensitive ones are equals.
PRIORITY_BY_QOS: Final = {"Guaranteed": 3000, "LS": 3000, "Burstable": 2000, "BE": 1000}

_NODE_LISTS: Final = ("openb_node_list_gpu_node", "openb_node_list_all_node")
_POD_LIST: Final = "openb_pod_list_default"
_ENDINGS: Final = (".csv", ".csv.gz")
_NODE_COLUMNS: Final = requiring("sn", "cpu_milli", "memory_mib", "gpu", "model")
_POD_COLUMNS: Final = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_SHAPING: Final = (*_POD_COLUMNS[1:], "gpu_spec", "qos")  # they distinguish patterns
_TIMES: Final = ("creation_time", "deletion_time", "scheduled_time")


def read_openb(place: Path, *, qos_priority: bool = True) -> Recording:
    """The trace in a folder, or the pod list in a file with the nodes beside it. Raises InvalidObject."""
    node_list, pod_list = _files(place)
    recording = Recording(nodes=_read_nodes(node_list))
    _read_pods(pod_list, recording, qos_priority=qos_priority)
    if qos_priority:
        recording.classes = [
            PriorityClass(metadata=ObjectMeta(name=class_of(qos)), value=value)
            for qos, value in PRIORITY_BY_QOS.items()
        ]
    return recording


def class_of(qos: str) -> str:
    """The priority class for a QoS class."""
    return f"qos-{qos.lower()}"


def _files(place: Path) -> tuple[Path, Path]:
    folder = place if place.is_dir() else place.parent
    pod_list = _one_of(folder, _POD_LIST) if place.is_dir() else place
    node_list = next((found for name in _NODE_LISTS if (found := _one_of(folder, name))), None)
    faults = []
    if node_list is None:
        faults.append(Fault(str(folder), "", "", f"no {_NODE_LISTS[0]}.csv found"))
    if pod_list is None:
        others = sorted(file.name for file in folder.glob("openb_pod_list_*.csv*"))
        there = f"; found: {', '.join(others)} (use openb:FILE to pick one)" if others else ""
        faults.append(Fault(str(folder), "", "", f"no {_POD_LIST}.csv found{there}"))
    if not place.exists():
        faults = [Fault(str(place), "", "", "no such file or directory")]
    if faults or node_list is None or pod_list is None:
        raise InvalidObject(faults)
    return node_list, pod_list


def _one_of(folder: Path, name: str) -> Path | None:
    return next((file for ending in _ENDINGS if (file := folder / f"{name}{ending}").is_file()), None)


def _read_nodes(path: Path) -> list[Node]:
    nodes: dict[str, Node] = {}
    for row in read_rows(path, _NODE_COLUMNS):
        name = row.text("sn")
        if _is_new_name(row, "sn", name, nodes):
            nodes[name] = _node(row, name)
    return list(nodes.values())


def _node(row: CsvRow, name: str) -> Node:
    amounts: dict[str, RawQuantity] = {
        "cpu": f"{row.whole('cpu_milli')}m",
        "memory": f"{row.whole('memory_mib')}Mi",
        "pods": PODS_PER_NODE,
    }
    labels = {HOSTNAME: name, OPERATING_SYSTEM: "linux"}
    gpus = row.whole("gpu", most=GPUS_MAX)
    if gpus:
        amounts |= {GPU_COUNT: str(gpus), GPU_MILLI: str(gpus * MILLI_PER_GPU)}
        labels[GPU_MODEL] = _model(row, "model", row.text("model"))
    return Node(metadata=ObjectMeta(name=name, labels=labels), status=NodeStatus(allocatable=amounts, capacity=amounts))


def _read_pods(path: Path, recording: Recording, *, qos_priority: bool) -> None:
    names: set[str] = set()
    for row in read_rows(path, _check_pod_columns):
        name = row.text("name")
        if _is_new_name(row, "name", name, names):
            names.add(name)
            seconds, run_seconds = _times(row, len(recording.arrivals))
            key = tuple(map(row.text, _SHAPING))
            pattern = recording.pattern(key, partial(_new_pattern, row, qos_priority))
            recording.arrivals.append(RecordedArrival(seconds, run_seconds, name, pattern))


def _check_pod_columns(header: Sequence[str], faults: RowFaults) -> None:
    timed = any(name in header for name in _TIMES)
    requiring(*_POD_COLUMNS, *(_TIMES if timed else ()))(header, faults)


def _times(row: CsvRow, place: int) -> tuple[float, float | None]:
    if not row.has("creation_time"):
        return float(place), None
    created, deleted = row.seconds("creation_time"), row.seconds("deletion_time")
    started = row.seconds("scheduled_time") if row.text("scheduled_time") else created
    if deleted < started:
        row.reject("deletion_time", f"{deleted:.0f} is before the pod was created, at {started:.0f}")
    return created, deleted - started


def _new_pattern(row: CsvRow, qos_priority: bool) -> Pattern:
    requests = {"cpu": f"{row.whole('cpu_milli')}m", "memory": f"{row.whole('memory_mib')}Mi"}
    annotations = {}
    gpus, milli = row.whole("num_gpu", most=GPUS_MAX), row.whole("gpu_milli", most=MILLI_PER_GPU)
    if gpus and milli:
        if gpus > 1 and milli < MILLI_PER_GPU:
            row.reject("gpu_milli", f"multiple GPUs must be whole: expected {MILLI_PER_GPU}, not {milli}")
        requests[GPU_MILLI] = str(gpus * milli)
        annotations = {GPU_COUNT: str(gpus), GPU_MILLI: str(milli)}
    elif gpus or milli:
        row.reject("num_gpu", f"num_gpu {gpus} and gpu_milli {milli}: one is 0 and the other is not")
    models = list(dict.fromkeys(filter(None, row.text("gpu_spec").split("|"))))
    wanted = (GPU_MODEL, [_model(row, "gpu_spec", model) for model in models]) if models else None
    qos = row.text("qos")
    if qos and qos not in PRIORITY_BY_QOS:
        row.reject("qos", f"expected one of {', '.join(PRIORITY_BY_QOS)}, not {qos!r}")
    class_name = class_of(qos) if qos and qos_priority else ""
    return Pattern(pod_spec(requests, class_name, wanted), labels={QOS: qos} if qos else {}, annotations=annotations)


def _model(row: CsvRow, column: str, model: str) -> str:
    for message in label_value_faults(model):
        row.reject(column, f"{model!r}: {message}")
    return model


def _is_new_name(row: CsvRow, column: str, name: str, known: dict[str, Node] | set[str]) -> bool:
    if not is_object_name(name):
        row.reject(column, f"{name!r} is not a valid Kubernetes name")
        return False
    if name in known:
        row.reject(column, f"{name} already exists")
        return False
    return True
