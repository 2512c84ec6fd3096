"""A recording as the input of a simulation: `load_recording` reads it once, from the first event to the last.

What there was at first is the cluster; what users and machines did are plans; how long pods ran goes to the kubelets;
and the pods that there were are kept as rows, to compare them with those of the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bayplan.analysis.recordings.reader import Happening, RecordingReader
from bayplan.analysis.simulation.inputs.commands import PlannedCommand
from bayplan.analysis.simulation.inputs.digest import inputs_mark
from bayplan.analysis.simulation.recording.pod_ledger import PodLedger
from bayplan.analysis.simulation.replaying.fidelity import compared
from bayplan.analysis.simulation.replaying.intentions import Intentions, as_created
from bayplan.analysis.simulation.replaying.lives import RecordedLives, ran_before
from bayplan.analysis.simulation.results.run_format import Fidelity, PodRow
from bayplan.controllers.budgets.evicting import is_daemon, is_mirror
from bayplan.controllers.ownership import is_terminal
from bayplan.core.events import ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.model.fingerprint import digest
from bayplan.model.kinds import Object, object_key
from bayplan.model.node import Node
from bayplan.model.pod import Pod, PodStatus
from bayplan.model.storage import CSINode, VolumeAttachment
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.model.watch_types import ADDED, DELETED, MODIFIED
from bayplan.model.well_known import HOSTNAME
from bayplan.store import WatchEvent
from bayplan.worlds.delays import Latencies
from bayplan.worlds.driving import rare_collections

_GOES_WITH_NODES: Final = (Node, CSINode, VolumeAttachment)


@dataclass(frozen=True)
class RecordedLife:
    """What a recording brings to a simulation."""

    path: str
    objects: list[Object]
    """What there was at first."""
    plans: list[PlannedCommand]
    lives: RecordedLives
    rows: list[PodRow]
    """All pods that there were, with their times since the start."""
    node_kinds: dict[str, bytes]
    """By name of a node; equal for nodes that differ in nothing but their names."""
    started_at: int
    length_ns: int
    kubernetes_version: str | None
    notes: list[str]

    def joined_to(self, given: Iterable[Object]) -> list[Object]:
        """The recorded objects and the given ones, which take the place of those of the same name."""
        objects = {(type(obj), object_key(obj)): obj for obj in self.objects}
        more: list[Object] = []
        for obj in given:
            if obj.metadata.name:
                objects[type(obj), object_key(obj)] = obj
            else:
                more.append(obj)
        return [*objects.values(), *more]

    def mark(self) -> str:
        """Equal for recordings that tell the same, to a run and to those who compare it."""
        told = inputs_mark(self.objects, self.plans, None, Latencies())
        lives = (self.lives.by_key, self.lives.by_owner, self.lives.usual_run_ns)
        return digest((told, lives, self.rows, self.node_kinds, self.started_at, self.length_ns)).hex()

    def fidelity(self, pods: list[PodRow], seconds: float) -> Fidelity:
        """How closely a run of this length with these pods followed the recording, whose rest does not count."""
        rows = self.rows
        if seconds * SECOND < self.length_ns:
            rows = [row for row in rows if (row.started or row.bound or row.created) <= seconds]
        return compared(rows, pods, self.node_kinds)


def load_recording(path: str | Path, *, nodes: bool = True) -> RecordedLife:
    """Reads a recording that `bayplan record` has written. Raises InvalidObject.

    Args:
        path: a file, or a directory of files that took turns.
        nodes: False leaves out the recorded nodes and what became of them; pods that had one wait for another.
    """
    reader = RecordingReader(str(path))
    ledger, intentions = PodLedger(reader.started_at), Intentions(reader.started_at, source=str(path), with_nodes=nodes)
    stopping, before = _Stopping(), dict[int, int]()
    kinds: dict[str, bytes] = {}
    for obj in reader.objects:
        ledger.observe(WatchEvent(ADDED, type(obj).__name__, None, obj, 0, reader.started_at))
        intentions.at_first(obj)
        _note_kind(obj, kinds)
        if isinstance(obj, Pod):
            before[ledger.rows[obj.metadata.uid]] = ran_before(obj, reader.started_at)
    with rare_collections():
        for happening in reader:
            intentions.observe(happening.event, happening.at)
            change = _as_watched(happening)
            if change is not None:
                ledger.observe(change)
                stopping.observe(change, ledger)
                _note_kind(change.new, kinds)
    if intentions.evictions_left_out:
        reader.notes.append(
            f"{intentions.evictions_left_out:,} evictions on nodes that were not cordoned are not done again: nobody "
            "knows which pods would be chosen now"
        )
    first = sorted(reader.objects, key=_age)
    return RecordedLife(
        str(path),
        first if nodes else _without_nodes(first),
        sorted(intentions.plans, key=lambda plan: plan.at),
        RecordedLives(ledger.pods, before, stopping.took),
        ledger.pods,
        kinds,
        reader.started_at,
        max(reader.ended_at - reader.started_at, 1),
        reader.head.get("kubernetesVersion"),
        reader.notes,
    )


class _Stopping:
    """How long pods took to stop, by their rows."""

    def __init__(self) -> None:
        self.took: dict[int, int] = {}
        self._since: dict[str, int] = {}

    def observe(self, change: WatchEvent, ledger: PodLedger) -> None:
        pod = change.new
        if not isinstance(pod, Pod):
            return
        uid = pod.metadata.uid
        if change.type == DELETED:
            since = self._since.pop(uid, None)
            if since is not None:
                self.took[ledger.rows[uid]] = change.at - since
        elif pod.metadata.deletion_timestamp is not None and pod.status.phase == "Running":
            self._since.setdefault(uid, change.at)


def _as_watched(happening: Happening) -> WatchEvent | None:
    match happening.event:
        case ObjectAdded(new):
            return WatchEvent(ADDED, type(new).__name__, None, new, 0, happening.at)
        case ObjectChanged(old, new):
            return WatchEvent(MODIFIED, type(new).__name__, old, new, 0, happening.at)
        case ObjectRemoved(old):
            return WatchEvent(DELETED, type(old).__name__, old, old, 0, happening.at)
    return None


def _note_kind(obj: Object, kinds: dict[str, bytes]) -> None:
    if isinstance(obj, Node):
        created = as_created(obj)
        labels = {key: text for key, text in created.metadata.labels.items() if key != HOSTNAME}
        kinds[obj.metadata.name] = digest((labels, created.spec, obj.status.allocatable))


def _age(obj: Object) -> tuple[bool, str, str]:
    """Pods first, the older before the younger, as in a cluster that is read."""
    if not isinstance(obj, Pod):
        return True, "", ""
    return False, obj.metadata.creation_timestamp or "", object_key(obj)


def _without_nodes(objects: Iterable[Object]) -> list[Object]:
    """The cluster as if all its pods had yet to be placed."""
    found: list[Object] = []
    for obj in objects:
        if isinstance(obj, _GOES_WITH_NODES):
            continue
        if isinstance(obj, Pod) and obj.spec.node_name:
            if is_terminal(obj) or is_daemon(obj) or is_mirror(obj) or obj.metadata.deletion_timestamp is not None:
                continue
            status = PodStatus(phase="Pending")
            found.append(replace(obj, spec=replace(obj.spec, node_name=""), status=status))
        else:
            found.append(obj)
    return found
