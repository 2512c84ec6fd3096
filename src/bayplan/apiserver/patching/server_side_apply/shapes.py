"""How the values of a type split into fields that have owners: the schema as server-side apply sees it.

Takes a built-in `Message`, the OpenAPI schema of a custom resource, or nothing; gives the `Shape` of its objects.
Fields that nobody ever owns (name, uid, managedFields …) are `IGNORED` in every object. Shapes are made once per type,
and the fields of a shape when they are first asked for, because types may contain themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cached_property
from typing import Any

import msgspec

from bayplan.apiserver.patching.server_side_apply.list_items import element_maker
from bayplan.apiserver.schema.messages import Field, Message, message
from bayplan.apiserver.schema.versions import cached_by_version

UNSET = msgspec.UNSET

# Upstream: managedfields/internal/stripmeta.go (v1.36).
_UNOWNED_METADATA = (
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
)
_UNOWNED = ("apiVersion", "kind")
_SCALAR_OF = {
    "string": "string",
    "bool": "boolean",
    "int32": "numeric",
    "int64": "numeric",
    "double": "numeric",
    "bytes": "string",
    "Time": "string",
    "MicroTime": "string",
    "Duration": "string",
    "integer": "numeric",
    "number": "numeric",
    "boolean": "boolean",
}
_ANY_SCALAR = "untyped"


class Split(Enum):
    """How a value is owned."""

    WHOLE = "as a whole: scalars, and maps and lists that are atomic"
    BY_NAME = "field by field, entry by entry"
    BY_VALUE = "a list that is a set: item by item"
    BY_KEY = "a list that is a map: item by item, and fields of items"
    DEDUCED = "objects by name and everything else as a whole, whatever the value is"
    IGNORED = "by nobody"


class Shape:
    """How values of one type split into fields."""

    def __init__(
        self,
        split: Split,
        *,
        expected: str = "",
        fields: Callable[[], Mapping[str, Shape]] = dict,
        element: Callable[[], Shape] | None = None,
        keys: tuple[str, ...] = (),
        defaults: tuple[Any, ...] = (),
        absent: Any = UNSET,
    ) -> None:
        self.split = split
        self.splits_by_name = split in (Split.BY_NAME, Split.DEDUCED)
        self.splits_by_item = split in (Split.BY_VALUE, Split.BY_KEY)
        self.splits = self.splits_by_name or self.splits_by_item
        self.expected = expected  # what values must be: "map", "list" or a kind of scalar; empty: anything
        self.keys = keys  # of items of lists
        self.defaults = defaults  # of the keys, UNSET where there is none
        self.absent = absent  # what an absent value stands for, because the server always has one; UNSET: nothing
        self._make_fields = fields
        self._make_element = element

    @cached_property
    def fields(self) -> Mapping[str, Shape]:
        """By name, those that the type declares."""
        return self._make_fields()

    @cached_property
    def always_present(self) -> tuple[str, ...]:
        """Fields that the server always has, if only as null."""
        return tuple(name for name, field in self.fields.items() if field.absent is not UNSET)

    @cached_property
    def element(self) -> Shape | None:
        """Of items, and of members that are not declared; None: there may be no others."""
        return self._make_element() if self._make_element else None

    def member(self, name: str) -> Shape | None:
        return self.fields.get(name) or self.element

    def owned_member(self, name: str) -> Shape | None:
        """None as well if nobody can own it."""
        member = self.fields.get(name) or self.element
        return None if member is not None and member.split is Split.IGNORED else member

    @cached_property
    def element_of(self) -> Callable[[Any], str]:
        """The path element of an item of a list that splits."""
        return element_maker(self.keys, self.defaults)

    def ignoring(self, names: tuple[str, ...]) -> Shape:
        """This shape with fields that nobody owns."""
        fields = {**self.fields, **dict.fromkeys(names, IGNORED)}
        return Shape(self.split, expected=self.expected, fields=lambda: fields, element=self._make_element)

    @property
    def item(self) -> Shape:
        """Of the items of a list that splits."""
        assert self.element is not None, "lists that split have a shape for their items"
        return self.element


def _deduced() -> Shape:
    return DEDUCED


IGNORED = Shape(Split.IGNORED)
_ANYTHING = Shape(Split.WHOLE)
DEDUCED = Shape(Split.DEDUCED, element=_deduced)


# -- built-in types


def shape_of(kind: Message) -> Shape:
    """Of the objects of a built-in type."""

    def fields() -> Mapping[str, Shape]:
        owned = {name: _shape_of_field(field) for name, field in kind.fields.items()}
        return {**owned, "metadata": METADATA, **dict.fromkeys(_UNOWNED, IGNORED)}

    return Shape(Split.BY_NAME, expected="map", fields=fields)


@cached_by_version
def _shape_of_message(name: str, absent: Any) -> Shape:
    """`absent` is None or UNSET, or an empty tuple for {}, which a cache cannot have as a key."""
    kind = message(name)
    split = Split.WHOLE if kind.map_type == "atomic" else Split.BY_NAME
    return Shape(
        split,
        expected="map",
        fields=lambda: {field.name: _shape_of_field(field) for field in kind.fields.values()},
        absent={} if absent == () else absent,
    )


def _shape_of_field(field: Field) -> Shape:
    absent = field.absent_value if field.always_present else UNSET
    if field.container == "list":
        return _shape_of_list(field, absent)
    if field.container == "map":
        split = Split.WHOLE if field.map_type == "atomic" else Split.BY_NAME
        return Shape(split, expected="map", element=lambda: _shape_of_item(field), absent=absent)
    if field.is_message:
        by_type = _shape_of_message(field.type, () if absent == {} else absent)
        if not field.map_type:
            return by_type
        split = Split.WHOLE if field.map_type == "atomic" else Split.BY_NAME  # the field knows better than its type
        return Shape(split, expected="map", fields=lambda: by_type.fields, absent=absent)
    return Shape(Split.WHOLE, expected=_expected_of(field.type), absent=absent)


def _shape_of_list(field: Field, absent: Any) -> Shape:
    split = {"set": Split.BY_VALUE, "map": Split.BY_KEY}.get(field.list_type, Split.WHOLE)
    keys = field.list_map_keys if split is Split.BY_KEY else ()
    fields_of_items = message(field.type).fields if keys else {}
    return Shape(
        split,
        expected="list",
        element=lambda: _shape_of_item(field),
        keys=keys,
        defaults=tuple(fields_of_items[key].default for key in keys),
        absent=absent,
    )


def _shape_of_item(field: Field) -> Shape:
    if field.is_message:
        return _shape_of_message(field.type, UNSET)
    return Shape(Split.WHOLE, expected=_expected_of(field.type))


def _expected_of(type_name: str) -> str:
    if type_name in ("Quantity", "IntOrString"):
        return _ANY_SCALAR
    return _SCALAR_OF.get(type_name, "")


def _fields_of_metadata() -> Mapping[str, Shape]:
    owned = _shape_of_message("meta.v1.ObjectMeta", UNSET).fields
    return {**owned, **{name: _ignored(owned.get(name)) for name in _UNOWNED_METADATA}}


def _ignored(shape: Shape | None) -> Shape:
    """Nobody owns such a value, which must be of its type all the same if that is a simple one."""
    is_simple = shape is not None and shape.expected not in ("map", "list")
    return Shape(Split.IGNORED, expected=shape.expected) if shape is not None and is_simple else IGNORED


METADATA = Shape(Split.BY_NAME, expected="map", fields=_fields_of_metadata, absent={})


# -- custom resources


def shape_of_custom(schema: Mapping[str, Any] | None) -> Shape:
    """Of custom resources with this OpenAPI schema; without one, objects split by name and nothing else does."""

    def fields() -> Mapping[str, Shape]:
        declared = _shape_of_schema(schema).fields if schema else {}
        return {**declared, "metadata": METADATA, **dict.fromkeys(_UNOWNED, IGNORED)}

    open_ended = not schema or schema.get("x-kubernetes-preserve-unknown-fields")
    return Shape(Split.BY_NAME, expected="map", fields=fields, element=(lambda: DEDUCED) if open_ended else None)


def _shape_of_schema(schema: Mapping[str, Any]) -> Shape:
    kind = schema.get("type", "")
    if schema.get("x-kubernetes-int-or-string"):
        return Shape(Split.WHOLE, expected=_ANY_SCALAR)
    if kind == "object" or (not kind and "properties" in schema):
        return _shape_of_object_schema(schema)
    if kind == "array":
        return _shape_of_list_schema(schema)
    if not kind:
        return DEDUCED if schema.get("x-kubernetes-preserve-unknown-fields") else _ANYTHING
    return Shape(Split.WHOLE, expected=_SCALAR_OF[kind])


def _shape_of_object_schema(schema: Mapping[str, Any]) -> Shape:
    additional = schema.get("additionalProperties")
    element = None
    if isinstance(additional, Mapping):
        element = lambda: _shape_of_schema(additional)  # noqa: E731 - beside its alternative
    elif additional or schema.get("x-kubernetes-preserve-unknown-fields"):
        element = lambda: DEDUCED  # noqa: E731
    properties = schema.get("properties", {})
    return Shape(
        Split.WHOLE if schema.get("x-kubernetes-map-type") == "atomic" else Split.BY_NAME,
        expected="map",
        fields=lambda: {name: _shape_of_schema(inner) for name, inner in properties.items()},
        element=element,
    )


def _shape_of_list_schema(schema: Mapping[str, Any]) -> Shape:
    items = schema.get("items", {})
    split = {"set": Split.BY_VALUE, "map": Split.BY_KEY}.get(schema.get("x-kubernetes-list-type", ""), Split.WHOLE)
    keys = tuple(schema.get("x-kubernetes-list-map-keys", ())) if split is Split.BY_KEY else ()
    properties = items.get("properties", {})
    return Shape(
        split,
        expected="list",
        element=lambda: _shape_of_schema(items),
        keys=keys,
        defaults=tuple(properties.get(key, {}).get("default", UNSET) for key in keys),
    )
