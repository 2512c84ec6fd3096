"""What a reader sees first, how each kind of change is worded, and what there is to copy."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.changed_clusters import unfolded

from bayplan.analysis.answers.fixing.answer import Fix, Fixes, Patch, Remedy, RemedyKind
from bayplan.report.answers.fix import fix_parts
from bayplan.report.answers.parts import Heading, Part, Sentence, Snippet, Table

WAITING = Fixes("default/x", "default/x", "", "", (), "no room")


def with_fixes(*fixes: Fix) -> list[Part]:
    return list(fix_parts(Fixes("default/x", "default/x", "", "", (), "no room", fixes=fixes)))


def first_line(answer: Fixes) -> str:
    (part, *_) = fix_parts(answer)
    assert isinstance(part, Sentence)
    return part.text


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (Remedy(RemedyKind.REQUEST, "cpu", 9000, 8000), "lower its cpu request from 9 cores to 8 cores"),
        (Remedy(RemedyKind.REQUEST, "memory", 2 << 30, 1 << 30), "lower its memory request from 2Gi to 1Gi"),
        (Remedy(RemedyKind.TOLERATION, "gpu:NoSchedule"), "add a toleration for the taint gpu:NoSchedule"),
        (Remedy(RemedyKind.SKEW, "zone", 1, 3), "raise maxSkew from 1 to 3 in its spread over zone"),
        (Remedy(RemedyKind.PRIORITY, "high", 0, 1000), "raise its priority from 0 to 1,000 (class high)"),
        (Remedy(RemedyKind.FREE, "n"), "move 1 pod off n"),
        (Remedy(RemedyKind.UNTAINT, "n", "gpu:NoSchedule"), "remove the taint gpu:NoSchedule from n"),
    ],
)
def test_the_first_line_says_what_to_do(change: Remedy, expected: str) -> None:
    parts = with_fixes(Fix((change,), ("n",), 1, ("default/y",)))
    assert parts[0] == Sentence(f"default/x would run on n if you {expected}.", tone=parts[0].tone)  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", RemedyKind)
def test_every_kind_has_its_words(kind: RemedyKind) -> None:
    assert "if you " in first_line(
        Fixes("default/x", "default/x", "", "", (), "", fixes=(Fix((Remedy(kind, "it", 2, 1),), ("n",)),))
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Fixes("default/x", "", "n", "", (), ""), "default/x needs no fix: it is running on n."),
        (Fixes("default/x", "", "", "n", (), ""), "default/x needs no fix: it already fits on n."),
        (
            Fixes("default/x", "", "", "n", ("default/y",), ""),
            "default/x needs no fix: the scheduler evicts default/y to run it on n.",
        ),
        (
            WAITING,
            "No fix was found for default/x: no change to the pod or to a node is enough.",
        ),
    ],
)
def test_answers_without_a_fix(answer: Fixes, expected: str) -> None:
    assert first_line(answer) == expected


def test_commands_are_there_to_copy() -> None:
    fix = Fix((Remedy(RemedyKind.UNCORDON, "n"),), ("n",), patches=(Patch("kubectl uncordon n", "Careful."),))
    by_hand = Fix((Remedy(RemedyKind.ADD_NODE, "n"),), ("n-copy",))
    parts = with_fixes(fix, by_hand)
    assert [part.text for part in parts if isinstance(part, Snippet)] == ["kubectl uncordon n"]
    assert Sentence("Careful.") in parts
    assert [part.text for part in parts if isinstance(part, Heading)][1:] == ["1. uncordon n"]
    (table,) = [part for part in parts if isinstance(part, Table)]
    assert [row[1] for row in table.rows] == ["uncordon n", "add a node like n"]


@pytest.mark.parametrize(
    ("fixed", "pending", "fitting", "expected"),
    [
        (10, 10, 0, "All 10 pending pods of deployment/w would run if you uncordon n."),
        (2, 2, 0, "Both pending pods of deployment/w would run if you uncordon n."),
        (1, 10, 0, "1 of 10 pending pods of deployment/w would run if you uncordon n."),
        (1, 1, 1, "One pending pod of deployment/w will run as things are, the other would if you uncordon n."),
        (2, 3, 2, "2 pending pods of deployment/w will run as things are, 2 of 3 others would if you uncordon n."),
    ],
)
def test_how_many_pods_of_a_workload_a_fix_helps(fixed: int, pending: int, fitting: int, expected: str) -> None:
    fix = Fix((Remedy(RemedyKind.UNCORDON, "n"),), ("n",), fixed)
    assert first_line(Fixes("default/x", "deployment/w", "", "", (), "", pending, fitting, fixes=(fix,))) == expected


FIT = Fixes("default/x", "deployment/w", "", "n", (), "")
UNCORDON = Fix((Remedy(RemedyKind.UNCORDON, "n"),), ("n",))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (replace(FIT, pending=3), "deployment/w needs no fix: its 3 pending pods fit, the first on n."),
        (
            replace(FIT, is_one_more=True, running=2),
            "deployment/w needs no fix: its 2 pods run, and one more would fit on n.",
        ),
        (
            replace(FIT, is_one_more=True, running=1),
            "deployment/w needs no fix: its pod runs, and one more would fit on n.",
        ),
        (replace(FIT, is_one_more=True), "deployment/w has no pods now and needs no fix: one would fit on n."),
        (
            replace(FIT, is_one_more=True, running=2, left_out={"m": "taint a:NoSchedule"}),
            "deployment/w needs no fix: it has a pod on each node that it is meant for (2).",
        ),
        (
            replace(FIT, fits_on="", is_one_more=True, running=2, fixes=(UNCORDON,)),
            "deployment/w is not pending: its 2 pods run. One more would run if you uncordon n.",
        ),
        (
            replace(FIT, fits_on="", is_one_more=True, fixes=(UNCORDON,)),
            "A pod of deployment/w would run on n if you uncordon n.",
        ),
        (
            replace(FIT, fits_on="", fixes=(Fix((Remedy(RemedyKind.ADD_NODE, "n"),), ("n-copy",)),)),
            "default/x would run if you add a node like n.",
        ),
        (
            replace(FIT, fits_on="", fixes=(Fix((Remedy(RemedyKind.UNCORDON, "n"),), ("n", "m")),)),
            "The pending pod of deployment/w would run if you uncordon n.",
        ),
    ],
)
def test_answers_about_workloads(answer: Fixes, expected: str) -> None:
    assert first_line(answer) == expected


def test_nodes_that_a_daemon_set_leaves_out_by_reason() -> None:
    reasons = {"a": "taint x:NoSchedule", "b": "its node selector or affinity", "c": "taint x:NoSchedule"}
    parts = list(fix_parts(replace(FIT, is_one_more=True, left_out=reasons)))
    assert [part.text for part in parts if isinstance(part, Sentence)][1:] == [
        "It leaves out a and c: taint x:NoSchedule.",
        "It leaves out b: its node selector or affinity.",
    ]


def test_who_is_evicted_and_stays_pending() -> None:
    fix = Fix((Remedy(RemedyKind.PRIORITY, "high", 0, 9),), ("n",), 1, ("default/y", "default/z"), ("default/z",))
    (table,) = [part for part in with_fixes(fix) if isinstance(part, Table)]
    assert table.rows[0][2:] == ("1 of 1", "2 pods; 1 left pending")
    assert Sentence("Change 1 evicts default/y and default/z.") in unfolded(with_fixes(fix))
