"""Arrivals in a CSV file of our own columns: a header, then one line for each pod or group of equal pods.

    arrival           when it arrives: seconds, or a duration such as 90s, 5m, 1h30m; the only required column
    duration          how long it runs, in the same format; empty: until it is deleted
    cpu, memory       requests as Kubernetes quantities (500m, 2, 1.5Gi); empty: none
    resource:<name>   another request, such as resource:nvidia.com/gpu
    priority          a whole number; makes a priority class where the line names none
    class             a priority class; with a priority the line defines it, else manifests have to
    label:<key>       a label; empty: none
    count             how many such pods arrive together; empty: 1
    name, namespace   empty: made from the file's name and the line; `trace`

Lines need not be in order. Any other column is a fault, because a typo would silently change the trace.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Final

from bayplan.admission.priority import HIGHEST_USER_VALUE, SYSTEM_CLASSES, SYSTEM_PREFIX
from bayplan.analysis.simulation.inputs.csv_rows import CsvRow, RowFaults, read_rows, requiring
from bayplan.analysis.simulation.inputs.recorded_trace import (
    NAMESPACE,
    Pattern,
    RecordedArrival,
    Recording,
    is_object_name,
    pod_spec,
)
from bayplan.model.cluster import PriorityClass
from bayplan.model.meta import ObjectMeta
from bayplan.model.names import is_resource_name, label_key_faults, label_value_faults
from bayplan.model.quantity import NANO_PER_UNIT, parse_quantity

RESOURCE: Final = "resource:"
LABEL: Final = "label:"
COLUMNS: Final = ("arrival", "duration", "cpu", "memory", "priority", "class", "count", "name", "namespace")
COUNT_MAX: Final = 100_000


def read_csv(path: Path) -> Recording:
    """The trace in a file. Raises InvalidObject."""
    return _Reading(path).run()


class _Reading:
    """One file on its way to a recording."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._recording = Recording()
        self._stem = _slug(path.name.removesuffix(".gz").removesuffix(".csv"))
        self._resources: dict[str, str] = {"cpu": "cpu", "memory": "memory"}  # by column
        self._labels: dict[str, str] = {}  # key by column
        self._shaping: tuple[str, ...] = ()  # columns that distinguish patterns
        self._lines_by_pod: dict[tuple[str, str], int] = {}
        self._priorities: dict[str, int] = {}  # by class
        self._class_lines: dict[str, int] = {}  # where a class was first used

    def run(self) -> Recording:
        for row in read_rows(self._path, self._take_header):
            self._take_row(row)
        recording = self._recording
        recording.classes = [
            PriorityClass(metadata=ObjectMeta(name=name), value=value) for name, value in self._priorities.items()
        ]
        recording.classes_elsewhere = {
            name: f"{self._path}:{line}"
            for name, line in self._class_lines.items()
            if name not in self._priorities and name not in SYSTEM_CLASSES
        }
        return recording

    def _take_header(self, header: Sequence[str], faults: RowFaults) -> None:
        requiring("arrival")(header, faults)
        for column in header:
            if column.startswith(RESOURCE):
                self._resources[column] = self._resource_name(column, faults)
            elif column.startswith(LABEL):
                key = self._labels[column] = column.removeprefix(LABEL)
                for message in label_key_faults(key):
                    faults.add(1, column, message)
            elif column not in COLUMNS:
                known = ", ".join((*COLUMNS, f"{RESOURCE}<name>", f"{LABEL}<key>"))
                faults.add(1, column, f"unknown column; expected one of: {known}")
        self._shaping = (*self._resources, *self._labels, "priority", "class", "namespace")

    def _resource_name(self, column: str, faults: RowFaults) -> str:
        name = column.removeprefix(RESOURCE)
        if name in self._resources.values():
            faults.add(1, column, "duplicate resource")
        elif not is_resource_name(name):
            faults.add(1, column, f"{name!r} is not a valid resource name, such as nvidia.com/gpu")
        return name

    def _take_row(self, row: CsvRow) -> None:
        arrival = row.seconds("arrival")
        run_seconds = row.seconds("duration") if row.text("duration") else None
        count = row.whole("count", least=1, most=COUNT_MAX) if row.text("count") else 1
        key = tuple(map(row.text, self._shaping))
        pattern = self._recording.pattern(key, partial(self._new_pattern, row))
        name = row.text("name") or f"{self._stem}-{row.line}"
        names = [name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)]
        self._check_names(row, pattern.namespace, names)
        self._recording.arrivals += map(RecordedArrival, repeat(arrival), repeat(run_seconds), names, repeat(pattern))

    def _check_names(self, row: CsvRow, namespace: str, names: list[str]) -> None:
        if not is_object_name(names[-1]):
            row.reject("name", f"{names[-1]!r} is not a valid Kubernetes name")
        for name in names:
            earlier = self._lines_by_pod.setdefault((namespace, name), row.line)
            if earlier != row.line:
                row.reject("name", f"{namespace}/{name} already exists, from line {earlier}")
                return

    def _new_pattern(self, row: CsvRow) -> Pattern:
        requests = {
            name: self._amount(row, column, name) for column, name in self._resources.items() if row.text(column)
        }
        labels = {key: row.text(column) for column, key in self._labels.items() if row.text(column)}
        for column in self._labels:
            for message in label_value_faults(row.text(column)):
                row.reject(column, message)
        namespace = row.text("namespace") or NAMESPACE
        if not is_object_name(namespace) or "." in namespace:
            row.reject("namespace", f"{namespace!r} is not a valid namespace")
        return Pattern(pod_spec(requests, self._class_name(row)), namespace=namespace, labels=labels)

    def _amount(self, row: CsvRow, column: str, name: str) -> str:
        written = row.quantity(column)
        if "/" in name and parse_quantity(written) % NANO_PER_UNIT:
            row.reject(column, f"{name} must be a whole number, not {written}")
        return written

    def _class_name(self, row: CsvRow) -> str:
        """The class of the pod; records what the row says about it."""
        name, written = row.text("class"), row.text("priority")
        if not name and not written:
            return ""
        value = row.whole("priority", least=-(2**31), most=HIGHEST_USER_VALUE) if written else 0
        name = name or (f"priority-{value}" if value >= 0 else f"priority-minus-{-value}")
        self._class_lines.setdefault(name, row.line)
        if not is_object_name(name):
            row.reject("class", f"{name!r} is not a valid Kubernetes name")
        elif written and name.startswith(SYSTEM_PREFIX):
            row.reject(
                "class",
                f"{name}: classes that start with {SYSTEM_PREFIX} are reserved by Kubernetes and take no priority",
            )
        elif written and self._priorities.setdefault(name, value) != value:
            row.reject("priority", f"{value}, but class {name} had priority {self._priorities[name]} before")
        return name


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "pod"
