"""Which requests may take long: others are served while these are answered.

Takes a request and what is stored, and errs on the side of long: to answer in a thread costs a fraction of a
millisecond. Watches are not meant; what they begin with is sent in pieces.
"""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.http.requests import Request
from bayplan.apiserver.http.routing import Target, UnknownPath, target_of
from bayplan.apiserver.policies.policies import GROUP
from bayplan.apiserver.registry.definitions import CUSTOM_RESOURCE_DEFINITIONS
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.registry.versions import storage_name
from bayplan.store.errors import ApiError

#: Bytes of a body, or of an object that is stored.
LARGE: Final = 32 * 1024
#: Bytes of the objects in a list that is put together from the JSON that is there.
_LARGE_LIST: Final = 1024 * 1024
#: Objects in a list. To delete one takes longer than to show it.
_MANY: Final = {"GET": 500, "HEAD": 500, "DELETE": 50}
#: The same, of those that are not written as the JSON that is there.
_MANY_TO_ENCODE: Final = 10
#: Methods that write nothing.
READING: Final = frozenset({"GET", "HEAD"})
#: Whose expressions are evaluated with every write.
_POLICIES: Final = tuple(f"{kind}admissionpolicies.{GROUP}" for kind in ("validating", "mutating"))
_METRICS: Final = ("apis", "metrics.k8s.io")


def takes_long(registry: Registry, request: Request) -> bool:
    """Whether the answer may take more than a few milliseconds."""
    if request.segments[:2] == _METRICS:
        return registry.storage.count("pods") > _MANY["GET"]
    try:
        target = target_of(request.segments, registry.catalogue)
    except (ApiError, UnknownPath, IndexError):
        return False
    if not target.name and request.method in _MANY:
        return not _is_watch(request, target) and _is_long_list(registry, request, target)
    if _is_large(registry, target):
        return True
    return request.method not in READING and (len(request.body) > LARGE or _evaluates(registry, target))


def _is_long_list(registry: Registry, request: Request, target: Target) -> bool:
    """Whether there are many objects, or large ones, in what is listed or deleted."""
    name = storage_name(target.resource)
    many = min(_MANY[request.method], _MANY_TO_ENCODE) if _is_encoded(request) else _MANY[request.method]
    if registry.storage.count(name) > many:
        return True
    large = LARGE if _is_encoded(request) or request.method == "DELETE" else _LARGE_LIST
    return sum(len(entry.body) for entry in registry.storage.entries(name, target.namespace)) > large


def _is_encoded(request: Request) -> bool:
    accept = request.header("accept")
    return "yaml" in accept or "protobuf" in accept


def _is_watch(request: Request, target: Target) -> bool:
    return target.watch or request.flag("watch")


def _is_large(registry: Registry, target: Target) -> bool:
    entry = registry.storage.find(storage_name(target.resource), target.namespace, target.name)
    return entry is not None and len(entry.body) > LARGE


def _evaluates(registry: Registry, target: Target) -> bool:
    """Whether a write compiles or evaluates expressions, whose cost does not depend on its size."""
    resource = target.resource
    if resource.group == GROUP or resource.qualified_resource == CUSTOM_RESOURCE_DEFINITIONS:
        return True
    custom = registry.definitions.custom(resource)
    if custom is not None and custom.has_rules:
        return True
    return any(registry.storage.count(policies) for policies in _POLICIES)
