"""One run of a sweep: what it is, what it needs, and what is kept of it.

A `RunSpec` says all about a run in plain data, and its hash is the run's name. A `Story` holds what many runs share and
is sent to a worker once. `do_run` simulates, and returns figures or an error; it never raises for a bad combination.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import msgspec

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.simulation.inputs.commands import PlannedCommand
from bayplan.analysis.simulation.inputs.traces import Trace
from bayplan.analysis.simulation.replaying.recorded_life import RecordedLife
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.analysis.simulation.results.run_format import EvictionCause, Run
from bayplan.analysis.simulation.running import Options, Simulation
from bayplan.analysis.sweeping.pool_settings import with_pool_settings
from bayplan.core.framework.requeue import Wakeups
from bayplan.model.errors import InvalidObject
from bayplan.model.node import Node

_ERROR_MAX = 500


class RunSpec(msgspec.Struct, frozen=True):
    """What makes a run what it is; texts that name parts of the story are keys there."""

    seed: int
    config: dict[str, Any] | None
    config_name: str
    feature_gates: dict[str, bool]
    kubernetes_version: str | None
    nodes: str
    timeline: str
    trace: str
    recording: str
    until_ns: int | None
    wakeups: str | None
    pools: dict[str, Any] = {}  # settings of NodePools and of the Autoscaler, by axis
    refused: str = ""  # why there can be no such run

    def name(self, inputs: str) -> str:
        """Equal for equal runs; `inputs` marks what the texts stand for."""
        return sha256(msgspec.json.encode((inputs, self), order="sorted")).hexdigest()[:16]


@dataclass(slots=True)
class Story:
    """What the runs of a sweep share; parts that only some runs have are found by the text that names them."""

    cluster: Cluster
    timelines: Mapping[str, Sequence[PlannedCommand]]
    traces: Mapping[str, Trace]
    nodes: Mapping[str, Sequence[Node]]
    recordings: Mapping[str, RecordedLife]
    _clusters: dict[tuple[str, str, str, str, bytes], Cluster] = field(default_factory=dict)

    def cluster_for(self, spec: RunSpec) -> Cluster:
        """Made once for runs that differ in neither nodes, pools, trace, recording nor version."""
        version = spec.kubernetes_version or self.cluster.kubernetes_version
        key = (spec.nodes, spec.trace, spec.recording, version, msgspec.json.encode(spec.pools, order="sorted"))
        if key not in self._clusters:
            self._clusters.clear()  # a sweep goes through its axes in order, so that the others are done
            self._clusters[key] = self._joined(spec, version)
        return self._clusters[key]

    def _joined(self, spec: RunSpec, version: str) -> Cluster:
        base = self.cluster
        named = spec.nodes or spec.trace or spec.recording or spec.pools
        if not named and version == base.kubernetes_version:
            return base
        objects = [*base.objects, *self.nodes.get(spec.nodes, ())]
        if spec.recording:
            objects = self.recordings[spec.recording].joined_to(objects)
        if spec.trace:
            objects = self.traces[spec.trace].joined_to(objects)
        if spec.pools:
            objects = with_pool_settings(objects, spec.pools)
        return Cluster(objects, base.skipped, base.sources, kubernetes_version=version)


class RunOutcome(msgspec.Struct):
    """What is kept of a run."""

    run: str  # its name
    error: str = ""
    digest: str = ""  # of everything that `simulate` gives for it
    partial: bool = False  # it ended itself because of an endless loop
    figures: Mapping[str, float] = {}


def do_run(story: Story, name: str, spec: RunSpec) -> RunOutcome:
    """Raises KeyboardInterrupt only."""
    try:
        result = simulated(story, spec)
    except (InvalidObject, ValueError, OSError) as error:
        return RunOutcome(name, error=_said(str(error)))
    except Exception as error:
        return RunOutcome(name, error=_said(f"unexpected {type(error).__name__}: {error}"))
    if result.interrupted:
        raise KeyboardInterrupt
    return RunOutcome(name, "", run_digest(result.run), result.run.partial, figures_of(result.run))


def simulated(story: Story, spec: RunSpec) -> SimulationResult:
    """The run itself. Raises InvalidObject and ValueError for what no scheduler could start with."""
    if spec.refused:
        raise ValueError(spec.refused)
    options = Options(
        config=spec.config,
        config_name=spec.config_name,
        seed=spec.seed,
        until_ns=spec.until_ns,
        wakeups=Wakeups(spec.wakeups) if spec.wakeups else None,
        feature_gates=spec.feature_gates,
    )
    arrivals = story.traces[spec.trace].arrivals if spec.trace else None
    recorded = story.recordings[spec.recording] if spec.recording else None
    plans = story.timelines.get(spec.timeline, ())
    return Simulation(story.cluster_for(spec), plans, options, arrivals, recorded=recorded).run()


def run_digest(run: Run) -> str:
    """Equal for runs that are equal byte for byte."""
    return sha256(msgspec.json.encode(run)).hexdigest()[:16]


def figures_of(run: Run) -> dict[str, float]:
    """Every number of the summary by its path, and a few of the whole run."""
    summary = msgspec.to_builtins(run.summary)
    evictions = {f"evictions.{cause.value}": summary["evictions"].get(cause.value, 0) for cause in EvictionCause}
    fidelity = {} if run.fidelity is None else {"fidelity": msgspec.to_builtins(run.fidelity)}
    del summary["evictionsByPreemptor"], summary["evictions"]
    return {
        **_flat("", {**summary, **fidelity}),
        **evictions,
        "preemptions": len(run.preemptions),
        "chains": len(run.chains),
        "loops": len(run.loops),
        "seconds": run.seconds,
    }


def _flat(prefix: str, values: Mapping[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, value in values.items():
        found |= _flat(f"{prefix}{name}.", value) if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return found


def _said(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _ERROR_MAX else f"{line[:_ERROR_MAX]}…"
