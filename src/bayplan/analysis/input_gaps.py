"""Kinds that the input refers to and does not have: what is missing, which answers that affects, and how to get it.

Takes the objects of a cluster, which may be part of a dump. Only a kind that is absent altogether is a gap: where there
are other claims, a claim that is missing is missing in the cluster as well. Reads references, and decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bayplan.admission.priority import SYSTEM_CLASSES
from bayplan.admission.stored import looks_stored, was_created
from bayplan.analysis.claim_templates import claims_brought_by, pod_spec_of
from bayplan.controllers.ownership import WORKLOADS, controller_reference
from bayplan.model.cluster import Namespace, PriorityClass, Service
from bayplan.model.kinds import Object, object_key
from bayplan.model.node import Node
from bayplan.model.pod import Pod, PodAffinityTerm, PodSpec
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.resource_claims import ResourceClaim, ResourceClaimTemplate, ResourceSlice
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from bayplan.model.structs import replace
from bayplan.model.volumes import PersistentVolumeClaimTemplate, Volume
from bayplan.model.workloads import Deployment

#: Everything that bayplan reads from a cluster, except devices, which not every cluster can list.
DUMP_KINDS: Final = (
    "nodes,pods,namespaces,priorityclasses,pdb,services,deploy,rs,rc,sts,ds,jobs,cronjobs,"
    "pvc,pv,sc,csinodes,csidrivers,csistoragecapacities,volumeattachments"
)
DEVICE_KINDS: Final = "resourceclaims,resourceclaimtemplates,resourceslices,deviceclasses"
DUMP_COMMAND: Final = f"kubectl get {DUMP_KINDS} -A -o json"

_VOLUMES, _DEVICES = "where pods with volumes fit", "where pods with devices fit"
_OWNERS = "budgets, rollouts, which pods come back"
_PRIORITIES = "the priority of new pods"
_SPREAD = "default spreading"
#: For each kind that may be missing, the answers that depend on it.
_AFFECTED: Final[dict[type[Object], str]] = {
    Node: "where pods fit",
    PersistentVolumeClaim: _VOLUMES,
    PersistentVolume: _VOLUMES,
    StorageClass: _VOLUMES,
    **dict.fromkeys(WORKLOADS, _OWNERS),
    PriorityClass: _PRIORITIES,
    Namespace: "affinity to pods of other namespaces",
    Service: _SPREAD,
    ResourceClaim: _DEVICES,
    ResourceClaimTemplate: _DEVICES,
    ResourceSlice: _DEVICES,
}
_DEVICE_STRUCTS = {kind for kind, affected in _AFFECTED.items() if affected == _DEVICES}
_WORKLOADS_BY_NAME = {struct.__name__: struct for struct in WORKLOADS}


@dataclass(frozen=True, slots=True)
class Gap:
    """A kind that is missing, and how many objects refer to it."""

    kind: type[Object]
    references: int

    @property
    def affects(self) -> str:
        return _AFFECTED[self.kind]


def gaps_in(objects: Sequence[Object]) -> list[Gap]:
    """The missing kinds, in the order of what they affect."""
    present = set(map(type, objects))
    missing = {kind for kind in _AFFECTED if kind not in present}
    found: Counter[type[Object]] = Counter()
    for obj in objects:
        found.update(missing.intersection(_references(obj)))
    if found and Service in missing and any(isinstance(obj, Pod) and was_created(obj.metadata) for obj in objects):
        found[Service] = 0  # nothing names one, but every cluster has one: it was left out with the others
    return [Gap(kind, found[kind]) for kind in _AFFECTED if kind in found]


def may_lack_budgets(objects: Iterable[Object]) -> bool:
    """Whether this is a dump without any PodDisruptionBudget, which may have been left out."""
    is_dump = False
    for obj in objects:
        if isinstance(obj, PodDisruptionBudget):
            return False
        is_dump = is_dump or (isinstance(obj, Pod) and was_created(obj.metadata))
    return is_dump


def missing_for(pod: Pod, gaps: Iterable[Gap]) -> list[Gap]:
    """Of the missing kinds those that say where this pod fits."""
    needed = set(_references(pod))
    return [gap for gap in gaps if gap.kind in needed and gap.affects in (_VOLUMES, _DEVICES)]


def dump_command(gaps: Iterable[Gap]) -> str:
    """How to get everything; with devices if some are missing, as the cluster then has them."""
    if any(gap.kind in _DEVICE_STRUCTS for gap in gaps):
        return DUMP_COMMAND.replace(DUMP_KINDS, f"{DUMP_KINDS},{DEVICE_KINDS}")
    return DUMP_COMMAND


class KnownClaims:
    """What is left of pods without the claims about which the input says nothing."""

    def __init__(self, objects: Iterable[Object], gaps: Iterable[Gap]) -> None:
        self._missing = {gap.kind for gap in gaps}
        self._claims = {object_key(obj): obj for obj in objects if isinstance(obj, PersistentVolumeClaim)}

    def only(self, pod: Pod) -> Pod:
        """The pod without its unknown claims: if it does not fit even so, it does not fit."""
        spec = pod.spec
        if self._missing and spec.volumes:
            known = [volume for volume in spec.volumes if not self._is_unknown(volume, pod)]
            spec = spec if len(known) == len(spec.volumes) else replace(spec, volumes=known)
        if self._missing & _DEVICE_STRUCTS and spec.resource_claims:
            spec = replace(spec, resource_claims=[])
        return pod if spec is pod.spec else replace(pod, spec=spec)

    def _is_unknown(self, volume: Volume, pod: Pod) -> bool:
        template = volume.ephemeral.volume_claim_template if volume.ephemeral is not None else None
        if template is not None:
            return not self._missing.isdisjoint(_of_a_claim(template))
        source = volume.persistent_volume_claim
        if source is None:
            return False
        claim = self._claims.get(f"{pod.metadata.namespace}/{source.claim_name}")
        needed = _of_a_claim(claim) if claim is not None else (PersistentVolumeClaim,)
        return not self._missing.isdisjoint(needed)


def _references(obj: Object) -> Iterator[type[Object]]:
    """The kinds that the object counts on."""
    for claim in claims_brought_by(obj):
        yield from _of_a_claim(claim)
    spec = pod_spec_of(obj)
    if spec is None:
        return
    if spec.volumes and any(_needs_a_claim(volume, obj) for volume in spec.volumes):
        yield PersistentVolumeClaim
    if spec.priority_class_name and spec.priority_class_name not in SYSTEM_CLASSES:
        yield PriorityClass
    if spec.affinity is not None and any(_selects_namespaces(term) for term in _terms(spec)):
        yield Namespace
    if spec.resource_claims:
        yield from _of_devices(obj, spec)
    yield from _of_an_owner(obj)


def _of_a_claim(claim: PersistentVolumeClaim | PersistentVolumeClaimTemplate) -> Iterator[type[Object]]:
    if claim.spec.volume_name:
        yield PersistentVolume
    elif claim.spec.storage_class_name:
        yield StorageClass


def _of_devices(obj: Object, spec: PodSpec) -> Iterator[type[Object]]:
    yield ResourceSlice
    if (isinstance(obj, Pod) and looks_stored(obj)) or any(claim.resource_claim_name for claim in spec.resource_claims):
        yield ResourceClaim
    if any(claim.resource_claim_template_name for claim in spec.resource_claims):
        yield ResourceClaimTemplate


def _of_an_owner(obj: Object) -> Iterator[type[Object]]:
    """Who made the object, and where it runs."""
    reference = controller_reference(obj.metadata)
    if isinstance(obj, Pod):
        if obj.spec.node_name:
            yield Node
        # Someone who writes a running pod by hand may leave its owner out on purpose.
        is_dumped = was_created(obj.metadata)
        owner = _WORKLOADS_BY_NAME.get(reference.kind) if reference is not None and is_dumped else None
        if owner is not None:
            yield owner
    elif reference is not None and reference.kind == Deployment.__name__:
        yield Deployment


def _needs_a_claim(volume: Volume, obj: Object) -> bool:
    """A claim that exists already: one for an ephemeral volume is created with the pod."""
    if volume.ephemeral is not None:
        return isinstance(obj, Pod) and looks_stored(obj)
    return volume.persistent_volume_claim is not None


def _terms(spec: PodSpec) -> Iterator[PodAffinityTerm]:
    assert spec.affinity is not None
    for side in (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity):
        if side is not None:
            yield from side.required
            for preferred in side.preferred:
                yield preferred.pod_affinity_term


def _selects_namespaces(term: PodAffinityTerm) -> bool:
    """An empty selector selects all namespaces, known or not."""
    selector = term.namespace_selector
    return selector is not None and bool(selector.match_labels or selector.match_expressions)
