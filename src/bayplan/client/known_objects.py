"""Objects as they were last seen: by the watch, or in the answer to a write that the watch has not shown yet.

Without the second a patch could be computed against what is already history: nothing would seem to change, and the
object would keep a message that is no longer true. Keeps no more than some thousand answers, and none that the watch
has shown. Answers are kept as they came, as most are never looked at.
"""

from __future__ import annotations

import msgspec

from bayplan.model.kinds import KINDS, Object
from bayplan.performing.recent import NewestEntries
from bayplan.performing.requests import Known


class KnownObjects:
    """The newest that is known of each object whose status is written."""

    def __init__(self, seen: Known) -> None:
        """`seen` gives an object as the watch last showed it."""
        self.seen = seen
        self._answered: NewestEntries[tuple[str, str], bytes] = NewestEntries()

    def find(self, kind: str, key: str) -> Object | None:
        """The object as it is now, as far as is known."""
        seen = self.seen(kind, key)
        body = self._answered.get((kind, key))
        if body is None:
            return seen
        answered = _decoded(kind, body)
        if answered is not None and seen is not None and _is_older(seen, answered):
            return answered
        del self._answered[kind, key]
        return seen

    def answered(self, kind: str, key: str, body: bytes) -> None:
        """The server has answered a write of the object with this."""
        self._answered.remember((kind, key), body)

    def forget(self, kind: str, key: str) -> None:
        """Nothing more is to be written about the object."""
        self._answered.pop((kind, key), None)


def _decoded(kind: str, body: bytes) -> Object | None:
    try:
        return msgspec.json.decode(body, type=KINDS[kind].struct)
    except msgspec.DecodeError:
        return None


def _is_older(seen: Object, answered: Object) -> bool:
    return seen.metadata.uid == answered.metadata.uid and _version(seen) < _version(answered)


def _version(obj: Object) -> int:
    # Upstream: versions may be compared as numbers since v1.35.
    version = obj.metadata.resource_version
    return int(version) if version.isascii() and version.isdigit() else 0
