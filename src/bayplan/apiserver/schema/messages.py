"""The built-in types, field by field: JSON name, type, protobuf number, and how patches and server-side apply merge it.

Takes a type's name ("core.v1.Pod") or an apiVersion and kind; gives its `Message`. A group version's file is read when
one of its types is first asked for, a type's lines when that type is. Says nothing about values: what is valid, which
defaults admission sets, and which types custom resources have is decided elsewhere.

The files are lists of types, a line for each field: `NUMBER NAME TYPE ATTRIBUTE=VALUE…`. `!` after the name: required;
`+`: present even when empty. In front of the type: `*` may be absent, `[]` list, `{}` map from string. `~` instead of a
name: the fields of that type appear among the fields of this one in JSON (in protobuf they are a message of their own).
`_` in the values of an enum stands for a blank. `gate=` is the feature gate that a field waits for. A folder such as
`v1.37` has the types that are other ones from that version on.
"""

import json
from importlib import resources
from typing import Any

import msgspec

from bayplan.apiserver.schema.gates import gate_is_on
from bayplan.apiserver.schema.versions import cached_by_version, later_than_first, served_version

RBAC_GROUP = "rbac.authorization.k8s.io"
# API groups whose types are built in, and the first part of the names of their types.
GROUPS = {
    "": "core",
    "admissionregistration.k8s.io": "admissionregistration",
    "apiextensions.k8s.io": "apiextensions",
    "apiregistration.k8s.io": "apiregistration",
    "apps": "apps",
    "authentication.k8s.io": "authentication",
    "authorization.k8s.io": "authorization",
    "autoscaling": "autoscaling",
    "batch": "batch",
    "certificates.k8s.io": "certificates",
    "coordination.k8s.io": "coordination",
    "discovery.k8s.io": "discovery",
    "events.k8s.io": "events",
    "flowcontrol.apiserver.k8s.io": "flowcontrol",
    "meta.k8s.io": "meta",
    "networking.k8s.io": "networking",
    "node.k8s.io": "node",
    "policy": "policy",
    RBAC_GROUP: "rbac",
    "resource.k8s.io": "resource",
    "scheduling.k8s.io": "scheduling",
    "storage.k8s.io": "storage",
    "storagemigration.k8s.io": "storagemigration",
}

# Types of meta.k8s.io that every group version has, such as the options of a DELETE.
META_KINDS = frozenset(
    {
        "CreateOptions",
        "DeleteOptions",
        "GetOptions",
        "ListOptions",
        "PatchOptions",
        "Status",
        "UpdateOptions",
        "WatchEvent",
    }
)

ZERO_OF_SCALAR: dict[str, Any] = {"string": "", "bool": False, "int32": 0, "int64": 0, "double": 0}
SCALARS = frozenset({*ZERO_OF_SCALAR, "bytes"})
# Types with a JSON form of their own: not objects with fields, or not only.
SPECIAL_TYPES = frozenset(
    {
        "ExtraValue",
        "FieldsV1",
        "IntOrString",
        "JSON",
        "JSONSchemaPropsOrArray",
        "JSONSchemaPropsOrBool",
        "JSONSchemaPropsOrStringArray",
        "MicroTime",
        "Quantity",
        "RawExtension",
        "Time",
    }
)


class Field(msgspec.Struct, frozen=True):
    name: str  # in JSON
    type: str  # of SCALARS, of SPECIAL_TYPES, or the name of a message; of the items if `container` is set
    number: int = 0  # in protobuf; 0: not part of protobuf bodies (apiVersion and kind of an object)
    container: str = ""  # "" | "list" | "map" (string keys)
    required: bool = False
    pointer: bool = False  # absent and zero are different things
    always_present: bool = False  # the server shows it even when nobody set it: as `absent_value` says
    patch_strategy: tuple[str, ...] = ()  # "merge", "replace", "retainKeys"
    patch_merge_key: str = ""
    list_type: str = ""  # "" and "atomic": replaced as a whole | "set" | "map"
    list_map_keys: tuple[str, ...] = ()
    map_type: str = ""  # "" and "granular": merged key by key | "atomic"
    default: Any = msgspec.UNSET  # OpenAPI's; server-side apply needs it for keys of lists (a port's protocol: TCP)
    enum: tuple[str, ...] = ()  # values that OpenAPI lists for a text; validation has its own say
    is_off: bool = False  # behind a feature gate that is off: it may be written, and nobody keeps it
    go_type: str = ""  # Go's name of a named type, as error messages show it: "v1.RestartPolicy"

    @property
    def is_message(self) -> bool:
        return self.type not in SCALARS and self.type not in SPECIAL_TYPES

    @property
    def absent_value(self) -> Any:
        """What a field that is always present holds when nobody set it; for a message, its own fields say more."""
        if self.container or self.pointer or self.type in {"Time", "MicroTime", "RawExtension", "bytes"}:
            return None
        return {} if self.is_message else ZERO_OF_SCALAR.get(self.type, 0)


