"""Whose turn it is to go: at which request of a preemptor each pod of a node would lose its place, by arithmetic.

Preemption removes all pods of lower priority from a node and puts them back one by one: those whose budget is used up
first, then by importance. Up to a request that just leaves room for a pod and all that come before it, the pod stays;
one unit more, and it goes. This looks at resources and the number of pods alone, so it is no answer: it says where to
look for one, and in which order. Who really goes is decided elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayplan.core.columns import BoolArray, IntArray, RowArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.filtering import nominated_pods
from bayplan.core.preemption.candidates import find_potential_victims, group_starts
from bayplan.core.snapshot import View

#: The request that evicts a pod which takes nothing of the resource.
NEVER = np.iinfo(np.int64).max
#: Where so many pods take turns as the request grows, it is not worth going on.
STEPS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Turns:
    """The pods that a preemptor may evict, node by node, those that are spared first before the others."""

    pod_rows: RowArray  # (victims,)
    amounts: IntArray  # (victims, resources) the smallest request that evicts the pod
    crowded: BoolArray  # (victims,) one more pod on the node is enough
    spared_after: RowArray  # (victims,) how many pods of the node are spared only after this one
    protected: BoolArray  # (victims,) its budget is used up: it is among those spared first
    requests: IntArray  # (victims, resources)
    room: IntArray  # (victims, resources) what the node has left with all of them gone
    slots: IntArray  # (victims,) and how many pods it may have then

    def place_of(self, pod_row: int) -> int:
        """Where the pod stands, which is one that this preemptor may evict."""
        return int(np.flatnonzero(self.pod_rows == pod_row)[0])


def smallest_request(at: Turns, place: int, resource: int, leave_anyway: set[int]) -> int:
    """The smallest request that evicts the pod at this place, of the pods of one node; NEVER if none is found.

    Those at the places `leave_anyway` go whatever is asked for. More asked for may spare a pod: one that is spared
    before it, and larger, goes instead. So it is tried what happens as the request grows.
    """
    asked = 1
    for _ in range(STEPS_MAX):
        slack = _slack(at, place, resource, leave_anyway, asked)
        if slack is None:
            return asked
        asked += slack + 1  # any less, and nothing changes
        if asked > at.room[place, resource]:
            break
    return NEVER


def _slack(at: Turns, place: int, resource: int, leave_anyway: set[int], asked: int) -> int | None:
    """How much more may be asked for until other pods go; None if the pod at this place goes already."""
    room, slots = int(at.room[place, resource]) - asked, int(at.slots[place]) - 1
    slack = room
    for position, size in enumerate(at.requests[: place + 1, resource].tolist()):
        if position not in leave_anyway and size <= room and slots > 0:
            room, slots = room - size, slots - 1
            slack = min(slack, room)
        elif position == place:
            return None
    return slack


def turns(preemptor: PodInfo, view: View, node_rows: RowArray) -> Turns:
    """For a preemptor of this priority on these nodes, whatever it asks for."""
    potential = find_potential_victims(preemptor, view, node_rows)
    violating = potential.protection.violating
    order = np.lexsort((np.arange(len(violating)), ~violating, potential.node_rows))
    pod_rows, nodes = potential.pod_rows[order], potential.node_rows[order]
    starts = group_starts(nodes)
    requests = view.pods.requests[pod_rows]
    room, slots = _room(preemptor, view, pod_rows, nodes)
    amounts = np.maximum(room[nodes] - _running_sums(requests, starts) + 1, 1)
    places = np.arange(len(order))
    ends = np.searchsorted(nodes, nodes, side="right")
    return Turns(
        pod_rows=pod_rows,
        amounts=np.where(requests > 0, amounts, NEVER),
        crowded=places - starts + 2 > slots[nodes],  # it, those before it, and the preemptor
        spared_after=ends - places - 1,
        protected=violating[order],
        requests=requests,
        room=room[nodes],
        slots=slots[nodes],
    )


def _running_sums(requests: IntArray, starts: RowArray) -> IntArray:
    """(victims, resources) what the pods of the node up to this one take together."""
    sums = np.cumsum(requests, axis=0)
    if not len(starts):
        return sums
    before: IntArray = sums[starts] - requests[starts]
    return sums - before


def _room(preemptor: PodInfo, view: View, pod_rows: RowArray, node_rows: RowArray) -> tuple[IntArray, IntArray]:
    """(nodes, resources) and (nodes,) what is left with all of the pods gone and the nominated ones there."""
    pods, nodes = view.pods, view.nodes
    room = nodes.allocatable - view.usage.requested
    slots = nodes.allowed_pods - view.usage.pod_counts
    np.add.at(room, node_rows, pods.requests[pod_rows])
    np.add.at(slots, node_rows, 1)
    waiting, wanted = nominated_pods(preemptor, view)
    np.subtract.at(room, wanted, pods.requests[waiting])
    np.subtract.at(slots, wanted, 1)
    return room, slots
