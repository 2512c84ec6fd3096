"""Why one candidate is cheaper than the others, criterion by criterion, as one sentence.

Takes the record of a preemption. Each criterion gives a clause: what the chosen node has, and what the nodes that it
ruled out have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.preemption.select import HIGHEST_PRIORITY, PRIORITY_SUM, START_TIME, VICTIM_COUNT, VIOLATIONS
from bayplan.report.words import counted, listed

Plain = Mapping[str, Any]
_NAMED = 2

#: What a node lost by, in a few words.
LOST_BY = {
    VIOLATIONS: "violates more budgets",
    HIGHEST_PRIORITY: "higher-priority victim",
    PRIORITY_SUM: "more or higher-priority victims",
    VICTIM_COUNT: "more victims",
    START_TIME: "victim started earlier",
}


def choice_sentence(record: Plain, chosen: str, tied: Sequence[str]) -> str:
    """`node-2 is cheapest: no budget violated (node-1 violates prod/db), highest victim priority 50 versus …`."""
    candidates = {candidate["node"]: candidate for candidate in record["candidates"]}
    if len(candidates) == 1:
        return f"{chosen} is the only node where preemption helps."
    clauses = [_clause(step, chosen, candidates) for step in record["choice"] if not _says_nothing_new(step)]
    if len(tied) > 1:
        which = listed(tied, 3)
        return (
            f"{which} are equally cheap: {'; '.join(clauses)}. The scheduler may pick any of them; "
            f"bayplan picks the first by name."
        )
    return f"{chosen} is cheapest: {'; '.join(clauses)}."


def lost_by(record: Plain) -> dict[str, str]:
    """Node -> the criterion that ruled it out, for all nodes but the cheapest."""
    return {node: step["criterion"] for step in record["choice"] for node in step["values"].keys() - set(step["kept"])}


def _says_nothing_new(step: Plain) -> bool:
    """The sum before it has told the number of victims already."""
    return step["criterion"] == VICTIM_COUNT and len(step["kept"]) == len(step["values"])


def _clause(step: Plain, chosen: str, candidates: Mapping[str, Plain]) -> str:
    kept = set(step["kept"])
    out = [node for node in step["values"] if node not in kept]
    return _CLAUSES[step["criterion"]](step["values"], chosen, out, candidates)


def _violations(values: Mapping[str, int], chosen: str, out: list[str], candidates: Mapping[str, Plain]) -> str:
    mine = values[chosen]
    has = f"{counted(mine, 'budget violation')}" if mine else "no budget violated"
    if not out:
        return f"{has} on any candidate" if not mine else f"{has} on every candidate"
    return f"{has} ({_listed_with_rest(out, lambda node: _breaks(candidates[node]), 'violate one')})"


def _breaks(candidate: Plain) -> str:
    budgets = dict.fromkeys(budget for victim in candidate["victims"] for budget in victim["breaks"])
    times = candidate["numPDBViolations"]
    return f"{candidate['node']} violates {listed(list(budgets), 2)}{f' {times} times' if times > 1 else ''}"


def _highest(values: Mapping[str, int], chosen: str, out: list[str], candidates: Mapping[str, Plain]) -> str:  # noqa: ARG001
    return f"highest victim priority {values[chosen]:,}{_against(values, out, lambda value: f'{value:,}')}"


def _sum(values: Mapping[str, int], chosen: str, out: list[str], candidates: Mapping[str, Plain]) -> str:
    # What was compared has a large offset for each victim, which says nothing to a reader.
    if not out:
        return f"{_victim_sum(candidates[chosen])} on each remaining node"
    others = _listed_with_rest(
        sorted(out, key=lambda node: values[node]),
        lambda node: f"{_victim_sum(candidates[node])} on {node}",
        "have more",
    )
    return f"{_victim_sum(candidates[chosen])} versus {others}"


def _victim_sum(candidate: Plain) -> str:
    victims = candidate["victims"]
    total = sum(victim["priority"] for victim in victims)
    return f"{counted(len(victims), 'victim')} (priorities {total:,} in total)"


def _count(values: Mapping[str, int], chosen: str, out: list[str], candidates: Mapping[str, Plain]) -> str:  # noqa: ARG001
    return f"{counted(values[chosen], 'victim')}{_against(values, out, str)}"


def _start(values: Mapping[str, str | None], chosen: str, out: list[str], candidates: Mapping[str, Plain]) -> str:  # noqa: ARG001
    return f"its most important victim started {_started(values[chosen])}{_against(values, out, _started)}"


def _started(time: str | None) -> str:
    return time or "at an unknown time (treated as the latest)"


def _against(values: Mapping[str, Any], out: list[str], shown: Callable[[Any], str]) -> str:
    if not out:
        return " on each remaining node"
    # The closest come first. Times are text that sorts as they do; only the latest time wins.
    out = sorted(out, key=lambda node: values[node], reverse=isinstance(values[out[0]], str))
    others = [f"{shown(values[node])} on {node}" for node in out[:_NAMED]]
    rest = len(out) - _NAMED
    return f" versus {listed([*others, f'worse on {rest:,} more'] if rest > 0 else others)}"


def _listed_with_rest(nodes: list[str], shown: Callable[[str], str], rest_verb: str) -> str:
    parts: Iterator[str] = (shown(node) for node in nodes[:_NAMED])
    rest = len(nodes) - _NAMED
    return listed([*parts, f"{rest:,} more {rest_verb}"] if rest > 0 else list(parts))


_CLAUSES: dict[str, Callable[[Mapping[str, Any], str, list[str], Mapping[str, Plain]], str]] = {
    VIOLATIONS: _violations,
    HIGHEST_PRIORITY: _highest,
    PRIORITY_SUM: _sum,
    VICTIM_COUNT: _count,
    START_TIME: _start,
}
