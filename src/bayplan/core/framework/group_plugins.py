"""Which plugins of a profile have a say on pod groups.

Mostly names and weights: placing a group is a stage of the core (`bayplan.core.groups`), which calls no plugin back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bayplan.core.framework.contract import PodGroupPostFilterPlugin
from bayplan.core.framework.requeue import EnqueueExtensions

GANG_SCHEDULING: Final = "GangScheduling"
TOPOLOGY_PLACEMENT_GENERATOR: Final = "TopologyPlacementGenerator"
POD_GROUP_PODS_COUNT: Final = "PodGroupPodsCount"


@dataclass(frozen=True, slots=True)
class GroupPlugins:
    """What a profile asks of a group as a whole."""

    gang_gate: EnqueueExtensions | None = None  # GangScheduling, if its PreEnqueue waits for minCount pods
    counts_gangs: bool = False  # GangScheduling says whether enough pods can be placed
    generate: tuple[str, ...] = ()  # only the first is asked
    score: tuple[tuple[str, int], ...] = ()  # placements, each with its weight
    score_resources: tuple[tuple[str, int], ...] = ()  # that NodeResourcesFit weighs
    post_filter: tuple[PodGroupPostFilterPlugin, ...] = ()

    @property
    def gates_gangs(self) -> bool:
        return self.gang_gate is not None


NO_GROUP_PLUGINS: Final = GroupPlugins()
