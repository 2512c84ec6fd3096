"""How the answer of plan reads."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.analysis.answers.planning.plan import Bought, NodePlan
from bayplan.report.answers.parts import Sentence, Table
from bayplan.report.answers.plan import plan_parts

SMALL = (Bought("small", "", 3, 10.0),)


def answer(**fields: Any) -> NodePlan:
    return NodePlan(**{"pods": 5, "bought": SMALL, "bound": 30.0, **fields})


def first(found: NodePlan) -> str:
    part = next(iter(plan_parts(found)))
    assert isinstance(part, Sentence)
    return part.text


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (answer(), "Yes: 5 pods fit with 3 more nodes for 30; nothing cheaper is enough."),
        (
            answer(bound=22.5, survive="zone"),
            "Yes: 5 pods fit with 3 more nodes for 30, also without any one zone; at least 22.50 is needed, so it may "
            "be up to 25% too much.",
        ),
        (answer(bought=(), bound=0.0), "Yes: 5 pods fit on the existing nodes."),
        (answer(pods=0, bought=(), bound=0.0), "Yes: no pod is pending, so no nodes are needed."),
        (
            answer(impossible={"a/b": "Insufficient cpu"}),
            "No: 1 of 5 pods fit on no node type; the other 4 pods need 3 nodes for 30.",
        ),
        (answer(pods=1, bought=(), impossible={"a/b": "x"}), "No: the pod fits on no node type."),
        (
            answer(pods=2, bought=(), impossible=dict.fromkeys("ab", "x")),
            "No: none of the 2 pods fits on any node type.",
        ),
        (
            answer(bought=(Bought("small", "", 1, 0.000043),), bound=0.000043),
            "Yes: 5 pods fit with 1 more node for 0.000043; nothing cheaper is enough.",
        ),
        (answer(bought=None, bound=None), "No: no nodes of the catalog hold 5 pods."),
        (answer(bought=None, bound=7.0), "No: no nodes were found that hold 5 pods; they would cost at least 7."),
    ],
)
def test_the_answer_in_one_sentence(found: NodePlan, says: str) -> None:
    assert first(found) == says


def test_nodes_are_a_table() -> None:
    (table,) = [part for part in plan_parts(answer()) if isinstance(part, Table)]
    assert [*table.rows[0]] == ["small", "3", "10", "30"]


def test_why_pods_fit_on_no_type() -> None:
    texts = [part.text for part in plan_parts(answer(impossible={"a/b": "too large"})) if isinstance(part, Sentence)]
    assert "No node type for 1 pod (a/b); of the existing nodes and one of each type: too large." in texts


def test_who_was_placed() -> None:
    """Nobody says that every pod was placed if some were not, or none."""

    def said(**fields: Any) -> bool:
        parts = plan_parts(answer(**fields))
        return any(isinstance(part, Sentence) and part.text.startswith("Every pod was placed") for part in parts)

    assert said(placements={"a/c": "n"})
    assert not said(placements={"a/c": "n"}, impossible={"a/b": "x"})
    assert not said(pods=1, bought=(), impossible={"a/b": "x"})
