"""The answer of `consolidate` as parts: which nodes can be given back, what has to move, and why others must stay."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.analysis.answers.moving.consolidate import Consolidation
from bayplan.core.columns.resources import CPU_NAME, MEMORY_NAME
from bayplan.report.answers.amounts import bare_amount
from bayplan.report.answers.drain import draining_parts
from bayplan.report.answers.parts import REASONS_MAX, Details, Heading, Next, Part, Sentence, Tone
from bayplan.report.answers.tables import short_table
from bayplan.report.words import counted, listed

_REASONS = 3
_COLUMNS = ("node", "pods that move", "cpu", "memory")


def consolidation_parts(answer: Consolidation, command: str) -> Iterator[Part]:
    """The short answer, then every eviction. `command` is the one that was asked, without the files."""
    yield _summary(answer)
    if answer.kept:
        reasons = [f"{count:,} ({reason})" for reason, count in answer.kept.items()]
        yield Sentence(f"Nodes that stay because of a pod: {listed(reasons, _REASONS)}.", Tone.FAINT)
    if not answer.nodes:
        return
    rows = [_row(answer, node.node, len(node.evictions)) for node in answer.draining.nodes]
    yield Heading("Nodes to give back, in order")
    yield from short_table(_COLUMNS, rows[:REASONS_MAX], numeric=_COLUMNS[1:])
    if len(rows) > REASONS_MAX:
        yield Sentence(f"and {len(rows) - REASONS_MAX:,} more", Tone.FAINT)
    yield Sentence("All of them are cordoned before the first one is drained.", Tone.FAINT)
    yield Next(f"{command} --script")
    every = [Heading("All nodes to give back, in order"), *short_table(_COLUMNS, rows, numeric=_COLUMNS[1:])]
    yield Details([*every, Heading("Every eviction"), *draining_parts(answer.draining)])


def _row(answer: Consolidation, node: str, moves: int) -> tuple[str, ...]:
    amounts = answer.freed[node]
    cpu, memory = amounts.get(CPU_NAME, 0), amounts.get(MEMORY_NAME, 0)
    return node, str(moves), bare_amount(CPU_NAME, cpu), bare_amount(MEMORY_NAME, memory)


def _summary(answer: Consolidation) -> Sentence:
    total, found = counted(answer.candidates, "node"), len(answer.nodes)
    if not answer.candidates:
        return Sentence("No: there are no nodes.", Tone.BAD)
    if not found and answer.is_proven:
        none = "the only node cannot" if answer.candidates == 1 else f"none of {total} can"
        return Sentence(f"No: {none} be given back.", Tone.BAD)
    if not found:
        return Sentence(f"No: none of {total} was found that can be given back; {_unsettled(answer)}.", Tone.BAD)
    moves = f"{counted(answer.moves, 'pod')} {'moves' if answer.moves == 1 else 'move'}"
    proof = "no more can be" if answer.is_proven else _unsettled(answer)
    return Sentence(f"Yes: {found} of {total} can be given back if {moves}; {proof}.", Tone.GOOD)


def _unsettled(answer: Consolidation) -> str:
    return f"at most {answer.bound:,} could be (--seconds searches longer)"


def drain_script(answer: Consolidation) -> str:
    """The kubectl commands; they stop at the first failure and leave nodes cordoned, to go on from there."""
    if not answer.nodes:
        return "#!/bin/sh\n# There is no node to give back.\n"
    options = "".join(f" {option}" for option in answer.draining.options)
    names = " ".join(answer.nodes)
    lines = [
        "#!/bin/sh",
        f"# Empties {counted(len(answer.nodes), 'node')}: {counted(answer.moves, 'pod')} will be evicted.",
        "# kubectl drain evicts through the API, so budgets hold. Nodes stay cordoned, even after a failure.",
        "# Add --delete-emptydir-data where pods have such volumes. Worked out from a snapshot of the cluster.",
        "set -eu",
        "",
        f"kubectl cordon {names}",
        *(f"kubectl drain {name}{options} --timeout=30m" for name in answer.nodes),
    ]
    return "\n".join(lines) + "\n"
