"""`--fail-on`: what must not happen, for use in CI.

`evicts` is any pod that is evicted though nobody meant it to be, `evicts=CLASS` one of that PriorityClass (`none`: one
without a class); `pdb` a disruption budget that is violated or stops a drain; `pending` a pod without a node; `loop`
workloads that evict each other again and again; `deadlock` pod groups that wait for each other. Takes the texts; those
who know say whether it happened.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from bayplan.analysis.cluster import Cluster
from bayplan.model.cluster import PriorityClass
from bayplan.model.errors import Fault, InvalidObject

_NO_CLASS = "none"


class FailKind(StrEnum):
    EVICTS = "evicts"
    PDB = "pdb"
    PENDING = "pending"
    LOOP = "loop"
    DEADLOCK = "deadlock"


@dataclass(frozen=True, slots=True)
class FailCondition:
    """One condition; without a class any eviction counts."""

    kind: FailKind
    class_name: str = ""

    def __str__(self) -> str:
        return f"{self.kind}={self.class_name}" if self.class_name else str(self.kind)

    def covers(self, priority_class: str) -> bool:
        """Whether the eviction of a pod of this class ("": none) counts."""
        return not self.class_name or (priority_class or _NO_CLASS) == self.class_name


def parse_gates(texts: Iterable[str], cluster: Cluster, kinds: Collection[FailKind]) -> list[FailCondition]:
    """Raises InvalidObject for other gates than these, and for classes that no pod could have."""
    known = {obj.metadata.name for obj in cluster.objects if isinstance(obj, PriorityClass)}
    known |= {pod.spec.priority_class_name for pod in cluster.pods.values()} - {""}
    return [_parsed(part.strip(), known, kinds) for text in texts for part in text.split(",")]


def _parsed(text: str, classes: Collection[str], kinds: Collection[FailKind]) -> FailCondition:
    kind, equals, name = text.partition("=")
    if kind not in kinds or (equals and (kind != FailKind.EVICTS or not name)):
        *others, last = [
            f"{FailKind.EVICTS}, {FailKind.EVICTS}=CLASS" if each is FailKind.EVICTS else each for each in kinds
        ]
        raise _refused(f"{text!r}: expected {', '.join(others)} or {last}")
    if name and name not in {*classes, _NO_CLASS}:
        raise _refused(f"no PriorityClass {name}; known classes: {', '.join(sorted(classes))}")
    return FailCondition(FailKind(kind), name)


def _refused(message: str) -> InvalidObject:
    return InvalidObject([Fault("", "", "--fail-on", message)])
