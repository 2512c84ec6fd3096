"""The order in which upstream goes through the nodes, for searches that stop early and for which error comes first.

Nodes stand in zones, zones in the order in which they were first seen; the list takes the first node of each zone, then
the second of each, and so on. It is made anew only when a node comes or goes: a zone label that merely changes
moves the node within the zones, but shows in the list only then.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

from bayplan.model.well_known import BETA_REGION, BETA_ZONE, REGION, ZONE

REGION_LABELS = (BETA_REGION, REGION)
ZONE_LABELS = (BETA_ZONE, ZONE)

Zone = tuple[str, str]


class NodeOrder:
    """Node names by zone."""

    def __init__(self) -> None:
        self._zones: dict[Zone, dict[str, None]] = {}
        self._zone_of: dict[str, Zone] = {}
        self._hidden: set[str] = set()
        self._names: list[str] | None = None

    def put(self, name: str, labels: Mapping[str, str]) -> None:
        """Add a node, or move it to the zone it now says it is in."""
        zone = (_first_present(labels, REGION_LABELS), _first_present(labels, ZONE_LABELS))
        known = self._zone_of.get(name)
        if known == zone:
            return
        if known is None:
            self._names = None
        else:
            self._leave(name, known)
        self._zone_of[name] = zone
        self._zones.setdefault(zone, {})[name] = None

    def remove(self, name: str) -> None:
        self._leave(name, self._zone_of.pop(name))
        self._names = None

    def hide(self, name: str) -> None:
        """The node is gone for a while; its place is kept."""
        self._hidden.add(name)
        self._names = None

    def show(self, name: str) -> None:
        """The node is back."""
        self._hidden.remove(name)
        self._names = None

    def names(self) -> list[str]:
        """All node names in the order of the search."""
        if self._names is None:
            zones = ([name for name in names if name not in self._hidden] for names in self._zones.values())
            turns = zip_longest(*(names for names in zones if names))
            self._names = [name for turn in turns for name in turn if name is not None]
        return self._names

    def _leave(self, name: str, zone: Zone) -> None:
        del self._zones[zone][name]
        if not self._zones[zone]:
            del self._zones[zone]


def _first_present(labels: Mapping[str, str], keys: tuple[str, ...]) -> str:
    return next((labels[key] for key in keys if key in labels), "")
