"""A sweep as a YAML file: what all runs have in common, the axes, and what to report.

    base:
      files: [cluster/]             # also a dump; relative to this file
      timeline: story.yaml
      trace: csv:arrivals.csv       # with traceOptions: {shrink: 0.1}
      recording: week.rec           # with recordingOptions: {nodes: false}
      nodes: ["8cpu,32Gi=5"]
      config: packed.yaml
      featureGates: {SomeGate: true}
      kubernetesVersion: "1.37"
      until: 30m
      wakeups: complete
    axes:
      seed: 1..20
      weight.NodeResourcesFit: [1, 5, 10]
    sample: grid                    # or {random: 50}, {latin: 50, seed: 7}, {search: 40, objectives: [cost]}
    baseline: {weight.NodeResourcesFit: 1}
    measures: [pods.preempted]

Takes a path, gives a `SweepFile`. Faults name the file and the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.sweeping.axes import DEFAULT_CONFIG, RECORDING_OPTIONS, TRACE_OPTIONS, read_axes
from bayplan.analysis.sweeping.design import Design, design, read_sampling
from bayplan.analysis.sweeping.preparing import Base
from bayplan.analysis.sweeping.setting_values import check_value
from bayplan.config.releases import UnknownReleaseError
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.near_matches import did_you_mean, near
from bayplan.model.reading import ReadResult, read
from bayplan.model.yaml_documents import YamlError, parse_yaml

_TOP = ("base", "axes", "sample", "baseline", "measures")
_BASE = (
    "files",
    "timeline",
    "trace",
    "traceOptions",
    "recording",
    "recordingOptions",
    "nodes",
    "config",
    "featureGates",
    "kubernetesVersion",
    "until",
    "wakeups",
)
#: Fields with settings of their own, and which; None: checked elsewhere.
_OPTIONS = {"traceOptions": TRACE_OPTIONS, "recordingOptions": RECORDING_OPTIONS, "featureGates": None}
#: How axes with these settings begin.
_AXES = {"traceOptions": "trace", "recordingOptions": "recording", "featureGates": "gate"}
#: Each of these can be all there is.
_CAN_BE_ALL = ("nodes", "trace", "recording")
_TRACE_FILES = ("openb:", "csv:", "azure:", "simkube:")


@dataclass(frozen=True, slots=True)
class SweepFile:
    base: Base
    design: Design
    measures: tuple[str, ...]


def read_sweep(path: str) -> SweepFile:
    """Raises InvalidObject."""
    document = _document(path)
    _check_fields(path, "", document, _TOP)
    given = document.get("base") or {}
    _check_fields(path, "base", given, _BASE)
    axes = document.get("axes")
    if not isinstance(axes, Mapping) or not axes:
        raise InvalidObject([Fault(path, "", "axes", "expected a mapping of axes to their values")])
    measures = document.get("measures") or []
    if not isinstance(measures, list) or not all(isinstance(name, str) for name in measures):
        raise InvalidObject([Fault(path, "", "measures", "expected a list of figures such as pods.preempted")])
    folder = Path(path).parent
    located = {name: _located_values(str(name), values, folder) for name, values in axes.items()}
    wanted = document.get("baseline") or {}
    _check_fields(path, "baseline", wanted, None)
    baseline = {name: _located_value(str(name), value, folder) for name, value in wanted.items()}
    planned = design(read_axes(located, path), read_sampling(document.get("sample"), path), baseline, path)
    return SweepFile(_base(path, given, axes, folder), planned, tuple(measures))


def _document(path: str) -> dict[str, Any]:
    try:
        documents = list(parse_yaml(Path(path).read_bytes()))
    except OSError as error:
        raise InvalidObject([Fault(path, "", "", error.strerror or "cannot be read")]) from error
    except (YamlError, ValueError) as error:
        raise InvalidObject([Fault(path, "", "", str(error))]) from error
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise InvalidObject([Fault(path, "", "", "expected one object with base and axes")])
    return documents[0]


def _check_fields(path: str, place: str, given: Any, known: tuple[str, ...] | None) -> None:
    """Raises InvalidObject for what is not known; None: all names are."""
    if not isinstance(given, Mapping):
        raise InvalidObject([Fault(path, "", place, "expected an object")])
    faults = []
    for name in given:
        if known is not None and name not in known:
            hint = did_you_mean(near(str(name), known)) or f"; fields are {', '.join(known)}"
            faults.append(Fault(path, "", f"{place}.{name}".lstrip("."), f"unknown field{hint}"))
    if faults:
        raise InvalidObject(faults)


def _base(path: str, given: Mapping[str, Any], axes: Mapping[str, Any], folder: Path) -> Base:
    files = given.get("files") or []
    names = [files] if isinstance(files, str) else files
    found = read([str(folder / str(name)) for name in names]) if names else ReadResult()
    if not names and not any(given.get(name) or name in axes for name in _CAN_BE_ALL):
        message = f"there is nothing to simulate: no files, {', '.join(_CAN_BE_ALL[:-1])} or {_CAN_BE_ALL[-1]}"
        raise InvalidObject([Fault(path, "", "base.files", message)])
    version = given.get("kubernetesVersion")
    try:
        cluster = Cluster.of(found, None if version is None else str(version))
    except UnknownReleaseError as error:
        raise InvalidObject([Fault(path, "", "base.kubernetesVersion", str(error))]) from error
    options = {field: _options(path, given, field, known) for field, known in _OPTIONS.items()}
    _check_values(path, given, options)
    return Base(
        cluster,
        timeline=_located_value("timeline", given.get("timeline"), folder),
        trace=_located_value("trace", given.get("trace"), folder),
        trace_options=options["traceOptions"],
        recording=_located_value("recording", given.get("recording"), folder),
        recording_options=options["recordingOptions"],
        nodes=_located_value("nodes", given.get("nodes"), folder),
        config=_located_value("config", given.get("config"), folder),
        feature_gates=options["featureGates"],
        until=given.get("until"),
        wakeups=given.get("wakeups"),
        has_version=version is not None or found.kubernetes_version is not None,
    )


def _options(path: str, given: Mapping[str, Any], field: str, known: tuple[str, ...] | None) -> Mapping[str, Any]:
    options = given.get(field) or {}
    _check_fields(path, f"base.{field}", options, known)
    return options


def _check_values(path: str, given: Mapping[str, Any], options: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises InvalidObject with all values that no run could use."""
    values = [(name, name, value) for name, value in given.items()]
    values += [
        (f"{field}.{name}", f"{_AXES[field]}.{name}", value)
        for field, of_field in options.items()
        for name, value in of_field.items()
    ]
    faults = []
    for field, axis, value in values:
        try:
            check_value(axis, value)
        except ValueError as error:
            faults.append(Fault(path, "", f"base.{field}", str(error)))
    if faults:
        raise InvalidObject(faults)


def _located_values(name: str, values: Any, folder: Path) -> Any:
    return [_located_value(name, value, folder) for value in values] if isinstance(values, list) else values


def _located_value(name: str, value: Any, folder: Path) -> Any:
    """Files are beside the sweep's own file."""
    if isinstance(value, list):
        return [_located_value(name, each, folder) for each in value]
    if not isinstance(value, str) or value == DEFAULT_CONFIG:
        return value
    if name in ("timeline", "trace"):
        kind = next((each for each in _TRACE_FILES if value.startswith(each)), "")
        return f"{kind}{folder / value.removeprefix(kind)}"
    if name in ("config", "recording"):
        return str(folder / value)
    if name == "nodes":
        source, equals, number = value.rpartition("=")
        return f"{folder / source}{equals}{number}" if source and (folder / source).exists() else value
    return value
