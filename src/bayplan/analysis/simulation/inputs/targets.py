"""Names of objects of any kind, as a timeline writes them: `shop/deployment/web`, `node/node-3`, `shop/web-1`.

Takes such text and gives kind, namespace and name. Kinds may be written in kubectl's short forms; a name without a
kind is a pod's. Whether there is such an object is not looked at.
"""

from __future__ import annotations

from bayplan.analysis.simulation.inputs.commands import Target
from bayplan.model.kinds import KINDS

_SHORT = {
    "po": "Pod",
    "no": "Node",
    "ns": "Namespace",
    "pc": "PriorityClass",
    "svc": "Service",
    "pdb": "PodDisruptionBudget",
    "rc": "ReplicationController",
    "rs": "ReplicaSet",
    "sts": "StatefulSet",
    "deploy": "Deployment",
    "ds": "DaemonSet",
    "cj": "CronJob",
    "pv": "PersistentVolume",
    "pvc": "PersistentVolumeClaim",
    "sc": "StorageClass",
}
_KINDS = _SHORT | {kind.lower(): kind for kind in KINDS} | {f"{kind.lower()}s": kind for kind in KINDS}


def parse_target(text: str) -> Target:
    """What the text names. Raises ValueError."""
    parts = text.split("/")
    if not all(parts) or len(parts) > 3:
        raise ValueError(f"{text!r}: expected NAME, NAMESPACE/NAME, KIND/NAME or NAMESPACE/KIND/NAME")
    if len(parts) == 3:
        kind = _KINDS.get(parts[1].lower())
        if kind is None:
            raise ValueError(f"{text!r}: there is no kind {parts[1]!r}")
        return _target(kind, parts[0], parts[2])
    if len(parts) == 2:
        kind = _KINDS.get(parts[0].lower())
        return _target(kind, "default", parts[1]) if kind else Target("Pod", parts[0], parts[1])
    return Target("Pod", "default", parts[0])


def _target(kind: str, namespace: str, name: str) -> Target:
    return Target(kind, namespace if KINDS[kind].namespaced else "", name)
