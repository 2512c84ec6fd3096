"""Types of objects, as CEL's checker wants them: protobuf descriptors.

Takes built-in types, schemas of custom resources, or names of fields; gives a descriptor pool. Values never have these
types: they are plain documents, and only the checker of expressions reads the descriptors. What protobuf cannot say
(lists of lists, fields of any type) is `dyn`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from bayplan.apiserver.custom_resources.rules import escaped
from bayplan.apiserver.custom_resources.structural import Schema
from bayplan.apiserver.schema.messages import Field, Message, message

_FILES: Final = ("struct", "timestamp", "duration")
_SCALARS: Final = {"double": 1, "int": 3, "bool": 8, "string": 9, "bytes": 12}
_MESSAGES: Final = {
    "dyn": ".google.protobuf.Value",
    "timestamp": ".google.protobuf.Timestamp",
    "duration": ".google.protobuf.Duration",
}
_MESSAGE, _OPTIONAL, _REPEATED = 11, 1, 3


class FieldType(NamedTuple):
    """The type of a field."""

    type: str
    """A scalar, `dyn`, a time, or the name of a message that was declared."""
    container: str = ""
    """`list` or `map` of it."""


DYN: Final = FieldType("dyn")
TEXT: Final = FieldType("string")
_OF_BUILT_IN: Final = {
    "string": "string",
    "bool": "bool",
    "int32": "int",
    "int64": "int",
    "double": "double",
    "bytes": "bytes",
    "Time": "timestamp",
    "MicroTime": "timestamp",
}
_OF_SCHEMA: Final = {"string": "string", "boolean": "bool", "integer": "int", "number": "double"}
_OF_FORMAT: Final = {"byte": "bytes", "date": "timestamp", "datetime": "timestamp", "duration": "duration"}


class ObjectTypes:
    """Types that are declared one after another; the pool has all of them."""

    def __init__(self) -> None:
        from google.protobuf.descriptor_pb2 import FileDescriptorProto  # noqa: PLC0415 - loaded with the first policy

        self._file = FileDescriptorProto(name="objects.proto", syntax="proto2")
        self._file.dependency.extend(f"google/protobuf/{name}.proto" for name in _FILES)
        self._declared: set[str] = set()

    def declare(self, name: str, fields: Mapping[str, FieldType]) -> str:
        """A type with these fields; gives its name."""
        self._declared.add(name)
        made = self._file.message_type.add(name=name)
        # Expressions may write `namespace` as it is or escaped: to documents of dyn both are known.
        known = {
            name: of
            for field, of in fields.items()
            for name in dict.fromkeys((field, escaped(field)))
            if name.isidentifier()
        }
        for number, (field, of) in enumerate(known.items(), 1):
            if of.container == "map":
                entry = made.nested_type.add(name=_entry_name(field))
                entry.options.map_entry = True
                _add_field(entry, "key", 1, TEXT)
                _add_field(entry, "value", 2, FieldType(of.type))
                _add_field(made, field, number, FieldType(f"{name}.{_entry_name(field)}", "list"))
            else:
                _add_field(made, field, number, of)
        return name

    def built_in(self, of: Message) -> str:
        """A built-in type, with all that its fields need."""
        name = of.name.replace(".", "_")
        if name not in self._declared:
            self._declared.add(name)
            self.declare(name, {field.name: self._of_field(field) for field in of.fields.values()})
        return name

    def _of_field(self, field: Field) -> FieldType:
        if field.is_message:
            return FieldType(self.built_in(message(field.type)), field.container)
        return FieldType(_OF_BUILT_IN.get(field.type, "dyn"), field.container)

    def custom(self, name: str, schema: Schema) -> str:
        """The objects of a custom resource."""
        fields = {field: self._of_schema(f"{name}_{field}", inner) for field, inner in schema.properties.items()}
        own = FieldType(self.built_in(message("meta.v1.ObjectMeta")))
        return self.declare(_identifier(name), {**fields, "apiVersion": TEXT, "kind": TEXT, "metadata": own})

    def _of_schema(self, name: str, schema: Schema) -> FieldType:
        if len(schema.types) != 1:
            return DYN
        inside = schema.items if schema.type == "array" else schema.additional
        if schema.type == "array" or (schema.type == "object" and inside is not None):
            item = DYN if inside is None else self._of_schema(f"{name}_", inside)
            return DYN if item.container else FieldType(item.type, "list" if schema.type == "array" else "map")
        if schema.type == "object":
            if not schema.properties or schema.keeps_unknown or schema.is_embedded:
                return DYN
            fields = {field: self._of_schema(f"{name}_{field}", part) for field, part in schema.properties.items()}
            return FieldType(self.declare(_identifier(name), fields))
        by_format = _OF_FORMAT.get(schema.format.replace("-", "")) if schema.type == "string" else None
        return FieldType(by_format or _OF_SCHEMA.get(schema.type, "dyn"))

    def pool(self) -> Any:
        """All types that were declared."""
        from google.protobuf import duration_pb2, struct_pb2, timestamp_pb2  # noqa: PLC0415
        from google.protobuf.descriptor_pool import DescriptorPool  # noqa: PLC0415

        pool = DescriptorPool()
        for known in (struct_pb2, timestamp_pb2, duration_pb2):
            pool.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
        pool.AddSerializedFile(self._file.SerializeToString())
        return pool


def _identifier(text: str) -> str:
    return "".join(sign if sign.isalnum() and sign.isascii() else "_" for sign in text)


def _entry_name(field: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in field.split("_")) + "Entry"


def _add_field(made: Any, name: str, number: int, of: FieldType) -> None:
    field = made.field.add(name=name, number=number, label=_REPEATED if of.container == "list" else _OPTIONAL)
    if of.type in _SCALARS:
        field.type = _SCALARS[of.type]
    else:
        field.type, field.type_name = _MESSAGE, _MESSAGES.get(of.type, f".{of.type}")
