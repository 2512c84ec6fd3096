"""ResourceQuotas: how much a namespace uses, and which writes would use too much.

`check_quotas` raises Forbidden; `quota_status` gives the status that a quota should have. Usage is always
summed up from the namespace's documents, so that no write slips in between a count and its record. The sums are
quantities in the notation of the first document that counts. Devices of claims count by their class, not by the name of
an extended resource.
Upstream: apiserver/pkg/admission/plugin/resourcequota, pkg/quota/v1/evaluator/core (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.apiserver.admitting.cluster import RESOURCE_QUOTAS, ClusterView
from bayplan.apiserver.admitting.documents import Document, name_of
from bayplan.apiserver.admitting.plugins.quota_scopes import is_in_scope, is_limited_in_time
from bayplan.apiserver.admitting.plugins.quota_usage import (
    container_usage,
    counted_resources,
    resource_counting,
    usage_of,
)
from bayplan.apiserver.admitting.quantities import added, subtracted
from bayplan.apiserver.schema.resources import Resource
from bayplan.model.quantity import parse_quantity
from bayplan.store.errors import Forbidden

_MUST_BE_GIVEN = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})
#: Kinds of which an update may take more than before.
_COUNTED_AGAIN = frozenset({"services", "persistentvolumeclaims", "resourceclaims.resource.k8s.io"})
_IGNORED = frozenset({"events", "bindings"})


def check_quotas(
    resource: Resource, document: Document, old: Document | None, cluster: ClusterView, now: int, subresource: str = ""
) -> None:
    """Raises Forbidden when the write takes more than is left, or does not say how much it takes."""
    if not resource.namespaced or not _counts(resource, document, old, subresource):
        return
    for quota in cluster.list(RESOURCE_QUOTAS, document["metadata"]["namespace"]):
        _check_quota(resource, quota, document, old, cluster, now)


def _counts(resource: Resource, document: Document, old: Document | None, subresource: str) -> bool:
    if resource.plural in _IGNORED:
        return False
    if resource.kind == "Pod" and old is not None:
        return subresource == "resize" or is_limited_in_time(old) != is_limited_in_time(document)
    if subresource:
        return False
    return old is None or resource.qualified_resource in _COUNTED_AGAIN


def _check_quota(
    resource: Resource, quota: Document, document: Document, old: Document | None, cluster: ClusterView, now: int
) -> None:
    hard: dict[str, str] = quota["spec"].get("hard", {})
    counted = counted_resources(resource, hard)
    if not counted or not is_in_scope(resource, quota, document):
        return
    name = name_of(document)
    if resource.kind == "Pod":
        missing = _missing_amounts(document["spec"], _MUST_BE_GIVEN.intersection(counted))
        if missing:
            why = f"failed quota: {name_of(quota)}: must specify {missing}"
            raise Forbidden.because(resource, name, why)
    wanted = usage_of(resource, document, now)
    if old is not None and is_in_scope(resource, quota, old):
        before = usage_of(resource, old, now)
        wanted = {key: subtracted(amount, before.get(key, "0")) for key, amount in wanted.items()}
    wanted = {key: amount for key, amount in wanted.items() if key in hard and parse_quantity(amount)}
    if not wanted:
        return
    used = _used_by(resource, quota, wanted, cluster, now)
    exceeded = [
        key for key in sorted(wanted) if parse_quantity(added(used[key], wanted[key])) > parse_quantity(hard[key])
    ]
    if exceeded:
        raise Forbidden.because(
            resource,
            name,
            f"exceeded quota: {name_of(quota)}, requested: {_shown(wanted, exceeded)}, "
            f"used: {_shown(used, exceeded)}, limited: {_shown(hard, exceeded)}",
        )


def _missing_amounts(spec: Document, required: frozenset[str]) -> str:
    """`cpu for: a,b; memory for: b`: what containers do not say although the quota counts it."""
    if spec.get("resources"):
        return ""
    missing: dict[str, set[str]] = {}
    for container in [*(spec.get("containers") or ()), *spec.get("initContainers", ())]:
        resources = container.get("resources", {})
        given = container_usage(resources.get("requests", {}), resources.get("limits", {}))
        for name in required - given.keys():
            missing.setdefault(name, set()).add(container["name"])
    return "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))


def _shown(amounts: dict[str, str], names: Iterable[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in names)


def _used_by(
    resource: Resource, quota: Document, names: Iterable[str], cluster: ClusterView, now: int
) -> dict[str, str]:
    """What the namespace's documents of the resource use of the named amounts already."""
    used = dict.fromkeys(names, "0")
    for document in cluster.list(resource, quota["metadata"]["namespace"]):
        if is_in_scope(resource, quota, document):
            for key, amount in usage_of(resource, document, now).items():
                if key in used:
                    used[key] = added(used[key], amount)
    return used


def quota_status(quota: Document, cluster: ClusterView, now: int) -> Document:
    """The status of the quota as the namespace is now."""
    hard: dict[str, str] = quota["spec"].get("hard", {})
    used = dict.fromkeys(hard, "0")
    for resource in resource_counting(hard):
        counted = counted_resources(resource, hard)
        used.update(_used_by(resource, quota, counted, cluster, now))
    return {"hard": dict(hard), "used": used}
