"""Pods as they were last seen: by the watch, or in the answer to a write that the watch has not shown yet.

Without the second a patch could be computed against what is already history: nothing would seem to change, and the pod
would keep a message that is no longer true. Keeps no more than some thousand pods, and none that the watch has shown.
Answers are kept as they came, as most are never looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from bayplan.model.pod import Pod
from bayplan.performing.recent import Recent

_POD: Final = msgspec.json.Decoder(Pod)


class KnownPods:
    """The newest that is known of each pod."""

    def __init__(self, seen: Callable[[str], Pod | None]) -> None:
        """`seen` gives the pod as the watch last showed it."""
        self.seen = seen
        self._answered: Recent[str, bytes] = Recent()

    def find(self, key: str) -> Pod | None:
        """The pod as it is now, as far as is known."""
        seen = self.seen(key)
        body = self._answered.get(key)
        if body is None:
            return seen
        answered = _decoded(body)
        if answered is not None and seen is not None and _is_older(seen, answered):
            return answered
        del self._answered[key]
        return seen

    def answered(self, key: str, body: bytes) -> None:
        """The server has answered a write of the pod with this."""
        self._answered.remember(key, body)

    def forget(self, key: str) -> None:
        """The pod is through."""
        self._answered.pop(key, None)


def _decoded(body: bytes) -> Pod | None:
    try:
        return _POD.decode(body)
    except msgspec.DecodeError:
        return None


def _is_older(seen: Pod, answered: Pod) -> bool:
    return seen.metadata.uid == answered.metadata.uid and _version(seen) < _version(answered)


def _version(pod: Pod) -> int:
    # Upstream: versions may be compared as numbers since v1.35.
    version = pod.metadata.resource_version
    return int(version) if version.isascii() and version.isdigit() else 0
