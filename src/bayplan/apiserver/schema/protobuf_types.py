"""Protobuf classes of the built-in types, made from the data by the protobuf runtime when one is first needed.

Takes the name of a message ("core.v1.Pod"); gives its class. Types with a JSON form of their own (quantities, times…)
are messages too, described in `data/special.txt`. Nothing is decoded here.
"""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message as ProtobufMessage

from bayplan.apiserver.schema.messages import GROUPS, SCALARS, SPECIAL_TYPES, Field, Message, message, message_names
from bayplan.apiserver.schema.versions import cached_by_version

SPECIAL_PREFIX = "special"
GNOSTIC_PREFIX = "gnostic"  # messages of OpenAPI documents
_PACKAGE = "bayplan.schema"
_VERSIONS = ("v1", "v2", "v1alpha3")
_Types = descriptor_pb2.FieldDescriptorProto
_SCALAR_TYPES = {
    "string": _Types.TYPE_STRING,
    "bool": _Types.TYPE_BOOL,
    "int32": _Types.TYPE_INT32,
    "int64": _Types.TYPE_INT64,
    "double": _Types.TYPE_DOUBLE,
    "bytes": _Types.TYPE_BYTES,
}


@cached_by_version
def class_of(name: str) -> type[ProtobufMessage]:
    descriptor = _pool().FindMessageTypeByName(f"{_PACKAGE}.{_flat(name)}")
    return message_factory.GetMessageClass(descriptor)


def own_fields(whole: Message) -> list[Field]:
    """The fields that a type's protobuf message has itself; those of inlined types are in a message of their own."""
    inlined = {name for one in whole.inlined for name in message(one.type).fields}
    return [field for field in whole.fields.values() if field.number and field.name not in inlined]


@cached_by_version
def _pool() -> descriptor_pool.DescriptorPool:
    """All types in one file, because they refer to each other across group versions in circles."""
    file = descriptor_pb2.FileDescriptorProto(name="bayplan/schema.proto", package=_PACKAGE, syntax="proto2")
    prefixes = [f"{name}.{version}" for name in GROUPS.values() for version in _VERSIONS]
    for prefix in (SPECIAL_PREFIX, GNOSTIC_PREFIX, *prefixes):
        for name in message_names(prefix):
            _describe(message(name), file.message_type.add())
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool


def _describe(whole: Message, described: descriptor_pb2.DescriptorProto) -> None:
    described.name = _flat(whole.name)
    for field in own_fields(whole):
        name = f"f{field.number}"  # JSON names such as "$ref" are no names in protobuf; decoding goes by number
        added = described.field.add(name=name, number=field.number, label=_Types.LABEL_OPTIONAL)
        if field.container:
            added.label = _Types.LABEL_REPEATED
        if field.container == "map":
            _describe_entry(field, described)
            added.type, added.type_name = _Types.TYPE_MESSAGE, f".{_PACKAGE}.{described.name}.{_entry_name(field)}"
        else:
            _set_type(added, field.type)
    for one in whole.inlined:
        added = described.field.add(name=f"f{one.number}", number=one.number, label=_Types.LABEL_OPTIONAL)
        _set_type(added, one.type)


def _describe_entry(field: Field, described: descriptor_pb2.DescriptorProto) -> None:
    entry = described.nested_type.add(name=_entry_name(field))
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=_Types.LABEL_OPTIONAL, type=_Types.TYPE_STRING)
    _set_type(entry.field.add(name="value", number=2, label=_Types.LABEL_OPTIONAL), field.type)


def _entry_name(field: Field) -> str:
    return f"F{field.number}Entry"  # protobuf insists on the field's name in camel case


def _set_type(added: descriptor_pb2.FieldDescriptorProto, type_name: str) -> None:
    if type_name in SCALARS:
        added.type = _SCALAR_TYPES[type_name]
        return
    full_name = f"{SPECIAL_PREFIX}.{type_name}" if type_name in SPECIAL_TYPES else type_name
    added.type, added.type_name = _Types.TYPE_MESSAGE, f".{_PACKAGE}.{_flat(full_name)}"


def _flat(name: str) -> str:
    return name.replace(".", "_")
