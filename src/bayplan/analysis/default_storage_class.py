"""Storage for input that defines none: the default class that kind, minikube and every cloud put into a new cluster.

Takes the objects of a cluster; returns a StorageClass, or None if there is nothing to
add: no claim needs a default, or the input defines its storage, with a default class, a volume, or a class from a dump.
A claim that names a class gets no other: if that class is missing, its pod waits, as in a real cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bayplan.admission.defaults import DEFAULT_CLASS_ANNOTATIONS, default_storage_class
from bayplan.admission.stored import was_created
from bayplan.analysis.claim_templates import claims_brought_by
from bayplan.core.plugins.volume_claims import WAIT_FOR_FIRST_CONSUMER
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from bayplan.model.volumes import PersistentVolumeClaimTemplate
from bayplan.model.well_known import BETA_STORAGE_CLASS

CLASS_NAME: Final = "standard"
PROVISIONER: Final = "bayplan/any"
EXPLANATION: Final = (
    f"the input has no default StorageClass, so a default class {CLASS_NAME} is added for claims without a class: "
    "volumes are provisioned where the pod goes. To avoid this, add a default StorageClass or a PersistentVolume"
)


def missing_default_class(objects: Iterable[Object]) -> StorageClass | None:
    """The class to add, if the input counts on one and does not say what storage there is."""
    counts_on_it = False
    for obj in objects:
        if isinstance(obj, PersistentVolume) or (isinstance(obj, StorageClass) and _settles_it(obj)):
            return None
        if not counts_on_it and not (isinstance(obj, Pod) and not obj.spec.volumes):  # as most objects are
            counts_on_it = any(map(_needs_default, claims_brought_by(obj)))
    if not counts_on_it:
        return None
    meta = ObjectMeta(name=CLASS_NAME, annotations={DEFAULT_CLASS_ANNOTATIONS[0]: "true"})
    return StorageClass(metadata=meta, provisioner=PROVISIONER, volume_binding_mode=WAIT_FOR_FIRST_CONSUMER)


def _settles_it(storage_class: StorageClass) -> bool:
    """A manifest's class may come to a cluster that has a default; a dump shows all there is."""
    meta = storage_class.metadata
    return was_created(meta) or meta.name == CLASS_NAME or default_storage_class([storage_class]) is not None


def _needs_default(claim: PersistentVolumeClaim | PersistentVolumeClaimTemplate) -> bool:
    """Whether a server would give it the default class; to a claim from a dump it would have done so already."""
    spec, meta = claim.spec, claim.metadata
    names_a_class = spec.storage_class_name is not None or BETA_STORAGE_CLASS in meta.annotations
    return not names_a_class and not spec.volume_name and not was_created(meta)
