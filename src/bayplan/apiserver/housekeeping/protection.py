"""Claims, volumes, classes of volume attributes and pod groups that are in use outlive their deletion.

A claim bears a finalizer from its creation: it is taken off when the claim is being deleted and no pod that has not
ended uses it. The same holds for a volume and the claim that it is bound to, for a class and what has its attributes,
and for a pod group and its pods.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from bayplan.apiserver.housekeeping.contract import OPTIONS
from bayplan.apiserver.registry.documents import with_metadata
from bayplan.apiserver.registry.registry import PODS, Registry
from bayplan.apiserver.registry.versions import storage_name
from bayplan.apiserver.schema.resources import Resource, built_in
from bayplan.apiserver.storage.entries import Document
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.model.pod import FINISHED_PHASES
from bayplan.model.well_known import GROUP_PROTECTION, PV_PROTECTION, PVC_PROTECTION, VAC_PROTECTION
from bayplan.store import ApiError

CLAIMS: Final = built_in("", "persistentvolumeclaims")
VOLUMES: Final = built_in("", "persistentvolumes")
CLASSES: Final = built_in("storage.k8s.io", "volumeattributesclasses")
_RESOURCES: Final = {storage_name(resource): resource for resource in (CLAIMS, VOLUMES, CLASSES)}
_FINALIZERS: Final = {
    storage_name(CLAIMS): PVC_PROTECTION,
    storage_name(VOLUMES): PV_PROTECTION,
    storage_name(CLASSES): VAC_PROTECTION,
}
_GROUPS: Final = "podgroups.scheduling.k8s.io"


class VolumeProtection:
    """Lets go of claims and volumes that nobody uses any more."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str, str], None] = {}
        """Resource, namespace and name of what is being deleted and still protected."""
        self._has_news = False

    def observe(self, change: DocumentChange) -> None:
        if change.resource in _FINALIZERS:
            # A claim or volume that changes may have been the last with a class's attributes.
            key = (change.resource, change.new.namespace, change.new.name)
            metadata = change.new.document["metadata"]
            if "deletionTimestamp" in metadata and _FINALIZERS[change.resource] in (metadata.get("finalizers") or ()):
                self._waiting[key] = None
            else:
                self._waiting.pop(key, None)
            self._has_news = True
        elif change.resource == "pods":
            self._has_news = True

    def reconcile(self, registry: Registry, now: int) -> None:
        if not self._has_news or not self._waiting:
            return
        self._has_news = False
        for stored_as, namespace, name in [*self._waiting]:
            resource = _RESOURCES[stored_as]
            document = registry.find(resource, namespace, name)
            if document is not None and not _is_used(registry, resource, document):
                _release(registry, resource, document, _FINALIZERS[stored_as], now)


class GroupProtection:
    """Lets go of pod groups whose pods have all ended."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], None] = {}
        """Namespace and name of groups that are being deleted and still protected."""
        self._has_news = False

    def observe(self, change: DocumentChange) -> None:
        if change.resource == _GROUPS:
            key = (change.new.namespace, change.new.name)
            metadata = change.new.document["metadata"]
            if "deletionTimestamp" in metadata and GROUP_PROTECTION in (metadata.get("finalizers") or ()):
                self._waiting[key] = None
                self._has_news = True
            else:
                self._waiting.pop(key, None)
        elif change.resource == "pods" and self._waiting:
            self._has_news = True

    def reconcile(self, registry: Registry, now: int) -> None:
        if not self._has_news or not self._waiting:
            return
        self._has_news = False
        resource = registry.catalogue.stored(_GROUPS)
        for namespace, name in [*self._waiting] if resource is not None else ():
            assert resource is not None
            document = registry.find(resource, namespace, name)
            if document is not None and not _has_pods(registry, namespace, name):
                _release(registry, resource, document, GROUP_PROTECTION, now)


def _has_pods(registry: Registry, namespace: str, group: str) -> bool:
    return any(
        (pod["spec"].get("schedulingGroup") or {}).get("podGroupName") == group
        for pod in registry.list(PODS, namespace)
        if pod.get("status", {}).get("phase") not in FINISHED_PHASES
    )


def _is_used(registry: Registry, resource: Resource, document: Document) -> bool:
    metadata = document["metadata"]
    if resource is VOLUMES:
        return bool(document.get("status", {}).get("phase") == "Bound")
    if resource is CLASSES:
        holders = [*registry.list(CLAIMS, ""), *registry.list(VOLUMES, "")]
        return any(metadata["name"] in _classes_of(holder) for holder in holders)
    return any(
        _uses(pod, metadata["name"])
        for pod in registry.list(PODS, metadata["namespace"])
        if pod.get("status", {}).get("phase") not in FINISHED_PHASES
    )


def _uses(pod: Document, claim: str) -> bool:
    volumes = pod.get("spec", {}).get("volumes") or ()
    return any((volume.get("persistentVolumeClaim") or {}).get("claimName") == claim for volume in volumes)


def _classes_of(holder: Document) -> tuple[str | None, ...]:
    """The classes of attributes that a claim or a volume has, had, or is to get."""
    spec, status = holder.get("spec") or {}, holder.get("status") or {}
    changing = status.get("modifyVolumeStatus") or {}
    return (
        spec.get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        changing.get("targetVolumeAttributesClassName"),
    )


def _release(registry: Registry, resource: Resource, document: Document, protection: str, now: int) -> None:
    metadata = document["metadata"]
    kept = [finalizer for finalizer in metadata["finalizers"] if finalizer != protection]
    with suppress(ApiError):
        registry.update(
            resource,
            metadata.get("namespace", ""),
            metadata["name"],
            lambda stored: with_metadata(stored, finalizers=kept or None),
            OPTIONS,
            now,
        )
