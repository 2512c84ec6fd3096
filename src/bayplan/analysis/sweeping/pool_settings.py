"""Fields of NodePools and of the Autoscaler as axes: `pool.NAME.FIELD` and `autoscaler.FIELD`.

Takes the objects of a cluster and settings; gives objects with these settings, checked as if they had been read from a
file. Raises InvalidObject for a pool or a field that does not exist, and for a value that a pool cannot have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from bayplan.analysis.sweeping.axes import set_field
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import ALL_KINDS, Object
from bayplan.model.near_matches import did_you_mean, near
from bayplan.model.node_pools import Autoscaler, NodePool
from bayplan.model.reading import from_dicts

POOL: Final = "pool."
AUTOSCALER: Final = "autoscaler."


def with_pool_settings(objects: Iterable[Object], settings: Mapping[str, Any]) -> list[Object]:
    """The objects with the settings, which are values by axis."""
    given = list(objects)
    pools = {obj.metadata.name: obj for obj in given if isinstance(obj, NodePool)}
    autoscaler = next((obj for obj in given if isinstance(obj, Autoscaler)), None)
    changed: dict[int, dict[str, Any]] = {}
    added: list[Object] = []
    for axis, value in settings.items():
        if axis.startswith(AUTOSCALER):
            path = axis.removeprefix(AUTOSCALER)
            if autoscaler is None:
                autoscaler = Autoscaler()
                autoscaler.metadata.name = "default"
                added.append(autoscaler)
            target: Object = autoscaler
        else:
            name, _, path = axis.removeprefix(POOL).partition(".")
            if name not in pools:
                hint = did_you_mean(near(name, pools))
                raise InvalidObject([Fault("", "", "", f"there is no NodePool {name!r}{hint}")])
            target = pools[name]
        document = changed.setdefault(id(target), _document(target))
        set_field(document["spec"], path, value)
    return [_read(changed[id(obj)]) if id(obj) in changed else obj for obj in (*given, *added)]


def _document(obj: Object) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(obj)
    return {**document, "apiVersion": ALL_KINDS[type(obj).__name__].api_version}


def _read(document: dict[str, Any]) -> Object:
    (obj,) = from_dicts([document], "axes").objects
    return obj
