"""Which changes of nodes help a group: the best one, the best two, the best three."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.analysis.answers.gangs.test_explaining import explained, gang, racks

from bayplan.testing import builders as make


def tried(*built: Any) -> list[tuple[list[str], int]]:
    """What is changed, and how many fit then."""
    return [
        ([f"{change['kind']} {change['what']}" for change in each["changes"]], each["fitting"])
        for each in explained(*built)["bestChanges"]
    ]


def cordoned(name: str, cpu: str = "4", rack: str = "r0") -> Any:
    return make.node(name).capacity(cpu=cpu, memory="64Gi", pods=20).labels(rack=rack).unschedulable()


def test_the_node_with_the_most_room_is_uncordoned_first() -> None:
    small, large = cordoned("small"), cordoned("large", cpu="8")
    assert tried(*racks(1), small, large, *gang(4)) == [
        (["uncordon large"], 3),
        (["uncordon large", "uncordon small"], 4),
    ]


def test_nothing_is_changed_that_does_not_help() -> None:
    assert tried(*racks(1), cordoned("small", cpu="2"), *gang(2)) == [(["addNode r0-0"], 2)]


def test_the_same_kind_of_node_may_be_added_again() -> None:
    assert tried(*racks(1), *gang(4)) == [
        (["addNode r0-0"], 2),
        (["addNode r0-0", "addNode r0-0"], 3),
        (["addNode r0-0", "addNode r0-0", "addNode r0-0"], 4),
    ]


def test_a_cheaper_change_comes_before_one_that_does_as_much() -> None:
    assert tried(*racks(1), cordoned("more"), *gang(2)) == [(["uncordon more"], 2)]


def test_a_taint_is_removed_where_only_it_is_in_the_way() -> None:
    tainted = make.node("t").capacity(cpu="16", memory="64Gi", pods=20).taint("dedicated", "web")
    assert tried(*racks(1), tainted, *gang(4))[0] == (["untaint t"], 4)


def test_in_one_domain_only_changes_of_that_domain_count() -> None:
    """Another node in r1 would make three there; r0 has three already."""
    elsewhere = cordoned("spare", rack="r1")
    assert tried(*racks(3, 2), elsewhere, *gang(4, within="rack")) == [(["addNode r0-0"], 4)]


def test_two_changes_may_do_what_neither_does_alone() -> None:
    """Of r1, whose two nodes are cordoned, one alone comes no closer than r0."""
    spare = [cordoned(f"spare-{number}", cpu="16", rack="r1") for number in range(2)]
    found = tried(*racks(5), *spare, *gang(10, within="rack"))
    assert (["uncordon spare-0", "uncordon spare-1"], 10) in found


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_is_said_of_an_added_node_is_so(count: int) -> None:
    """As a cluster with so many more nodes says."""
    said = tried(*racks(2), *gang(6))[count - 1][1]
    assert said == len(explained(*racks(2 + count), *gang(6))["fitting"])
