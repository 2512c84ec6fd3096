"""Whether it is worth waiting for the volumes of a pod that has its node: the part of PreBind that gives up.

Takes the objects that were written for the pod (volumes kept for claims, claims told their node) and what is known of
them now; gives why they will not be bound as it was decided, "" while there is hope. Whether all are bound is not
looked at here.
Upstream: volumebinding/binder.go checkBindings (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.core.plugins.volume_claims import SELECTED_NODE
from bayplan.core.snapshot import NamespacedName, Objects
from bayplan.model.kinds import Object
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim


def why_in_vain(objects: Objects, written: Iterable[Object], node_name: str) -> str:
    """The reason in upstream's words."""
    for obj in written:
        reason = ""
        if isinstance(obj, PersistentVolume):
            reason = _volume_lost(objects, obj.metadata.name)
        elif isinstance(obj, PersistentVolumeClaim):
            reason = _provisioning_ended(objects, (obj.metadata.namespace, obj.metadata.name), node_name)
        if reason:
            return reason
    return ""


def _volume_lost(objects: Objects, name: str) -> str:
    volume = objects.volumes.get(name)
    if volume is None:
        return f'failed to check binding: could not find v1.PersistentVolume "{name}"'
    reference = volume.spec.claim_ref
    if reference is None or not reference.uid:
        return f'ClaimRef got reset for pv "{name}"'
    if (reference.namespace, reference.name) not in objects.claims:
        return f"failed to check binding: {_no_claim((reference.namespace, reference.name))}"
    return ""


def _provisioning_ended(objects: Objects, place: NamespacedName, node_name: str) -> str:
    claim = objects.claims.get(place)
    if claim is None:
        return f"failed to check provisioning pvc: {_no_claim(place)}"
    if not claim.metadata.annotations:
        return f'selectedNode annotation reset for PVC "{place[1]}"'
    if claim.metadata.annotations.get(SELECTED_NODE) != node_name:
        return f'provisioning failed for PVC "{place[1]}"'
    return ""


def _no_claim(place: NamespacedName) -> str:
    return f'could not find v1.PersistentVolumeClaim "{"/".join(place)}"'
