"""A search that ends when enough nodes are found, as a configuration may ask for.

Upstream does not look at every node of a large cluster: it stops at a share of them and begins the next search where
this one ended. Here every node is judged anyway, and the search is replayed over the verdicts. Only a profile that
sets `percentageOfNodesToScore` comes here; by default every node counts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayplan.core.filtering import NOT_LOOKED_AT, Filtered, Verdicts, search_order
from bayplan.core.framework.profile import Profile
from bayplan.core.snapshot import View

#: A search never ends before it has found this many.
FEASIBLE_COUNT_MIN = 100
SHARE_MIN_PERCENT = 5


def wanted_count(node_count: int, percentage: int) -> int:
    """How many feasible nodes are enough among `node_count`; a percentage of 0 adapts to the size."""
    if node_count < FEASIBLE_COUNT_MIN:
        return node_count
    share = percentage or max(SHARE_MIN_PERCENT, 50 - node_count // 125)
    return max(node_count * share // 100, FEASIBLE_COUNT_MIN)


def sample(profile: Profile, filtered: Filtered, view: View, start: int) -> tuple[Filtered, int]:
    """What a search from position `start` would have seen, and where the next one begins."""
    if profile.percentage_of_nodes_to_score is None or not filtered.pre.status.ok:
        return filtered, start
    looked_at = filtered.verdicts.rejected_by != NOT_LOOKED_AT
    order = search_order(view, start)
    node_count = len(order)
    order = order[looked_at[order]]
    one_is_enough = not profile.score and not any(one.filters or one.scores for one in profile.extenders)
    wanted = 1 if one_is_enough else wanted_count(len(order), profile.percentage_of_nodes_to_score)
    feasible = filtered.verdicts.passed[order]
    found = np.cumsum(feasible)
    # The node that is one too many ends the search; it counts neither as feasible nor as failed.
    visited = order[: int(np.searchsorted(found, wanted + 1))] if found.max(initial=0) > wanted else order
    next_start = (start + len(visited)) % node_count
    rejected_by = np.full_like(filtered.verdicts.rejected_by, NOT_LOOKED_AT)
    rejected_by[visited] = filtered.verdicts.rejected_by[visited]
    kept = visited[filtered.verdicts.passed[visited]]
    seen = replace(filtered, verdicts=Verdicts(rejected_by, filtered.verdicts.codes), feasible_rows=np.sort(kept))
    return seen, next_start
