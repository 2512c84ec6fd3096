"""What would let a pod run, as plain data, with the price list that ranks it.

Amounts are milli-cores for cpu and whole units for all else. The price says what an engineer would rather try first: a
typo, then what costs nothing, such as uncordoning a node, then the workload's own requests and constraints, then what
other workloads pay for. Tolerating the taint of somebody's dedicated nodes comes last, unless the pod asks for these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bayplan.analysis.showing import Shown


class RemedyKind(StrEnum):
    """What is changed."""

    SELECTOR_TYPO = "nodeSelectorTypo"
    AFFINITY_TYPO = "nodeAffinityTypo"
    TOLERATION_TYPO = "tolerationTypo"
    RESOURCE_TYPO = "resourceTypo"
    CLAIM_TYPO = "volumeClaimTypo"
    GATES = "schedulingGates"
    RESUME = "resumeJob"
    REQUEST = "request"
    TOLERATION = "toleration"
    OWN_TOLERATION = "ownToleration"  # of nodes that the pod asks for
    NODE_SELECTOR = "nodeSelector"
    NODE_AFFINITY = "nodeAffinity"
    POD_AFFINITY = "podAffinity"
    POD_ANTI_AFFINITY = "podAntiAffinity"
    SKEW = "maxSkew"
    SPREAD = "topologySpread"
    HOST_PORT = "hostPort"
    DEVICE_CLAIM = "deviceClaim"
    MIN_COUNT = "minCount"
    PRIORITY = "priorityClass"
    UNCORDON = "uncordon"
    UNTAINT = "untaint"
    FREE = "freeNode"
    ADD_NODE = "addNode"
    VOLUME_CLAIM = "createVolumeClaim"
    BINDING = "bindVolumeClaim"
    VOLUME = "createVolume"
    LOST_VOLUME = "restoreVolume"
    STORAGE_CLASS = "createStorageClass"
    RESOURCE_CLAIM = "createResourceClaim"
    RESOURCE_CLAIM_TEMPLATE = "createResourceClaimTemplate"
    DEVICE_CLASS = "createDeviceClass"


#: What a change costs, whatever its extent.
PRICES = {
    RemedyKind.SELECTOR_TYPO: 0.01,
    RemedyKind.AFFINITY_TYPO: 0.01,
    RemedyKind.TOLERATION_TYPO: 0.01,
    RemedyKind.RESOURCE_TYPO: 0.01,
    RemedyKind.CLAIM_TYPO: 0.01,
    RemedyKind.GATES: 0.05,
    RemedyKind.RESUME: 0.05,
    RemedyKind.OWN_TOLERATION: 0.05,
    RemedyKind.UNCORDON: 0.1,
    RemedyKind.REQUEST: 0.15,
    RemedyKind.SKEW: 0.25,
    RemedyKind.SPREAD: 0.3,
    RemedyKind.NODE_SELECTOR: 0.4,
    RemedyKind.NODE_AFFINITY: 0.4,
    RemedyKind.POD_AFFINITY: 0.4,
    RemedyKind.POD_ANTI_AFFINITY: 0.4,
    RemedyKind.HOST_PORT: 0.4,
    RemedyKind.DEVICE_CLAIM: 0.4,
    RemedyKind.VOLUME_CLAIM: 0.45,
    RemedyKind.BINDING: 0.45,
    RemedyKind.VOLUME: 0.45,
    RemedyKind.LOST_VOLUME: 0.45,
    RemedyKind.STORAGE_CLASS: 0.45,
    RemedyKind.RESOURCE_CLAIM: 0.45,
    RemedyKind.RESOURCE_CLAIM_TEMPLATE: 0.45,
    RemedyKind.DEVICE_CLASS: 0.45,
    RemedyKind.MIN_COUNT: 0.5,
    RemedyKind.ADD_NODE: 0.7,
    RemedyKind.PRIORITY: 0.8,
    RemedyKind.FREE: 0.9,
    RemedyKind.UNTAINT: 1.3,
    RemedyKind.TOLERATION: 1.4,
}
#: What each pod that has to go, and each step of a skew beyond the first, adds.
PER_STEP = 0.1


@dataclass(frozen=True, slots=True)
class Remedy:
    """One thing to do. What `before` and `after` mean depends on the kind."""

    kind: RemedyKind
    what: str  # the resource, taint, label, constraint, class or node
    before: int | str | None = None
    after: int | str | None = None
    extent: float = 0.0  # what it costs beyond the price of its kind
    matches: int | None = None  # nodes that have what is named instead

    @property
    def price(self) -> float:
        return PRICES[self.kind] + self.extent

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"kind": self.kind.value, "what": self.what}
        if self.before is not None:
            plain["before"] = self.before
        if self.after is not None:
            plain["after"] = self.after
        if self.matches is not None:
            plain["matches"] = self.matches
        return plain


@dataclass(frozen=True, slots=True)
class Patch:
    """How to do it: a command, or what to do by hand."""

    command: str
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {"command": self.command or None, "note": self.note}


@dataclass(frozen=True, slots=True)
class Fix:
    """Changes that let the pod run, or some of the pods of its workload."""

    changes: tuple[Remedy, ...]
    nodes: tuple[str, ...]  # where they then run
    fixed: int = 1  # how many of the pending pods of the workload run then
    victims: tuple[str, ...] = ()  # pods of other workloads that have to go
    left_pending: tuple[str, ...] = ()  # those of them that get no other node
    patches: tuple[Patch, ...] = ()

    @property
    def price(self) -> float:
        return sum(change.price for change in self.changes)

    def to_dict(self) -> dict[str, Any]:
        return {
            "changes": [change.to_dict() for change in self.changes],
            "price": round(self.price, 3),
            "nodes": list(self.nodes),
            "fixed": self.fixed,
            "victims": list(self.victims),
            "leftPending": list(self.left_pending),
            "patches": [patch.to_dict() for patch in self.patches],
        }


@dataclass(frozen=True, slots=True, repr=False)
class Fixes(Shown):
    """The answer: what would let the pod run, the smallest change first."""

    pod: str  # namespace/name
    workload: str  # what made it; the pod itself if nothing did
    runs_on: str  # the node it has already
    fits_on: str  # the node that takes it as it is, perhaps once its victims are gone
    victims: tuple[str, ...]  # whom the scheduler would evict for it as it is
    message: str  # why it does not run
    pending: int = 1  # pods of the workload that do not run
    fitting: int = 0  # further pods of the workload that will run without any fix
    running: int = 0  # pods of the workload that run
    is_one_more: bool = False  # all of them do: the answer is about one more, or a DaemonSet that selects no node
    unsure: tuple[str, ...] = ()  # kinds that the pod refers to and that are not in the input
    left_out: Mapping[str, str] = field(default_factory=dict)  # nodes for which a DaemonSet creates no pods, and why
    fixes: tuple[Fix, ...] = ()

    @property
    def is_fine(self) -> bool:
        """Whether it needs no fix."""
        return bool(self.runs_on or self.fits_on)

    def to_dict(self) -> dict[str, Any]:
        return {
            "pod": self.pod,
            "workload": self.workload,
            "runsOn": self.runs_on or None,
            "fitsOn": self.fits_on or None,
            "victims": list(self.victims),
            "message": self.message,
            "pending": self.pending,
            "fitting": self.fitting,
            "running": self.running,
            "oneMore": self.is_one_more,
            "leftOut": dict(self.left_out),
            "unsure": list(self.unsure),
            "fixes": [fix.to_dict() for fix in self.fixes],
        }
