"""Where an API server has the objects of a kind."""

from __future__ import annotations

from bayplan.model.kinds import KindInfo


def list_path(info: KindInfo) -> str:
    """Of all objects of the kind, in all namespaces."""
    root = f"/apis/{info.group}" if info.group else "/api"
    return f"{root}/{info.version}/{plural_of(info)}"


def plural_of(info: KindInfo) -> str:
    """The kind's name in paths and permissions."""
    name = info.kind.lower()
    if name.endswith("y"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith("s") else f"{name}s"
