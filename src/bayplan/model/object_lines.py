"""Where in a text its objects begin: YAML or JSON in, the line of each object by kind, namespace and name out.

For pointing at an object in a file that has been read without a fault. What cannot be told apart or has no name is left
out. Nothing is decoded into structs, and nothing is checked.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec
import yaml

from bayplan.model.json_documents import split_json
from bayplan.model.kinds import ALL_KINDS
from bayplan.model.well_known import DEFAULT_NAMESPACE

#: Kind, namespace ("" for kinds that have none) and name.
ObjectName: TypeAlias = tuple[str, str, str]


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str | None = None


class _Item(msgspec.Struct):
    kind: str = ""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Document(_Item):
    items: list[msgspec.Raw] | None = None


def object_lines(data: bytes) -> dict[ObjectName, int]:
    """Lines count from 1; of objects that are there twice the first counts."""
    lines: dict[ObjectName, int] = {}
    for name, line in _in_json(data) if data.lstrip()[:1] in (b"{", b"[") else _in_yaml(data):
        if name[2]:
            lines.setdefault(name, line)
    return lines


def _named(kind: str, namespace: str | None, name: str) -> ObjectName:
    is_namespaced = kind in ALL_KINDS and ALL_KINDS[kind].namespaced
    return kind, (namespace or DEFAULT_NAMESPACE) if is_namespaced else "", name


def _in_json(data: bytes) -> Iterator[tuple[ObjectName, int]]:
    try:
        documents = split_json(data)
        at = _Place(data)
        for document in documents:
            whole = msgspec.json.decode(document, type=_Document)
            for raw in whole.items if whole.items is not None else (document,):
                item = msgspec.json.decode(raw, type=_Item)
                kind = item.kind or whole.kind.removesuffix("List")
                yield _named(kind, item.metadata.namespace, item.metadata.name), at.line_of(bytes(raw))
    except (ValueError, RecursionError):  # YAML that begins with a brace, or a list without a kind
        yield from _in_yaml(data)


class _Place:
    """Counts lines while going through a text."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0
        self._line = 1

    def line_of(self, part: bytes) -> int:
        """Of the next occurrence of a part."""
        start = self._data.index(part, self._position)
        self._line += self._data.count(b"\n", self._position, start)
        self._position = start
        return self._line


def _in_yaml(data: bytes) -> Iterator[tuple[ObjectName, int]]:
    for document in yaml.compose_all(data, Loader=yaml.CSafeLoader):
        fields = _fields(document)
        items = fields.get("items", document)
        kind = str(_scalar(fields.get("kind"))).removesuffix("List")
        for node in items.value if isinstance(items, yaml.SequenceNode) else (document,):
            own = _fields(node)
            metadata = _fields(own.get("metadata"))
            name, namespace = _scalar(metadata.get("name")), _scalar(metadata.get("namespace"))
            yield _named(_scalar(own.get("kind")) or kind, namespace, name), node.start_mark.line + 1


def _fields(node: Any) -> dict[str, Any]:
    return {_scalar(key): value for key, value in node.value} if isinstance(node, yaml.MappingNode) else {}


def _scalar(node: Any) -> str:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else ""
