"""Why a claim has no volume yet, said in Events as the volume controller says it.

Hears of claims that are new. One that gets its volume at once has nothing to say; for the others it depends on their
class: they wait for a pod, or for a provisioner, or there is neither a class nor a volume.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final, TypeAlias

from bayplan.controllers.ownership import NamespacedName, namespaced_name
from bayplan.controllers.work_queue import Reconciler
from bayplan.core.plugins.volume_binding import NO_PROVISIONER
from bayplan.core.plugins.volume_claims import WAIT_FOR_FIRST_CONSUMER, class_of_claim
from bayplan.model.meta import ObjectReference
from bayplan.model.storage import PersistentVolumeClaim, StorageClass
from bayplan.model.watch_types import ADDED
from bayplan.store import Store, WatchEvent
from bayplan.worlds.controller_events import NORMAL, EventText

Say: TypeAlias = Callable[[str, EventText, int], None]
REPORTER: Final = "persistentvolume-controller"


class ClaimNews(Reconciler[NamespacedName]):
    """Says why new claims wait."""

    name: ClassVar[str] = REPORTER
    watches: ClassVar[frozenset[str]] = frozenset({"PersistentVolumeClaim"})

    def __init__(self, say: Say) -> None:
        super().__init__()
        self._say = say

    def observe(self, change: WatchEvent, now: int) -> None:  # noqa: ARG002
        claim = change.new
        if change.type == ADDED and isinstance(claim, PersistentVolumeClaim) and not claim.spec.volume_name:
            self._queue.add(namespaced_name(claim))

    def _sync(self, store: Store, key: NamespacedName, now: int) -> None:
        claim = store.find(PersistentVolumeClaim, *key)
        if claim is None or claim.spec.volume_name:
            return
        name = class_of_claim(claim)
        reason, message = _why(name, store.find(StorageClass, "", name) if name else None)
        if reason:
            meta = claim.metadata
            about = ObjectReference(
                api_version="v1",
                kind="PersistentVolumeClaim",
                namespace=meta.namespace,
                name=meta.name,
                uid=meta.uid,
            )
            self._say(REPORTER, EventText(about, NORMAL, reason, message), now)


def _why(class_name: str, storage_class: StorageClass | None) -> tuple[str, str]:
    # Upstream: pkg/controller/volume/persistentvolume/pv_controller.go syncUnboundClaim (v1.36).
    if not class_name:
        return "FailedBinding", "no persistent volumes available for this claim and no storage class is set"
    if storage_class is None:
        return "", ""
    if storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
        return "WaitForFirstConsumer", "waiting for first consumer to be created before binding"
    if storage_class.provisioner in ("", NO_PROVISIONER):
        return "", ""
    message = (
        f"Waiting for a volume to be created either by the external provisioner '{storage_class.provisioner}' "
        "or manually by the system administrator. If volume creation is delayed, please verify that "
        "the provisioner is running and correctly registered."
    )
    return "ExternalProvisioning", message
