"""How much is missing: of each resource that nodes lack for a pod, what it asks for and the most that is free.

Looks only at nodes that NodeResourcesFit rejected for that resource, by its failure codes. Amounts are in the columns'
units: milli-cores for cpu, whole units for all else. Room promised to pods that are at least as important is not free.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayplan.core.columns import IntArray
from bayplan.core.diagnosis import distinct_verdicts
from bayplan.core.explain import Explanation
from bayplan.core.filtering import nominated_pods
from bayplan.core.plugins.node_resources_fit import NodeResourcesFit


@dataclass(frozen=True, slots=True)
class Shortage:
    """One resource that is short on some nodes."""

    resource: str
    asked: int
    most_free: int
    most_free_on: str
    most_offered: int  # by any of these nodes, used or not

    def to_dict(self) -> dict[str, Any]:
        return {
            "resource": self.resource,
            "asked": self.asked,
            "mostFree": self.most_free,
            "mostFreeOn": self.most_free_on,
            "mostOffered": self.most_offered,
        }


def shortages(explanation: Explanation) -> list[Shortage]:
    """In order of first mention."""
    view, asked = explanation.view, explanation.attempt.pod.shape.requests.asked
    used = used_or_promised(explanation)
    found = []
    for resource, rows in short_rows(explanation).items():
        column = view.nodes.resources.find(resource)
        offered = view.nodes.allocatable[rows, column]
        free = offered - used[rows, column]
        best = int(free.argmax())
        node = view.nodes.names[rows[best]]
        found.append(Shortage(resource, asked[resource], max(0, int(free[best])), node, int(offered.max())))
    return found


def used_or_promised(explanation: Explanation) -> IntArray:
    """(nodes, resources) what is not free for the pod: promised to pods that are nominated counts as used."""
    view = explanation.view
    promised_to, promising = nominated_pods(explanation.attempt.pod, view)
    used = view.usage.requested.copy()
    np.add.at(used, promising, view.pods.requests[promised_to])
    return used


def short_rows(explanation: Explanation) -> dict[str, list[int]]:
    """Resource -> rows of the nodes that were rejected because they have too little of it."""
    filtered, alive = explanation.attempt.filtered, explanation.view.nodes.alive
    short_rows: defaultdict[str, list[int]] = defaultdict(list)
    if filtered is None:
        return short_rows
    failed = np.flatnonzero(alive & (filtered.verdicts.rejected_by >= 0))
    for position, code, rows in distinct_verdicts(filtered.verdicts, failed):
        plugin = filtered.plugins[position] if position < len(filtered.plugins) else None  # else an extender
        if isinstance(plugin, NodeResourcesFit):
            for demand in plugin.unmet(filtered.states[position], code):
                short_rows[demand.name] += rows.tolist()
    return short_rows
