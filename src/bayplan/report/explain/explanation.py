"""Why a pod goes where it goes, or why it goes nowhere: the whole view.

Takes the document of an explanation, which `-o json` prints, and nothing else. One sentence with the answer comes
first; then what supports it, the most useful first. Ends with the scheduler's own message, word for word, as it stands
in the events of the real cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.core.framework import verdict
from bayplan.model.pod import FINISHED_PHASES
from bayplan.report.answers.parts import Details, Heading, Next, Part, Sentence, Snippet, Tone
from bayplan.report.explain.claims import claim_parts
from bayplan.report.explain.disruption import TITLE, disruption_parts
from bayplan.report.explain.failures import all_reason_parts, cause_lines, failure_parts
from bayplan.report.explain.preemption import evicted_from, preemption_parts, takes_groups
from bayplan.report.explain.scores import score_parts
from bayplan.report.explain.shortages import shortage_parts
from bayplan.report.words import listed

Plain = Mapping[str, Any]
DEFAULT_TOP = 5


def explanation_parts(plain: Plain, *, top: int = DEFAULT_TOP, all_nodes: bool = False) -> Iterator[Part]:
    """The table view of an explanation's document: short first, everything in the details."""
    yield answer(plain)
    yield from (Sentence(remark) for remark in remarks(plain))
    yield from cause_lines(plain)
    if not plain["feasible"]:
        yield Next(f"bayplan fix {plain['pod']['key']}")
    if least := list(disruption_parts(plain)):
        yield Heading(TITLE)
        yield from least
    yield Details(list(_details(plain, top=top, all_nodes=all_nodes)))


def _details(plain: Plain, *, top: int, all_nodes: bool) -> Iterator[Part]:
    yield from score_parts(plain, None if all_nodes else top)
    if "allReasons" in plain:
        yield from all_reason_parts(plain["allReasons"], all_nodes=all_nodes)
    else:
        yield from failure_parts(plain, all_nodes=all_nodes)
    yield from shortage_parts(plain["shortages"])
    yield from claim_parts(plain)
    yield from preemption_parts(plain, all_nodes=all_nodes)
    if plain["message"]:
        yield Heading("Scheduler message")
        yield Snippet(plain["message"], "text")


def answer(plain: Plain) -> Sentence:
    """The answer in one sentence."""
    pod, feasible, failed = plain["pod"]["key"], len(plain["feasible"]), len(plain["filter"])
    if plain["prefilter"] is None:
        return Sentence(f"{pod} does not fit: there are no nodes.", Tone.BAD)
    nodes = feasible + failed
    if "error" in plain:
        if feasible:
            return Sentence(f"{pod} fits on {_of_nodes(feasible, nodes)}, but scoring them ends in an error.", Tone.BAD)
        return Sentence(f"The attempt to place {pod} ends in an error.", Tone.BAD)
    if feasible:
        return Sentence(f"{pod} fits on {_of_nodes(feasible, nodes)}; {_winner(plain)}.", Tone.GOOD)
    none = f"{pod} does not fit on any of the {nodes:,} nodes" if nodes > 1 else f"{pod} does not fit on the only node"
    found = plain["preemption"]
    evicted = evicted_from(found) if found else None
    if evicted:
        node, victims = evicted
        where = f"would make room on {node}" if takes_groups(found, node) else f"from {node} would make room"
        return Sentence(f"{none}; evicting {listed(victims, 3)} {where}.", Tone.WARN)
    rejection = plain["prefilter"]
    if rejection["code"] != verdict.Code.SUCCESS.value:
        return Sentence(f"{none}: {listed(rejection['reasons'])}.", Tone.BAD)
    return Sentence(f"{none}{_no_way_out(found)}.", Tone.BAD)


def _of_nodes(feasible: int, nodes: int) -> str:
    if nodes == 1:
        return "the only node"
    return f"all {nodes:,} nodes" if feasible == nodes else f"{feasible:,} of {nodes:,} nodes"


def _winner(plain: Plain) -> str:
    best = plain["best"]
    if not plain["totals"]:
        return f"{best[0]} is taken without scoring"
    total = max(plain["totals"].values())
    if len(best) == 1:
        return f"{best[0]} wins with {total:,}"
    return f"{listed(best, 3)} tie with {total:,}"


def _no_way_out(found: Plain | None) -> str:
    if found is None or not found["ran"]:
        never = found is not None and not found["eligible"]
        return ", and it may not preempt other pods" if never else ""
    return ", and evicting other pods would not help"


def remarks(plain: Plain) -> Iterator[str]:
    """What one should know before reading on."""
    pod = plain["pod"]
    if pod.get("wanted", 1) > 1:
        these = "is pending: this one" if pod["pending"] == 1 else "are pending; this is one of them"
        yield f"{pod['pending']:,} of {pod['wanted']:,} pods of its workload {these}."
    elif pod["workload"]:
        yield f"It is the next pod that {pod['workload']} would create."
    if pod["node"]:
        is_over = pod["phase"] in FINISHED_PHASES
        state = (
            f"It was on {pod['node']} and has finished ({pod['phase']})" if is_over else f"It is on {pod['node']} now"
        )
        yield f"{state}; this answer treats it as pending, with its resources free."
    if "preEnqueue" in plain:
        said = listed(plain["preEnqueue"]["reasons"])
        yield f"It is gated ({said}); this is what would happen without the gate."
    if "nominated" in plain:
        nominated = plain["nominated"]
        fits = "it fits now" if nominated["fits"] else "it does not fit yet"
        yield f"It is nominated to {nominated['node']}, where {fits}."
