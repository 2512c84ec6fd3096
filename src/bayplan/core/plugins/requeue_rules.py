"""What the hints of several plugins have in common.

Takes the rejected pod and model objects, gives plain answers. Hints are pure: they see the pod and the object before
and after, and look nothing up. Where upstream's hint would look something up, ours says that a new attempt is worth it.
Upstream: none, as each plugin has its own.
"""

from __future__ import annotations

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.requeue import ActionType, ClusterEvent, ClusterEventWithHint, EventResource, Hint
from bayplan.core.plugins.volume_claims import claim_uses
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod
from bayplan.model.storage import PersistentVolumeClaim


def on(resource: EventResource, action: ActionType, hint: Hint | None = None) -> ClusterEventWithHint:
    """A registration in one line; without a hint every such cluster event is worth a new attempt."""
    return ClusterEventWithHint(ClusterEvent(resource, action), hint)


def is_same_pod(pod: PodInfo, other: Pod) -> bool:
    """Whether the object is the rejected pod itself; objects from a file may have no uid."""
    if pod.uid:
        return pod.uid == other.metadata.uid
    return pod.key == object_key(other)


def has_place(pod: Pod) -> bool:
    """Whether the pod is on a node, or a node is kept for it; any other takes room from nobody."""
    return bool(pod.spec.node_name or pod.status.nominated_node_name)


def after_own_update(pod: PodInfo, old: Pod, new: Pod) -> bool:  # noqa: ARG001
    """Hint: worth it if it is the pod itself that changed."""
    return is_same_pod(pod, new)


def after_own_claim(pod: PodInfo, old: object, new: PersistentVolumeClaim) -> bool:  # noqa: ARG001
    """Hint: worth it if the claim is one that a volume of the pod stands for, a generic ephemeral one included."""
    return pod.namespace == new.metadata.namespace and any(
        use.claim_name == new.metadata.name for use in claim_uses(pod)
    )


def after_named_claim(pod: PodInfo, old: object, new: PersistentVolumeClaim) -> bool:  # noqa: ARG001
    """Hint: worth it if the pod names the claim."""
    return pod.namespace == new.metadata.namespace and new.metadata.name in pod.shape.claim_names
