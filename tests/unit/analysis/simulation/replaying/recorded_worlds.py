"""Simulated clusters that are recorded while they live, as a watch of their API would show them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.recordings.writer import RecordingWriter
from bayplan.analysis.simulation.inputs.commands import PlannedCommand
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.analysis.simulation.running import Options, Simulation
from bayplan.controllers.contract import Controller
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.core.instruments import Instruments
from bayplan.model.kinds import KINDS, Object
from bayplan.model.watch_types import ADDED, DELETED
from bayplan.store import Store, WatchEvent
from bayplan.worlds.recorded_ties import RecordedTies


class _Watching:
    """A controller that writes down what it hears."""

    name: ClassVar[str] = "recorder"
    watches: ClassVar[frozenset[str]] = frozenset(KINDS)

    def __init__(self, writer: RecordingWriter, started_at: int) -> None:
        self._writer, self._started_at = writer, started_at
        self._first: list[Object] | None = []

    def observe(self, change: WatchEvent, now: int) -> None:
        if change.resource_version == 0:
            assert self._first is not None
            self._first.append(change.new)
        else:
            self.begin()
            self._writer.event(_event(change), now)

    def begin(self) -> None:
        if self._first is not None:
            self._writer.begin(self._first, self._started_at)
            self._first = None

    def reconcile(self, store: Store, now: int) -> None:
        """Only listens."""

    def wake_at(self) -> int | None:
        return None


def _event(change: WatchEvent) -> Event:
    if change.type == ADDED:
        return ObjectAdded(change.new)
    assert change.old is not None
    return ObjectRemoved(change.old) if change.type == DELETED else ObjectChanged(change.old, change.new)


class _RecordedSimulation(Simulation):
    draws: ClassVar[bool] = False

    def __init__(self, path: Path, *arguments: Any) -> None:
        self.writer = RecordingWriter(str(path), {"kubernetesVersion": "v1.37.0"})
        super().__init__(*arguments)

    def _ties(self) -> Instruments | None:
        return RecordedTies(_drawn) if self.draws else None

    def _everybody(self) -> list[Controller]:
        self.watching = _Watching(self.writer, self.started_at)
        return [*super()._everybody(), self.watching]


class _RecordedDraws(_RecordedSimulation):
    draws = True


def _drawn(pod: PodInfo) -> str:
    return f"n{crc32(pod.key.encode()) % 6 + 1}"


def record(
    path: Path, cluster: Cluster, plans: Sequence[PlannedCommand] = (), *, draws: bool = False, **options: Any
) -> SimulationResult:
    """What became of the cluster; the file says how. `draws`: luck decides between equally good nodes."""
    simulation = (_RecordedDraws if draws else _RecordedSimulation)(path, cluster, plans, Options(**options))
    result = simulation.run()
    simulation.watching.begin()
    simulation.writer.close(simulation.world.now)
    return result
