"""What replaces a pod that has lost its node: another one, made by its controller, or nothing.

Takes the pod as it was; gives a pod that waits. It bears the name of the lost one, so that a reader can follow it,
though only a StatefulSet would really call it so. It is what its controller made before: a copy, whose priority is what
its PriorityClass says now. A bare pod, one that is leaving anyway and one that a kubelet runs from a file are gone.
"""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.admission import admit
from bayplan.admission.priority import PriorityClasses
from bayplan.controllers.ownership import controller_of_kind, controller_reference
from bayplan.controllers.workloads.daemon_placement import pin, pinned_to
from bayplan.controllers.workloads.pods_from_templates import copy_spec, ephemeral_claims
from bayplan.model.cluster import PriorityClass
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod, PodStatus
from bayplan.model.storage import PersistentVolumeClaim, StorageClass
from bayplan.model.structs import replace

_KUBELET = "Node"  # the kind that owns the pods which a kubelet runs from a file


def comes_back(pod: Pod) -> bool:
    """Whether somebody makes another one when this one is lost."""
    reference = controller_reference(pod.metadata)
    return reference is not None and reference.kind != _KUBELET and pod.metadata.deletion_timestamp is None


class Replacements:
    """Makes the pods that controllers would make."""

    def __init__(self, objects: Sequence[Object]) -> None:
        self._priority_classes = PriorityClasses(obj for obj in objects if isinstance(obj, PriorityClass))
        self._storage_classes: list[Object] = [obj for obj in objects if isinstance(obj, StorageClass)]

    def instead_of(self, pod: Pod, node_name: str) -> tuple[Pod, list[PersistentVolumeClaim]]:
        """The pod in place of one that ran there, and the volume claims that are created again for it."""
        meta = replace(pod.metadata, uid="", resource_version="", creation_timestamp=None)
        made = Pod(metadata=meta, spec=copy_spec(pod.spec), status=PodStatus(phase="Pending"))
        made.spec.node_name = ""
        if controller_of_kind(meta, "DaemonSet") is not None and not pinned_to(made):
            pin(made, node_name)
        known = self._priority_classes.get(made.spec.priority_class_name)
        if known is not None:
            made.spec.priority = known.value
        claims = ephemeral_claims(made)
        admit([*claims], beside=self._storage_classes)
        return made, claims
