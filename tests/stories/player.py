"""Plays a story on a simulated world: the same actions at the same times, and what was seen to happen then.

The environment is as the recording's setting has it: a kubelet that starts a pod 40 ms after its binding and lets it
go after its grace period, and the controllers of a cluster, except that cordoned nodes are not tainted.
What the volume binder did is played back as it was recorded. Nothing is random: every request takes 6 ms to take effect
and every watch 2 ms to tell.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import msgspec
from tests.scenarios.transcript import Seen, seen_in
from tests.stories.objects import PRIORITY_CLASSES, made
from tests.stories.recording import MILLISECOND, Line, Story

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.controllers.budgets.disruption_controller import DisruptionController
from bayplan.controllers.delays import FixedDelays
from bayplan.controllers.nodes.node_lifecycle import NodeLifecycleController
from bayplan.controllers.standard import standard_controllers
from bayplan.core.actions import Action, Bind, Emit, WriteVolumes
from bayplan.core.decision import Decision
from bayplan.core.plugins.priority_sort import PrioritySort
from bayplan.core.scheduler import Scheduler
from bayplan.model.kinds import KINDS
from bayplan.model.meta import ObjectReference
from bayplan.model.pod import Pod
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim
from bayplan.store import Store
from bayplan.testing.builders import namespace
from bayplan.worlds.delays import Draws, Latencies
from bayplan.worlds.performing import EmittedEvent
from bayplan.worlds.simulated import SimulatedWorld

SECOND = 1000 * MILLISECOND
#: Some whole second; the wall clock's place within its second is the story's.
EPOCH = 1_700_000_000 * SECOND
#: From the recorded flush times: a story's process had started this long before its first line.
STARTED_BEFORE = 410 * MILLISECOND
#: From the moment a request is sent until it takes effect.
REQUEST = 6 * MILLISECOND
LATENCIES = Latencies(
    decision_ns=500_000,
    api_ns=REQUEST,
    eviction_ns=20 * MILLISECOND,
    watch_ns=2 * MILLISECOND,
    jitter=0.0,
)
KUBELET = FixedDelays(start=40 * MILLISECOND, stop=3 * SECOND)
#: In the recording the collector came 34 s after the node had gone: it looks every 20 s, or so.
QUARANTINE = 34_185 * MILLISECOND


PREEMPTOR = re.compile(r"(?<=^Preempted by pod )\S+")


class Play:
    """One story on one world."""

    world_class: ClassVar[type[SimulatedWorld]] = SimulatedWorld

    def __init__(self, story: Story) -> None:
        self.story = story
        self.start = EPOCH + round(story.wall_ms_of_second * MILLISECOND)
        self.store = Store()
        self._log = self.store.watch()
        self._sent: list[Seen] = []
        self._versions: dict[tuple[str, str], deque[str]] = defaultdict(deque)
        self._told: list[tuple[EmittedEvent, str]] = []
        self._load()
        self._controllers = replace(
            standard_controllers(KUBELET, DEFAULT_GATES),
            budgets=DisruptionController(lag_ns=5 * MILLISECOND),
            volumes=(),
            lifecycle=NodeLifecycleController(quarantine_ns=QUARANTINE, taints_cordoned=False),
        )
        self.scheduler = self.new_scheduler(self.start - STARTED_BEFORE)
        self.world = self.new_world(self.start - STARTED_BEFORE)

    def new_scheduler(self, started_at: int) -> Scheduler:
        return Scheduler(
            build_profiles(load_configuration(None, release=DEFAULT_RELEASE)),
            PrioritySort().sort_key,
            started_at=started_at,
            gates=DEFAULT_GATES,
        )

    def new_world(self, started_at: int) -> SimulatedWorld:
        return self.world_class(
            self.store,
            self.scheduler,
            [*self._controllers],
            Draws(0, LATENCIES),
            started_at=started_at,
            on_decision=self._note_decision,
            on_emitted=self._note_told,
        )

    def _load(self) -> None:
        before = self.start - SECOND
        for one in PRIORITY_CLASSES:
            self.store.create(one.manifest().obj(), before)
        self.store.create(namespace(self.story.namespace).manifest().obj(), before)

    # ------------------------------------------------------------------ playing

    def run(self) -> list[Seen]:
        """Play the story to its end; what was seen of pods."""
        self.plan(self.story.actions, self.perform)
        self.plan(self.story.volumes, self._follow_volume)
        self.pass_time()
        return self.seen()

    def pass_time(self) -> None:
        self.world.run_until(self.at(self.story.ends_ms) + SECOND // 10)

    def plan(self, lines: list[tuple[float, Line]], do: Callable[[Line, int], None]) -> None:
        for at_ms, line in lines:
            self.world.at(self.at(at_ms) + REQUEST, partial(do, line))

    def at(self, milliseconds: float) -> int:
        return self.start + round(milliseconds * MILLISECOND)

    def perform(self, action: Line, now: int) -> None:
        """Do what the test did."""
        do = action["do"]
        if do.startswith("create "):
            for one in made(self.story.name, action):
                self.store.create(one, now)
        elif do == "delete pod":
            grace = action.get("gracePeriodSeconds")
            space, name = action["pod"].split("/")
            self.store.delete("Pod", space, name, now, grace_seconds=grace)
        elif do == "delete node":
            self.store.delete("Node", "", action["name"], now)
        elif do == "patch":
            self._patch(action, now)
        elif not do.startswith("PV controller"):  # which did what it did
            raise AssertionError(f"unknown: {action}")

    def _patch(self, action: Line, now: int) -> None:
        parts = action["path"].split("/")
        kind, space, name = ("Node", "", parts[-1]) if parts[-2] == "nodes" else ("Pod", parts[-3], parts[-1])
        self.store.modify(kind, space, name, lambda one: _merged(one, action["body"]), now)

    def _follow_volume(self, line: Line, now: int) -> None:
        """Do what the volume binder did."""
        if line["kind"] == "PersistentVolume":
            change = lambda one: _volume_as_recorded(one, line, self.store, self.story.namespace)  # noqa: E731
            self.store.modify(PersistentVolume, "", line["name"], change, now)
            self.store.modify_status(PersistentVolume, "", line["name"], lambda one: _in_phase(one, line), now)
            return
        space = self.story.namespace
        self.store.modify(PersistentVolumeClaim, space, line["name"], lambda one: _claim_as_recorded(one, line), now)
        self.store.modify_status(PersistentVolumeClaim, space, line["name"], lambda one: _in_phase(one, line), now)

    # ------------------------------------------------------------------ watching

    def _note_decision(self, decision: Decision, now: int) -> None:
        for action in decision.actions:
            self._note_action(action, now)

    def _note_action(self, action: Action, now: int) -> None:
        match action:
            case Bind(pod, _, node, extender):
                binding = f"by the extender to {node}" if extender else f"to {node}"
                self._sent.append(Seen(now - self.start, pod, "binding", binding))
            case WriteVolumes(pod, _, objects):
                for one in objects:
                    if isinstance(one, PersistentVolume) and one.spec.claim_ref is not None:
                        reference = one.spec.claim_ref
                        claim = f"{reference.namespace}/{reference.name}"
                        self._sent.append(Seen(now - self.start, claim, "volume", f"gets {one.metadata.name}"))
            case Emit(pod, _, _, reason, _, _):
                record = self.scheduler.queue.find(pod)
                version = record.pod.metadata.resource_version if record is not None else ""
                self._versions[pod, reason].append(version)

    def _note_told(self, told: EmittedEvent) -> None:
        versions = self._versions[told.pod, told.reason]
        self._told.append((told, versions.popleft() if versions else ""))

    def seen(self) -> list[Seen]:
        changes = self._log.read()
        uids = {one.new.metadata.uid: _key(one.new) for one in changes if isinstance(one.new, Pod)}
        status = [Seen(one.at - self.start, one.pod, one.channel, one.what) for one in seen_in(changes)]
        return sorted([*status, *self._sent, *self._events(uids)], key=lambda one: one.at)

    def _events(self, uids: dict[str, str]) -> list[Seen]:
        """As the API would show them: the second of the same becomes a series, the third is not sent.

        The same are those about the same version of the pod, whatever their note. A series shows the first one's.
        """
        counts: dict[tuple[str, str, str], int] = defaultdict(int)
        firsts: dict[tuple[str, str, str], str] = {}
        shown = []
        for told, version in self._told:
            same = (told.pod, told.reason, version)
            counts[same] += 1
            text = f"{told.type} {told.reason}: {PREEMPTOR.sub(lambda found: uids[found[0]], told.note)}"
            if counts[same] == 1:
                firsts[same] = text
                shown.append(Seen(told.at - self.start, told.pod, "event", text))
            elif counts[same] == 2:
                shown.append(Seen(told.at - self.start, told.pod, "event", f"{firsts[same]} (again)"))
        return shown


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _merged(one: Any, patch: Line) -> Any:
    struct = KINDS[type(one).__name__].struct
    return msgspec.convert(_merge(msgspec.to_builtins(one), patch), struct)


def _merge(old: Any, new: Any) -> Any:
    """A JSON merge patch; the stories' patches of lists give the whole list."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    kept = {key: value for key, value in old.items() if key not in new}
    return kept | {key: _merge(old.get(key), value) for key, value in new.items() if value is not None}


