"""What a change must not do: the values of `--fail-on` in, and of an answer the gates it does not pass.

`evicts` fails if any pod is evicted that nobody meant, `evicts=CLASS` if one of that PriorityClass is (`none`: one
without a class). `pdb` fails if a disruption budget is broken or stops a drain, `pending` if a pod has no node because
of the change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from bayplan.analysis.answers.whatif import WhatIf
from bayplan.analysis.cluster import Cluster
from bayplan.model.cluster import PriorityClass
from bayplan.model.errors import Fault, InvalidObject

_NO_CLASS = "none"


class Kind(StrEnum):
    EVICTS = "evicts"
    PDB = "pdb"
    PENDING = "pending"


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition; without a class any eviction counts."""

    kind: Kind
    class_name: str = ""

    def __str__(self) -> str:
        return f"{self.kind}={self.class_name}" if self.class_name else str(self.kind)

    def failed_by(self, answer: WhatIf) -> list[str]:
        """The pods or budgets to blame."""
        if self.kind is Kind.PENDING:
            return [fate.pod for fate in answer.pending]
        if self.kind is Kind.PDB:
            stopping = answer.draining.blocking_budgets if answer.draining is not None else []
            return list(dict.fromkeys([*answer.broken_budgets, *stopping]))
        return [
            each.pod
            for each in answer.evicted
            if not self.class_name or (each.priority_class or _NO_CLASS) == self.class_name
        ]


def gates_failed(answer: WhatIf, gates: Iterable[Gate]) -> dict[str, list[str]]:
    """Gate -> what is to blame."""
    blamed = {str(gate): gate.failed_by(answer) for gate in gates}
    return {text: names for text, names in blamed.items() if names}


def parse_gates(texts: Iterable[str], cluster: Cluster) -> list[Gate]:
    """Raises InvalidObject for gates that do not exist, and for classes that no pod could have."""
    known = {obj.metadata.name for obj in cluster.objects if isinstance(obj, PriorityClass)}
    known |= {pod.spec.priority_class_name for pod in cluster.pods.values()} - {""}
    return [_parsed(part.strip(), known) for text in texts for part in text.split(",")]


def _parsed(text: str, classes: Collection[str]) -> Gate:
    kind, equals, name = text.partition("=")
    if kind not in set(Kind) or (equals and (kind != Kind.EVICTS or not name)):
        raise _refused(f"{text!r}: expected evicts, evicts=CLASS, pdb or pending")
    if name and name not in {*classes, _NO_CLASS}:
        raise _refused(f"no PriorityClass {name}; known classes: {', '.join(sorted(classes))}")
    return Gate(Kind(kind), name)


def _refused(message: str) -> InvalidObject:
    return InvalidObject([Fault("", "", "--fail-on", message)])
