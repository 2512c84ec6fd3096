"""How many members of a group each node takes, without placing them one by one.

Only for members that are all alike and to whom nothing matters but the node itself and the room there is on it. Then
each takes as much from its node as any other, and how many of them fit on some nodes does not depend on their order or
on which nodes are better. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeGuard

import numpy as np

from bayplan.core.columns import IntArray, RowArray
from bayplan.core.filtering import filter_nodes, run_pre_filters
from bayplan.core.framework.contract import SKIP, FilterPlugin, Reads, State
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError
from bayplan.core.groups.member import Member
from bayplan.core.snapshot import View


class _CountsRoom(Protocol):
    def room(self, state: State, view: View, rows: RowArray) -> IntArray | None:
        """(rows,) how many more of these pods the nodes take; None if that cannot be said."""


def room_for(profile: Profile, members: Sequence[Member], view: View) -> IntArray | None:
    """(nodes,) how many of the members each node takes; None where they have to be placed to know."""
    if not _are_alike(members) or view.nominated or profile.extenders:
        return None
    pod = members[0].info
    try:
        pre = run_pre_filters(profile, pod, view)
        filtered = filter_nodes(profile, pod, view, pre)
    except CycleError:
        return None
    if not pre.status.ok or pre.nodes is not None:
        return None
    if any(pre.states.get(plugin.name) is not SKIP for plugin in profile.reserve):
        return None  # it may reserve something
    rows = filtered.feasible_rows
    here = np.full(len(rows), len(members), dtype=np.int64)
    for plugin, state in zip(filtered.plugins, filtered.states, strict=True):
        if state is SKIP or not plugin.reads & ~Reads.NODE:
            continue
        counted = plugin.room(state, view, rows) if _counts_room(plugin) else None
        if counted is None:
            return None
        here = np.minimum(here, counted)
    room = np.zeros(view.nodes.count, dtype=np.int64)
    room[rows] = here
    return room


def _are_alike(members: Sequence[Member]) -> bool:
    first = members[0].info
    return all(each.info.shape is first.shape and not each.info.nominated_node_name for each in members)


def _counts_room(plugin: FilterPlugin) -> TypeGuard[_CountsRoom]:
    return hasattr(plugin, "room")
