"""What kube-scheduler evicts for a pod beside the least that would do: the parts that `explain --optimal` adds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.report.answers.parts import Part, Sentence, Tone
from bayplan.report.words import counted, listed

_NAMED = 5
TITLE = "Least disruption"


def disruption_parts(document: Mapping[str, Any]) -> Iterator[Part]:
    """Takes the document of an explanation; nothing if nobody asked for the optimum."""
    found = document.get("leastDisruption")
    if found is None:
        return
    if document["feasible"]:
        yield Sentence("The pod fits, so nothing has to be evicted.", Tone.GOOD)
        return
    least, actual = found["atLeast"], _actual(document)
    if least is None:
        yield Sentence(
            "No victims would make enough room: no node that it may run on has enough without them.", Tone.BAD
        )
        return
    if actual is None:
        yield Sentence(f"kube-scheduler evicts nothing; resources alone would take {_cost(least)}.")
    else:
        node, cost = actual
        yield Sentence(f"kube-scheduler evicts {_cost(cost)}, on {node}. {_compared(cost, least, found)}")
    if found["victims"] and (actual is None or actual[1] != least):
        named = listed(found["victims"], _NAMED)
        would = "Evicting" if found["fits"] else "By resources alone, evicting"
        holds = "lets it run (verified)" if found["fits"] else "would be enough; other rules speak against it"
        yield Sentence(f"{would} {named} on {found['node']} {holds}.")


def _actual(document: Mapping[str, Any]) -> tuple[str, dict[str, int]] | None:
    preemption = document["preemption"] or {}
    selected = preemption.get("selected") or []
    if not selected:
        return None
    candidate = preemption["candidates"][selected[0]]
    return selected[0], {"numPDBViolations": candidate["numPDBViolations"], "victims": len(candidate["victims"])}


def _compared(actual: Mapping[str, int], least: Mapping[str, int], found: Mapping[str, Any]) -> str:
    if dict(actual) == dict(least):
        return "No choice of victims, on any nodes, disrupts less."
    proven = "" if found["complete"] else ", as far as was looked"
    why = "kube-scheduler compares priorities before it counts pods"
    return f"The least that any choice could do{proven} is {_cost(least)}: {why}."


def _cost(cost: Mapping[str, int]) -> str:
    pods, violations = counted(cost["victims"], "pod"), cost["numPDBViolations"]
    if not violations:
        return pods
    return f"{pods} ({violations} of them against a disruption budget)"
