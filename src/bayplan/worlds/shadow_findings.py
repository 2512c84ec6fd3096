"""What a scheduler in the shadow found out about the one that does the work: counts, and the differences in full.

Plain data, written to reports as it is, and read by metrics. Of differences the latest are kept; counts are complete.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

#: Differences of each kind that are kept with their details.
KEPT_MAX = 1_000


class Agreement(StrEnum):
    """How two decisions about one pod compare."""

    SAME = "same"
    TIED = "tied"  # both were equally good to us: chance decides
    MOVED = "moved"  # the cluster had changed: when the pod was bound, we would have agreed
    DIFFERENT = "different"
    ONLY_OURS = "onlyOurs"
    ONLY_THEIRS = "onlyTheirs"


#: Where nothing is to be explained.
AGREED = (Agreement.SAME, Agreement.TIED, Agreement.MOVED)


class _Difference(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    at: str
    pod: str
    agreement: Agreement


class PlacementDifference(_Difference, frozen=True, kw_only=True):
    """A pod for which the two chose otherwise; `scores` has, for each plugin, those of our node and of theirs."""

    ours: str  # the node; "" if there is none
    theirs: str
    why: str = ""
    our_total: int | None = None
    their_total: int | None = None
    scores: dict[str, tuple[int, int]] = {}


class PreemptionDifference(_Difference, frozen=True, kw_only=True):
    """Whom each evicted, or would have evicted, for a pod."""

    our_node: str
    our_victims: tuple[str, ...]
    their_node: str
    their_victims: tuple[str, ...]


class MessageDifference(_Difference, frozen=True, kw_only=True):
    """Why the pod fits nowhere, in the words of each."""

    ours: str
    theirs: str


@dataclass(slots=True)
class Findings:
    """Everything that was found out."""

    started_at: str = ""
    ended_at: str = ""
    decisions: int = 0  # of ours
    placements: Counter[Agreement] = field(default_factory=Counter)
    preemptions: Counter[Agreement] = field(default_factory=Counter)
    messages: Counter[Agreement] = field(default_factory=Counter)
    placement_differences: deque[PlacementDifference] = field(default_factory=lambda: deque(maxlen=KEPT_MAX))
    preemption_differences: deque[PreemptionDifference] = field(default_factory=lambda: deque(maxlen=KEPT_MAX))
    message_differences: deque[MessageDifference] = field(default_factory=lambda: deque(maxlen=KEPT_MAX))
    #: Pods that we would have placed and nobody has placed yet, by uid.
    only_ours: dict[str, PlacementDifference] = field(default_factory=dict)

    def placed(self, found: PlacementDifference) -> None:
        self.placements[found.agreement] += 1
        if found.agreement not in AGREED:
            self.placement_differences.append(found)

    def preempted(self, found: PreemptionDifference) -> None:
        self.preemptions[found.agreement] += 1
        if found.agreement not in AGREED:
            self.preemption_differences.append(found)

    def said(self, found: MessageDifference) -> None:
        self.messages[found.agreement] += 1
        if found.agreement not in AGREED:
            self.message_differences.append(found)

    def to_dict(self) -> dict[str, Any]:
        """For a report."""
        return {
            "startedAt": self.started_at,
            "endedAt": self.ended_at,
            "decisions": self.decisions,
            "placements": _counts(self.placements | Counter({Agreement.ONLY_OURS: len(self.only_ours)})),
            "preemptions": _counts(self.preemptions),
            "messages": _counts(self.messages),
            "placementDifferences": msgspec.to_builtins([*self.placement_differences, *self.only_ours.values()]),
            "preemptionDifferences": msgspec.to_builtins(list(self.preemption_differences)),
            "messageDifferences": msgspec.to_builtins(list(self.message_differences)),
        }


def _counts(counted: Counter[Agreement]) -> dict[str, int]:
    return {agreement.value: counted[agreement] for agreement in Agreement}
