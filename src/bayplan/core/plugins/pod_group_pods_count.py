"""PodGroupPodsCount: the more members of a group have a node, the better the placement.

Members that are on nodes already count in all placements. Looks at no node.
Upstream: plugins/podgrouppodscount/podgroup_pods_count.go (v1.37).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from bayplan.core.columns import IntArray
from bayplan.core.framework.contract import MAX_NODE_SCORE
from bayplan.core.framework.group_contract import PodGroupAssignments, PodGroupInfo
from bayplan.core.framework.group_plugins import POD_GROUP_PODS_COUNT
from bayplan.core.framework.verdict import CycleError
from bayplan.core.snapshot import View


class PodGroupPodsCount:
    name: ClassVar[str] = POD_GROUP_PODS_COUNT
    looks_up: ClassVar[frozenset[str]] = frozenset()
    sees_counts_only: ClassVar[bool] = True

    def score_placements(
        self,
        group: PodGroupInfo,
        view: View,  # noqa: ARG002
        assignments: Sequence[PodGroupAssignments],
    ) -> IntArray:
        return np.array([len(group.scheduled_rows) + len(each.pods) for each in assignments], dtype=np.int64)

    def normalize_placements(self, group: PodGroupInfo, scores: IntArray) -> IntArray:  # noqa: ARG002
        most = int(scores.max())
        if not most:
            raise CycleError(self.name, "no pods from pod group are assigned to any of the candidate placements")
        return scores * MAX_NODE_SCORE // most
