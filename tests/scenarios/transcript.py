"""What becomes of pods, in lines that can be read and compared.

Takes a pod as it was and as it is and says what changed for somebody who watches: its condition, its nomination, its
node, its end. Nothing is said of what no scheduler or kubelet does to a pod (labels, images, times, versions).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from bayplan.model.groups import PodGroup
from bayplan.model.kinds import object_key
from bayplan.model.node import Node
from bayplan.model.node_pools import POOL_LABEL
from bayplan.model.pod import Pod
from bayplan.model.watch_types import DELETED
from bayplan.store import WatchEvent


@dataclass(frozen=True, slots=True)
class Seen:
    """One thing that happened to a pod."""

    at: int  # nanoseconds
    pod: str  # namespace/name
    channel: str  # status, binding, volume or event: what goes through one of them keeps its order
    what: str


class Face(NamedTuple):
    """As much of a pod as matters to a watcher."""

    phase: str = ""
    node: str = ""
    nominated: str = ""
    terminating: bool = False
    scheduled: str = ""
    disrupted: str = ""


def face_of(pod: Pod) -> Face:
    said = {
        condition.type: said_by(condition.type, condition.status, condition.reason, condition.message)
        for condition in pod.status.conditions
    }
    return Face(
        pod.status.phase,
        pod.spec.node_name,
        pod.status.nominated_node_name,
        pod.metadata.deletion_timestamp is not None,
        said.get("PodScheduled", ""),
        said.get("DisruptionTarget", ""),
    )


def said_by(kind: str, status: str, reason: str, message: str) -> str:
    """A condition in words."""
    text = f"{kind}={status}"
    if reason:
        text += f" {reason}"
    return f"{text}: {message}" if message else text


def differences(old: Face | None, new: Face) -> Iterator[str]:
    """What changed, in a fixed order."""
    if old is None:
        yield "created"
        old = Face("Pending")
    if new.node != old.node:
        yield f"on {new.node}"
    else:
        if new.scheduled != old.scheduled:
            yield new.scheduled
        if new.nominated != old.nominated:
            yield f"nominated to {new.nominated}" if new.nominated else "nominated no longer"
    if new.disrupted != old.disrupted:
        yield new.disrupted
    if new.phase != old.phase:
        yield new.phase
    if new.terminating and not old.terminating:
        yield "terminating"


def _node_differences(old: Node | None, new: Node, *, is_gone: bool) -> Iterator[str]:
    """Of a node that belongs to a pool."""
    if is_gone:
        yield "leaves"
        return
    if old is None:
        yield "joins"
    before = {taint.key for taint in old.spec.taints} if old is not None else set()
    after = {taint.key for taint in new.spec.taints}
    yield from (f"tainted {key}" for key in sorted(after - before))
    yield from (f"no longer tainted {key}" for key in sorted(before - after))


def seen_in(changes: Iterable[WatchEvent]) -> Iterator[Seen]:
    """What the store's log says of pods, of nodes that come and go by need, and of what became of groups."""
    for change in changes:
        pod = change.new
        if isinstance(pod, PodGroup):
            before = change.old.status.conditions if isinstance(change.old, PodGroup) else []
            for condition in pod.status.conditions:
                if condition not in before:
                    what = said_by(condition.type, condition.status, condition.reason, condition.message)
                    yield Seen(change.at, object_key(pod), "status", what)
        if isinstance(pod, Node) and POOL_LABEL in pod.metadata.labels:
            old_node = change.old if isinstance(change.old, Node) else None
            for what in _node_differences(old_node, pod, is_gone=change.type == DELETED):
                yield Seen(change.at, object_key(pod), "status", what)
        if not isinstance(pod, Pod):
            continue
        key = object_key(pod)
        if change.type == DELETED:
            yield Seen(change.at, key, "status", "gone")
            continue
        old = face_of(change.old) if isinstance(change.old, Pod) else None
        for what in differences(old, face_of(pod)):
            yield Seen(change.at, key, "status", what)
