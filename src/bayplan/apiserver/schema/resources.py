"""The built-in resources: names, verbs and subresources, as discovery shows them.

Gives all that a v1.36 server serves by default in discovery's order (RESOURCES), those of another version or with a
feature gate (`resources_with`), and one by group, version and plural or by apiVersion and kind. Custom resources are
`Resource`s too, made by whoever knows their definitions. What a verb does is not said here.

In `data/resources.txt` a group version's line is followed by its resources (indented: `PLURAL KIND SCOPE
ATTRIBUTE=VALUE…`) and their subresources (indented further: `NAME KIND ATTRIBUTE=VALUE…`). `gate=NAME` after a group
version: served where that gate is on. `since=1.37` after a resource or subresource: served from that version on.
"""

import base64
import hashlib
from collections.abc import Collection
from functools import cached_property
from importlib import resources

import msgspec

from bayplan.apiserver.schema.versions import FIRST, later_than_first

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
SUBRESOURCE_VERBS = ("get", "patch", "update")


class Subresource(msgspec.Struct, frozen=True):
    name: str  # "status", "scale", "binding"…
    kind: str  # of the document sent and answered
    verbs: tuple[str, ...] = SUBRESOURCE_VERBS
    group: str = ""  # with `version`: of the kind, where they are not those of the resource
    version: str = ""
    since: str = ""  # the version of Kubernetes that serves it first; "": all that are known


class Resource(msgspec.Struct, frozen=True, dict=True):  # a dict only for the cached properties
    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...] = ALL_VERBS
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    stored_as: str = ""  # the apiVersion that a real server writes to its storage, if it is another one
    gate: str = ""  # the feature gate that it takes
    since: str = ""  # as of a subresource

    @cached_property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        return self.plural

    @cached_property
    def qualified_resource(self) -> str:
        """As messages name it: "pods", "deployments.apps"."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @cached_property
    def qualified_kind(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @cached_property
    def list_kind(self) -> str:
        return f"{self.kind}List"

    def subresource(self, name: str) -> Subresource | None:
        return next((subresource for subresource in self.subresources if subresource.name == name), None)

    @property
    def storage_version_hash(self) -> str:
        """Tells clients whether stored objects were written in another version; empty if nothing is stored."""
        if not {"create", "list"} <= set(self.verbs):
            return ""
        group, _, version = (self.stored_as or self.api_version).rpartition("/")
        digest = hashlib.sha256(f"{group}/{version}/{self.kind}".encode()).digest()
        return base64.b64encode(digest[:8]).decode()


def resource_of(group: str, version: str, plural: str) -> Resource | None:
    return _BY_PLURAL.get((group, version, plural))


def built_in(group: str, plural: str) -> Resource:
    """The version v1 of a resource that every server has."""
    found = resource_of(group, "v1", plural)
    assert found is not None
    return found


def resource_of_kind(api_version: str, kind: str) -> Resource | None:
    return _BY_KIND.get((api_version, kind))


def _read_resources() -> list[Resource]:
    text = (resources.files(__package__) / "data" / "resources.txt").read_text(encoding="utf-8")
    found: list[Resource] = []
    api_version = gate = ""
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if indent == 0:
            api_version, _, gate = line.partition(" gate=")
        elif indent == 2:
            found.append(_parse_resource(api_version, gate, line.split()))
        else:
            owner = found.pop()
            subresources = (*owner.subresources, _parse_subresource(line.split()))
            found.append(msgspec.structs.replace(owner, subresources=subresources))
    return found


def _parse_resource(api_version: str, gate: str, words: list[str]) -> Resource:
    plural, kind, scope, *pairs = words
    attributes = dict(pair.split("=", 1) for pair in pairs)
    group, _, version = api_version.rpartition("/")
    return Resource(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        singular=kind.lower(),
        namespaced=scope == "namespaced",
        verbs=_verbs(attributes, ALL_VERBS),
        short_names=_list_of(attributes, "short"),
        categories=_list_of(attributes, "categories"),
        stored_as=attributes.get("stored", ""),
        gate=gate,
        since=attributes.get("since", ""),
    )


def _parse_subresource(words: list[str]) -> Subresource:
    name, kind, *pairs = words
    attributes = dict(pair.split("=", 1) for pair in pairs)
    group, _, version = attributes.get("api", "").rpartition("/")
    return Subresource(name, kind, _verbs(attributes, SUBRESOURCE_VERBS), group, version, attributes.get("since", ""))


def _verbs(attributes: dict[str, str], usual: tuple[str, ...]) -> tuple[str, ...]:
    return _list_of(attributes, "verbs") or usual


def _list_of(attributes: dict[str, str], name: str) -> tuple[str, ...]:
    return tuple(attributes[name].split(",")) if name in attributes else ()


_ALL = tuple(_read_resources())
_BY_PLURAL = {(resource.group, resource.version, resource.plural): resource for resource in _ALL}
_BY_KIND = {(resource.api_version, resource.kind): resource for resource in _ALL}


def resources_with(gates: Collection[str], version: str) -> tuple[Resource, ...]:
    """What a server of that version serves where these feature gates are on."""
    known = {"", *later_than_first(version)}
    served = (each for each in _ALL if each.since in known and (not each.gate or each.gate in gates))
    return tuple(_without(each, [part for part in each.subresources if part.since not in known]) for each in served)


def _without(resource: Resource, left_out: Collection[Subresource]) -> Resource:
    if not left_out:
        return resource
    served = tuple(part for part in resource.subresources if part not in left_out)
    return msgspec.structs.replace(resource, subresources=served)


RESOURCES = resources_with((), FIRST)
