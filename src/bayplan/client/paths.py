"""Where an API server has the objects of a kind."""

from __future__ import annotations

from bayplan.model.kinds import KindInfo


def list_path(info: KindInfo) -> str:
    """Of all objects of the kind, in all namespaces."""
    root = f"/apis/{info.group}" if info.group else "/api"
    return f"{root}/{info.version}/{info.plural}"
