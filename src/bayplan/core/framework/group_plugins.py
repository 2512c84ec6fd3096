"""Which plugins of a profile have a say on pod groups.

Counting a gang's pods is part of the core (`bayplan.core.groups`, `bayplan.core.queue`), so of GangScheduling there is
little more than whether it is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bayplan.core.framework.group_contract import (
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    PodGroupPostFilterPlugin,
)
from bayplan.core.framework.requeue import EnqueueExtensions
from bayplan.core.framework.speed_hints import hint

GANG_SCHEDULING: Final = "GangScheduling"
TOPOLOGY_PLACEMENT_GENERATOR: Final = "TopologyPlacementGenerator"
POD_GROUP_PODS_COUNT: Final = "PodGroupPodsCount"


@dataclass(frozen=True, slots=True)
class GroupPlugins:
    """What a profile asks of a group as a whole."""

    gang_gate: EnqueueExtensions | None = None  # GangScheduling, if its PreEnqueue waits for minCount pods
    counts_gangs: bool = False  # GangScheduling says whether enough pods can be placed
    generate: PlacementGeneratePlugin | None = None
    score: tuple[tuple[PlacementScorePlugin, int], ...] = ()  # of placements, each with its weight
    post_filter: tuple[PodGroupPostFilterPlugin, ...] = ()

    @property
    def gates_gangs(self) -> bool:
        return self.gang_gate is not None

    @property
    def sees_counts_only(self) -> bool:
        """Whether no score of a placement depends on the node that a member gets."""
        return all(hint(plugin, "sees_counts_only") for plugin, _ in self.score)


NO_GROUP_PLUGINS: Final = GroupPlugins()
