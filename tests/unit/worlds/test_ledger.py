"""The books of a scheduler: which bindings are under way, and which objects are known, after each kind of news."""

from __future__ import annotations

import pytest
from tests.support import devices

from bayplan.core.actions import Bind
from bayplan.core.events import BindAnswered, Event, ObjectAdded, ObjectChanged, ObjectRemoved, VolumesAnswered
from bayplan.core.on_the_way import BindingUnderWay
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.structs import replace
from bayplan.testing.builders import pod
from bayplan.worlds.ledger import Ledger

WAITING = pod("p").uid("u").obj()
BOUND = pod("p").uid("u").node("n").obj()
BIND = Bind("default/p", "u", "n")
LOST = BindAnswered("default/p", "u", "nobody answers", lost=True)
REFUSED = BindAnswered("default/p", "u", "the node is gone")


def ledger_after(*news: Event | Bind) -> Ledger:
    ledger = Ledger()
    ledger.observe(ObjectAdded(WAITING))
    for each in (BIND, *news):
        if isinstance(each, Bind):
            ledger.ask([each])
        else:
            ledger.observe(each)
    return ledger


@pytest.mark.parametrize(
    ("news", "under_way"),
    [
        pytest.param((), BindingUnderWay(BIND), id="no answer"),
        pytest.param((BindAnswered("default/p", "u"),), BindingUnderWay(BIND, is_bound=True), id="taken"),
        pytest.param((REFUSED,), None, id="refused"),
        pytest.param((LOST,), BindingUnderWay(BIND, is_asked=False, is_uncertain=True), id="lost"),
        pytest.param((LOST, BIND), BindingUnderWay(BIND, is_uncertain=True), id="lost, asked again"),
        pytest.param(
            (LOST, BIND, REFUSED),
            BindingUnderWay(BIND, is_asked=False, is_uncertain=True),
            id="lost, asked again, refused: the first may have been taken",
        ),
        pytest.param((ObjectChanged(WAITING, WAITING),), BindingUnderWay(BIND), id="shown without its node"),
        pytest.param((ObjectChanged(WAITING, BOUND),), None, id="shown on its node"),
        pytest.param((ObjectRemoved(WAITING),), None, id="removed"),
        pytest.param((ObjectRemoved(WAITING), LOST), None, id="removed, then lost"),
    ],
)
def test_a_binding_is_under_way_until_its_end_is_known(
    news: tuple[Event | Bind, ...], under_way: BindingUnderWay | None
) -> None:
    assert ledger_after(*news).bindings == ({} if under_way is None else {"u": under_way})


def claim(version: int, uid: str = "c") -> ResourceClaim:
    made = devices.claim_of("claim")
    return replace(made, metadata=replace(made.metadata, uid=uid, resource_version=str(version)))


@pytest.mark.parametrize(
    ("answered", "known"),
    [
        pytest.param(claim(3), claim(3), id="newer"),
        pytest.param(claim(1), claim(2), id="older than what the watch has shown"),
        pytest.param(claim(3, uid="another"), claim(2), id="another of the same name"),
    ],
)
def test_a_claim_in_an_answer_is_known_if_it_is_news(answered: ResourceClaim, known: ResourceClaim) -> None:
    ledger = ledger_after(ObjectAdded(claim(2)), VolumesAnswered("default/p", "u", claims=(answered,)))
    assert ledger.known["ResourceClaim", "default/claim"] == known


def test_a_claim_that_is_gone_does_not_come_back_with_an_answer() -> None:
    ledger = ledger_after(
        ObjectAdded(claim(2)), ObjectRemoved(claim(2)), VolumesAnswered("default/p", "u", claims=(claim(3),))
    )
    assert ("ResourceClaim", "default/claim") not in ledger.known
