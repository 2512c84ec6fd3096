"""What an API server says about objects of one kind, line by line or as a list, as structs.

Takes bytes; gives the type of each change and the object. Decoding goes straight into the struct; only what that
refuses takes the slow way, which knows nulls and can say what is wrong. An object that cannot be used is an
`Unreadable` with its name. Objects share equal parts; beyond that nothing is kept here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import msgspec

from bayplan.client.refusals import ApiStatus
from bayplan.client.sharing import SharedParts
from bayplan.model.checks import check
from bayplan.model.conversion import convert
from bayplan.model.kinds import KindInfo, Object, object_key
from bayplan.model.watch_types import ADDED, ERROR, MODIFIED


class UnintelligibleError(Exception):
    """What came is no watch event and no list at all."""


class Unreadable(NamedTuple):
    """An object of which no struct can be made."""

    key: str  # namespace/name
    version: str
    problem: str


class Line(NamedTuple):
    """One line of a watch."""

    type: str
    content: Object | Unreadable | ApiStatus


class Page(NamedTuple):
    """An answer to a list, or a part of one."""

    version: str
    continues: str
    contents: list[Object | Unreadable]


class _ListMeta(msgspec.Struct):
    resourceVersion: str = ""  # noqa: N815
    continue_: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


_decode_list = msgspec.json.Decoder(_List).decode


class _RawLine(msgspec.Struct):
    object: msgspec.Raw


_decode_raw_line = msgspec.json.Decoder(_RawLine).decode

#: Is given each object that came or changed, with its JSON.
DocumentKeeper: TypeAlias = Callable[[Object, bytes], None]


class KindReader:
    """Reads objects of one kind."""

    def __init__(self, info: KindInfo, keeper: DocumentKeeper | None = None) -> None:
        self._info = info
        self._shared = SharedParts()
        self._keeper = keeper
        line: Any = msgspec.defstruct("_Line", [("type", str), ("object", info.struct)])
        self._decode_line = msgspec.json.Decoder(line).decode
        self._decode_object = msgspec.json.Decoder(info.struct).decode

    def line(self, text: bytes) -> Line:
        """Raises UnintelligibleError for what is no watch event at all."""
        try:
            decoded: Any = self._decode_line(text)
        except (msgspec.DecodeError, RecursionError):
            line = self._line_slowly(text)
        else:
            line = Line(decoded.type, self._checked(decoded.object))
        if self._keeper is not None and line.type in (ADDED, MODIFIED):
            self._keep(line.content, _decode_raw_line(text).object)
        return line

    def _keep(self, content: Object | Unreadable | ApiStatus, document: msgspec.Raw) -> None:
        if self._keeper is not None and not isinstance(content, Unreadable | ApiStatus):
            self._keeper(content, bytes(document))

    def page(self, body: bytes) -> Page:
        """Raises UnintelligibleError for what is no list."""
        try:
            decoded = _decode_list(body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise UnintelligibleError(f"the answer is no list: {error}") from None
        contents = [self._item(item) for item in decoded.items or ()]
        for content, item in zip(contents, decoded.items or (), strict=True):
            self._keep(content, item)
        return Page(decoded.metadata.resourceVersion, decoded.metadata.continue_, contents)

    def _item(self, raw: msgspec.Raw) -> Object | Unreadable:
        try:
            decoded: Any = self._decode_object(raw)
        except (msgspec.DecodeError, RecursionError):
            return self._slowly(msgspec.json.decode(raw))
        return self._checked(decoded)

    def _line_slowly(self, text: bytes) -> Line:
        try:
            plain = msgspec.json.decode(text, type=dict[str, Any])
            content = plain.get("object")
            if plain.get("type") == ERROR:
                return Line(ERROR, msgspec.convert(content, ApiStatus, strict=False))
        except (msgspec.DecodeError, RecursionError) as error:
            raise UnintelligibleError(f"the watch says what is no event: {error}") from None
        return Line(str(plain.get("type")), self._slowly(content))

    def _slowly(self, plain: Any) -> Object | Unreadable:
        if not isinstance(plain, dict):
            return Unreadable("", "", "is no object")
        obj, faults = convert(plain, self._info.struct)
        if faults:
            return _unreadable(obj, faults)
        return self._checked(obj)

    def _checked(self, obj: Object) -> Object | Unreadable:
        if not obj.metadata.name:  # a bookmark
            return obj
        faults = check(obj)
        if faults:
            return _unreadable(obj, faults)
        self._shared.share(obj)
        return obj


def _unreadable(obj: Object, faults: Any) -> Unreadable:
    meta = obj.metadata
    problem = "; ".join(f"{path}: {message}" for path, message in faults)
    return Unreadable(object_key(obj), meta.resource_version, problem)
