"""Claims for the generic ephemeral volumes of pods.

Hears of pods and of claims that go. Creates for each such volume the claim `<pod>-<volume>`, owned by the pod, so that
it goes when the pod does; a claim that is deleted while its pod lives comes again. A claim of that name that belongs to
somebody else is left alone, and the scheduler says so. Binding is the business of the volume controller.
"""

from __future__ import annotations

from typing import ClassVar

from bayplan.controllers.ownership import NamespacedName, controller_of_kind, namespaced_name
from bayplan.controllers.work_queue import Reconciler
from bayplan.controllers.workloads.pods_from_templates import ephemeral_claims
from bayplan.model.pod import Pod
from bayplan.model.storage import PersistentVolumeClaim
from bayplan.model.watch_types import ADDED, DELETED
from bayplan.store import Store, WatchEvent


class EphemeralVolumeController(Reconciler[NamespacedName]):
    """Creates the claims that pods bring as templates."""

    # Upstream: pkg/controller/volume/ephemeral/controller.go (v1.36).
    name: ClassVar[str] = "ephemeral-volume-controller"
    watches: ClassVar[frozenset[str]] = frozenset({"PersistentVolumeClaim", "Pod"})

    def observe(self, change: WatchEvent, now: int) -> None:  # noqa: ARG002
        obj = change.new
        if isinstance(obj, Pod):
            # Volumes of a pod never change, so one look is enough.
            if change.type == ADDED and any(volume.ephemeral is not None for volume in obj.spec.volumes):
                self._queue.add(namespaced_name(obj))
        elif change.type == DELETED and (pod := controller_of_kind(obj.metadata, "Pod")) is not None:
            self._queue.add(pod)

    def _sync(self, store: Store, key: NamespacedName, now: int) -> None:
        pod = store.find(Pod, *key)
        if pod is None or pod.metadata.deletion_timestamp is not None:
            return
        for claim in ephemeral_claims(pod):
            if store.find(PersistentVolumeClaim, claim.metadata.namespace, claim.metadata.name) is None:
                store.create(claim, now)
