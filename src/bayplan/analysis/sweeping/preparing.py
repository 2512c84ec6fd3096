"""Everything that is known before the first run: files are read once, paths are checked, and each run gets its spec.

Takes a cluster, what all runs have in common and a design; gives the story for the engines, and the spec and name of
each run. Raises InvalidObject for what is wrong with an axis itself; combinations that make no valid configuration are
found in their run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

import bayplan
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.simulation.inputs.commands import PlannedCommand
from bayplan.analysis.simulation.inputs.digest import inputs_mark
from bayplan.analysis.simulation.inputs.node_templates import nodes_like
from bayplan.analysis.simulation.inputs.timeline import load_timeline
from bayplan.analysis.simulation.inputs.traces import Trace, load_trace
from bayplan.analysis.simulation.replaying.recorded_life import RecordedLife, load_recording
from bayplan.analysis.sweeping.axes import CONFIG, DEFAULT_CONFIG, changes_config, label_of, with_setting
from bayplan.analysis.sweeping.design import Design, Point
from bayplan.analysis.sweeping.pool_settings import AUTOSCALER, POOL, with_pool_settings
from bayplan.analysis.sweeping.runs import RunSpec, Story
from bayplan.config.document import read_document
from bayplan.config.faults import ConfigFaults
from bayplan.config.loading import ConfigSource, load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import KubernetesRelease, UnknownReleaseError, choose_release, release_named
from bayplan.model.durations import parse_span
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import Object
from bayplan.model.near_matches import did_you_mean, near
from bayplan.model.node import Node
from bayplan.model.time_units import SECOND
from bayplan.worlds.delays import Latencies

#: A trace or a recording.
_GivenT = TypeVar("_GivenT")
_OF_POOLS = (POOL, AUTOSCALER)
_OF_SOURCES = ("trace.", "recording.")
#: What a fault says if an axis names something that no configuration has.
_UNKNOWN = ("unknown field", "not found", "does not exist", "unknown plugin", "there is no")


@dataclass(frozen=True, slots=True)
class Base:
    """What all runs have in common, unless an axis says otherwise."""

    cluster: Cluster
    timeline: Any = None  # a file, or plans
    trace: Any = None  # as `load_trace` takes it, or a Trace
    trace_options: Mapping[str, Any] | None = None
    recording: Any = None  # a path, or a RecordedLife
    recording_options: Mapping[str, Any] | None = None
    nodes: Any = None
    config: ConfigSource = None
    feature_gates: Mapping[str, bool] | None = None
    until: float | str | None = None
    wakeups: str | None = None
    has_version: bool = True  # else the scheduler is that of a recording's cluster


class Preparation:
    """The story, and what each run is."""

    def __init__(self, base: Base, design: Design, source: str = "") -> None:
        self.design = design
        self._base, self._source = base, source
        self._configs: dict[str, dict[str, Any]] = {}
        self._timelines: dict[str, Sequence[PlannedCommand]] = {}
        self._traces: dict[str, Trace] = {}
        self._recordings: dict[str, RecordedLife] = {}
        self._nodes: dict[str, Sequence[Node]] = {}
        #: What a reader should know about versions that nobody named.
        self.version_notes: set[str] = set()
        self._check_axes()
        # Whatever a point names is read now, so that no run fails for want of a file.
        for point in design.points:
            self.spec(point, design.seeds[0])
        self.story = Story(base.cluster, self._timelines, self._traces, self._nodes, self._recordings)
        self._inputs = self._mark()
        self.names = [spec.name(self._inputs) for _, spec in self._specs()]

    def with_points(self, points: Sequence[Point]) -> Preparation:
        """This sweep over other points, of which the first is the baseline."""
        return Preparation(self._base, replace(self.design, points=tuple(points), search=None), self._source)

    def _specs(self) -> Iterator[tuple[int, RunSpec]]:
        for place in range(len(self.design)):
            yield place, self.spec_at(place)

    def spec_at(self, place: int) -> RunSpec:
        point, seed = divmod(place, len(self.design.seeds))
        return self.spec(self.design.points[point], self.design.seeds[seed])

    def spec(self, point: Point, seed: int) -> RunSpec:
        """Raises InvalidObject for files that cannot be read."""
        base = self._base
        refused = ""
        recording = self._recording_key(point)
        config, name = self._config(point.get(CONFIG, base.config))
        for axis, value in point.items():
            if changes_config(axis):
                try:
                    config, name = with_setting(config, axis, value), DEFAULT_CONFIG
                except ValueError as error:
                    refused = refused or f"{axis}: {error}"
        return RunSpec(
            seed=seed,
            config=config,
            config_name=name,
            feature_gates={**(base.feature_gates or {}), **_below("gate.", point)},
            kubernetes_version=self._version(point, recording),
            nodes=self._nodes_key(point, recording),
            timeline=self._timeline_key(point.get("timeline", base.timeline)),
            trace=self._trace_key(point),
            recording=recording,
            until_ns=_nanoseconds(point.get("until", base.until)),
            wakeups=point.get("wakeups", base.wakeups),
            pools={axis: value for axis, value in point.items() if axis.startswith(_OF_POOLS)},
            refused=refused,
        )

    # What a point names, read once.

    def _config(self, given: ConfigSource) -> tuple[dict[str, Any] | None, str]:
        if given is None or given == DEFAULT_CONFIG:
            return None, DEFAULT_CONFIG
        if isinstance(given, Mapping):
            return dict(given), DEFAULT_CONFIG
        path = str(given)
        if path not in self._configs:
            self._configs[path] = read_document(Path(path), ConfigFaults(path))
        return self._configs[path], path

    def _timeline_key(self, given: Any) -> str:
        if given is None or given == DEFAULT_CONFIG:
            return ""
        if isinstance(given, str | Path):
            if str(given) not in self._timelines:
                self._timelines[str(given)] = load_timeline(given)
            return str(given)
        plans = list(given)
        key = f"given {inputs_mark((), plans, None, Latencies())}"
        self._timelines[key] = plans
        return key

    def _trace_key(self, point: Point) -> str:
        given = point.get("trace", self._base.trace)
        if given is None or given == DEFAULT_CONFIG:
            return ""
        if isinstance(given, Trace):
            return _kept(self._traces, given)
        key, options = _with_options(given, self._base.trace_options, _below("trace.", point))
        if key not in self._traces:
            self._traces[key] = load_trace(str(given), **options)
        return key

    def _recording_key(self, point: Point) -> str:
        given = point.get("recording", self._base.recording)
        if given is None or given == DEFAULT_CONFIG:
            return ""
        if isinstance(given, RecordedLife):
            return _kept(self._recordings, given)
        key, options = _with_options(given, self._base.recording_options, _below("recording.", point))
        if key not in self._recordings:
            self._recordings[key] = load_recording(str(given), **options)
        return key

    def _version(self, point: Point, recording: str) -> str | None:
        if "kubernetesVersion" in point:
            return release_named(str(point["kubernetesVersion"])).version
        if not recording or self._base.has_version:
            self._note_version(self._base.cluster.version_note)
            return None
        try:
            chosen = choose_release(None, self._recordings[recording].kubernetes_version)
        except UnknownReleaseError as error:
            raise InvalidObject([Fault(recording, "", "kubernetesVersion", str(error))]) from error
        self._note_version(chosen.note)
        return chosen.release.version

    def _note_version(self, text: str) -> None:
        if text:
            self.version_notes.add(text)

    def _nodes_key(self, point: Point, recording: str) -> str:
        given = point.get("nodes", self._base.nodes) or ()
        wanted = [given] if isinstance(given, str) else list(given)
        wanted += [f"{template}={count}" for template, count in _below("nodes.", point).items() if count != 0]
        if not wanted:
            return ""
        key = " ".join([*wanted, f"beside {recording}"] if recording else wanted)
        if key not in self._nodes:
            there = self._objects_with(recording)
            taken = [obj.metadata.name for obj in there if isinstance(obj, Node)]
            self._nodes[key] = nodes_like(wanted, taken, option="nodes")
        return key

    def _objects_with(self, recording: str) -> list[Object]:
        objects = self._base.cluster.objects
        return self._recordings[recording].joined_to(objects) if recording else objects

    def _mark(self) -> str:
        """Of everything that specs only name, and of the program that decides."""
        parts = {
            "version": bayplan.__version__,
            "release": self._base.cluster.kubernetes_version,
            "cluster": inputs_mark(self._base.cluster.objects, (), None, Latencies()),
            "timelines": {
                name: inputs_mark((), list(plans), None, Latencies()) for name, plans in self._timelines.items()
            },
            "traces": {
                name: inputs_mark([*trace.classes, *trace.nodes], (), trace.arrivals, Latencies())
                for name, trace in self._traces.items()
            },
            "recordings": {name: life.mark() for name, life in self._recordings.items()},
            "nodes": {name: inputs_mark(nodes, (), None, Latencies()) for name, nodes in self._nodes.items()},
        }
        return msgspec.json.encode(parts, order="sorted").decode()

    # What is wrong with an axis, whatever the others say.

    def _check_axes(self) -> None:
        faults: list[Fault] = []
        releases = self._releases(faults)
        for axis in self.design.axes:
            some = axis.values[0] if axis.values else axis.bounds and axis.bounds[0]
            if changes_config(axis.name):
                faults += self._config_faults(axis.name, some, releases)
            elif axis.name.startswith("gate."):
                faults += self._gate_faults(axis.name, releases)
            elif axis.name.startswith(_OF_POOLS):
                faults += self._pool_faults(axis.name, some)
            elif axis.name.startswith(_OF_SOURCES):
                faults += self._source_faults(axis.name)
        if faults:
            raise InvalidObject(faults)

    def _releases(self, faults: list[Fault]) -> list[KubernetesRelease]:
        versions = next((axis.values for axis in self.design.axes if axis.name == "kubernetesVersion"), ())
        releases = []
        for version in versions:
            try:
                releases.append(release_named(str(version)))
            except UnknownReleaseError as error:
                faults.append(self._fault("kubernetesVersion", str(error)))
        return releases or [self._base.cluster.release]

    def _config_faults(self, axis: str, value: Any, releases: Sequence[KubernetesRelease]) -> list[Fault]:
        """Only of what does not exist: a value may be valid with some values of other axes."""
        config, _ = self._config(self._base.config)
        plugin = axis.split(".")[1]
        if axis.startswith("args.") and plugin not in releases[0].implemented_points and plugin not in str(config):
            hint = did_you_mean(near(plugin, releases[0].implemented_points))
            return [self._fault(axis, f"no such plugin: {plugin}{hint}")]
        try:
            changed = with_setting(config, axis, value)
            build_profiles(load_configuration(changed, self._base.feature_gates, release=releases[0], with_groups=True))
        except InvalidObject as error:
            unknown = [fault for fault in error.faults if any(word in fault.message for word in _UNKNOWN)]
            return [self._fault(axis, f"{fault.field}: {fault.message}") for fault in unknown]
        except ValueError as error:
            return [self._fault(axis, str(error))]
        return []

    def _pool_faults(self, axis: str, value: Any) -> list[Fault]:
        """Only of what does not exist, as with configurations."""
        try:
            with_pool_settings(self._objects_with(self._recording_key(self.design.points[0])), {axis: value})
        except InvalidObject as error:
            unknown = [fault for fault in error.faults if any(word in fault.message for word in _UNKNOWN)]
            return [self._fault(axis, ": ".join(filter(None, (fault.field, fault.message)))) for fault in unknown]
        except ValueError as error:
            return [self._fault(axis, str(error))]
        return []

    def _source_faults(self, axis: str) -> list[Fault]:
        source = axis.partition(".")[0]
        if getattr(self._base, source) is not None or any(other.name == source for other in self.design.axes):
            return []
        return [self._fault(axis, f"there is no {source} in base or axes")]

    def _gate_faults(self, axis: str, releases: Sequence[KubernetesRelease]) -> list[Fault]:
        gate = axis.removeprefix("gate.")
        if any(gate in release.gates for release in releases):
            return []
        hint = did_you_mean(near(gate, releases[0].gates))
        return [self._fault(axis, f"no such feature gate in Kubernetes {releases[0].version}{hint}")]

    def _fault(self, axis: str, message: str) -> Fault:
        return Fault(self._source, "", f"axes.{axis}", message)


def _kept(known: dict[str, _GivenT], given: _GivenT) -> str:
    """The key of what a caller has read already."""
    key = next((key for key, each in known.items() if each is given), f"given {len(known)}")
    known[key] = given
    return key


def _with_options(given: Any, options: Mapping[str, Any] | None, of_point: Mapping[str, Any]) -> tuple[str, Any]:
    """A key that is equal for the same source with the same options, and the options."""
    together = {**(options or {}), **of_point}
    return (f"{given} {msgspec.json.encode(together).decode()}" if together else str(given)), together


def _below(prefix: str, point: Point) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in point.items() if name.startswith(prefix)}


def _nanoseconds(until: Any) -> int | None:
    if until is None:
        return None
    try:
        found = int(parse_span(until)) if isinstance(until, str) else round(until * SECOND)
    except ValueError as error:
        raise InvalidObject([Fault("", "", "until", str(error))]) from error
    if found <= 0:
        raise InvalidObject([Fault("", "", "until", f"must be greater than 0, not {label_of(until)}")])
    return found
