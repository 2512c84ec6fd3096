"""Where another scheduler has put pods, held against where we would have put them.

Takes a pod, our decision and the node it got. What we decided live counts first. Where that is another node, the pod is
judged by what the API showed at that moment: we may have decided earlier, or with other pods placed in our mind. And
where even that differs, there is a second look: bindings are seen in another order than they were decided in, so a node
may have looked free that a pod was on its way to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bayplan.core.columns import RowArray
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod
from bayplan.model.structs import Struct, replace
from bayplan.model.time_units import MILLISECOND
from bayplan.model.timestamps import format_time
from bayplan.worlds.shadow_findings import Agreement, Findings, PlacementDifference
from bayplan.worlds.shadow_judging import Judge

#: By then bindings that were decided before another are seen, too.
LOOKS_AGAIN_AFTER_NS: Final = 100 * MILLISECOND


class OurPlacement(Struct, frozen=True):
    """What we decided; no node where we had none, or were slower."""

    node: str = ""
    tied_rows: RowArray | None = None  # nodes with the same total


class _SecondLook(Struct, eq=False):
    found: PlacementDifference
    waiting: Pod  # as it was before it had its node
    bound: Pod  # as it is
    due_at: int
    is_taken: bool = False  # another pod was seen to get the node that we would have chosen


class Placements:
    """Compares placements, and counts them."""

    def __init__(self, judge: Judge, findings: Findings) -> None:
        self._judge = judge
        self._findings = findings
        self._second_looks: dict[str, _SecondLook] = {}  # by pod
        self.node_rows: Mapping[str, int] = {}  # of the view on which we decide

    def bound(self, waiting: Pod, bound: Pod, ours: OurPlacement, now: int) -> None:
        """A pod is seen to have its node; the judge has not heard of it yet."""
        node = bound.spec.node_name
        for look in self._second_looks.values():
            look.is_taken |= look.found.ours == node
        found = self._compared(waiting, node, ours, now)
        if found.agreement is Agreement.DIFFERENT:
            look = _SecondLook(found, waiting, bound, now + LOOKS_AGAIN_AFTER_NS)
            self._second_looks[object_key(bound)] = look
        else:
            self._findings.placed(found)

    def changed(self, pod: Pod) -> None:
        """A pod that has its node."""
        look = self._second_looks.get(object_key(pod)) if self._second_looks else None
        if look is not None:
            look.bound = pod

    def gone(self, key: str) -> None:
        look = self._second_looks.pop(key, None)
        if look is not None:
            self._findings.placed(look.found)

    def look_again(self, now: int, *, at_all: bool = False) -> None:
        """At those for which it is time, or at all."""
        if not self._second_looks:
            return
        for key, look in list(self._second_looks.items()):
            if look.due_at > now and not at_all:
                continue
            del self._second_looks[key]
            found = look.found
            if look.is_taken and self._judge.agrees_later(look.waiting, look.bound, now):
                found = replace(found, agreement=Agreement.MOVED)
            self._findings.placed(found)

    def _compared(self, waiting: Pod, theirs: str, ours: OurPlacement, now: int) -> PlacementDifference:
        found = PlacementDifference(
            at=format_time(now), pod=object_key(waiting), agreement=Agreement.SAME, ours=ours.node, theirs=theirs
        )
        if ours.node == theirs:
            return found
        if ours.node and ours.tied_rows is not None and self.node_rows.get(theirs, -1) in ours.tied_rows:
            return replace(found, agreement=Agreement.TIED)
        judged = self._judge.judge(waiting, theirs, now)
        if not judged.agrees:
            agreement = Agreement.DIFFERENT if judged.ours else Agreement.ONLY_THEIRS
        elif ours.node:
            agreement = Agreement.MOVED
        else:  # they were faster
            agreement = Agreement.SAME if judged.ours == theirs else Agreement.TIED
        return replace(
            found,
            agreement=agreement,
            ours=judged.ours,
            why=judged.why,
            our_total=judged.our_total,
            their_total=judged.their_total,
            scores=dict(judged.scores),
        )
