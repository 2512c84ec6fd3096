"""Which nodes are drawn, and what their bars show."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bayplan import Cluster
from bayplan.report.explain.node_drawing import NODES_DRAWN, node_cards, nodes_to_draw
from bayplan.testing import builders as make
from bayplan.testing.building import Builder

RESOURCES = ["cpu"]


def cards(pod: str, *things: Builder[Any]) -> dict[str, str]:
    """Node -> its card."""
    why = Cluster.from_objects([thing.dict() for thing in things]).explain(pod)
    document = why.document()
    drawn = nodes_to_draw(document)
    pieces = node_cards(document, why.occupancies(drawn, RESOURCES), RESOURCES).split('<div class="node ')[1:]
    return dict(zip(drawn, pieces, strict=True))


def segments(card: str) -> list[list[tuple[str, str]]]:
    """(kind, width) of the segments of the bar as it is and of the bar with the new pod."""
    bars = card.split('<svg class="stack')[1:]
    return [re.findall(r'class="seg (\w+)" x="[\d.]+%" width="([\d.]+%)"', bar) for bar in bars]


def test_victims_are_drawn_where_they_are_and_gone_below() -> None:
    found = cards(
        "default/x",
        make.node("a").capacity(cpu="4"),
        make.pod("kept").cpu("1").priority(9).running("a"),
        make.pod("gone").cpu("2").running("a"),
        make.pod("x").cpu("3").priority(5),
    )
    assert segments(found["a"]) == [
        [("high", "25.00%"), ("victim", "50.00%")],
        [("high", "25.00%"), ("new", "75.00%")],
    ]
    assert "cheapest: 1 pod would be evicted" in found["a"]


@pytest.mark.parametrize(
    ("node", "kind", "width"),
    [
        pytest.param(make.node("a").capacity(cpu="4"), "new", "50.00%", id="fits"),
        pytest.param(make.node("a").capacity(cpu="1"), "over", "100.00%", id="lacks room"),
        pytest.param(make.node("a").capacity(cpu="4").taint("k"), "barred", "50.00%", id="not allowed there"),
    ],
)
def test_the_new_pod_is_drawn_as_what_becomes_of_it(node: Builder[Any], kind: str, width: str) -> None:
    assert segments(cards("default/x", node, make.pod("x").cpu("2"))["a"])[1] == [(kind, width)]


def test_a_full_node_still_shows_that_the_pod_lacks_room() -> None:
    full = make.pod("full").cpu("4").priority(9).running("a")
    found = cards("default/x", make.node("a").capacity(cpu="4"), full, make.pod("x").cpu("2"))
    assert segments(found["a"])[1] == [("high", "100.00%"), ("over", "2.00%")]
    assert 'class="seg over" x="98.00%"' in found["a"], "within the bar"


def test_of_many_nodes_the_best_and_some_others_are_drawn() -> None:
    nodes = [make.node(f"n{number:02}") for number in range(30)]
    tainted = [make.node(f"t{number:02}").taint("k") for number in range(30)]
    drawn = list(cards("default/x", *nodes, *tainted, make.pod("x")))
    assert len(drawn) == NODES_DRAWN
    assert drawn[0] == "n00"
    assert sum(name.startswith("t") for name in drawn) == NODES_DRAWN // 3


def test_of_a_crowd_only_the_groups_are_drawn() -> None:
    """A page of full nodes stays small."""
    crowd = [make.pod(f"low-{number}").cpu("10m").running("a") for number in range(2_001)]
    found = cards(
        "default/x", make.node("a").capacity(cpu="100", pods=3_000), *crowd, make.pod("x").cpu("1").priority(5)
    )
    assert [[kind for kind, _ in bar] for bar in segments(found["a"])] == [["low"], ["low", "new"]]
    assert "<title>2,001 pods: lower priority</title>" in found["a"]
