"""The page of an explanation: complete, offline, and whatever users call things is text."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

from bayplan import Cluster
from bayplan.report.explain.node_drawing import nodes_to_draw
from bayplan.report.explain.page import explanation_page
from bayplan.testing import builders as make
from bayplan.testing.building import Builder

RESOURCES = ["cpu", "memory"]


class Balance(HTMLParser):
    """Fails on an element that is not closed where it should be."""

    EMPTY = frozenset({"meta", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.headings: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script"
        assert not {name for name, _ in attrs} & {"src", "href"}
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


def page_of(pod: str, *things: Builder[Any], **options: bool) -> tuple[str, list[str]]:
    """The page and its headings."""
    why = Cluster.from_objects([thing.dict() for thing in things]).explain(pod)
    document = why.document(**options)
    page = explanation_page(document, why.occupancies(nodes_to_draw(document), RESOURCES), RESOURCES)
    read = Balance()
    read.feed(page)
    assert read.open == []
    return page, read.headings


@pytest.mark.parametrize(
    ("things", "headings"),
    [
        pytest.param([], ["Scheduler message"], id="no nodes"),
        pytest.param([make.node("a")], ["1 node", "Scores"], id="fits"),
        pytest.param(
            [make.node("a").taint("k"), make.node("b").unschedulable()],
            ["2 nodes", "Nodes that do not fit", "Preemption", "Scheduler message"],
            id="nothing helps",
        ),
        pytest.param(
            [make.node("a").capacity(cpu="1"), make.pod("low").cpu("1").running("a")],
            ["1 node", "Nodes that do not fit", "Preemption", "Scheduler message"],
            id="preempts",
        ),
    ],
)
def test_sections(things: list[Builder[Any]], headings: list[str]) -> None:
    assert page_of("default/x", *things, make.pod("x").cpu("1").priority(1))[1] == headings


def test_candidates_stand_against_each_other() -> None:
    """Both lose a pod of one priority; two victims are more than one."""
    page, _ = page_of(
        "default/x",
        make.node("a").capacity(cpu="2"),
        make.node("b").capacity(cpu="2"),
        make.pod("a-1").cpu("1").running("a"),
        make.pod("a-2").cpu("1").running("a"),
        make.pod("b-1").cpu("2").running("b"),
        make.pod("x").cpu("2").priority(1),
    )
    assert "✗ 0 (2 victims)" in page
    assert ">0 (1 victim)<" in page


def test_every_obstacle_is_on_the_page_if_asked_for() -> None:
    page, _ = page_of("default/x", make.node("a").taint("k").unschedulable(), make.pod("x"), all_reasons=True)
    assert "All failures on 1 node" in page
