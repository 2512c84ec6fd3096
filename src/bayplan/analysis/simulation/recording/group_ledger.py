"""The pod groups of a run, each as it was last seen. Which pods were in one is in the rows of the pods."""

from __future__ import annotations

from bayplan.analysis.simulation.results.run_format import GroupRow
from bayplan.core.groups.feasible import min_count
from bayplan.model.groups import PodGroup, topology_key
from bayplan.model.kinds import object_key
from bayplan.model.watch_types import DELETED
from bayplan.store import WatchEvent


class GroupLedger:
    """One row for each key, in order of creation; a group that comes back keeps its row."""

    def __init__(self, started_at: int) -> None:
        self._started_at = started_at
        self._rows: dict[str, GroupRow] = {}

    @property
    def groups(self) -> list[GroupRow]:
        return list(self._rows.values())

    def observe(self, change: WatchEvent) -> None:
        group = change.new
        if not isinstance(group, PodGroup) or change.type == DELETED:
            return
        key, mode = object_key(group), group.spec.disruption_mode
        before = self._rows.get(key)
        self._rows[key] = GroupRow(
            key=key,
            created=before.created if before is not None else (change.at - self._started_at) / 1e9,
            min_count=min_count(group),
            priority=group.spec.priority or 0,
            within=topology_key(group),
            goes_whole=mode is not None and mode.all is not None,
        )
