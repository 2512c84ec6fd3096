"""What a request is about, as far as ownership goes: version and kind, the shape of the object, and which fields count.

A resource resets some fields on each write: the status on the object itself, the spec on its status subresource. Nobody
gets to own a field by a write that does not change it. `scope_of` knows these for every built-in resource;
`custom_scope` makes them for custom ones.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bayplan.apiserver.patching.server_side_apply.field_sets import FieldSet, Path, recursive_difference, set_of_paths
from bayplan.apiserver.patching.server_side_apply.path_elements import FIELD, SELF
from bayplan.apiserver.patching.server_side_apply.shapes import Shape, shape_of, shape_of_custom
from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.schema.versions import cached_by_version

_ANY = "*"
_ITEM_FIELDS_OF_RESIZE = ("resources", "resizePolicy")


def _path(*names: str) -> Path:
    return tuple(name if name == _ANY else FIELD + name for name in names)


_SPEC, _STATUS, _METADATA = _path("spec"), _path("status"), _path("metadata")

# Upstream: GetResetFields of the strategies in pkg/registry (v1.36); only what differs from the rule is listed.
_RESET: dict[tuple[str, str], tuple[Path, ...]] = {
    ("pods", "status"): (_SPEC, _path("metadata", "deletionTimestamp"), _path("metadata", "ownerReferences")),
    ("deployments.apps", "status"): (_SPEC, _path("metadata", "labels")),
    ("namespaces", "finalize"): (_STATUS,),
    ("certificatesigningrequests.certificates.k8s.io", ""): (_SPEC, _STATUS),
    ("certificatesigningrequests.certificates.k8s.io", "status"): (_SPEC, _path("status", "conditions")),
    ("certificatesigningrequests.certificates.k8s.io", "approval"): (_SPEC, _path("status", "certificate")),
}
_STATUS_RESETS_METADATA = frozenset(
    {
        "apiservices.apiregistration.k8s.io",
        "flowschemas.flowcontrol.apiserver.k8s.io",
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
        "resourceclaims.resource.k8s.io",
        "servicecidrs.networking.k8s.io",
        "volumeattachments.storage.k8s.io",
    }
)
_ONLY: dict[tuple[str, str], tuple[Path, ...]] = {
    ("pods", "ephemeralcontainers"): (_path("spec", "ephemeralContainers"),),
    ("pods", "resize"): tuple(
        _path("spec", containers, _ANY, name)
        for containers in ("containers", "initContainers")
        for name in _ITEM_FIELDS_OF_RESIZE
    ),
}


@dataclass(frozen=True, eq=False)
class Scope:
    api_version: str
    kind: str
    shape: Shape
    subresource: str = ""
    reset: FieldSet = field(default_factory=dict)
    """Fields that a write cannot change, with all that is in them."""
    only: tuple[Path, ...] = ()
    """The only fields that a write can change; empty: there is no such limit."""

    @cached_property
    def compared(self) -> Shape:
        """The shape without fields that are reset as a whole, so that tracking need not look into them."""
        names = tuple(element.removeprefix(FIELD) for element, node in self.reset.items() if not node)
        return self.shape.ignoring(names)

    def counting(self, fields: FieldSet) -> FieldSet:
        """Those fields of the set that the request can own."""
        if self.only:
            return _included(fields, self.only)
        return recursive_difference(fields, self.reset)


def _included(fields: FieldSet, patterns: tuple[Path, ...]) -> FieldSet:
    """Members at the start of a pattern, on the way along it, or below its end."""
    result = {}
    for element, node in fields.items():
        rests = [pattern[1:] for pattern in patterns if pattern[0] in (element, _ANY)]
        if element == SELF or not rests:
            continue
        if () in rests or not node:
            result[element] = node
            continue
        below = _included(node, tuple(rests))
        if SELF in node or below:
            result[element] = {SELF: {}, **below} if SELF in node and below else below
    return result


@cached_by_version
def scope_of(resource: Resource, subresource: str = "") -> Scope:
    """Of writes to a built-in resource, or to one of its subresources."""
    kind = message_of(resource.api_version, resource.kind)
    shape = shape_of(kind) if kind is not None else shape_of_custom(None)
    key = (resource.qualified_resource, subresource)
    reset = _RESET.get(key) or _usual_reset(resource, subresource)
    return Scope(resource.api_version, resource.kind, shape, subresource, set_of_paths(*reset), _ONLY.get(key, ()))


def _usual_reset(resource: Resource, subresource: str) -> tuple[Path, ...]:
    if subresource == "status":
        resets_metadata = resource.qualified_resource in _STATUS_RESETS_METADATA
        return (_METADATA, _SPEC) if resets_metadata else (_SPEC,)
    return (_STATUS,) if resource.subresource("status") is not None else ()


def custom_scope(
    api_version: str, kind: str, schema: dict[str, Any] | None, *, has_status: bool, subresource: str = ""
) -> Scope:
    """Of writes to a custom resource; `has_status`: the definition has a status subresource."""
    reset: tuple[Path, ...] = (_STATUS,) if has_status else ()
    if subresource == "status":
        reset = (_METADATA, _SPEC)
    return Scope(api_version, kind, shape_of_custom(schema), subresource, set_of_paths(*reset))
