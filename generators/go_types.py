"""Go's type declarations, as far as API types use them: structs with tags and comment markers, named types, enums.

Takes the text of a Go file, formatted by gofmt; gives a `GoFile`. Function bodies and expressions are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_IMPORT = re.compile(r'^\s*(?:import )?(?:(\w+) )?"([\w./-]+)"$')
_TYPE = re.compile(r"^type (\w+) (struct ?\{.*|[\w.\[\]*]+)")
_FIELD = re.compile(r"^\t(?:(\w+)\s+)?([\w.\[\]*]+)\s+`(.*)`")
_TAG = re.compile(r'(\w+):"([^"]*)"')
_CONSTANT = re.compile(r'^\s*(?:const )?(\w+)\s+(?:(\w+)\s+)?= (?:(\w+)\()?"(.*)"')
_CONVERTED = re.compile(r"^\s*\w+\s+= (\w+)\(([\w.]+)\)$")
_MARKER = re.compile(r"^\s*// \+([\w:]+)(?:=(.*))?$")

Markers = dict[str, list[str]]


@dataclass(frozen=True)
class GoField:
    """A field of a struct; an embedded one has no name."""

    name: str
    type: str
    tags: dict[str, str]
    markers: Markers


@dataclass(frozen=True)
class GoStruct:
    fields: list[GoField]
    markers: Markers


@dataclass(frozen=True)
class GoFile:
    imports: dict[str, str] = field(default_factory=dict)
    """Paths of imported packages by the name the file knows them by."""
    structs: dict[str, GoStruct] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    """What other named types stand for, `type Verbs []string`."""
    enums: set[str] = field(default_factory=set)
    constants: dict[str, dict[str, str]] = field(default_factory=dict)
    """Text constants by their type: values by name."""
    converted: dict[str, list[str]] = field(default_factory=dict)
    """Constants that are another one's value in another type, `AddressType(v1.IPv4Protocol)`: that one, by type."""


def parse(text: str) -> GoFile:
    parsed = GoFile()
    lines = iter(text.splitlines())
    markers: Markers = {}
    for line in lines:
        if marker := _MARKER.match(line):
            markers.setdefault(marker[1], []).append(marker[2] or "")
            continue
        if imported := _IMPORT.match(line):
            parsed.imports[imported[1] or imported[2].rsplit("/", 1)[-1]] = imported[2]
        elif constant := _CONSTANT.match(line):
            parsed.constants.setdefault(constant[2] or constant[3] or "", {})[constant[1]] = constant[4]
        elif converted := _CONVERTED.match(line):
            parsed.converted.setdefault(converted[1], []).append(converted[2])
        elif declared := _TYPE.match(line):
            _declare(parsed, declared[1], declared[2], markers, lines)
        if not line.lstrip().startswith("//"):
            markers = {}
    return parsed


def _declare(parsed: GoFile, name: str, meaning: str, markers: Markers, lines: Iterator[str]) -> None:
    if meaning.startswith("struct"):
        fields = [] if meaning.endswith("}") else [*_fields(lines)]
        parsed.structs[name] = GoStruct(fields, markers)
        return
    parsed.named[name] = meaning
    if "enum" in markers:
        parsed.enums.add(name)


def _fields(lines: Iterator[str]) -> Iterator[GoField]:
    markers: Markers = {}
    for line in lines:
        if line == "}":
            return
        if marker := _MARKER.match(line):
            markers.setdefault(marker[1], []).append(marker[2] or "")
        elif found := _FIELD.match(line):
            yield GoField(found[1] or "", found[2], dict(_TAG.findall(found[3])), markers)
            markers = {}
