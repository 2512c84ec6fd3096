"""The nodes drawn: a card for each, with a bar for each resource in which every pod is a segment.

Takes the document of an explanation and the occupancy of the nodes to draw. The upper bar shows the node as it is, the
lower one with the new pod on it and its victims gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from bayplan.analysis.occupancy import Occupancy, Occupant
from bayplan.analysis.written import written_amount
from bayplan.report.explain.failures import reason_text
from bayplan.report.words import counted

Plain = Mapping[str, Any]
NODES_DRAWN = 24
_LEAST_SEEN = 50  # the part of a bar that can still be seen

LEGEND = (
    '<p class="legend"><span><i class="seg high"></i>same or higher priority</span>'
    '<span><i class="seg low"></i>lower priority</span><span><i class="seg victim"></i>would be evicted</span>'
    '<span><i class="seg new"></i>this pod</span><span><i class="seg over"></i>this pod: not enough room</span>'
    '<span><i class="seg barred"></i>this pod: enough room, but rejected for another reason</span></p>'
)


def nodes_to_draw(plain: Plain) -> list[str]:
    """Those that matter most: where the pod could go, the best first, and some of the others."""
    found, totals = plain["preemption"] or {}, plain["totals"]
    possible = dict.fromkeys(
        [
            *found.get("selected", ()),
            *sorted(found.get("candidates", ())),
            *sorted(plain["feasible"], key=lambda node: (-totals.get(node, 0), node)),
        ]
    )
    others = sorted(node for node in plain["filter"] if node not in possible)
    room_for_others = min(len(others), NODES_DRAWN // 3)
    drawn = list(possible)[: NODES_DRAWN - room_for_others]
    return drawn + others[: NODES_DRAWN - len(drawn)]


def node_cards(plain: Plain, nodes: Sequence[Occupancy], resources: Sequence[str]) -> str:
    return f'{LEGEND}<div class="nodes">{"".join(_card(plain, node, resources) for node in nodes)}</div>'


def _card(plain: Plain, node: Occupancy, resources: Sequence[str]) -> str:
    kind, said = _verdict(plain, node.node)
    bars = "".join(_bars(plain, node, place, resource) for place, resource in enumerate(resources))
    return (
        f'<div class="node {kind}"><b>{escape(node.node)}</b><p class="{kind}">{escape(said)}</p>{bars}'
        f'<p class="facts">{counted(len(node.pods), "pod")}</p></div>'
    )


def _verdict(plain: Plain, node: str) -> tuple[str, str]:
    """What becomes of the node, as a tone and in words."""
    if node in plain["best"]:
        total = plain["totals"].get(node)
        return "good", "fits, and wins" if total is None else f"fits, and wins with {total:,}"
    if node in plain["feasible"]:
        return "good", f"fits, with {plain['totals'].get(node, 0):,}"
    found = plain["preemption"] or {}
    victims = len(_victims(plain, node))
    if node in found.get("selected", ()):
        return "warn", f"cheapest: {counted(victims, 'pod')} would be evicted"
    if victims:
        return "plain", f"possible: {counted(victims, 'pod')} would be evicted"
    return "bad", reason_text(plain["filter"][node])


def _victims(plain: Plain, node: str) -> list[str]:
    candidate = (plain["preemption"] or {}).get("candidates", {}).get(node)
    return candidate["victims"] if candidate else []


def _bars(plain: Plain, node: Occupancy, place: int, resource: str) -> str:
    victims = set(_victims(plain, node.node))
    kept = [pod for pod in node.pods if pod.pod not in victims]
    gone = [pod for pod in node.pods if pod.pod in victims]
    offered, used = node.allocatable[place], _sum(node.pods, place)
    label = f"{resource} {written_amount(resource, used)} of {written_amount(resource, offered)}"

    def segments(pods: Sequence[Occupant], kind: str = "") -> str:
        drawn = (
            _segment(
                kind or ("low" if pod.priority < plain["pod"]["priority"] else "high"),
                pod.amounts[place],
                offered,
                f"{pod.pod}: {written_amount(resource, pod.amounts[place])}, priority {pod.priority:,}",
            )
            for pod in pods
            if pod.amounts[place]
        )
        return "".join(drawn)

    stays = segments(kept)
    new = _new_segment(plain, node.node, resource, offered, offered - _sum(kept, place))
    return (
        f'<span class="facts">{escape(label)}</span><div class="stack">{stays}{segments(gone, "victim")}</div>'
        f'<div class="stack thin">{stays}{new}</div>'
    )


def _new_segment(plain: Plain, node: str, resource: str, offered: int, free: int) -> str:
    """The pod in question; where there is no room for it, what room there is, and always enough to be seen."""
    asked = plain["pod"]["requests"].get(resource, 0)
    if not asked:
        return ""
    may_go_there = node in plain["feasible"] or _victims(plain, node)
    kind = "over" if asked > free else "new" if may_go_there else "barred"
    title = f"{plain['pod']['key']}: {written_amount(resource, asked)}"
    return _segment(kind, asked if asked <= free else max(free, offered // _LEAST_SEEN), offered, title)


def _segment(kind: str, amount: int, offered: int, title: str) -> str:
    share = amount / offered if offered else 1.0
    return f'<i class="seg {kind}" style="width:{share:.3%}" title="{escape(title)}"></i>'


def _sum(pods: Sequence[Occupant], place: int) -> int:
    return sum(pod.amounts[place] for pod in pods)
