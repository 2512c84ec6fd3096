"""Who would have to make room, why there, and why not elsewhere.

Takes the document of an explanation. Says in this order: may the pod evict others at all; the chosen node and
its victims; why it is the cheapest; what was tried pod by pod on that node; the other candidates; and for all other
nodes why evicting pods does not help there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.framework.verdict import Code
from bayplan.report.answers.parts import Cell, Heading, Part, Sentence, Table, Tone
from bayplan.report.explain.choice import LOST_BY, choice_sentence, lost_by
from bayplan.report.explain.failures import grouped, reason_text
from bayplan.report.words import counted, examples, listed

Plain = Mapping[str, Any]
_EXAMPLES = 3
_CANDIDATES = 5
_PRIORITIES = frozenset({"priority"})


def preemption_parts(plain: Plain, *, all_nodes: bool) -> Iterator[Part]:
    """Nothing when something is feasible: then nobody has to go."""
    found: Plain | None = plain["preemption"]
    if found is None:
        return
    yield Heading("Would preemption help?")
    yield Sentence(_eligibility(plain, found))
    if not found["ran"] or found["record"] is None:
        return
    if foreign := found["record"]["foreignPods"]:
        verb = "was" if foreign == 1 else "were"
        yield Sentence(f"{counted(foreign, 'pod')} of other schedulers {verb} not considered.")
    if found["selected"]:
        yield from _chosen_parts(found, all_nodes=all_nodes)
    elif not found["candidates"]:
        yield Sentence("Evicting lower-priority pods is not enough on any node.")
    yield from _elsewhere_parts(plain, found, all_nodes=all_nodes)


def evicted_from(found: Plain) -> tuple[str, list[str]] | None:
    """The cheapest node and its victims, if there is one."""
    if not found["selected"]:
        return None
    node = found["selected"][0]
    return node, found["candidates"][node]["victims"]


def takes_groups(found: Plain, node: str) -> bool:
    """Whether some of the victims go with others of their group, which may be on other nodes."""
    tried = [each for each in found["record"]["candidates"] if each["node"] == node] if found["record"] else []
    return any(not put_back["kept"] and "together" in put_back for each in tried for put_back in each["reprieves"])


def _eligibility(plain: Plain, found: Plain) -> str:
    pod = plain["pod"]
    if not found["eligible"]:
        if pod["preemptionPolicy"] == "Never":
            return f"No: {pod['key']} may not preempt other pods: its preemptionPolicy is Never."
        return f"Not now: {found['ineligibleReason'].rstrip('.')}; pods it evicted earlier are still terminating."
    if not found["ran"]:
        if plain["prefilter"]["code"] != Code.SUCCESS.value:
            return "No: the pod was rejected before any node was evaluated."
        return "Not attempted: this configuration has no preemption, or an earlier step failed."
    return f"{pod['key']} has priority {pod['priority']:,} and may evict lower-priority pods."


def _chosen_parts(found: Plain, *, all_nodes: bool) -> Iterator[Part]:
    record, node = found["record"], found["selected"][0]
    candidates = {candidate["node"]: candidate for candidate in record["candidates"]}
    chosen = candidates[node]
    yield Sentence(f"Cheapest option: {node}, where {_evicted(chosen)}.")
    yield Sentence("")
    yield _victim_table(chosen)
    yield Sentence("")
    yield Sentence(choice_sentence(record, node, found["selected"]))
    yield from _reprieve_parts(chosen)
    yield from _other_candidate_parts(record, node, None if all_nodes else _CANDIDATES)


def _evicted(candidate: Plain) -> str:
    victims = candidate["victims"]
    return f"{victims[0]['pod']} is evicted" if len(victims) == 1 else f"{len(victims):,} pods are evicted"


def _victim_table(candidate: Plain) -> Table:
    rows = []
    for victim in candidate["victims"]:
        budget = f"violates {listed(victim['breaks'])}" if victim["breaks"] else "none violated"
        rows.append([victim["pod"], f"{victim['priority']:,}", victim["startTime"] or "unknown", budget])
    return Table(("victim", "priority", "started", "budget"), rows, _PRIORITIES, frozenset({"victim", "budget"}))


def _reprieve_parts(candidate: Plain) -> Iterator[Part]:
    """What was tried on the chosen node. Not worth a table when the only pod there is the victim."""
    attempts = candidate["reprieves"]
    if len(attempts) < 2:
        return
    yield Heading(f"What was tried on {candidate['node']}")
    yield Sentence(
        f"All {counted(len(attempts), 'pod')} of lower priority were removed, then put back one at a time as long as "
        "the new pod still fits: first those whose budget is exhausted, then by importance."
    )
    rows = []
    for tried in attempts:
        outcome = "stays" if tried["kept"] else f"evicted: {', '.join(tried['reasons'])} ({tried['stoppedBy']})"
        used_up = "exhausted" if tried["budgetUsedUp"] else ""
        tone = Tone.PLAIN if tried["kept"] else Tone.WARN
        cells = [unit_name(tried["pod"], tried.get("together", ())), f"{tried['priority']:,}", used_up, outcome]
        rows.append([Cell(text, tone) for text in cells])
    yield Table(("pod", "priority", "budget", "outcome"), rows, _PRIORITIES, frozenset({"pod", "outcome"}))


def unit_name(pod: str, together: Sequence[str]) -> str:
    """A pod, with the others of its group if they go and stay with it."""
    return f"{pod} with {examples(together, 2)}" if together else pod


def _other_candidate_parts(record: Plain, chosen: str, at_most: int | None) -> Iterator[Part]:
    others = [candidate for candidate in record["candidates"] if candidate["node"] != chosen]
    if not others:
        return
    losers = lost_by(record)
    order = {criterion: -place for place, criterion in enumerate(LOST_BY)}
    # Those that lasted longest come first: they are the next best.
    others.sort(key=lambda other: (order.get(losers.get(other["node"], ""), -len(order)), other["node"]))
    yield Heading(f"{counted(len(others), 'other node')} where preemption would help")
    rows = [
        [
            candidate["node"],
            str(candidate["numPDBViolations"]),
            f"{max(victim['priority'] for victim in candidate['victims']):,}",
            str(len(candidate["victims"])),
            examples([victim["pod"] for victim in candidate["victims"]], 2),
            LOST_BY.get(losers.get(candidate["node"], ""), "equally cheap"),
        ]
        for candidate in others[:at_most]
    ]
    numeric = ("budgets\nviolated", "highest\npriority", "victims")
    yield Table(("node", *numeric, "pods", "why not"), rows, frozenset(numeric), frozenset({"node", "pods", "why not"}))
    if at_most is not None and len(others) > at_most:
        yield Sentence(f"and {len(others) - at_most:,} more; --all-nodes shows all.", Tone.FAINT)


def _elsewhere_parts(plain: Plain, found: Plain, *, all_nodes: bool) -> Iterator[Part]:
    """Nodes that were tried in vain, and those where nothing could be gained by trying."""
    reasons = _no_help(plain["filter"], found)
    count = sum(len(nodes) for _, nodes in reasons)
    if not count:
        return
    yield Heading(f"Why preemption does not help on {counted(count, 'other node' if found['candidates'] else 'node')}")
    title = "node" if all_nodes else "nodes"
    if all_nodes:
        rows = [["1", why, node] for why, nodes in reasons for node in nodes]
    else:
        rows = [[f"{len(nodes):,}", why, examples(nodes, _EXAMPLES)] for why, nodes in reasons]
    yield Table(("count", "why", title), rows, frozenset({"count"}), frozenset({"why", title}))


def _no_help(failures: Mapping[str, Plain], found: Plain) -> list[tuple[str, list[str]]]:
    """Why evicting pods does not help, with the nodes of which this is true."""
    tried: Mapping[str, Plain] = found["nodeStatuses"]
    without_victims: list[str] = found["withoutVictims"]
    in_vain = {node: tried[node] for node in tried.keys() - set(without_victims)}
    hopeless = {node: status for node, status in failures.items() if status["code"] == Code.UNRESOLVABLE.value}
    untouched = failures.keys() - tried.keys() - hopeless.keys() - found["candidates"].keys()
    reasons = [
        *((f"even without lower-priority pods: {reason_text(why)}", nodes) for why, nodes in grouped(in_vain)),
        *((f"evicting pods cannot fix this: {reason_text(why)}", nodes) for why, nodes in grouped(hopeless)),
        ("not evaluated: enough candidates were found", sorted(untouched)),
        ("no lower-priority pods to evict", without_victims),
    ]
    return [(why, nodes) for why, nodes in reasons if nodes]
