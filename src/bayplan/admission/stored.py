"""Telling an object that an API server has stored from one that is still a manifest.

An API server admits an object once, at creation. A dump (`kubectl get -o yaml`) holds what came of that, and
must be taken as it is: its priorities may stem from classes long gone. These are the marks to go by; a pod
with a node name or with traces of a kubelet or a scheduler in its status counts as stored too, as only a pod
that was created can have these. Nothing is changed here.
"""

from __future__ import annotations

from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod


def was_created(meta: ObjectMeta) -> bool:
    """Whether an API server has given the object an identity, a version or a birthday."""
    return bool(meta.uid or meta.resource_version or meta.creation_timestamp)


def looks_stored(pod: Pod) -> bool:
    """Whether the pod was admitted before: created by an API server, or written down as one that was.

    The phase is not such a mark: admission itself writes the first one.
    """
    status = pod.status
    return (
        bool(pod.spec.node_name)
        or was_created(pod.metadata)
        or bool(status.nominated_node_name or status.start_time or status.conditions)
    )


def is_complete(pod: Pod) -> bool:
    """Whether the pod carries the marks of a full admission, so that nothing at all is left to do.

    Every API server writes these fields into every pod. The test is cheap because a large dump asks it for
    each of its pods.
    """
    spec = pod.spec
    return (
        spec.priority is not None
        and spec.termination_grace_period_seconds is not None
        and spec.scheduler_name != ""
        and pod.metadata.uid != ""
        and pod.metadata.namespace != ""
    )
