"""Why nodes do not fit: grouped by reason, node by node, or with every obstacle there is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.report.answers.parts import REASONS_MAX, Heading, Part, Sentence, Table
from bayplan.report.words import counted, examples

Plain = Mapping[str, Any]
_EXAMPLES = 3
_NUMBERS = frozenset({"count"})


def failure_parts(plain: Plain, *, all_nodes: bool) -> Iterator[Part]:
    """What the scheduler found: the first failure of each node."""
    failures: Mapping[str, Plain] = plain["filter"]
    if not failures:
        return
    title = "do not fit" if len(failures) > 1 else "does not fit"
    other = "other " if plain["feasible"] else ""
    yield Heading(f"Why {counted(len(failures), f'{other}node')} {title}")
    yield _node_table(failures, plain["causes"]) if all_nodes else _cause_table(plain["causes"])


def cause_lines(plain: Plain) -> Iterator[Part]:
    """What keeps the pod off most nodes, in a few lines."""
    causes: Sequence[Plain] = plain["causes"]
    shown = causes if len(causes) <= REASONS_MAX else causes[: REASONS_MAX - 1]
    for cause in shown:
        yield Sentence(f"{counted(cause['count'], 'node')}: {cause['cause']}")
    if len(causes) > len(shown):
        left = sum(cause["count"] for cause in causes[len(shown) :])
        yield Sentence(f"{counted(left, 'node')}: {counted(len(causes) - len(shown), 'other cause')}")


def all_reason_parts(reasons: Mapping[str, Sequence[Plain]], *, all_nodes: bool) -> Iterator[Part]:
    """All obstacles of each node, not only the first."""
    if not reasons:
        return
    yield Heading(f"All failures on {counted(len(reasons), 'node')}")
    if all_nodes:
        yield _every_obstacle_table(((node, found) for node, found in sorted(reasons.items())), "node")
    else:
        groups: defaultdict[tuple[tuple[str, str], ...], list[str]] = defaultdict(list)
        for node in sorted(reasons):
            groups[tuple((status["plugin"], reason_text(status)) for status in reasons[node])].append(node)
        ordered = sorted(groups.values(), key=lambda nodes: (-len(nodes), nodes))
        yield _every_obstacle_table(
            ((examples(nodes, _EXAMPLES), reasons[nodes[0]]) for nodes in ordered),
            "nodes",
            counts=[len(nodes) for nodes in ordered],
        )


def reason_text(status: Plain) -> str:
    return ", ".join(status["reasons"]) or status["code"]


def grouped(statuses: Mapping[str, Plain]) -> list[tuple[Plain, list[str]]]:
    """Statuses with their nodes, the most frequent first."""
    groups: defaultdict[tuple[str, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for node in sorted(statuses):
        status = statuses[node]
        groups[(status["code"], status.get("plugin", ""), tuple(status["reasons"]))].append(node)
    ordered = sorted(groups.values(), key=lambda nodes: (-len(nodes), nodes))
    return [(statuses[nodes[0]], nodes) for nodes in ordered]


def _cause_table(causes: Sequence[Plain]) -> Table:
    rows = [
        [f"{cause['count']:,}", cause["cause"], cause["plugin"], examples(cause["nodes"], _EXAMPLES)]
        for cause in causes
    ]
    return Table(("count", "cause", "plugin", "nodes"), rows, _NUMBERS, frozenset({"cause", "nodes"}))


def _node_table(failures: Mapping[str, Plain], causes: Sequence[Plain]) -> Table:
    by_node = {node: cause["cause"] for cause in causes for node in cause["nodes"]}
    rows = [[node, by_node[node], failures[node]["plugin"]] for node in sorted(failures)]
    return Table(("node", "cause", "plugin"), rows, flexible=frozenset({"node", "cause"}))


def _every_obstacle_table(
    rows: Iterable[tuple[str, Sequence[Plain]]], title: str, counts: Sequence[int] | None = None
) -> Table:
    columns = ("count", title, "plugin", "reason") if counts is not None else (title, "plugin", "reason")
    lines = []
    for position, (nodes, found) in enumerate(rows):
        for line, status in enumerate(found):
            if counts is None:
                lead = [nodes]
            else:
                lead = [f"{counts[position]:,}", nodes] if line == 0 else ["", ""]
            lines.append([*lead, status["plugin"], reason_text(status)])
    return Table(columns, lines, _NUMBERS, frozenset({title, "reason"}))
