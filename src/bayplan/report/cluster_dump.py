"""A cluster as a file that every command here reads: a JSON list with one object to a line.

Only what affects scheduling is in it. Objects have no other fields anyway: no environment, no commands. Of their
annotations only those are written that something here reads; others may repeat a whole manifest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from bayplan.analysis.recordings.entries import trim_annotations
from bayplan.model.kinds import ALL_KINDS, Object
from bayplan.model.reading import VERSION_FIELD


def dump_lines(objects: Iterable[Object], kubernetes_version: str | None = None) -> Iterator[bytes]:
    """The lines of the file, which says what version the cluster has if that is known."""
    version = (
        b""
        if kubernetes_version is None
        else b'"%s":%s,'
        % (
            VERSION_FIELD.encode(),
            msgspec.json.encode(kubernetes_version),
        )
    )
    yield b'{"apiVersion":"v1","kind":"List",%s"items":[\n' % version
    separator = b""
    for obj in objects:
        api_version = ALL_KINDS[type(obj).__name__].api_version
        document = msgspec.to_builtins(obj)
        trim_annotations(document)
        yield separator + msgspec.json.encode({"apiVersion": api_version, **document})
        separator = b",\n"
    yield b"\n]}\n"
