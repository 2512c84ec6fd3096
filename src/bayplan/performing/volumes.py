"""Volumes kept for claims and claims that have chosen a node, written as kube-scheduler does before it binds a pod.

Takes an object as the scheduler means it to be; changes just what that is about in the stored one. What somebody else
has changed since the scheduler decided is a conflict, in the server's words. What is done already is not done again.
Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go bindAPIUpdate (v1.36).
"""

from __future__ import annotations

from typing import TypeVar

from bayplan.model.kinds import object_key
from bayplan.model.meta import ObjectReference
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim
from bayplan.model.structs import replace
from bayplan.performing.requests import Get, Known, Put, Steps

_Written = TypeVar("_Written", PersistentVolume, PersistentVolumeClaim)


def write_volume(wanted: PersistentVolume, known: Known) -> Steps[None]:
    """Keep the volume for the claim that it names."""
    stored: PersistentVolume = yield Get("PersistentVolume", object_key(wanted))
    reference, held_for = wanted.spec.claim_ref, stored.spec.claim_ref
    after = _annotated(stored, wanted)
    if reference is not None and (held_for is None or held_for.uid != reference.uid):
        after.spec = replace(stored.spec, claim_ref=_with_version(reference, known))
    if _differs(stored, after) or after.spec is not stored.spec:
        yield Put(stored, after)


def write_volume_claim(wanted: PersistentVolumeClaim) -> Steps[None]:
    """Say on which node the claim is to be provided."""
    stored: PersistentVolumeClaim = yield Get("PersistentVolumeClaim", object_key(wanted))
    after = _annotated(stored, wanted)
    if _differs(stored, after):
        yield Put(stored, after)


def _annotated(stored: _Written, wanted: _Written) -> _Written:
    """The stored object with what the wanted one says of itself.

    With the version on which the decision was based the server notices what has changed since.
    """
    meta = stored.metadata
    annotations = {**meta.annotations, **wanted.metadata.annotations}
    version = wanted.metadata.resource_version or meta.resource_version
    return replace(stored, metadata=replace(meta, annotations=annotations, resource_version=version))


def _differs(stored: _Written, after: _Written) -> bool:
    """Whether an earlier request, whose answer was lost, has not written it."""
    return stored.metadata.annotations != after.metadata.annotations


def _with_version(claim: ObjectReference, known: Known) -> ObjectReference:
    found = known("PersistentVolumeClaim", f"{claim.namespace}/{claim.name}")
    return claim if found is None else replace(claim, resource_version=found.metadata.resource_version)