def _volume_as_recorded(one: PersistentVolume, line: Line, store: Store, space: str) -> PersistentVolume:
    if not line["claimRef"] or one.spec.claim_ref is not None:
        return one
    claimed = store.get(PersistentVolumeClaim, space, line["claimRef"])
    reference = ObjectReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace=space,
        name=line["claimRef"],
        uid=claimed.metadata.uid,
    )
    meta = msgspec.structs.replace(one.metadata, annotations={**one.metadata.annotations, **line["annotations"]})
    return msgspec.structs.replace(one, metadata=meta, spec=msgspec.structs.replace(one.spec, claim_ref=reference))


def _claim_as_recorded(one: PersistentVolumeClaim, line: Line) -> PersistentVolumeClaim:
    if not line["volumeName"] or one.spec.volume_name:
        return one
    meta = msgspec.structs.replace(one.metadata, annotations={**one.metadata.annotations, **line["annotations"]})
    spec = msgspec.structs.replace(one.spec, volume_name=line["volumeName"])
    return msgspec.structs.replace(one, metadata=meta, spec=spec)


def _in_phase(one: Any, line: Line) -> Any:
    if one.status.phase == line["phase"]:
        return one
    return msgspec.structs.replace(one, status=msgspec.structs.replace(one.status, phase=line["phase"]))
