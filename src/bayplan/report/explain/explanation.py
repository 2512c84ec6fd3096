"""Why a pod goes where it goes, or why it goes nowhere: the whole view.

One sentence with the answer comes first; then what supports it, the most useful first. Ends with the scheduler's own
message, word for word, as it stands in the events of the real cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.analysis.explanation import PodExplanation, Subject
from bayplan.analysis.shortage import shortages
from bayplan.core.framework.verdict import Code
from bayplan.report.explain.claims import claim_parts
from bayplan.report.explain.failures import all_reason_parts, failure_parts, shortage_parts
from bayplan.report.explain.preemption import evicted_from, preemption_parts
from bayplan.report.explain.scores import score_parts
from bayplan.report.terminal import Part, Verbatim, heading, sentence
from bayplan.report.words import counted, listed

Plain = Mapping[str, Any]
DEFAULT_TOP = 5
_GOOD, _DEAR, _BAD = "bold green", "bold yellow", "bold red"


def explanation_parts(
    why: PodExplanation, *, top: int = DEFAULT_TOP, all_nodes: bool = False, all_reasons: bool = False
) -> Iterator[Part]:
    """The table view of an explanation."""
    subject, plain = why.subject, why.to_dict(all_reasons=all_reasons)
    text, style = answer(subject, plain)
    yield sentence(text, style)
    yield from (sentence(remark) for remark in remarks(subject, plain))
    yield from score_parts(plain, None if all_nodes else top)
    if all_reasons:
        yield from all_reason_parts(plain["allReasons"], all_nodes=all_nodes)
    else:
        yield from failure_parts(plain, all_nodes=all_nodes)
    yield from shortage_parts(shortages(why.explanation))
    yield from claim_parts(plain)
    yield from preemption_parts(subject, plain, all_nodes=all_nodes)
    if plain["message"]:
        yield heading("The scheduler's own message")
        yield Verbatim(plain["message"])


def answer(subject: Subject, plain: Plain) -> tuple[str, str]:
    """The answer in one sentence, and its colour."""
    feasible, failed = len(plain["feasible"]), len(plain["filter"])
    if plain["prefilter"] is None:
        return f"{subject.key} fits nowhere: there are no nodes.", _BAD
    nodes = feasible + failed
    if feasible:
        return f"{subject.key} fits on {_of_nodes(feasible, nodes)}; {_winner(plain)}.", _GOOD
    none = (
        f"{subject.key} fits on none of {counted(nodes, 'node')}"
        if nodes > 1
        else (f"{subject.key} does not fit on the only node")
    )
    found = plain["preemption"]
    evicted = evicted_from(found) if found else None
    if evicted:
        node, victims = evicted
        return f"{none}; evicting {listed(victims, 3)} from {node} would make room.", _DEAR
    rejection = plain["prefilter"]
    if rejection["code"] != Code.SUCCESS.value:
        return f"{none}: {listed(rejection['reasons'])}.", _BAD
    return f"{none}{_no_way_out(found)}.", _BAD


def _of_nodes(feasible: int, nodes: int) -> str:
    if nodes == 1:
        return "the only node"
    return f"all {nodes:,} nodes" if feasible == nodes else f"{feasible:,} of {nodes:,} nodes"


def _winner(plain: Plain) -> str:
    best, total = plain["best"], max(plain["totals"].values())
    if len(best) == 1:
        return f"{best[0]} wins with {total:,}"
    return f"{listed(best, 3)} tie with {total:,}"


def _no_way_out(found: Plain | None) -> str:
    if found is None or not found["ran"]:
        never = found is not None and not found["eligible"]
        return ", and it may not evict others" if never else ""
    return ", and evicting other pods would not help"


def remarks(subject: Subject, plain: Plain) -> Iterator[str]:
    """What one should know before reading on."""
    if subject.workload:
        yield f"It is the next pod of {subject.workload}, which does not exist yet."
    if subject.runs_on:
        state = (
            f"It is on {subject.runs_on} now"
            if subject.phase not in ("Succeeded", "Failed")
            else (f"It was on {subject.runs_on} and is over ({subject.phase})")
        )
        yield f"{state}; this is the answer as if it were pending, the room it takes counted as free."
    if "preEnqueue" in plain:
        said = listed(plain["preEnqueue"]["reasons"])
        yield f"It is held back for now ({said}); this is what would happen without that."
    if "nominated" in plain:
        nominated = plain["nominated"]
        fits = "would take it now" if nominated["fits"] else "does not take it yet"
        yield f"It is nominated to {nominated['node']}, which {fits}."