class Inlined(msgspec.Struct, frozen=True):
    """A message whose fields are among those of another one in JSON, and a message of its own in protobuf."""

    number: int
    type: str


class Message(msgspec.Struct, frozen=True):
    name: str
    fields: dict[str, Field]  # by JSON name, those of inlined messages included
    map_type: str = ""  # "atomic": replaced as a whole
    inlined: tuple[Inlined, ...] = ()


@cached_by_version
def message(name: str) -> Message:
    """The type of this name; raises KeyError if there is none."""
    prefix, _, short_name = name.rpartition(".")
    return _parse_message(prefix, _texts_of(prefix)[short_name])


@cached_by_version
def message_of(api_version: str, kind: str) -> Message | None:
    """The type of objects with this apiVersion and kind; None: not built in."""
    group, _, version = api_version.rpartition("/")
    if group not in GROUPS:
        return None
    prefix = f"{GROUPS[group]}.{version}"
    if kind in _texts_of(prefix):
        return message(f"{prefix}.{kind}")
    return message(f"meta.v1.{kind}") if kind in META_KINDS else None


def message_names(prefix: str) -> list[str]:
    """Names of all types of a group version ("core.v1"), in alphabetical order."""
    return [f"{prefix}.{short_name}" for short_name in _texts_of(prefix)]


@cached_by_version
def _texts_of(prefix: str) -> dict[str, str]:
    """The lines of each type of a group version, by the type's short name; empty if there is no such group version."""
    texts: dict[str, str] = {}
    folder = resources.files(__package__) / "data"
    for place in (folder, *(folder / f"v{version}" for version in later_than_first(served_version()))):
        file = place / f"{prefix}.txt"
        if file.is_file():
            paragraphs = file.read_text(encoding="utf-8").split("\n\n")
            texts |= {text.split(maxsplit=1)[0]: text for text in paragraphs}
    return texts


def _parse_message(prefix: str, text: str) -> Message:
    head, *lines = text.splitlines()
    short_name, *attributes = head.split()
    map_type = _attributes(attributes).get("map", "")
    fields: dict[str, Field] = {}
    inlined = []
    for line in lines:
        number, name, type_text, *attributes = line.split()
        if name == "~":
            inner = _full_name(prefix, type_text)
            inlined.append(Inlined(int(number), inner))
            fields |= message(inner).fields
        else:
            field = _parse_field(prefix, int(number), name, type_text, _attributes(attributes))
            fields[field.name] = field
    return Message(f"{prefix}.{short_name}", fields, map_type, tuple(inlined))


def _parse_field(prefix: str, number: int, name: str, type_text: str, attributes: dict[str, str]) -> Field:
    type_name = type_text.lstrip("*[]{}")
    container = "list" if "[]" in type_text else "map" if "{}" in type_text else ""
    shown = name.endswith("+")
    pointer = type_text.startswith("*")
    default: Any = msgspec.UNSET
    if "default" in attributes:
        default = json.loads(attributes["default"])
    elif shown and not container and not pointer:
        default = ZERO_OF_SCALAR.get(type_name, msgspec.UNSET)
    return Field(
        name=name.rstrip("!+"),
        type=_full_name(prefix, type_name),
        number=number,
        container=container,
        required="!" in name,
        pointer=pointer,
        always_present=shown,
        patch_strategy=_words(attributes.get("patch", "")),
        patch_merge_key=attributes.get("key", ""),
        list_type=attributes.get("list", ""),
        list_map_keys=_words(attributes.get("keys", "")),
        map_type=attributes.get("map", ""),
        default=default,
        enum=tuple(value.replace("_", " ") for value in _words(attributes.get("enum", ""))),
        go_type=attributes.get("go", ""),
        is_off="gate" in attributes and not gate_is_on(attributes["gate"]),
    )


def _attributes(words: list[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def _full_name(prefix: str, type_name: str) -> str:
    is_full = "." in type_name or type_name in SCALARS or type_name in SPECIAL_TYPES
    return type_name if is_full else f"{prefix}.{type_name}"
