"""What a change must not do: the values of `--fail-on` in, and of an answer the gates it does not pass.

`evicts` fails if any pod is evicted that nobody meant; `evicts=CLASS` only if one of that PriorityClass, or of one that
is worth more, is among them. `pdb` fails if a disruption budget is broken or stops a drain, `pending` if a pod has no
node because of the change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from bayplan.admission.priority import PriorityClasses
from bayplan.analysis.answers.whatif import WhatIf
from bayplan.model.cluster import PriorityClass
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import Object

EVICTS, PDB, PENDING = "evicts", "pdb", "pending"
_OPTION = "--fail-on"


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition; `least` is the priority from which on evictions count, None: all of them."""

    text: str
    kind: str
    least: int | None = None

    def failed_by(self, answer: WhatIf) -> list[str]:
        """The pods or budgets to blame."""
        if self.kind == PENDING:
            return [fate.pod for fate in answer.pending]
        if self.kind == PDB:
            stopping = answer.draining.blocking_budgets if answer.draining is not None else []
            return list(dict.fromkeys([*answer.broken_budgets, *stopping]))
        return [each.pod for each in answer.evicted if self.least is None or each.priority >= self.least]


def parse_gates(texts: Iterable[str], objects: Iterable[Object]) -> list[Gate]:
    """Raises InvalidObject for gates and classes that do not exist."""
    classes = [obj for obj in objects if isinstance(obj, PriorityClass)]
    return [_parsed(part.strip(), classes) for text in texts for part in text.split(",") if part.strip()]


def _parsed(text: str, classes: list[PriorityClass]) -> Gate:
    kind, equals, name = text.partition("=")
    if kind not in (EVICTS, PDB, PENDING) or (equals and kind != EVICTS):
        raise _refused(f"{text!r}: expected {EVICTS}, {EVICTS}=CLASS, {PDB} or {PENDING}")
    if not equals:
        return Gate(text, kind)
    known = PriorityClasses(classes).get(name)
    if known is None:
        close = get_close_matches(name, [each.metadata.name for each in classes])
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise _refused(f"{text!r}: there is no PriorityClass {name!r} in the input{hint}")
    return Gate(text, kind, known.value)


def _refused(message: str) -> InvalidObject:
    return InvalidObject([Fault("", "", _OPTION, message)])
