"""Of equally good nodes the one that a recording or a journal has, where kube-scheduler draws lots.

Takes a function that names the node that a pod got then. Where that node is one of the best now, it is taken; otherwise
the smallest name wins, as ever. So a replay differs from what was recorded where something was decided differently, and
not from the first draw on. No node is taken that kube-scheduler could not have taken. Ties of pod groups are not
settled here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.deciding import Decider
from bayplan.core.decision import Choice, Fits, Unschedulable
from bayplan.core.framework.profile import Profile
from bayplan.core.instruments import Instruments
from bayplan.core.snapshot import View
from bayplan.model import structs

#: The name of the node that a pod got, "" if that is not known.
NodeOf: TypeAlias = Callable[[PodInfo], str]


class RecordedTies(Instruments):
    """To be given to the scheduler."""

    def __init__(self, node_of: NodeOf) -> None:
        self._node_of = node_of

    def decider(self, profiles: Mapping[str, Profile]) -> Decider:
        return _TieSettler(profiles, self._node_of)


class JournaledTies(RecordedTies):
    """Takes the node of the decision that a journal has next."""

    def __init__(self) -> None:
        super().__init__(lambda _: self.node)
        self.node = ""


class _TieSettler(Decider):
    def __init__(self, profiles: Mapping[str, Profile], node_of: NodeOf) -> None:
        super().__init__(profiles)
        self._node_of = node_of

    def decide(self, pod: PodInfo, view: View) -> Choice:
        choice = super().decide(pod, view)
        if isinstance(choice, Unschedulable):
            return choice
        row = view.nodes.rows_by_name.get(self._node_of(pod), -1)
        if row in (-1, choice.row) or not np.any(choice.tied_rows == row):
            return choice
        return structs.replace(choice, row=row) if isinstance(choice, Fits) else replace(choice, row=row)
