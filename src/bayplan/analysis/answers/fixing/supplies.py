"""What a pod waits for although no node lacks anything: volumes, claims and classes that somebody has yet to provide.

Claims that keep the pod off every node are `certain_lacks`: with them the search for anything else is in vain, so it is
made while they are `supplied`. What may help is a `Family`: it takes a pod with some edits, and gives what has to be
provided with what becomes of the pod then, or None. What will be provided is not known here: it is decided with claims
that are bound to volumes which every node can use, and with claims for devices as if they asked for none. Nothing is
invented for a pod that could run without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bayplan.analysis.answers.fixing.answer import Remedy, RemedyKind
from bayplan.analysis.answers.fixing.edits import without_device_claim
from bayplan.analysis.answers.fixing.surroundings import Edits, WorkingChange
from bayplan.analysis.answers.fixing.trying import Trying
from bayplan.core.plugins.volume_claims import (
    BIND_COMPLETED,
    STORAGE,
    WAIT_FOR_FIRST_CONSUMER,
    claim_use,
    class_of_claim,
    is_fully_bound,
)
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta, ObjectReference
from bayplan.model.resource_claims import DeviceClass
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec
from bayplan.model.structs import replace

#: Begins the names of volumes that exist only while a pod is tried.
SUPPLIED = "bayplan-supplied-"


@dataclass(frozen=True, slots=True)
class Lack:
    """A claim that keeps the pod waiting."""

    change: Remedy
    claim: PersistentVolumeClaim
    is_certain: bool  # with it no node takes the pod; else it depends on what volumes there are


def certain_lacks(trying: Trying) -> list[Lack]:
    """What has to be provided in any case, whatever else is in the way."""
    return [lack for lack in _lacks(trying) if lack.is_certain]


def supply_volumes(trying: Trying, edits: Edits) -> WorkingChange | None:
    """Volumes for claims that wait for their pod, where there are none that would do."""
    lacks = [lack for lack in _lacks(trying) if not lack.is_certain]
    if not lacks:
        return None
    objects = supplies(lacks)
    with trying.objects_there(objects):
        outcome = trying.decide(edits)
    changes = tuple(lack.change for lack in lacks)
    return WorkingChange(edits, outcome, changes, objects=objects) if outcome.node else None


def supplies(lacks: Sequence[Lack]) -> tuple[Object, ...]:
    """What the claims lack: volumes, and the claims bound to them."""
    return tuple(obj for lack in lacks for obj in _bound(lack.claim))


def _lacks(trying: Trying) -> Iterator[Lack]:
    namespace = trying.pod.metadata.namespace
    for volume in trying.pod.spec.volumes:
        use = claim_use(volume, trying.pod.metadata.name)
        if use is None or use.is_ephemeral:
            continue
        known = trying.cache.objects.claims.get((namespace, use.claim_name))
        if known is None:
            missing = PersistentVolumeClaim(metadata=ObjectMeta(name=use.claim_name, namespace=namespace))
            yield Lack(Remedy(RemedyKind.VOLUME_CLAIM, use.claim_name), missing, is_certain=True)
        else:
            lack = _lack_of(known, trying)
            if lack is not None:
                yield lack


def _lack_of(claim: PersistentVolumeClaim, trying: Trying) -> Lack | None:
    objects, name = trying.cache.objects, claim.metadata.name
    if claim.spec.volume_name and claim.spec.volume_name not in objects.volumes:
        return Lack(Remedy(RemedyKind.LOST_VOLUME, name, after=claim.spec.volume_name), claim, is_certain=True)
    if is_fully_bound(claim):
        return None
    class_name = class_of_claim(claim)
    storage_class = objects.storage_classes.get(class_name)
    if storage_class is None and class_name:
        return Lack(Remedy(RemedyKind.STORAGE_CLASS, name, after=class_name), claim, is_certain=True)
    if storage_class is None or storage_class.volume_binding_mode != WAIT_FOR_FIRST_CONSUMER:
        return Lack(Remedy(RemedyKind.BINDING, name), claim, is_certain=True)
    size = str(claim.spec.resources.requests.get(STORAGE, ""))
    return Lack(Remedy(RemedyKind.VOLUME, name, before=size, after=class_name), claim, is_certain=False)


def _bound(claim: PersistentVolumeClaim) -> list[Object]:
    """The claim, bound to a volume that every node can use."""
    meta = claim.metadata
    name = claim.spec.volume_name or f"{SUPPLIED}{meta.name}"
    reference = ObjectReference(name=meta.name, namespace=meta.namespace, uid=meta.uid)
    volume = PersistentVolume(
        metadata=ObjectMeta(name=name),
        spec=PersistentVolumeSpec(
            claim_ref=reference,
            access_modes=claim.spec.access_modes,
            storage_class_name=class_of_claim(claim),
            capacity=claim.spec.resources.requests,
        ),
    )
    annotations = {**meta.annotations, BIND_COMPLETED: "yes"}
    spec = replace(claim.spec, volume_name=name)
    return [volume, replace(claim, metadata=replace(meta, annotations=annotations), spec=spec)]


def supply_device_claims(trying: Trying, edits: Edits) -> WorkingChange | None:
    """ResourceClaims and templates that are missing."""
    pod, claims = trying.pod, trying.cache.objects.resource_claims
    told = {status.name for status in pod.status.resource_claim_statuses}
    lacking = {}
    for entry in pod.spec.resource_claims:
        if entry.resource_claim_name is not None:
            if (pod.metadata.namespace, entry.resource_claim_name) not in claims:
                lacking[entry.name] = Remedy(RemedyKind.RESOURCE_CLAIM, entry.resource_claim_name)
        elif entry.name not in told:
            lacking[entry.name] = Remedy(
                RemedyKind.RESOURCE_CLAIM_TEMPLATE, entry.resource_claim_template_name or entry.name
            )
    without = tuple(without_device_claim(name) for name in lacking)
    if not lacking or trying.held_back((*edits, *without)):
        return None
    outcome = trying.decide((*edits, *without))
    return WorkingChange(edits, outcome, tuple(lacking.values()), assumed=without) if outcome.node else None


def supply_device_classes(trying: Trying, edits: Edits) -> WorkingChange | None:
    """DeviceClasses that do not exist, taken to allow any device."""
    known = trying.cache.objects.device_classes
    missing = [name for name in dict.fromkeys(_class_names(trying)) if name not in known]
    if not missing:
        return None
    classes = tuple(DeviceClass(metadata=ObjectMeta(name=name)) for name in missing)
    with trying.objects_there(classes):
        outcome = trying.decide(edits)
    changes = tuple(Remedy(RemedyKind.DEVICE_CLASS, name) for name in missing)
    return WorkingChange(edits, outcome, changes, objects=classes) if outcome.node else None


def _class_names(trying: Trying) -> Iterator[str]:
    pod, claims = trying.pod, trying.cache.objects.resource_claims
    told = {status.name: status.resource_claim_name for status in pod.status.resource_claim_statuses}
    for entry in pod.spec.resource_claims:
        name = entry.resource_claim_name or told.get(entry.name)
        claim = claims.get((pod.metadata.namespace, name or ""))
        for request in claim.spec.devices.requests if claim is not None else ():
            options = [request.exactly] if request.exactly is not None else request.first_available
            yield from (option.device_class_name for option in options)
