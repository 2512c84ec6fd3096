"""The volume that a storage driver would make for a claim.

Takes the claim, its class and, for a claim that waited for its consumer, the node the scheduler selected; gives a
volume kept for the claim that can be reached from that node's part of the topology. Which part that is says the
driver's entry on the node, else the class, else it is the node's zone. Time and capacity are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from bayplan.controllers.ownership import object_reference
from bayplan.core.plugins.csi_migration import DRIVERS
from bayplan.core.plugins.volume_claims import STORAGE
from bayplan.model.meta import ObjectMeta
from bayplan.model.node import Node
from bayplan.model.pod import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from bayplan.model.storage import (
    CSINode,
    CSIPersistentVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    StorageClass,
    TopologySelectorTerm,
    VolumeNodeAffinity,
)
from bayplan.model.well_known import ZONE

PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
#: What the API accepts as the name of a CSI driver.
_DRIVER_NAME = re.compile(r"(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.IGNORECASE)


def provisioned_volume(
    claim: PersistentVolumeClaim, storage_class: StorageClass, node: Node | None, csi_node: CSINode | None
) -> PersistentVolume:
    """A new volume for the claim; `node` is None for a claim that is bound at once."""
    name = f"pvc-{claim.metadata.uid}"
    places = _anywhere(storage_class) if node is None else _around(node, storage_class, csi_node)
    spec = PersistentVolumeSpec(
        capacity={kind: amount for kind, amount in claim.spec.resources.requests.items() if kind == STORAGE},
        access_modes=list(claim.spec.access_modes),
        claim_ref=object_reference(claim),
        storage_class_name=storage_class.metadata.name,
        volume_mode=claim.spec.volume_mode,
        volume_attributes_class_name=claim.spec.volume_attributes_class_name,
        persistent_volume_reclaim_policy=storage_class.reclaim_policy or "Delete",
        node_affinity=_affinity(places) if places else None,
        csi=CSIPersistentVolumeSource(driver=_legal(_driver(storage_class)), volume_handle=name),
    )
    meta = ObjectMeta(name=name, annotations={PROVISIONED_BY: storage_class.provisioner})
    return PersistentVolume(metadata=meta, spec=spec)


def is_allowed_on(node: Node, storage_class: StorageClass) -> bool:
    """Whether the class allows volumes in the node's part of the topology."""
    allowed = storage_class.allowed_topologies
    return not allowed or any(_covers(term, node.metadata.labels) for term in allowed)


def _driver(storage_class: StorageClass) -> str:
    return DRIVERS.get(storage_class.provisioner, storage_class.provisioner)


def _legal(driver: str) -> str:
    """The driver's name in a volume.

    A provisioner that is no CSI driver (`example.com/nfs`) makes volumes of another type, which no node limits. Here
    they have a driver that no node has either.
    """
    if _DRIVER_NAME.fullmatch(driver):
        return driver
    return "-".join(re.findall("[a-zA-Z0-9]+", driver))[:63].rstrip("-")


def _anywhere(storage_class: StorageClass) -> dict[str, str]:
    """The first place of those that the class allows; a driver may choose any."""
    for term in storage_class.allowed_topologies:
        return {item.key: item.values[0] for item in term.match_label_expressions if item.values}
    return {}


def _around(node: Node, storage_class: StorageClass, csi_node: CSINode | None) -> dict[str, str]:
    labels = node.metadata.labels
    return {key: labels[key] for key in _topology_keys(node, storage_class, csi_node) if key in labels}


def _topology_keys(node: Node, storage_class: StorageClass, csi_node: CSINode | None) -> Iterable[str]:
    for driver in csi_node.spec.drivers if csi_node is not None else ():
        if driver.name == _driver(storage_class):
            return driver.topology_keys
    for term in storage_class.allowed_topologies:
        if _covers(term, node.metadata.labels):
            return [item.key for item in term.match_label_expressions]
    return [ZONE]


def _covers(term: TopologySelectorTerm, labels: Mapping[str, str]) -> bool:
    return all(labels.get(item.key) in item.values for item in term.match_label_expressions)


def _affinity(places: Mapping[str, str]) -> VolumeNodeAffinity:
    requirements = [NodeSelectorRequirement(key=key, operator="In", values=[value]) for key, value in places.items()]
    return VolumeNodeAffinity(
        required=NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=requirements)])
    )
