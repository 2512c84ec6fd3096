"""PreBind of VolumeBinding: waiting until the volumes of a pod that has its node are bound.

Takes the objects that were written for the pod (volumes kept for claims, claims told their node) and what is known of
them now; gives whether all claims are bound, whether to go on waiting, or why they will not be bound as it was decided.
Upstream: plugins/volumebinding/binder.go checkBindings (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import AssumedPod, Pending
from bayplan.core.framework.verdict import SUCCESS, Code, Status
from bayplan.core.plugins.volume_claims import SELECTED_NODE, claim_uses, is_fully_bound
from bayplan.core.snapshot import NamespacedName, Objects, View
from bayplan.model.kinds import Object
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim

#: What may end the wait.
_KINDS = frozenset({"PersistentVolumeClaim", "PersistentVolume", "Node"})


def wait_for_volumes(pod: PodInfo, view: View, placement: AssumedPod, timeout_ns: int) -> Status | Pending:
    """Pods for which no volumes or claims were written have none to wait for."""
    if not any(isinstance(obj, PersistentVolume | PersistentVolumeClaim) for obj in placement.written):
        return SUCCESS
    node = placement.node_name
    if not view.nodes.alive[placement.node_row]:
        return _failed(f'failed to get node "{node}": node "{node}" not found')
    reason = why_in_vain(view.objects, placement.written, node)
    if reason:
        return _failed(reason)
    claims = view.objects.claims
    places = [(pod.namespace, use.claim_name) for use in claim_uses(pod)]
    if all(place in claims and is_fully_bound(claims[place]) for place in places):
        return SUCCESS
    until = placement.reserved_at + timeout_ns
    return Pending(until, _KINDS) if placement.now < until else _failed("context deadline exceeded")


def _failed(reason: str) -> Status:
    return Status(Code.ERROR, (f"binding volumes: {reason}",))


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
