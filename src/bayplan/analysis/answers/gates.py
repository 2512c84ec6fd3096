"""Which gates a change does not pass, and what is to blame."""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.analysis.answers.whatif import WhatIf
from bayplan.analysis.gates import FailCondition, FailKind

#: What a change can be judged by.
KINDS = (FailKind.EVICTS, FailKind.PDB, FailKind.PENDING)


def gates_failed(answer: WhatIf, gates: Iterable[FailCondition]) -> dict[str, list[str]]:
    """Gate -> what is to blame."""
    blamed = {str(gate): _blamed(gate, answer) for gate in gates}
    return {text: names for text, names in blamed.items() if names}


def _blamed(gate: FailCondition, answer: WhatIf) -> list[str]:
    """Pods or budgets."""
    if gate.kind is FailKind.PENDING:
        return [fate.pod for fate in answer.pending]
    if gate.kind is FailKind.PDB:
        stopping = answer.draining.blocking_budgets if answer.draining is not None else []
        return list(dict.fromkeys([*answer.broken_budgets, *stopping]))
    return [each.pod for each in answer.evicted if gate.covers(each.priority_class)]
