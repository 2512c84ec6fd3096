"""The nodes drawn: a card for each, with a bar for each resource in which every pod is a segment.

Takes the document of an explanation and the occupancy of the nodes to draw. The upper bar shows the node as it is, the
lower one with the new pod on it and its victims gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from bayplan.analysis.occupancy import Occupancy, Occupant
from bayplan.analysis.written import written_amount
from bayplan.report.explain.failures import reason_text
from bayplan.report.markup import joined, tag
from bayplan.report.words import counted

Plain = Mapping[str, Any]
NODES_DRAWN = 24
_LEAST_SEEN = 50  # the part of a bar that can still be seen
_SEGMENTS_MAX = 2_000  # pods drawn one by one on a page; more make it heavy, and a bar a blur

_LEGEND = {
    "high": "same or higher priority",
    "low": "lower priority",
    "victim": "would be evicted",
    "new": "this pod",
    "over": "this pod: not enough room",
    "barred": "this pod: enough room, but rejected for another reason",
}
#: Segments that are hatched: the lines, and the ground between them.
_HATCHES = {"victim": ("#c0262d", "#e88a8e"), "over": ("#c0262d", "#ffffff")}


class Segment(NamedTuple):
    """A part of a bar: classes of the page's style, its share of the bar, and what it is."""

    look: str
    share: float
    title: str


def stack(label: str, segments: Sequence[Segment], look: str = "stack") -> Markup:
    """A bar of segments side by side; one that would be beyond the end covers the end."""
    drawn, left = [], 0.0
    for segment in segments:
        place = {"x": f"{min(left, max(1 - segment.share, 0)):.2%}", "width": f"{segment.share:.2%}", "height": "100%"}
        drawn.append(tag("rect", tag("title", segment.title), class_=f"seg {segment.look}", **place))
        left += segment.share
    return tag("svg", drawn, class_=look, role="img", aria_label=label)


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


def node_cards(plain: Plain, nodes: Sequence[Occupancy], resources: Sequence[str]) -> Markup:
    """As many of the nodes as a page has room for, with a legend."""
    legend = [tag("span", tag("i", class_=f"seg {look}"), words) for look, words in _LEGEND.items()]
    at_most = _SEGMENTS_MAX // max(len(nodes) * len(resources), 1)
    cards = [_card(plain, node, resources, at_most) for node in nodes]
    return joined(_hatches(), tag("p", legend, class_="legend"), tag("div", cards, class_="nodes"))


def _hatches() -> Markup:
    """The patterns that segments refer to."""
    patterns = [
        tag(
            "pattern",
            tag("rect", width=6, height=6, fill=ground),
            tag("rect", width=3, height=6, fill=lines),
            id=name,
            width=6,
            height=6,
            patternUnits="userSpaceOnUse",
            patternTransform="rotate(45)",
        )
        for name, (lines, ground) in _HATCHES.items()
    ]
    return tag("svg", tag("defs", patterns), class_="patterns", aria_hidden="true")


def _card(plain: Plain, node: Occupancy, resources: Sequence[str], at_most: int) -> Markup:
    kind, said = _verdict(plain, node.node)
    return tag(
        "div",
        tag("b", node.node),
        tag("p", said, class_=kind),
        [_bars(plain, node, place, resource, at_most) for place, resource in enumerate(resources)],
        tag("p", counted(len(node.pods), "pod"), class_="facts"),
        class_=f"node {kind}",
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


def _bars(plain: Plain, node: Occupancy, place: int, resource: str, at_most: int) -> Markup:
    """The node as it is, pod by pod unless these are more than `at_most`; below, with the pod in question."""
    victims = set(_victims(plain, node.node))
    kept = [pod for pod in node.pods if pod.pod not in victims]
    gone = [pod for pod in node.pods if pod.pod in victims]
    offered, used = node.allocatable[place], _sum(node.pods, place)
    label = f"{resource} {written_amount(resource, used)} of {written_amount(resource, offered)}"

    def segments(pods: Sequence[Occupant], kind: str = "") -> list[Segment]:
        return [
            Segment(
                kind or ("low" if pod.priority < plain["pod"]["priority"] else "high"),
                _share(pod.amounts[place], offered),
                f"{pod.pod}: {written_amount(resource, pod.amounts[place])}, priority {pod.priority:,}",
            )
            for pod in pods
            if pod.amounts[place]
        ]

    stays = segments(kept)
    new = _new_segment(plain, node.node, resource, offered, offered - _sum(kept, place))
    with_pod = [*_merged(stays), *new]
    as_it_is = [*stays, *segments(gone, "victim")]
    return joined(
        tag("span", label, class_="facts"),
        stack(f"{node.node}: {label}", as_it_is if len(as_it_is) <= at_most else _merged(as_it_is)),
        stack(f"{node.node} with the pod: {resource}", with_pod, "stack thin"),
    )


def _merged(segments: Sequence[Segment]) -> list[Segment]:
    """Those of one look as one."""
    by_look: dict[str, list[Segment]] = {}
    for segment in segments:
        by_look.setdefault(segment.look, []).append(segment)
    return [
        Segment(look, sum(each.share for each in those), f"{counted(len(those), 'pod')}: {_LEGEND[look]}")
        for look, those in by_look.items()
    ]


def _new_segment(plain: Plain, node: str, resource: str, offered: int, free: int) -> list[Segment]:
    """The pod in question; where there is no room for it, what room there is, and always enough to be seen."""
    asked = plain["pod"]["requests"].get(resource, 0)
    if not asked:
        return []
    may_go_there = node in plain["feasible"] or _victims(plain, node)
    kind = "over" if asked > free else "new" if may_go_there else "barred"
    title = f"{plain['pod']['key']}: {written_amount(resource, asked)}"
    return [Segment(kind, _share(asked if asked <= free else max(free, offered // _LEAST_SEEN), offered), title)]


def _share(amount: int, offered: int) -> float:
    return amount / offered if offered else 1.0


def _sum(pods: Sequence[Occupant], place: int) -> int:
    return sum(pod.amounts[place] for pod in pods)
