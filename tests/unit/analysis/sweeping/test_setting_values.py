"""Values that no run could use, as a value of an axis and in the base of a sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bayplan.analysis.sweeping.axes import read_axes
from bayplan.analysis.sweeping.setting_values import check_value
from bayplan.analysis.sweeping.sweep_file import read_sweep
from bayplan.model.errors import InvalidObject

WRONG = [
    ("config", 3, "expected a file, not 3"),
    ("timeline", 3, "expected a file, not 3"),
    ("trace", ["csv:a.csv"], "expected a trace such as csv:FILE"),
    ("recording", {"a": 1}, "expected a file"),
    ("recording", ["a.rec"], "expected a file"),
    ("nodes", 3, "expected nodes such as 8cpu,32Gi=5, not 3"),
    ("until", {}, "expected a time such as 30m"),
    ("until", True, "expected a time such as 30m"),
    ("wakeups", "never", "expected upstream or complete, not 'never'"),
]
OF_OPTIONS = [
    ("trace.shrink", "x", "traceOptions.shrink", "expected a number, not 'x'"),
    ("trace.stretch", True, "traceOptions.stretch", "expected a number, not True"),
    ("trace.repeat", 0.5, "traceOptions.repeat", "expected a whole number, not 0.5"),
    ("trace.nodes", -1, "traceOptions.nodes", "expected a whole number, not -1"),
    ("trace.departures", "no", "traceOptions.departures", "expected true or false, not 'no'"),
    ("recording.nodes", 0, "recordingOptions.nodes", "expected true or false, not 0"),
    ("gate.PodLevelResources", "on", "featureGates.PodLevelResources", "expected true or false, not 'on'"),
]


@pytest.mark.parametrize(
    ("name", "value", "message"), [*WRONG, *((axis, value, said) for axis, value, _, said in OF_OPTIONS)]
)
def test_on_an_axis(name: str, value: Any, message: str) -> None:
    with pytest.raises(InvalidObject, match=message) as error:
        read_axes({name: [value]}, "sweep.yaml")
    assert error.value.faults[0].field == f"axes.{name}"


@pytest.mark.parametrize(
    ("field", "value", "message"), [*WRONG, *((field, value, said) for _, value, field, said in OF_OPTIONS)]
)
def test_in_the_base(field: str, value: Any, message: str, tmp_path: Path) -> None:
    outer, _, inner = field.partition(".")
    path = tmp_path / "sweep.yaml"
    base = {"nodes": ["4cpu,8Gi=1"], outer: {inner: value} if inner else value}
    path.write_text(repr({"base": base, "axes": {"seed": [1]}}), encoding="utf-8")  # which is YAML
    with pytest.raises(InvalidObject, match=message) as error:
        read_sweep(str(path))
    assert (error.value.faults[0].source, error.value.faults[0].field) == (str(path), f"base.{field}")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("until", 30),
        ("until", "30m"),
        ("trace.shrink", 0.1),
        ("nodes", "8cpu,32Gi=5"),
        ("nodes", ["8cpu,32Gi=5"]),
        ("nodes.8cpu,32Gi", 0),
        ("config", None),
        ("config", {"kind": "KubeSchedulerConfiguration"}),
        ("weight.ImageLocality", "any"),
    ],
)
def test_what_can_be_used(name: str, value: Any) -> None:
    check_value(name, value)
