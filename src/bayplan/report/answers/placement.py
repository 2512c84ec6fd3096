"""Where pods went: a summary, a row for each, and why the others went nowhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from bayplan.analysis.placement import PlacedPod, Placement
from bayplan.report.answers.parts import Cell, Heading, Part, Sentence, Snippet, Table, Tone
from bayplan.report.words import counted, examples, listed

_EXAMPLES = 5


def placement_parts(placement: Placement) -> Iterator[Part]:
    """The summary comes first: it is the answer."""
    decisions = placement.decisions
    unplaced = [decision for decision in decisions if decision.node is None]
    yield Sentence(summary(placement), Tone.BAD if unplaced else Tone.GOOD)
    if decisions:
        yield _table(decisions)
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for decision in unplaced:
        groups[decision.message].append(decision.pod)
    for message, pods in sorted(groups.items(), key=lambda group: -len(group[1])):
        yield Heading(f"Unplaced: {listed(pods, _EXAMPLES)}")
        yield Snippet(message, "text")


def summary(placement: Placement) -> str:
    """`7 of 9 pods placed on 4 nodes, 2 of them by evicting 3 pods; 2 pods remain unplaced.`"""
    decisions = placement.decisions
    if not decisions:
        return "There are no pods to place."
    placed = [decision for decision in decisions if decision.node is not None]
    nodes = {decision.node for decision in placed}
    share = f"All {counted(len(placed), 'pod')}" if len(placed) > 1 else "1 pod"
    if len(placed) < len(decisions):
        share = f"{len(placed):,} of {counted(len(decisions), 'pod')}"
    text = f"{share} placed"
    if placed:
        text += f" on {counted(len(nodes), 'node')}"
    victims = [victim for decision in placed for victim in decision.victims]
    if victims:
        preemptors = sum(bool(decision.victims) for decision in placed)
        text += f", {preemptors:,} of them by evicting {counted(len(victims), 'pod')}"
    unplaced = len(decisions) - len(placed)
    if unplaced:
        text += f"; {counted(unplaced, 'pod')} {'remains' if unplaced == 1 else 'remain'} unplaced"
    in_vain = sum(len(decision.victims) for decision in decisions if decision.node is None)
    if in_vain:
        text += f", and {counted(in_vain, 'pod')} {'was' if in_vain == 1 else 'were'} evicted in vain"
    return f"{text}."


def _table(decisions: Sequence[PlacedPod]) -> Table:
    return Table(
        ("pod", "node", "total", "tied", "evicts"),
        list(map(_row, decisions)),
        numeric=frozenset({"total", "tied"}),
        flexible=frozenset({"pod", "node", "evicts"}),
    )


def _row(placed: PlacedPod) -> list[Cell]:
    tone = Tone.BAD if placed.node is None else Tone.WARN if placed.victims else Tone.PLAIN
    total = "" if placed.total is None else f"{placed.total:,}"
    tied = f"{len(placed.ties):,}" if len(placed.ties) > 1 else ""
    texts = (placed.pod, placed.node or "none", total, tied, examples(placed.victims, _EXAMPLES))
    return [Cell(text, tone) for text in texts]
