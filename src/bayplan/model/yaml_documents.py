"""YAML text as plain values: maps with text keys, lists, text, numbers, booleans and None.

Built straight from the events of libyaml, for speed and to refuse what a manifest must not hold: duplicate keys,
aliases that expand without bound, tags of other languages. Scalars are read as Kubernetes reads them (YAML 1.1),
except that times stay text and that digits with colons are not numbers. Values may share parts through anchors.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined] # the stubs do not say that it is exported

ALIAS_NODES_MAX: Final = 1_000_000
DEPTH_MAX: Final = 1_000

_TAG_PREFIX: Final = "tag:yaml.org,2002:"
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUES: Final = frozenset({"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})
_FALSES: Final = frozenset({"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})
_INTEGER: Final = re.compile(r"[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?")
_NUMBER_STARTS: Final = frozenset("0123456789+-.")
_DIGITS_MAX: Final = 1_000
_CACHED_LENGTH_MAX: Final = 64
_MERGE_KEY: Final = "<<"
_NO_KEY: Final = object()


class YamlError(ValueError):
    """Text that is not YAML, or not such as a manifest may be; says where."""

    def __init__(self, problem: str, mark: Any = None) -> None:
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
        super().__init__(where + problem)


class RepeatedKey(NamedTuple):
    key: str
    line: int  # of its value, counted from 1


def parse_yaml(data: bytes, repeated_keys: list[RepeatedKey] | None = None) -> Iterator[Any]:
    """The documents in order, None for an empty one; YamlError if the text is malformed.

    A key that its map already has is an error too, unless there is a list to collect it: then the last value counts.
    """
    parser = CParser(data)
    try:
        yield from _documents(parser, repeated_keys)
    except yaml.MarkedYAMLError as error:
        problem = error.problem or "not well formed"
        raise YamlError(problem, error.problem_mark or error.context_mark) from error
    except yaml.reader.ReaderError as error:
        raise YamlError(f"{error.reason} (at byte {error.position})") from error
    finally:
        parser.dispose()


def _documents(parser: Any, repeated_keys: list[RepeatedKey] | None) -> Iterator[Any]:
    plain_scalars: dict[str, Any] = {}
    while True:
        event = parser.get_event()
        if isinstance(event, yaml.StreamEndEvent):
            return
        if isinstance(event, yaml.DocumentStartEvent):
            yield _Document(parser, plain_scalars, repeated_keys).build()


class _Frame:
    """A map or list under construction."""

    __slots__ = ("container", "is_map", "key", "merges", "nodes_before", "opening")

    def __init__(self, is_map: bool, opening: Any, nodes_before: int) -> None:
        self.is_map = is_map
        self.container: Any = {} if is_map else []
        self.opening = opening  # the event
        self.nodes_before = nodes_before
        self.key: Any = _NO_KEY
        self.merges: list[dict[str, Any]] = []


class _Document:
    """Turns the events of one document into a value, without recursion."""

    def __init__(self, parser: Any, plain_scalars: dict[str, Any], repeated_keys: list[RepeatedKey] | None) -> None:
        self.parser = parser
        self.repeated_keys = repeated_keys
        self.plain_scalars = plain_scalars
        self.frames: list[_Frame] = []
        # Each anchored value with the number of nodes it has when written out.
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.nodes = 0
        self.alias_nodes = 0
        self.root: Any = None

    def build(self) -> Any:
        get_event = self.parser.get_event
        while True:
            event = get_event()
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self._scalar(event)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self._open(event, kind is yaml.MappingStartEvent)
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                self._close()
            elif kind is yaml.AliasEvent:
                self._alias(event)
            else:
                return self.root

    def _scalar(self, event: Any) -> None:
        self.nodes += 1
        tag = event.tag
        if tag is not None and tag != "!":
            value = _tagged(event)
        elif event.implicit[0]:
            value = self._plain(event.value)
        else:
            value = event.value
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, 1)
        self._add(value, event)

    def _plain(self, text: str) -> Any:
        cached = self.plain_scalars.get(text, _NO_KEY)
        if cached is not _NO_KEY:
            return cached
        value = resolve_plain(text)
        if len(text) <= _CACHED_LENGTH_MAX:
            self.plain_scalars[text] = value
        return value

    def _open(self, event: Any, is_map: bool) -> None:
        if event.tag is not None and event.tag not in (_TAG_PREFIX + "map", _TAG_PREFIX + "seq", "!"):
            raise YamlError(f"tag {event.tag!r} is not supported", event.start_mark)
        if len(self.frames) >= DEPTH_MAX:
            raise YamlError(f"nested more than {DEPTH_MAX} levels deep", event.start_mark)
        self.frames.append(_Frame(is_map, event, self.nodes))
        self.nodes += 1

    def _close(self) -> None:
        frame = self.frames.pop()
        for merged in frame.merges:
            for key, value in merged.items():
                frame.container.setdefault(key, value)
        if frame.opening.anchor is not None:
            self.anchors[frame.opening.anchor] = (frame.container, self.nodes - frame.nodes_before)
        self._add(frame.container, frame.opening)

    def _alias(self, event: Any) -> None:
        found = self.anchors.get(event.anchor)
        if found is None:
            raise YamlError(f"alias {event.anchor!r} is not defined above", event.start_mark)
        value, size = found
        self.nodes += size
        self.alias_nodes += size
        if self.alias_nodes > ALIAS_NODES_MAX:
            raise YamlError(f"aliases expand to more than {ALIAS_NODES_MAX:,} nodes", event.start_mark)
        self._add(value, event)

    def _add(self, value: Any, event: Any) -> None:
        if not self.frames:
            self.root = value
            return
        frame = self.frames[-1]
        if not frame.is_map:
            frame.container.append(value)
        elif frame.key is _NO_KEY:
            frame.key = _key(value, event)
        else:
            self._set(frame, value, event)

    def _set(self, frame: _Frame, value: Any, event: Any) -> None:
        key = frame.key
        frame.key = _NO_KEY
        if key is _MERGE:
            frame.merges += _mergeable(value, event)
            return
        if key in frame.container:
            if self.repeated_keys is None:
                raise YamlError(f"duplicate key {key!r}", event.start_mark)
            self.repeated_keys.append(RepeatedKey(key, event.start_mark.line + 1))
        frame.container[key] = value


_MERGE: Final = object()


def _key(value: Any, event: Any) -> Any:
    if type(value) is str:
        is_plain = isinstance(event, yaml.ScalarEvent) and event.implicit[0]
        return _MERGE if value == _MERGE_KEY and is_plain else value
    if isinstance(value, dict | list):
        raise YamlError("a key must be a scalar", event.start_mark)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def _mergeable(value: Any, event: Any) -> list[dict[str, Any]]:
    merged = value if isinstance(value, list) else [value]
    if not all(isinstance(part, dict) for part in merged):
        raise YamlError("only maps can be merged with <<", event.start_mark)
    return merged


def resolve_plain(text: str) -> Any:
    """The value of an unquoted, untagged scalar."""
    if text in _NULLS:
        return None
    if text in _TRUES:
        return True
    if text in _FALSES:
        return False
    if text[0] in _NUMBER_STARTS and len(text) <= _DIGITS_MAX:
        return _number(text)
    return text


def _number(text: str) -> Any:
    if _INTEGER.fullmatch(text):
        return _integer(text.replace("_", ""))
    if _FLOAT.fullmatch(text):
        return float(text.replace("_", ""))
    return text


def _integer(digits: str) -> int:
    unsigned = digits.lstrip("+-")
    is_old_octal = len(unsigned) > 1 and unsigned[0] == "0" and unsigned[1].isdigit()
    magnitude = int(unsigned, 8) if is_old_octal else int(unsigned, 0)
    return -magnitude if digits[0] == "-" else magnitude


def _tagged(event: Any) -> Any:
    name = event.tag.removeprefix(_TAG_PREFIX)
    if name in ("str", "binary", "timestamp"):
        return event.value
    value = resolve_plain(event.value)
    wanted = {"null": type(None), "bool": bool, "int": int, "float": float}.get(name)
    if wanted is None:
        raise YamlError(f"tag {event.tag!r} is not supported", event.start_mark)
    if wanted is float and type(value) is int:
        return float(value)
    if type(value) is not wanted:
        raise YamlError(f"{event.value!r} does not match its tag", event.start_mark)
    return value
