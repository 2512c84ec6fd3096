"""What a path is about: a resource, an object of it or one of its subresources."""

from __future__ import annotations

from typing import NamedTuple

from bayplan.apiserver.registry.catalogue import Catalogue
from bayplan.apiserver.schema.resources import Resource
from bayplan.store.errors import NotFound

_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


class Target(NamedTuple):
    """What a request is about."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    watch: bool = False
    """Whether the path is one of the old ones that mean a watch."""
    rest: tuple[str, ...] = ()
    """What follows the subresource, as for a proxy."""


class UnknownPath(Exception):  # noqa: N818 - not a refusal of the API: nothing is served there
    """Nothing is served at this path, not even an API group."""


def target_of(segments: tuple[str, ...], catalogue: Catalogue) -> Target:
    """The target of a path below /api or /apis that names a resource."""
    if segments[0] == "api":
        group, version, rest = "", segments[1], segments[2:]
    else:
        group, version, rest = segments[1], segments[2], segments[3:]
        if not catalogue.serves_group(group):
            raise UnknownPath
    is_watch = len(rest) > 1 and rest[0] == "watch"
    if is_watch:
        rest = rest[1:]
    if not all(rest) or any("/" in part or part in (".", "..") for part in rest[:4]):
        raise NotFound.no_resource()
    return _located(group, version, rest, catalogue)._replace(watch=is_watch)


def _located(group: str, version: str, rest: tuple[str, ...], catalogue: Catalogue) -> Target:
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
        namespace, rest = rest[1], rest[2:]
    resource = catalogue.at(group, version, rest[0])
    if resource is None or (namespace and not resource.namespaced):
        raise NotFound.no_resource()
    name = rest[1] if len(rest) > 1 else ""
    if name and resource.namespaced and not namespace:
        raise NotFound.no_resource()
    subresource = rest[2] if len(rest) > 2 else ""
    if subresource and resource.subresource(subresource) is None:
        raise NotFound.no_resource()
    return Target(resource, namespace, name, subresource, rest=rest[3:])
