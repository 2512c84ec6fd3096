"""TopologyPlacementGenerator: a group that has to stay within one topology domain may be placed on the nodes of each.

Takes a group and all nodes; gives one placement for each value of the label that the group's constraint names, or all
nodes for a group without a constraint. Members that have a node bind the others to their domain. Looks at no room.
Upstream: plugins/topologyaware/topology_placement.go (v1.37).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bayplan.core.columns import RowArray, row_array
from bayplan.core.framework.group_contract import GroupPlacement, PodGroupInfo
from bayplan.core.framework.group_plugins import TOPOLOGY_PLACEMENT_GENERATOR
from bayplan.core.framework.verdict import CycleError
from bayplan.core.snapshot import View
from bayplan.model.groups import topology_key


class TopologyPlacementGenerator:
    name: ClassVar[str] = TOPOLOGY_PLACEMENT_GENERATOR
    looks_up: ClassVar[frozenset[str]] = frozenset()

    def generate_placements(self, group: PodGroupInfo, view: View, rows: RowArray) -> Sequence[GroupPlacement]:
        key = topology_key(group.group)
        if key is None:
            return [GroupPlacement("", rows)]
        required = self._domain_of_scheduled(group, view, key)
        domains: dict[str, list[int]] = {}
        for row in rows.tolist():
            domain = view.nodes.labels[row].get(key)
            if domain is not None and required in (None, domain):
                domains.setdefault(domain, []).append(row)
        return [GroupPlacement(name, row_array(domains[name])) for name in sorted(domains)]

    def _domain_of_scheduled(self, group: PodGroupInfo, view: View, key: str) -> str | None:
        """The domain that members on nodes bind the group to. Raises CycleError."""
        start, found = "cannot determine domain for already scheduled pods: ", None
        for row in group.scheduled_rows:
            node_row, pod = int(view.pods.node_rows[row]), view.pods.keys[row]
            if not view.nodes.alive[node_row]:
                missing = f'nodeinfo not found for node name "{view.nodes.names[node_row]}"'
                raise CycleError(self.name, f"{start}getting node for pod {pod}: {missing}")
            domain = view.nodes.labels[node_row].get(key)
            if domain is None:
                raise CycleError(self.name, f"{start}no topology domain found for pod {pod}")
            if found and found != domain:
                raise CycleError(self.name, f"{start}more than 1 domain found for pod group: {found}, {domain}")
            found = domain
        return found
