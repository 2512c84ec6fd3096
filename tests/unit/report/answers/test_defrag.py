"""How the answer of defrag reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bayplan.analysis.answers.moving.defrag import Defrag
from bayplan.analysis.answers.moving.playing import PlayedMove
from bayplan.analysis.answers.moving.stock import Fixed
from bayplan.report.answers.defrag import defrag_parts
from bayplan.report.answers.parts import Details, Sentence, Table, Tone

STEP = PlayedMove("shop/web-1", "a", "b", 0, "replicaset/web", 2, ("c",))


def answer(**fields: Any) -> Defrag:
    return Defrag(**{"name": "big", "pod": "shop/big", "is_new": False, **fields})


def sentences(found: Defrag) -> list[str]:
    return [part.text for part in defrag_parts(found) if isinstance(part, Sentence)]


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (answer(steps=(STEP,), node="a", bound=1), "Yes: 1 move makes room for shop/big on a, and fewer would not do."),
        (
            answer(steps=(STEP, STEP), node="a", bound=1),
            "Yes: 2 moves make room for shop/big on a; 1 or more are needed, and whether fewer than 2 would do was not "
            "settled.",
        ),
        (answer(runs_on="a"), "No moves are needed: shop/big fits on a."),
        (
            answer(runs_on="a", evicts=("x/y",)),
            "No moves are needed: the scheduler will put shop/big on a and evict 1 pod of lower priority (x/y).",
        ),
        (answer(bound=None), "No: no moves can make room for shop/big."),
        (
            answer(bound=3, max_moves=2),
            "No: room for shop/big takes at least 3 moves, and no more than 2 are allowed.",
        ),
        (answer(bound=3), "No: no moves were found that make room for shop/big; at least 3 moves would be needed."),
    ],
)
def test_the_answer_in_one_sentence(found: Defrag, says: str) -> None:
    assert sentences(found)[0] == says


def test_moves_are_a_table() -> None:
    (table,) = [
        part for part in defrag_parts(answer(steps=(STEP,), node="a", bound=1, target="a")) if isinstance(part, Table)
    ]
    assert table.columns == ("step", "pod", "to", "cordoned meanwhile")


def test_moves_off_several_nodes_say_where_they_start() -> None:
    other = replace(STEP, source="z")
    (table,) = [part for part in defrag_parts(answer(steps=(STEP, other), node="a")) if isinstance(part, Table)]
    assert [row[2] for row in table.rows] == [STEP.source, "z"]


def test_many_moves_are_told_in_the_details() -> None:
    parts = list(defrag_parts(answer(steps=(STEP,) * 7, node="a")))
    (table,) = [part for part in parts if isinstance(part, Table)]
    (details,) = [part for part in parts if isinstance(part, Details)]
    (all_moves,) = [part for part in details.parts if isinstance(part, Table)]
    assert (len(table.rows), len(all_moves.rows)) == (5, 7)
    assert Sentence("and 2 more", Tone.FAINT) in parts


def test_why_not() -> None:
    found = sentences(answer(bound=1, failures={"p does not fit on b": 2}, fixed={Fixed.BARE: 3}))
    assert "Tried and dropped (2 proposals): p does not fit on b." in found
    assert "Pods that are not moved: 3 (no controller would recreate it)." in found
