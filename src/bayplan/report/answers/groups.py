"""What would become of a pod group: whether enough pods fit, where each would go, and what stops the first.

Takes the document of a group's explanation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.report.answers.parts import Cell, Heading, Part, Sentence, Snippet, Table, Tone
from bayplan.report.words import counted, listed

_EXAMPLES = 5
_PLACES = {
    "gated": "is kept out of the queue",
    "incomplete": "waits for its PodGroup, which is missing",
    "absent": "has no pending pods",
}


def group_parts(document: Mapping[str, Any]) -> Iterator[Part]:
    """The answer comes first."""
    if document["queued"] != "active":
        yield from _outside(document)
        return
    yield _answer(document)
    yield _members(document)
    unfit = document["firstUnfit"]
    if unfit is not None:
        yield Heading(f"The first that does not fit: {unfit['pod']}")
        yield Snippet(unfit["message"], "text")
    if document["preemption"] is not None:
        yield from _preemption(document["preemption"])
    if len(document.get("placements") or ()) > 1:
        yield Heading("Topology domains")
        yield _placements(document["placements"])


def _outside(document: Mapping[str, Any]) -> Iterator[Part]:
    place = _PLACES[document["queued"]]
    yield Sentence(f"The group {document['group']} {place}.", Tone.WARN)
    said = document.get("preEnqueue") or {}
    if said:
        rows = [(pod, status["plugin"], ", ".join(status["reasons"])) for pod, status in said.items()]
        yield Table(("pod", "plugin", "says"), rows, flexible=frozenset({"says"}))


def _answer(document: Mapping[str, Any]) -> Sentence:
    group, pods = document["group"], document["pods"]
    bound = sum(pod["node"] is not None for pod in pods.values())
    if bound == len(pods):
        return Sentence(f"The group {group} fits: {_all(bound)} would be bound.", Tone.GOOD)
    if bound:
        return Sentence(f"The group {group} fits in part: {bound} of {_all(len(pods))} would be bound.", Tone.WARN)
    fitting = len(document["fitting"])
    text = f"The group {group} does not fit now: {fitting} of {counted(len(pods), 'pod')} would find a node."
    return Sentence(text, Tone.BAD)


def _all(number: int) -> str:
    return counted(number, "pod")


def _members(document: Mapping[str, Any]) -> Table:
    rows = []
    for pod in document["order"]:
        node = document["fitting"].get(pod)
        fits = Cell(node, Tone.GOOD) if node else Cell("-", Tone.BAD)
        rows.append((pod, fits, document["pods"][pod]["message"] or ""))
    return Table(("pod", "fits on", "is told"), rows, flexible=frozenset({"is told"}))


def _preemption(preemption: Mapping[str, Any]) -> Iterator[Part]:
    yield Heading("Preemption")
    if preemption["evicted"]:
        victims = listed(preemption["evicted"], _EXAMPLES)
        yield Sentence(f"It would evict {counted(len(preemption['evicted']), 'pod')}: {victims}.", Tone.WARN)
        yield Table(("pod", "goes to"), list(preemption["proposed"].items()))
    else:
        yield Snippet(preemption["message"], "text")


def _placements(placements: list[Mapping[str, Any]]) -> Table:
    rows = [
        (
            each["name"],
            f"{len(each['nodes']):,}",
            f"{sum(node is not None for node in each['pods'].values()):,}",
            Cell("yes", Tone.GOOD) if each["feasible"] else Cell("no", Tone.BAD),
            each["message"],
        )
        for each in placements
    ]
    return Table(
        ("domain", "nodes", "pods that fit", "feasible", "why not"),
        rows,
        numeric=frozenset({"nodes", "pods that fit"}),
        flexible=frozenset({"why not"}),
    )
