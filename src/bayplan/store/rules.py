"""What an API server knows of each kind beyond its fields: names, subresources, generations, deletion.

`RULES` answers by kind and by struct alike, so that callers may say `"Pod"` or `Pod`. Facts of Kubernetes v1.36
only; nothing here looks at an object.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from bayplan.model.kinds import ALL_KINDS, KindInfo

Kind: TypeAlias = str | type[Any]
"""A kind's name, or its struct."""

# Where etcd keeps a kind when that is not under its resource's name; error texts show it.
_STORAGE_PREFIXES = {
    "Ingress": "ingress",
    "Node": "minions",
    "Service": "services/specs",
    "ReplicationController": "controllers",
}
_WITH_GENERATION = frozenset(
    {
        "Pod",
        "ReplicationController",
        "ReplicaSet",
        "StatefulSet",
        "Deployment",
        "DaemonSet",
        "Job",
        "CronJob",
        "PodDisruptionBudget",
        "PodGroup",
        "Workload",
        "PriorityClass",
        "DeviceTaintRule",
    }
)
# Nodes come with the status their kubelet found; of any other kind a new object's status is the server's.
_STATUS_FROM_CREATOR = frozenset({"Node"})
_UPDATE_NEEDS_VERSION = frozenset(
    {"PodDisruptionBudget", "PodGroup", "Workload", "CSIDriver", "CSINode", "CSIStorageCapacity", "VolumeAttachment"}
)
# Deleting these without a word on their dependents leaves the dependents alone, for compatibility's sake.
_ORPHANS_BY_DEFAULT = frozenset({"ReplicationController", "Job"})


@dataclass(frozen=True, slots=True)
class KindRules(KindInfo):
    """One kind as the API server treats it."""

    resource: str
    """`pods`."""
    qualified_resource: str
    """`pods`, `deployments.apps`: how most refusals name it."""
    qualified_kind: str
    """`Pod`, `Deployment.apps`: how refusals of a content name it."""
    storage_prefix: str
    has_spec: bool
    has_status: bool
    resets_status: bool
    has_generation: bool
    update_needs_version: bool
    orphans_by_default: bool

    def storage_key(self, namespace: str, name: str) -> str:
        """Where etcd would keep the object."""
        return storage_key(self.storage_prefix, namespace, name)


def storage_key(prefix: str, namespace: str, name: str) -> str:
    """Where etcd would keep an object of a kind with this prefix."""
    return "/".join(part for part in ("/registry", prefix, namespace, name) if part)


def _rules(info: KindInfo) -> KindRules:
    kind = info.kind
    resource = info.plural
    suffix = f".{info.group}" if info.group else ""
    has_status = "status" in info.struct.__struct_fields__
    return KindRules(
        **asdict(info),
        resource=resource,
        qualified_resource=resource + suffix,
        qualified_kind=kind + suffix,
        storage_prefix=_STORAGE_PREFIXES.get(kind, resource),
        has_spec="spec" in info.struct.__struct_fields__,
        has_status=has_status,
        resets_status=has_status and kind not in _STATUS_FROM_CREATOR,
        has_generation=kind in _WITH_GENERATION,
        update_needs_version=kind in _UPDATE_NEEDS_VERSION,
        orphans_by_default=kind in _ORPHANS_BY_DEFAULT,
    )


_BY_KIND: dict[Kind, KindRules] = {kind: _rules(info) for kind, info in ALL_KINDS.items()}

RULES: dict[Kind, KindRules] = {**_BY_KIND, **{rules.struct: rules for rules in _BY_KIND.values()}}
