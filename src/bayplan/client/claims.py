"""Resource claims written over HTTP: devices and users added, taken back, and claims for extended resources made.

Takes a claim as the scheduler means it to be and changes the stored one accordingly: finalizer first, then the status.
A conflict is nothing to worry about: the claim is read again and it is seen whether it still will do. Refusals name the
step, as upstream's do. Upstream: plugins/dynamicresources/dynamicresources.go bindClaim, Unreserve, PostFilter (v1.36).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from bayplan.client.device_configuration import configuration, granted_requests
from bayplan.client.documents import Document, Documents
from bayplan.client.extended_claims import request_mappings
from bayplan.client.known_pods import KnownPods
from bayplan.client.lanes import Lane
from bayplan.client.pod_writes import pod_path
from bayplan.client.recent import Recent
from bayplan.client.sending import CONFLICT, NOT_FOUND, RefusedError, Sender
from bayplan.core.actions import DeallocateClaim, ReleaseClaim, WriteVolumes
from bayplan.model.kinds import Object
from bayplan.model.media_types import STRATEGIC_MERGE_PATCH
from bayplan.model.resource_claims import (
    CLAIM_FINALIZER,
    EXTENDED_RESOURCE_ANNOTATION,
    ResourceClaim,
)
from bayplan.model.structs import replace
from bayplan.model.timestamps import format_time

#: Tries after conflicts, and the pause between them. Upstream: client-go/util/retry DefaultRetry (v1.36).
_TRIES: Final = 5
_PAUSE_S: Final = 0.010
_CLAIMS: Final = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims"
_CLASSES: Final = "/apis/resource.k8s.io/v1/deviceclasses"


class ClaimError(Exception):
    """The claim is not what it was when the scheduler decided."""


class ClaimWrites:
    """Writes resource claims."""

    def __init__(
        self, documents: Documents, sender: Sender, pods: KnownPods, known: Callable[[str, str], Object | None]
    ) -> None:
        self._documents = documents
        self._sender = sender
        self._pods = pods
        self._known = known
        self._class_configs: Recent[tuple[str, str], Sequence[Document]] = Recent()  # by name and version

    async def write(self, wanted: ResourceClaim, action: WriteVolumes, now: int) -> ResourceClaim:
        """Give the claim its devices, if it has none yet, and the pod its place among the users; the claim then."""
        path = _path(wanted.metadata.namespace, wanted.metadata.name)
        is_own = wanted.metadata.annotations.get(EXTENDED_RESOURCE_ANNOTATION) == "true"
        stored = await self._documents.find(path) if is_own else await self._documents.get(path)
        if stored is None:
            stored = await self._create(wanted)
        for tries in range(_TRIES):
            try:
                stored = await self._reserve(path, stored, wanted, action.uid, now)
                break
            except RefusedError as error:
                if error.status != CONFLICT or tries == _TRIES - 1:
                    raise
            await asyncio.sleep(_PAUSE_S)
            stored = await self._documents.get(path)
        if is_own:
            await self._tell_pod(action.pod, wanted)
        return msgspec.convert(stored, ResourceClaim)

    async def release(self, action: ReleaseClaim) -> None:
        """Take the pod off the claim's users, or delete a claim that was made for it alone."""
        namespace, _, name = action.claim.partition("/")
        path = _path(namespace, name)
        if action.delete:
            await self._delete(path)
            return
        known = self._known("ResourceClaim", action.claim)
        patch: Document = {"status": {"reservedFor": [{"$patch": "delete", "uid": action.uid}]}}
        if known is not None:
            patch["metadata"] = {"uid": known.metadata.uid}
        body = msgspec.json.encode(patch)
        await self._send_again("PATCH", f"{path}/status", body, STRATEGIC_MERGE_PATCH)

    async def deallocate(self, action: DeallocateClaim) -> None:
        """Take the claim's devices away, unless somebody else than that pod uses it by now."""
        namespace, _, name = action.claim.partition("/")
        path = _path(namespace, name)
        stored = await self._documents.find(path)
        if stored is None:
            return
        status = dict(stored.get("status", {}))
        if all(user.get("uid") == action.uid for user in status.get("reservedFor", ())):
            for field in ("reservedFor", "allocation", "devices"):
                status.pop(field, None)
            await self._documents.put(f"{path}/status", {**stored, "status": status})

    # ---------------------------------------------------------------- devices and users

    async def _create(self, wanted: ResourceClaim) -> Document:
        meta = replace(wanted.metadata, finalizers=[], resource_version="", uid="")
        document = msgspec.to_builtins(ResourceClaim(metadata=meta, spec=wanted.spec))
        document["apiVersion"] = "resource.k8s.io/v1"
        context = f"create claim for extended resources {meta.namespace}/{meta.name}: "
        return await self._documents.post(_CLAIMS.format(meta.namespace), document, context)

    async def _reserve(self, path: str, stored: Document, wanted: ResourceClaim, uid: str, now: int) -> Document:
        meta = stored["metadata"]
        label = f"{meta['namespace']}/{meta['name']}"
        if meta.get("deletionTimestamp"):
            raise ClaimError(f"claim {label} got deleted in the meantime")
        claim = msgspec.convert(stored, ResourceClaim)
        allocates = claim.status.allocation is None
        if not allocates and not _is_allocated_as(claim, wanted):
            raise ClaimError(f"claim {label} got allocated elsewhere in the meantime")
        if allocates:
            if CLAIM_FINALIZER not in wanted.metadata.finalizers or wanted.status.allocation is None:
                raise ClaimError(f"claim {label} got deallocated elsewhere in the meantime")
            stored = await self._protect(path, stored, label)
        status = await self._status(stored, wanted, uid, now)
        if status == stored.get("status"):
            return stored  # an earlier request, whose answer was lost, has done it
        what = "add allocation and reservation" if allocates else "add reservation"
        return await self._documents.put(f"{path}/status", {**stored, "status": status}, f"{what} to claim {label}: ")

    async def _protect(self, path: str, stored: Document, label: str) -> Document:
        meta = stored["metadata"]
        finalizers = meta.get("finalizers", [])
        if CLAIM_FINALIZER in finalizers:
            return stored
        protected = {**stored, "metadata": {**meta, "finalizers": [*finalizers, CLAIM_FINALIZER]}}
        return await self._documents.put(path, protected, f"add finalizer to claim {label}: ")

    async def _status(self, stored: Document, wanted: ResourceClaim, uid: str, now: int) -> Document:
        status = dict(stored.get("status", {}))
        allocation = status.get("allocation") or await self._allocation(stored, wanted)
        status["allocation"] = {"allocationTimestamp": format_time(now), **allocation}
        users = status.get("reservedFor", [])
        if not any(user.get("uid") == uid for user in users):
            user = next(user for user in wanted.status.reserved_for if user.uid == uid)
            status["reservedFor"] = [*users, msgspec.to_builtins(user)]
        return status

    async def _allocation(self, stored: Document, wanted: ResourceClaim) -> Document:
        allocation: Document = msgspec.to_builtins(wanted.status.allocation)
        granted = granted_requests(stored, allocation)
        configs = {name: await self._class_config(name) for name in {request.device_class for request in granted}}
        config = configuration(stored, granted, configs)
        if config:
            allocation["devices"] = {**allocation.get("devices", {}), "config": config}
        return allocation

    async def _class_config(self, name: str) -> Sequence[Document]:
        """The configuration in a device class, which is read again only if the class has changed."""
        known = self._known("DeviceClass", f"/{name}")
        place = (name, known.metadata.resource_version if known is not None else "")
        config = self._class_configs.get(place) if place[1] else None
        if config is None:
            document = await self._documents.find(f"{_CLASSES}/{name}")
            config = document.get("spec", {}).get("config", ()) if document is not None else ()
            self._class_configs.remember(place, config)
        return config

    async def _tell_pod(self, key: str, claim: ResourceClaim) -> None:
        """The kubelet finds the devices by the pod's status."""
        pod = self._pods.find(key)
        if pod is None:
            return
        told = {"requestMappings": request_mappings(pod, claim), "resourceClaimName": claim.metadata.name}
        body = msgspec.json.encode({"status": {"extendedResourceClaimStatus": told}})
        context = f"update pod {key} ExtendedResourceClaimStatus: "
        await self._send_again("PATCH", f"{pod_path(key)}/status", body, STRATEGIC_MERGE_PATCH, context)

    async def _delete(self, path: str) -> None:
        """The finalizer goes first, or it would hold the claim."""
        for _ in range(_TRIES):
            stored = await self._documents.find(path)
            if stored is None:
                return
            finalizers = stored["metadata"].get("finalizers", [])
            if CLAIM_FINALIZER not in finalizers:
                break
            kept = [finalizer for finalizer in finalizers if finalizer != CLAIM_FINALIZER]
            try:
                await self._documents.put(path, {**stored, "metadata": {**stored["metadata"], "finalizers": kept}})
                break
            except RefusedError as error:
                if error.status != CONFLICT:
                    raise
            await asyncio.sleep(_PAUSE_S)
        await self._send_again("DELETE", path, b'{"kind":"DeleteOptions","apiVersion":"v1"}')

    async def _send_again(
        self, method: str, path: str, body: bytes, content_type: str = "application/json", context: str = ""
    ) -> None:
        """A request that does no harm twice; that there is nothing to do it to is fine."""
        response = await self._sender.send_again(Lane.BINDINGS, method, path, body, content_type)
        if not response.ok and response.status != NOT_FOUND:
            raise RefusedError(response, context)


def _is_allocated_as(claim: ResourceClaim, wanted: ResourceClaim) -> bool:
    """Whether the claim has the devices that the scheduler counts on; when it got them does not matter."""
    allocation, expected = claim.status.allocation, wanted.status.allocation
    if allocation is None or expected is None:
        return False
    return replace(allocation, allocation_timestamp=None) == replace(expected, allocation_timestamp=None)


def _path(namespace: str, name: str) -> str:
    return f"{_CLAIMS.format(namespace)}/{name}"
