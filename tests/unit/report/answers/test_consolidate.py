"""How the answer of consolidate reads, and its commands."""

from __future__ import annotations

import pytest

from bayplan.analysis.answers.drain import DrainedNode, Draining, Eviction
from bayplan.analysis.answers.moving.consolidate import Consolidation
from bayplan.report.answers.consolidate import consolidation_parts, drain_script
from bayplan.report.answers.parts import Next, Sentence


def answer(*nodes: str, bound: int) -> Consolidation:
    drained = [DrainedNode(node, (Eviction(f"p/{node}", 1, True, node="z"),), ("d/d",), (), (), ()) for node in nodes]
    freed = {node: {"cpu": 4000, "memory": 2**33} for node in nodes}
    return Consolidation(Draining(tuple(drained), (), rolling=False), 5, bound, {"it is so": 2}, freed)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (answer("a", bound=1), "Yes: 1 of 5 nodes can be given back if 1 pod moves; no more can be."),
        (
            answer("a", "b", bound=3),
            "Yes: 2 of 5 nodes can be given back if 2 pods move; at most 3 could be (--seconds searches longer).",
        ),
        (answer(bound=0), "No: none of 5 nodes can be given back."),
        (
            answer(bound=2),
            "No: none of 5 nodes was found that can be given back; at most 2 could be (--seconds searches longer).",
        ),
    ],
)
def test_the_answer_in_one_sentence(found: Consolidation, says: str) -> None:
    first, why, *_ = consolidation_parts(found, "bayplan consolidate")
    assert isinstance(first, Sentence)
    assert isinstance(why, Sentence)
    assert (first.text, why.text) == (says, "Nodes that stay because of a pod: 2 (it is so).")


def test_what_to_do_next() -> None:
    parts = consolidation_parts(answer("a", bound=1), "bayplan consolidate -l x=y")
    assert [part.command for part in parts if isinstance(part, Next)] == ["bayplan consolidate -l x=y --script"]


def test_the_script_cordons_all_nodes_first() -> None:
    commands = [line for line in drain_script(answer("a", "b", bound=2)).splitlines() if line.startswith("kubectl")]
    assert commands == [
        "kubectl cordon a b",
        "kubectl drain a --ignore-daemonsets --timeout=30m",
        "kubectl drain b --ignore-daemonsets --timeout=30m",
    ]
    assert "kubectl" not in drain_script(answer(bound=0))
