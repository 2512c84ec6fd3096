"""Which Events kubelets write about pods: containers that start and are stopped, pods that are refused.

Takes what is stored before and after a change, as documents, and says it in upstream's words. Images are there already,
as nobody pulls any; what somebody else's kubelet would say of mounts, probes and hooks is not said.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bayplan.apiserver.registry.registry import PODS, Registry
from bayplan.apiserver.storage.entries import Document
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.controllers.nodes.kubelet import Kubelet
from bayplan.controllers.nodes.pod_admission import REJECTED
from bayplan.model.meta import ObjectReference
from bayplan.model.watch_types import MODIFIED
from bayplan.worlds.controller_events import NORMAL, WARNING, EventText
from bayplan.worlds.event_recording import EventRecorder

_EXPIRED, _BACK_OFF = "DeadlineExceeded", "CrashLoopBackOff"
#: Where a pod has its containers, and where their statuses are.
_CONTAINERS: Final = (
    ("initContainers", "initContainerStatuses"),
    ("containers", "containerStatuses"),
    ("ephemeralContainers", "ephemeralContainerStatuses"),
)


class KubeletEvents:
    """A party of housekeeping that writes them."""

    def __init__(self, registry: Registry) -> None:
        self._recorder = EventRecorder(registry, manager=Kubelet.name)
        self._changes: list[tuple[Document, Document]] = []

    def observe(self, change: DocumentChange) -> None:
        if change.resource == PODS.plural and change.type == MODIFIED and change.old is not None:
            self._changes.append((change.old.document, change.new.document))

    def reconcile(self, registry: Registry, now: int) -> None:  # noqa: ARG002 - every party is told
        changes, self._changes = self._changes, []
        for old, new in changes:
            for said in kubelet_events_of(old, new):
                self._recorder.write(Kubelet.name, said, now)


def kubelet_events_of(old: Document, new: Document) -> Iterator[EventText]:
    """What the kubelet of the pod's node says of a change."""
    node: str = new["spec"].get("nodeName") or ""
    status, before = new.get("status") or {}, old.get("status") or {}
    if not node:
        return
    meta = new["metadata"]
    about = ObjectReference(
        api_version="v1", kind="Pod", namespace=meta["namespace"], name=meta["name"], uid=meta["uid"]
    )
    reason, message = status.get("reason", ""), status.get("message", "")
    if reason != before.get("reason", "") and message.startswith(REJECTED):
        yield EventText(about, WARNING, reason, message.removeprefix(REJECTED), host=node)
    if reason == _EXPIRED != before.get("reason"):
        yield EventText(about, NORMAL, reason, message, host=node)
    is_stopping = "deletionTimestamp" in meta and "deletionTimestamp" not in old["metadata"]
    for field, statuses in _CONTAINERS:
        known = {each["name"]: each for each in before.get(statuses) or ()}
        images = {each["name"]: each.get("image", "") for each in new["spec"].get(field) or ()}
        for each in status.get(statuses) or ():
            place = f"spec.{field}{{{each['name']}}}"
            for kind, why, text in _news_of_container(each, known.get(each["name"], {}), images, meta, is_stopping):
                yield EventText(about, kind, why, text, place, node)


def _news_of_container(
    container: Document, before: Document, images: dict[str, str], pod: Document, is_stopping: bool
) -> Iterator[tuple[str, str, str]]:
    name = container["name"]
    is_restarted = container.get("restartCount", 0) > before.get("restartCount", 0)
    if is_restarted or _started_at(container) not in ("", _started_at(before)):
        # Upstream: pkg/kubelet/images/image_manager.go, pkg/kubelet/kuberuntime/kuberuntime_container.go (v1.36).
        image = images.get(name, "")
        present = f'Container image "{image}" already present on machine and can be accessed by the pod'
        yield NORMAL, "Pulled", present
        yield NORMAL, "Created", "Container created"
        yield NORMAL, "Started", "Container started"
    if is_stopping and "running" in (container.get("state") or {}):
        yield NORMAL, "Killing", f"Stopping container {name}"
    if _waits_for(container) == _BACK_OFF and (is_restarted or _waits_for(before) != _BACK_OFF):
        full_name = f"{pod['name']}_{pod['namespace']}({pod['uid']})"
        yield WARNING, "BackOff", f"Back-off restarting failed container {name} in pod {full_name}"


def _started_at(container: Document) -> str:
    """When the container started last, "" if it never did."""
    state: dict[str, Any] = container.get("state") or {}
    return str((state.get("running") or state.get("terminated") or {}).get("startedAt") or "")


def _waits_for(container: Document) -> str:
    state: dict[str, Any] = container.get("state") or {}
    return str((state.get("waiting") or {}).get("reason") or "")
