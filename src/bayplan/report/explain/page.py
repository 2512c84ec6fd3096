"""An explanation as one page that opens offline: the nodes drawn, scores as bars, candidates against each other.

Takes the document of an explanation and the occupancy of the nodes that are drawn. Everything that the table says is on
the page, too, in the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from bayplan.analysis.occupancy import Occupancy
from bayplan.analysis.written import written_amount
from bayplan.core.preemption.select import CRITERIA, PRIORITY_OFFSET, PRIORITY_SUM
from bayplan.report.answers.html import answer_page, element
from bayplan.report.answers.parts import Cell, Heading, Part, Sentence, Snippet, Table, Tone
from bayplan.report.explain.claims import claim_parts
from bayplan.report.explain.disruption import TITLE, disruption_parts
from bayplan.report.explain.explanation import answer, remarks
from bayplan.report.explain.failures import all_reason_parts, failure_parts
from bayplan.report.explain.node_drawing import Segment, node_cards, stack
from bayplan.report.explain.preemption import preemption_parts
from bayplan.report.explain.scores import score_parts
from bayplan.report.explain.shortages import shortage_parts
from bayplan.report.markup import NOTHING, joined, tag
from bayplan.report.words import counted, listed

Plain = Mapping[str, Any]
_SCORED_NODES = 15
_LOOKS = 8  # colors that the page's style has


def explanation_page(plain: Plain, nodes: Sequence[Occupancy], resources: Sequence[str]) -> str:
    """The whole page."""
    title = f"bayplan explain {plain['pod']['key']}"
    return answer_page(title, _body(plain, nodes, resources))


def _body(plain: Plain, nodes: Sequence[Occupancy], resources: Sequence[str]) -> Iterator[Markup]:
    yield element(answer(plain), is_answer=True)
    yield tag("p", _facts(plain), class_="facts")
    yield from _elements(Sentence(remark) for remark in remarks(plain))
    if nodes:
        everything = len(plain["feasible"]) + len(plain["filter"])
        shown = f"{len(nodes):,} of {everything:,} nodes" if len(nodes) < everything else counted(everything, "node")
        yield _section(shown, [node_cards(plain, nodes, resources)])
    yield _section("Scores", [_score_bars(plain), *_elements(score_parts(plain, _SCORED_NODES))])
    yield _section("Nodes that do not fit", list(_elements(_failure_parts(plain))))
    yield _section("Devices", list(_elements(claim_parts(plain))))
    yield _section("Preemption", [_criteria(plain), *_elements(preemption_parts(plain, all_nodes=False))])
    yield _section(TITLE, list(_elements(disruption_parts(plain))))
    if plain["message"]:
        yield _section("Scheduler message", [element(Snippet(plain["message"], "text"))])


def _facts(plain: Plain) -> str:
    pod = plain["pod"]
    amounts = [f"{written_amount(name, amount)} {name}" for name, amount in pod["requests"].items()]
    return f"Priority {pod['priority']:,}; requests {listed(amounts) or 'nothing'}."


def _section(title: str, elements: Sequence[Markup]) -> Markup:
    body = Markup("\n").join(each for each in elements if each)
    return tag("section", tag("h2", title), body) if body else NOTHING


def _elements(parts: Iterator[Part]) -> Iterator[Markup]:
    return (element(part) for part in parts)


def _failure_parts(plain: Plain) -> Iterator[Part]:
    if "allReasons" in plain:
        yield from all_reason_parts(plain["allReasons"], all_nodes=False)
    else:
        yield from failure_parts(plain, all_nodes=False)
    yield from shortage_parts(plain["shortages"])


def _score_bars(plain: Plain) -> Markup:
    """A stacked bar for each of the best nodes."""
    totals: Mapping[str, int] = plain["totals"]
    if not totals:
        return NOTHING
    best = sorted(totals, key=lambda node: (-totals[node], node))[:_SCORED_NODES]
    plugins = [name for name in plain["scores"][best[0]] if any(plain["scores"][node][name] for node in best)]
    looks = {name: f"c{place % _LOOKS}" for place, name in enumerate(plugins)}
    legend = [tag("span", tag("i", class_=look), name) for name, look in looks.items()]
    full = max(totals.values()) or 1
    rows = [_score_bar(node, plain["scores"][node], looks, totals[node], full) for node in best]
    return joined(tag("p", legend, class_="legend"), tag("div", rows, class_="bars"))


def _score_bar(node: str, scores: Mapping[str, int], looks: Mapping[str, str], total: int, full: int) -> Markup:
    segments = [Segment(look, max(0, scores[name]) / full, f"{name}: {scores[name]:,}") for name, look in looks.items()]
    return joined(tag("span", node), stack(f"scores of {node}", segments), tag("span", total))


def _criteria(plain: Plain) -> Markup:
    """Candidates against each other: a row for each, a column for each criterion, and who is out where."""
    record = (plain["preemption"] or {}).get("record")
    if not record or not record["choice"]:
        return NOTHING
    steps = record["choice"]
    names = [name for name, _ in CRITERIA][: len(steps)]
    rows = [_criteria_row(node["node"], steps, record) for node in record["candidates"]]
    rows.sort(key=lambda row: -sum(bool(cell.text) for cell in row))
    parts: list[Part] = [
        Heading("Which node is cheapest: criteria in order; each one rules out all but the best nodes"),
        Table(("node", *names), rows, numeric=frozenset(names)),
    ]
    return joined(map(element, parts))


def _criteria_row(node: str, steps: Sequence[Plain], record: Plain) -> list[Cell]:
    victims = next(len(each["victims"]) for each in record["candidates"] if each["node"] == node)
    cells = [Cell(node)]
    for step in steps:
        if node not in step["values"]:
            cells.append(Cell(""))
            continue
        value = step["values"][node]
        shown = f"{value:,}" if isinstance(value, int) else str(value or "unknown")
        if step["criterion"] == PRIORITY_SUM:
            # What was compared has an offset for each victim, so that their number counts.
            shown = f"{value - victims * PRIORITY_OFFSET:,} ({counted(victims, 'victim')})"
        kept = node in step["kept"]
        cells.append(Cell(shown if kept else f"✗ {shown}", Tone.GOOD if kept else Tone.BAD))
    return cells
