"""Which feature gates of the API server are on: as set for the server, otherwise as its version has them."""

from __future__ import annotations

from bayplan.apiserver.schema.versions import changed_gates, served_version
from bayplan.config.releases import RELEASES


def gate_is_on(name: str) -> bool:
    """Whether a feature gate of the server whose types are served is on; False for one that it does not know."""
    known = RELEASES[served_version()].gates.get(name)
    return known is not None and changed_gates().get(name, known.default)
