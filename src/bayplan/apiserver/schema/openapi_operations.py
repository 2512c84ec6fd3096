"""What can be requested of a resource, path by path, as OpenAPI documents of either version list it.

Takes a `Resource`; gives its `Operation`s. Requests that are no plain calls (watches by path, proxies, exec) are left
out, because clients do not look for them in documents.
"""

from collections.abc import Iterator

import msgspec

from bayplan.apiserver.schema.resources import Resource, Subresource

# Parameters in the query, and their types.
PARAMETERS = {
    "allowWatchBookmarks": "boolean",
    "continue": "string",
    "dryRun": "string",
    "fieldManager": "string",
    "fieldSelector": "string",
    "fieldValidation": "string",
    "force": "boolean",
    "gracePeriodSeconds": "integer",
    "ignoreStoreReadErrorWithClusterBreakingPotential": "boolean",
    "labelSelector": "string",
    "limit": "integer",
    "orphanDependents": "boolean",
    "pretty": "string",
    "propagationPolicy": "string",
    "resourceVersion": "string",
    "resourceVersionMatch": "string",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_LIST = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
)
_DELETE = (
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
)
_DELETE_MANY = tuple(sorted({*_LIST, *_DELETE} - {"allowWatchBookmarks", "watch"}))


class Operation(msgspec.Struct, frozen=True):
    path: str  # with {namespace} and {name}
    method: str
    action: str  # Kubernetes' name of it: "get", "list", "post", "put", "patch", "delete", "deletecollection"
    operation_id: str
    group: str  # with `version` and `kind`: of the document sent or answered
    version: str
    kind: str
    parameters: tuple[str, ...] = ()
    body_kind: str = ""  # of `group` and `version`, or "Patch" or "DeleteOptions"; empty: no body
    answer_kind: str = ""

    @property
    def group_version_kind(self) -> dict[str, str]:
        return {"group": self.group, "version": self.version, "kind": self.kind}


class _Call(msgspec.Struct, frozen=True):
    method: str
    action: str
    prefix: str  # of operation ids
    parameters: tuple[str, ...] = ()


_ON_COLLECTION = {
    "list": _Call("get", "list", "list", _LIST),
    "create": _Call("post", "post", "create", _WRITE),
    "deletecollection": _Call(
        "delete",
        "deletecollection",
        "deletecollection",
        _DELETE_MANY,
    ),
}
_ON_OBJECT = {
    "get": _Call("get", "get", "read"),
    "update": _Call("put", "put", "replace", _WRITE),
    "patch": _Call("patch", "patch", "patch", (*_WRITE, "force")),
    "delete": _Call("delete", "delete", "delete", _DELETE),
}
_ON_SUBRESOURCE = _ON_OBJECT | {"create": _ON_COLLECTION["create"]}
# Connections to a container or a server behind the API, with any method and no document.
CONNECTIONS = frozenset({"attach", "exec", "portforward", "proxy"})


def operations(resource: Resource) -> Iterator[Operation]:
    base = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    collection = f"{base}/namespaces/{{namespace}}/{resource.plural}" if resource.namespaced else None
    everywhere = f"{base}/{resource.plural}"
    for verb, call in _ON_COLLECTION.items():
        if verb in resource.verbs:
            yield _operation(resource, collection or everywhere, call)
    if collection and "list" in resource.verbs:
        listing = _operation(resource, everywhere, _ON_COLLECTION["list"])
        yield msgspec.structs.replace(
            listing, operation_id=listing.operation_id.replace("Namespaced", "") + "ForAllNamespaces"
        )
    item = f"{collection or everywhere}/{{name}}"
    for verb, call in _ON_OBJECT.items():
        if verb in resource.verbs:
            yield _operation(resource, item, call)
    for subresource in resource.subresources:
        if subresource.name not in CONNECTIONS:
            yield from _operations_on(resource, subresource, f"{item}/{subresource.name}")


def _operations_on(resource: Resource, subresource: Subresource, path: str) -> Iterator[Operation]:
    for verb, call in _ON_SUBRESOURCE.items():
        if verb in subresource.verbs:
            yield _operation(resource, path, call, subresource)


def _operation(resource: Resource, path: str, call: _Call, subresource: Subresource | None = None) -> Operation:
    kind, group, version = resource.kind, resource.group, resource.version
    if subresource is not None:
        kind = subresource.kind
        if subresource.version:
            group, version = subresource.group, subresource.version
    return Operation(
        path=path,
        method=call.method,
        action=call.action,
        operation_id=_operation_id(resource, call, subresource),
        group=group,
        version=version,
        kind=kind,
        parameters=call.parameters,
        body_kind={"post": kind, "put": kind, "patch": "Patch", "delete": "DeleteOptions"}.get(call.method, ""),
        answer_kind=_answer_kind(kind, call.action),
    )


def _answer_kind(kind: str, action: str) -> str:
    if action == "list":
        return f"{kind}List"
    return "Status" if action in {"delete", "deletecollection"} else kind


def _operation_id(resource: Resource, call: _Call, subresource: Subresource | None) -> str:
    """As published: readCoreV1NamespacedPod, patchAppsV1NamespacedDeploymentStatus."""
    words = resource.group.removesuffix(".k8s.io").split(".") if resource.group else ["core"]
    group = "".join(word[0].upper() + word[1:] for word in words)
    version = resource.version[0].upper() + resource.version[1:]
    scope = "Namespaced" if resource.namespaced else ""
    below = subresource.name[0].upper() + subresource.name[1:] if subresource else ""
    if call.action == "deletecollection":
        return f"delete{group}{version}Collection{scope}{resource.kind}"
    return f"{call.prefix}{group}{version}{scope}{resource.kind}{below}"
