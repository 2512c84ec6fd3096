"""Preemptions as HTML, each a `<details>` that opens its record: victims, the deciding criterion, the candidates.

Takes preemptions of a simulation's result and gives escaped HTML. Records are long; only the first `RECORDS_MAX`
preemptions are opened up, and of each the candidates that came closest. The JSON of the result holds all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from bayplan.report.durations import duration_text
from bayplan.report.explain.choice import LOST_BY, choice_sentence, lost_by
from bayplan.report.simulation.view import Plain, SimulationView
from bayplan.report.words import counted, examples, listed

RECORDS_MAX = 2_000
_CANDIDATES_MAX = 8
_REPRIEVES_MAX = 12


def preemption_list(view: SimulationView) -> str:
    """All preemptions in the order of time."""
    shown = [_details(position, one) for position, one in enumerate(view.preemptions[:RECORDS_MAX])]
    rest = len(view.preemptions) - RECORDS_MAX
    if rest > 0:
        shown.append(f"<p>{rest:,} more preemptions are in the JSON of this run; this page shows the first "
                     f"{RECORDS_MAX:,}.</p>")  # fmt: skip
    return "\n".join(shown)


def html_table(titles: Sequence[str], rows: Iterable[Sequence[Any]], numeric: Sequence[str] = ()) -> str:
    """Cells are escaped here, numbers get thousands' separators and stand to the right."""
    classes = [' class="number"' if title in numeric else "" for title in titles]
    head = "".join(f"<th{kind}>{escape(title)}</th>" for title, kind in zip(titles, classes, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{_cell(cell)}</td>" for cell, kind in zip(row, classes, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(cell: Any) -> str:
    return f"{cell:,}" if isinstance(cell, int) else escape(str(cell))


def _details(position: int, one: Plain) -> str:
    victims = one["victims"]
    who = victims[0]["pod"] if len(victims) == 1 else counted(len(victims), "pod")
    broken = list(dict.fromkeys(budget for victim in victims for budget in victim["breaks"]))
    flag = f' <span class="flag">breaks {escape(listed(broken, 2))}</span>' if broken else ""
    return (
        f'<details id="preemption-{position}"><summary><time>{escape(duration_text(one["t"]))}</time> '
        f"<b>{escape(one['preemptor'])}</b> ({one['priority']:,}) evicted <b>{escape(who)}</b> "
        f"on {escape(one['node'])}{flag}</summary>{_body(one)}</details>"
    )


def _body(one: Plain) -> str:
    record = one["record"]
    parts = [_deciding(one, record), _victims(one["victims"])]
    if record:
        parts += [_candidates(record, one["node"]), _reprieves(record, one["node"])]
    return "".join(parts)


def _deciding(one: Plain, record: Plain | None) -> str:
    """The criterion, and in a sentence how the candidates compared."""
    said = [f"<b>Decided by:</b> {escape(one['decided'] or 'not recorded')}."]
    if record and any(candidate["node"] == one["node"] for candidate in record["candidates"]):
        said.append(escape(choice_sentence(record, one["node"], [one["node"]])))
    return f"<p>{' '.join(said)}</p>"


def _victims(victims: Sequence[Plain]) -> str:
    rows = [(one["pod"], one["priority"], listed(one["breaks"]) or "none") for one in victims]
    return "<h4>Victims</h4>" + html_table(["pod", "priority", "budgets broken"], rows, ["priority"])


def _candidates(record: Plain, chosen: str) -> str:
    losers = lost_by(record)
    lasted = {criterion: place for place, criterion in enumerate(LOST_BY)}
    candidates = sorted(
        record["candidates"],
        key=lambda one: (one["node"] != chosen, -lasted.get(losers.get(one["node"], ""), len(lasted)), one["node"]),
    )
    rows = [
        (
            one["node"],
            "chosen" if one["node"] == chosen else LOST_BY.get(losers.get(one["node"], ""), "equally cheap"),
            one["numPDBViolations"],
            max((victim["priority"] for victim in one["victims"]), default=0),
            len(one["victims"]),
            examples([victim["pod"] for victim in one["victims"]], 3),
        )
        for one in candidates[:_CANDIDATES_MAX]
    ]
    titles = ["node", "outcome", "budgets broken", "highest priority", "victims", "who"]
    count = len(candidates) + record.get("candidatesLeftOut", 0)
    rest = count - len(rows)
    more = f"<p>and {counted(rest, 'candidate')} more.</p>" if rest > 0 else ""
    return f"<h4>{counted(count, 'candidate')}</h4>{html_table(titles, rows, titles[2:5])}{more}"


def _reprieves(record: Plain, chosen: str) -> str:
    """What was tried on the chosen node; nothing to tell when the victim was the only pod there."""
    tried: Sequence[Plain] = next((one["reprieves"] for one in record["candidates"] if one["node"] == chosen), [])
    if len(tried) < 2:
        return ""
    # Those that had to go come first: a long list is cut at its end.
    ordered = sorted(tried, key=lambda one: bool(one["kept"]))
    rows = [
        (
            one["pod"],
            one["priority"],
            "used up" if one["budgetUsedUp"] else "",
            "stays" if one["kept"] else f"must go: {', '.join(one['reasons'])} ({one['stoppedBy']})",
        )
        for one in ordered[:_REPRIEVES_MAX]
    ]
    rest = len(tried) - _REPRIEVES_MAX
    more = (
        f"<p>and {rest:,} more, which {'stay' if ordered[_REPRIEVES_MAX]['kept'] else 'go or stay'}.</p>"
        if rest > 0
        else ""
    )
    titles = ["pod", "priority", "budget", "outcome"]
    return f"<h4>Tried on {escape(chosen)}</h4>{html_table(titles, rows, ['priority'])}{more}"
