"""Preemptions as HTML, each a `<details>` that opens its record: victims, the deciding criterion, the candidates.

Takes preemptions of a simulation's result. Records are long: a page shows as many as it has room for, and of each the
candidates that came closest. The JSON of the result holds all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from markupsafe import Markup

from bayplan.analysis.simulation.results.run_format import (
    Candidate,
    GroupPreemptionDetails,
    PreemptionDetails,
    RecordedPreemption,
    Victim,
)
from bayplan.report.answers.html import html_table
from bayplan.report.durations import duration_text
from bayplan.report.explain.choice import LOST_BY, choice_sentence, lost_by
from bayplan.report.explain.preemption import unit_name
from bayplan.report.markup import NOTHING, joined, tag
from bayplan.report.words import counted, examples, listed

_ROOM: Final = 120_000  # characters for all records of a page
_CANDIDATES_MAX = 8
_REPRIEVES_MAX = 12
_UNITS_MAX = 20
_NODES_MAX = 6


def preemption_records(preemptions: Sequence[RecordedPreemption]) -> list[Markup]:
    """The first preemptions in the order of time, as many as there is room for."""
    shown: list[Markup] = []
    size = 0
    for position, preemption in enumerate(preemptions):
        shown.append(_details(position, preemption))
        size += len(shown[-1])
        if size > _ROOM:
            break
    return shown


def more_records(shown: int, all_of_them: int) -> Markup:
    """What the page leaves out; nothing if it is whole."""
    if shown == all_of_them:
        return NOTHING
    rest = counted(all_of_them - shown, "more preemption is", "more preemptions are")
    return tag("p", f"{rest} in the JSON of this run; this page shows the first {shown:,}.")


def html_legend(entries: Iterable[tuple[str, Markup | str]]) -> Markup:
    """Colors and what they mean."""
    return tag("p", (tag("span", tag("i", class_=look), meaning) for look, meaning in entries), class_="legend")


def and_more(rest: int, noun: str = "", which: str = "") -> Markup:
    """What a list leaves out; nothing if it is whole."""
    number = counted(rest, noun) if noun else f"{rest:,}"
    return tag("p", f"and {number} more{which}.") if rest > 0 else NOTHING


def _details(position: int, preemption: RecordedPreemption) -> Markup:
    victims, broken = preemption.victims, preemption.broken_budgets
    who = victims[0].pod if len(victims) == 1 else counted(len(victims), "pod")
    group = preemption.for_group.group if preemption.for_group else ""
    summary = tag(
        "summary",
        tag("time", duration_text(preemption.t)),
        " ",
        tag("b", group or preemption.preemptor),
        f" ({preemption.priority:,}) evicted ",
        tag("b", who),
        "" if group else f" on {preemption.node}",
        joined(" ", tag("span", f"violates {listed(broken, 2)}", class_="flag")) if broken else None,
    )
    return tag("details", summary, _body(preemption), id=f"preemption-{position}")


def _body(preemption: RecordedPreemption) -> Markup:
    record, chosen = preemption.record, preemption.node
    said = [tag("b", "Decided by:"), f" {preemption.decided or 'not recorded'}."]
    rest = NOTHING
    if preemption.for_group:
        rest = _for_group(preemption.for_group)
    elif record:
        # The sentences on a choice are those of `explain`, which has the record as plain data.
        plain = msgspec.to_builtins(record)
        if any(candidate.node == chosen for candidate in record.candidates):
            said.append(f" {choice_sentence(plain, chosen, [chosen])}")
        rest = joined(_candidates(record, lost_by(plain), chosen), _reprieves(record, chosen))
    return joined(tag("p", said), _victims(preemption.victims), rest)


def _victims(victims: Sequence[Victim]) -> Markup:
    rows = [(victim.pod, victim.priority, listed(victim.breaks) or "none") for victim in victims]
    return joined(tag("h4", "Victims"), html_table(["pod", "priority", "budgets violated"], rows, ["priority"]))


def _for_group(details: GroupPreemptionDetails) -> Markup:
    """Where the group's pods go, and what was put back, or had to go."""
    nodes = Counter(details.proposed.values())
    places = [f"{node} ({count})" if count > 1 else node for node, count in nodes.items()]
    rows = [
        (
            unit_name(unit.pods[0], unit.pods[1:]),
            unit.group or "",
            unit.priority,
            unit.budget_violations or "",
            "stays" if unit.stays else "evicted",
        )
        for unit in details.units[:_UNITS_MAX]
    ]
    titles = ["unit", "group", "priority", "budget violations", "outcome"]
    count = len(details.units) + details.units_left_out
    pods = counted(len(details.proposed), "pod")
    return joined(
        tag("p", f"{pods} of {details.group} go to {listed(places, _NODES_MAX)}."),
        tag("h4", f"{counted(count, 'unit')} of lower priority"),
        html_table(titles, rows, titles[2:4]),
        and_more(count - len(rows), "unit"),
    )


def _candidates(record: PreemptionDetails, losers: Mapping[str, str], chosen: str) -> Markup:
    """The chosen one, then those that lasted longest; `losers` gives the criterion that ruled out a node."""
    lasted = {criterion: place for place, criterion in enumerate(LOST_BY)}

    def rank(candidate: Candidate) -> tuple[bool, int, str]:
        return candidate.node != chosen, -lasted.get(losers.get(candidate.node, ""), len(lasted)), candidate.node

    rows = [
        (
            candidate.node,
            "chosen" if candidate.node == chosen else LOST_BY.get(losers.get(candidate.node, ""), "equally cheap"),
            candidate.pdb_violations,
            max((victim.priority for victim in candidate.victims), default=0),
            len(candidate.victims),
            examples([victim.pod for victim in candidate.victims], 3),
        )
        for candidate in sorted(record.candidates, key=rank)[:_CANDIDATES_MAX]
    ]
    titles = ["node", "outcome", "budgets violated", "highest priority", "victims", "pods"]
    count = len(record.candidates) + record.candidates_left_out
    more = and_more(count - len(rows), "candidate")
    return joined(tag("h4", counted(count, "candidate")), html_table(titles, rows, titles[2:5]), more)


def _reprieves(record: PreemptionDetails, chosen: str) -> Markup:
    """What was tried on the chosen node; empty if the victim was the only pod there."""
    tried = [tried for candidate in record.candidates if candidate.node == chosen for tried in candidate.reprieves]
    if len(tried) < 2:
        return NOTHING
    # Evicted pods come first: a long list is cut at its end.
    ordered = sorted(tried, key=lambda reprieve: reprieve.kept)
    rows = [
        (
            unit_name(reprieve.pod, reprieve.together or ()),
            reprieve.priority,
            "exhausted" if reprieve.budget_used_up else "",
            "stays" if reprieve.kept else f"evicted: {', '.join(reprieve.reasons or ())} ({reprieve.stopped_by})",
        )
        for reprieve in ordered[:_REPRIEVES_MAX]
    ]
    all_stay = all(reprieve.kept for reprieve in ordered[_REPRIEVES_MAX:])
    more = and_more(len(tried) - len(rows), which=", all of which stay" if all_stay else ", some of which are evicted")
    titles = ["pod", "priority", "budget", "outcome"]
    return joined(tag("h4", f"Tried on {chosen}"), html_table(titles, rows, ["priority"]), more)
