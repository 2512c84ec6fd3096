"""Preemptions as HTML, each a `<details>` that opens its record: victims, the deciding criterion, the candidates.

Takes preemptions of a simulation's result and gives escaped HTML. Records are long; only the first `RECORDS_MAX`
preemptions are opened up, and of each the candidates that came closest. The JSON of the result holds all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import msgspec

from bayplan.analysis.simulation.results.run_format import Candidate, Preemption, Record, Victim
from bayplan.report.durations import duration_text
from bayplan.report.explain.choice import LOST_BY, choice_sentence, lost_by
from bayplan.report.words import counted, examples, listed

RECORDS_MAX = 2_000
_CANDIDATES_MAX = 8
_REPRIEVES_MAX = 12


def preemption_list(preemptions: Sequence[Preemption]) -> str:
    """All preemptions in the order of time."""
    shown = [_details(*numbered) for numbered in enumerate(preemptions[:RECORDS_MAX])]
    rest = len(preemptions) - RECORDS_MAX
    if rest > 0:
        shown.append(f"<p>{rest:,} more preemptions are in the JSON of this run; this page shows the first "
                     f"{RECORDS_MAX:,}.</p>")  # fmt: skip
    return "\n".join(shown)


def html_table(titles: Sequence[str], rows: Iterable[Sequence[Any]], numeric: Sequence[str] = ()) -> str:
    """Cells are escaped here, numbers get thousands separators and are aligned to the right."""
    classes = [' class="number"' if title in numeric else "" for title in titles]
    head = "".join(f"<th{kind}>{escape(title)}</th>" for title, kind in zip(titles, classes, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{_cell(cell)}</td>" for cell, kind in zip(row, classes, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def html_legend(entries: Iterable[tuple[str, str]]) -> str:
    """Colors and what they mean, as HTML."""
    spans = (f'<span><i style="background:{colour}"></i>{meaning}</span>' for colour, meaning in entries)
    return f'<p class="legend">{" ".join(spans)}</p>'


def and_more(rest: int, noun: str = "", which: str = "") -> str:
    """What a list leaves out; nothing if it is whole."""
    number = counted(rest, noun) if noun else f"{rest:,}"
    return f"<p>and {number} more{which}.</p>" if rest > 0 else ""


def _cell(cell: Any) -> str:
    return f"{cell:,}" if isinstance(cell, int) else escape(str(cell))


def _details(position: int, preemption: Preemption) -> str:
    victims, broken = preemption.victims, preemption.broken_budgets
    who = victims[0].pod if len(victims) == 1 else counted(len(victims), "pod")
    flag = f' <span class="flag">violates {escape(listed(broken, 2))}</span>' if broken else ""
    return (
        f'<details id="preemption-{position}"><summary><time>{escape(duration_text(preemption.t))}</time> '
        f"<b>{escape(preemption.preemptor)}</b> ({preemption.priority:,}) evicted <b>{escape(who)}</b> "
        f"on {escape(preemption.node)}{flag}</summary>{_body(preemption)}</details>"
    )


def _body(preemption: Preemption) -> str:
    record, chosen = preemption.record, preemption.node
    said = [f"<b>Decided by:</b> {escape(preemption.decided or 'not recorded')}."]
    rest = ""
    if record:
        # The sentences on a choice are those of `explain`, which has the record as plain data.
        plain = msgspec.to_builtins(record)
        if any(candidate.node == chosen for candidate in record.candidates):
            said.append(escape(choice_sentence(plain, chosen, [chosen])))
        rest = _candidates(record, lost_by(plain), chosen) + _reprieves(record, chosen)
    return f"<p>{' '.join(said)}</p>{_victims(preemption.victims)}{rest}"


def _victims(victims: Sequence[Victim]) -> str:
    rows = [(victim.pod, victim.priority, listed(victim.breaks) or "none") for victim in victims]
    return "<h4>Victims</h4>" + html_table(["pod", "priority", "budgets violated"], rows, ["priority"])


def _candidates(record: Record, losers: Mapping[str, str], chosen: str) -> str:
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
    return f"<h4>{counted(count, 'candidate')}</h4>{html_table(titles, rows, titles[2:5])}{more}"


def _reprieves(record: Record, chosen: str) -> str:
    """What was tried on the chosen node; empty if the victim was the only pod there."""
    tried = [tried for candidate in record.candidates if candidate.node == chosen for tried in candidate.reprieves]
    if len(tried) < 2:
        return ""
    # Evicted pods come first: a long list is cut at its end.
    ordered = sorted(tried, key=lambda reprieve: reprieve.kept)
    rows = [
        (
            reprieve.pod,
            reprieve.priority,
            "exhausted" if reprieve.budget_used_up else "",
            "stays" if reprieve.kept else f"evicted: {', '.join(reprieve.reasons or ())} ({reprieve.stopped_by})",
        )
        for reprieve in ordered[:_REPRIEVES_MAX]
    ]
    all_stay = all(reprieve.kept for reprieve in ordered[_REPRIEVES_MAX:])
    more = and_more(len(tried) - len(rows), which=", all of which stay" if all_stay else ", some of which are evicted")
    titles = ["pod", "priority", "budget", "outcome"]
    return f"<h4>Tried on {escape(chosen)}</h4>{html_table(titles, rows, ['priority'])}{more}"
