"""Discovery: which groups, versions and resources there are, in the classic form and in the aggregated one.

Takes the resources served, in the order that `in_discovery_order` gives; returns response bodies as plain data. Which
form a client asked for, caching and headers are the caller's business.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from bayplan.apiserver.schema.messages import GROUPS
from bayplan.apiserver.schema.resources import RESOURCES, Resource, Subresource

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STABILITIES = [None, "beta", "alpha"]  # as preferred


def in_discovery_order(custom: Iterable[Resource], built_in: Iterable[Resource] = RESOURCES) -> tuple[Resource, ...]:
    """Built-in resources, then custom ones by group; in a group the preferred version first."""
    by_group = sorted(custom, key=lambda each: (each.group, version_order(each.version), each.plural))
    return (*built_in, *by_group)


def version_order(version: str) -> tuple[int, int, int, str]:
    """A sort key: v2, v1, v1beta2, v1beta1, v1alpha1, and then names of other forms."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (len(_STABILITIES), 0, 0, version)
    major, stability, minor = match.groups()
    return (_STABILITIES.index(stability), -int(major), -int(minor or 0), version)


def api_versions(server_address: str) -> dict[str, Any]:
    """The answer to `/api`."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}],
    }


def api_group_list(resources: Sequence[Resource]) -> dict[str, Any]:
    """The answer to `/apis`."""
    names = dict.fromkeys(resource.group for resource in resources if resource.group)
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(resources, name) for name in names]}


def api_group(resources: Sequence[Resource], name: str) -> dict[str, Any] | None:
    """The answer to `/apis/NAME`; None: no such group."""
    if not name or all(resource.group != name for resource in resources):
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(resources, name)}


def _group(resources: Sequence[Resource], name: str) -> dict[str, Any]:
    versions = dict.fromkeys(resource.version for resource in resources if resource.group == name)
    entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def api_resource_list(resources: Sequence[Resource], group: str, version: str) -> dict[str, Any] | None:
    """The answer to `/api/v1` or `/apis/GROUP/VERSION`; None: no such group version."""
    served = [resource for resource in resources if (resource.group, resource.version) == (group, version)]
    if not served:
        return None
    entries = []
    for resource in served:
        entries.append(_resource(resource))
        entries += [_subresource(resource, subresource) for subresource in resource.subresources]
    head = {"kind": "APIResourceList", "apiVersion": "v1"} if group else {"kind": "APIResourceList"}
    return {**head, "groupVersion": served[0].api_version, "resources": entries}


def _resource(resource: Resource) -> dict[str, Any]:
    return {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
        **_names(resource),
        **({"storageVersionHash": resource.storage_version_hash} if resource.storage_version_hash else {}),
    }


def _subresource(resource: Resource, subresource: Subresource) -> dict[str, Any]:
    has_own_version = {"group": subresource.group, "version": subresource.version} if subresource.version else {}
    return {
        "name": f"{resource.plural}/{subresource.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        **has_own_version,
        "kind": subresource.kind,
        "verbs": list(subresource.verbs),
    }


def _names(resource: Resource) -> dict[str, Any]:
    names = {}
    if resource.short_names:
        names["shortNames"] = list(resource.short_names)
    if resource.categories:
        names["categories"] = list(resource.categories)
    return names


def aggregated(
    resources: Sequence[Resource], *, core: bool, version: Literal["v2", "v2beta1"] = "v2"
) -> dict[str, Any]:
    """The answer to `/api` (core) or `/apis` for clients that want everything at once."""
    groups: dict[str, dict[str, list[Resource]]] = {}
    for resource in resources:
        if (not resource.group) == core:
            groups.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [_aggregated_group(name, versions) for name, versions in groups.items()],
    }


def _aggregated_group(name: str, versions: dict[str, list[Resource]]) -> dict[str, Any]:
    return {
        "metadata": {"name": name} if name else {},
        "versions": [
            {
                "version": version,
                "resources": [_aggregated_resource(resource) for resource in resources],
                "freshness": "Current",
            }
            for version, resources in versions.items()
        ],
    }


def _aggregated_resource(resource: Resource) -> dict[str, Any]:
    subresources = [_aggregated_subresource(resource, subresource) for subresource in resource.subresources]
    return {
        "resource": resource.plural,
        "responseKind": _response_kind(resource, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
        **_names(resource),
        **({"subresources": subresources} if subresources else {}),
    }


def _aggregated_subresource(resource: Resource, subresource: Subresource) -> dict[str, Any]:
    kind = _response_kind(resource, subresource.kind)
    if subresource.version:
        kind |= {"group": subresource.group, "version": subresource.version}
    return {"subresource": subresource.name, "responseKind": kind, "verbs": list(subresource.verbs)}


def _response_kind(resource: Resource, kind: str) -> dict[str, str]:
    # A real server leaves group and version of built-in kinds empty: clients take those of the list they are in.
    if resource.group in GROUPS:
        return {"group": "", "version": "", "kind": kind}
    return {"group": resource.group, "version": resource.version, "kind": kind}
