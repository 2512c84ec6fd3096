"""Volumes kept for claims and claims that have chosen a node, written as kube-scheduler does before it binds a pod.

Takes an object as the scheduler means it to be; changes just what that is about in the stored one. What somebody else
has changed since the scheduler decided is a conflict, in the server's words. What is done already is not done again.
Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go bindAPIUpdate (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable

from bayplan.client.documents import Document, Documents
from bayplan.model.meta import ObjectReference
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim

ClaimVersion = Callable[[str], str]
"""The version of a volume claim, as the watch last showed it, by `namespace/name`; "" if it is not known."""


class VolumeWrites:
    """Writes volumes and volume claims."""

    def __init__(self, documents: Documents, claim_version: ClaimVersion) -> None:
        self._documents = documents
        self._claim_version = claim_version

    async def write(self, wanted: PersistentVolume | PersistentVolumeClaim) -> None:
        """Have it stored. Raises RefusedError, LostError, NotSentError."""
        path = _path(wanted)
        stored = await self._documents.get(path)
        changed = self._changed(stored, wanted)
        if changed is not None:
            await self._documents.put(path, changed)

    def _changed(self, stored: Document, wanted: PersistentVolume | PersistentVolumeClaim) -> Document | None:
        """What to write; None if an earlier request, whose answer was lost, has done it."""
        meta, spec = stored["metadata"], stored["spec"]
        annotations = {**meta.get("annotations", {}), **wanted.metadata.annotations}
        reference = wanted.spec.claim_ref if isinstance(wanted, PersistentVolume) else None
        is_kept = reference is None or spec.get("claimRef", {}).get("uid") == reference.uid
        if is_kept and annotations == meta.get("annotations", {}):
            return None
        # With the version on which the decision was based the server notices what has changed since.
        version = wanted.metadata.resource_version or meta["resourceVersion"]
        changed = {**stored, "metadata": {**meta, "annotations": annotations, "resourceVersion": version}}
        if reference is not None:
            changed["spec"] = {**spec, "claimRef": self._reference(reference)}
        return changed

    def _reference(self, claim: ObjectReference) -> Document:
        reference = {
            "kind": claim.kind,
            "namespace": claim.namespace,
            "name": claim.name,
            "uid": claim.uid,
            "apiVersion": claim.api_version,
        }
        version = self._claim_version(f"{claim.namespace}/{claim.name}")
        return {**reference, "resourceVersion": version} if version else reference


def _path(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    meta = obj.metadata
    if isinstance(obj, PersistentVolume):
        return f"/api/v1/persistentvolumes/{meta.name}"
    return f"/api/v1/namespaces/{meta.namespace}/persistentvolumeclaims/{meta.name}"
