"""Pods as they were last seen: by the watch, or in the answer to a write that the watch has not shown yet.

Without the second a patch could be computed against what is already history: nothing would seem to change, and the pod
would keep a message that is no longer true. Keeps no more than some thousand pods, and none that the watch has shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from bayplan.client.recent import Recent
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod

_POD: Final = msgspec.json.Decoder(Pod)


class KnownPods:
    """The newest that is known of each pod."""

    def __init__(self, seen: Callable[[str], Pod | None]) -> None:
        """`seen` gives the pod as the watch last showed it."""
        self.seen = seen
        self._answered: Recent[str, Pod] = Recent()

    def find(self, key: str) -> Pod | None:
        """The pod as it is now, as far as is known."""
        seen = self.seen(key)
        answered = self._answered.get(key)
        if answered is None:
            return seen
        if seen is not None and seen.metadata.uid == answered.metadata.uid and _version(seen) < _version(answered):
            return answered
        del self._answered[key]
        return seen

    def answered(self, body: bytes) -> None:
        """The server has answered a write with this pod."""
        try:
            pod = _POD.decode(body)
        except msgspec.DecodeError:
            return  # the watch will show it
        self._answered.remember(object_key(pod), pod)

    def forget(self, key: str) -> None:
        """The pod is through."""
        self._answered.pop(key, None)


def _version(pod: Pod) -> int:
    # Upstream: versions may be compared as numbers since v1.35.
    version = pod.metadata.resource_version
    return int(version) if version.isascii() and version.isdigit() else 0
