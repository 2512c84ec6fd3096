"""Which plugins of a profile have a say on pod groups.

Names and weights, as for PostFilter: what the plugins do for groups is a stage of the core (`bayplan.core.groups`), and
no call back from a plugin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

GANG_SCHEDULING: Final = "GangScheduling"
TOPOLOGY_PLACEMENT_GENERATOR: Final = "TopologyPlacementGenerator"
POD_GROUP_PODS_COUNT: Final = "PodGroupPodsCount"


@dataclass(frozen=True, slots=True)
class GroupPlugins:
    """What a profile asks of a group as a whole."""

    gates_gangs: bool = False  # GangScheduling's PreEnqueue waits for minCount pods
    counts_gangs: bool = False  # GangScheduling says whether enough pods can be placed
    generate: tuple[str, ...] = ()  # only the first is asked
    score: tuple[tuple[str, int], ...] = ()  # placements, each with its weight
    score_resources: tuple[tuple[str, int], ...] = ()  # that NodeResourcesFit weighs
    post_filter: tuple[str, ...] = ()


NO_GROUP_PLUGINS: Final = GroupPlugins()
