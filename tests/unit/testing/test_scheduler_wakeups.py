"""`would_wake`: a cluster, a rejected pod and a change in; whether the pod is tried again out."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.testing import would_wake
from bayplan.testing.builders import csi_node, node, pod
from bayplan.testing.building import Builder

Thing = Builder[Any] | None

SMALL, LARGE = node("n").capacity(cpu="1"), node("n").capacity(cpu="8")
WAITING = pod("p").uid("p-uid").cpu("4")
GATED = pod("p").uid("p-uid").gate("later")
RUNNING = pod("r").uid("r-uid").cpu("4").running("n")
OVER = pod("r").uid("r-uid").cpu("4").running("n").phase("Succeeded")


def wakes(waiting: Builder[Any], rejectors: str, old: Thing, new: Thing, *others: Builder[Any]) -> bool:
    """The old object is in the cluster, the new one is not yet."""
    things = [*others, waiting]
    if old is not None and old is not waiting:
        things.append(old)
    plain_old, plain_new = (None if thing is None else thing.dict() for thing in (old, new))
    kind = (plain_old or plain_new or {})["kind"]
    action = "Add" if old is None else "Delete" if new is None else "Update"
    event = {"kind": kind, "action": action, "old": plain_old, "new": plain_new}
    return would_wake([thing.dict() for thing in things], "default/p", rejectors.split(), event)


@pytest.mark.parametrize(
    ("rejectors", "old", "new", "expected"),
    [
        pytest.param("NodeResourcesFit", None, LARGE, True, id="a-node-that-is-large-enough"),
        pytest.param("NodeResourcesFit", None, SMALL, False, id="a-node-that-is-not"),
        pytest.param("NodeResourcesFit", SMALL, LARGE, True, id="a-node-grows"),
        pytest.param("NodeResourcesFit", LARGE, None, False, id="a-node-goes"),
        pytest.param("NodePorts NodeResourcesFit", None, LARGE, True, id="one-of-two-rejectors-is-helped"),
        pytest.param("NodeAffinity", None, csi_node("n"), False, id="nobody-registered-for-it"),
        pytest.param("NodeResourcesFit", RUNNING, None, True, id="a-pod-goes"),
        pytest.param("NodeResourcesFit", RUNNING, OVER, True, id="a-pod-is-over"),
        pytest.param("NodeResourcesFit", WAITING, pod("p").uid("p-uid").cpu("1"), True, id="it-asks-for-less"),
        pytest.param("NodeResourcesFit", WAITING, None, False, id="it-is-deleted"),
        pytest.param("NodeResourcesFit", WAITING, pod("p").uid("p-uid").running("m"), False, id="it-is-bound"),
    ],
)
def test_changes(rejectors: str, old: Thing, new: Thing, expected: bool) -> None:
    assert wakes(WAITING, rejectors, old, new) == expected


def test_gates_open() -> None:
    """A gated pod was never tried; only its own gates matter."""
    assert wakes(GATED, "SchedulingGates", GATED, pod("p").uid("p-uid"))
    assert not wakes(GATED, "SchedulingGates", None, LARGE)


def test_others_in_the_queue_are_left_alone() -> None:
    """However important they are, it is the pod asked about that was tried."""
    assert wakes(pod("p").cpu("4"), "NodeResourcesFit", None, LARGE, pod("urgent").priority(100), pod("q").gate("g"))


@pytest.mark.parametrize(
    ("asked", "rejectors", "message"),
    [
        pytest.param("default/none", ["NodeName"], "default/none is no pending pod", id="unknown"),
        pytest.param("default/r", ["NodeName"], "default/r is no pending pod", id="running"),
        pytest.param("default/p", ["SchedulingGates"], "SchedulingGates cannot have rejected", id="has-no-gates"),
        pytest.param("default/g", ["NodeName"], "is kept out of the queue", id="never-tried"),
        pytest.param("default/p", ["ImageLocality"], "ImageLocality cannot have rejected", id="only-scores"),
        pytest.param("default/p", [], "nobody", id="no-rejector"),
    ],
)
def test_questions_without_an_answer(asked: str, rejectors: list[str], message: str) -> None:
    things = [pod("p"), pod("g").gate("later"), RUNNING]
    event = {"kind": "Node", "action": "Add", "old": None, "new": LARGE.dict()}
    with pytest.raises(ValueError, match=message):
        would_wake([thing.dict() for thing in things], asked, rejectors, event)


# What bayplan answers otherwise than upstream, on purpose.


def test_room_kept_elsewhere_is_free_when_somebody_else_binds_the_pod() -> None:
    """The place it was nominated to is news to those that had to stand back for it."""
    nominated = pod("w").uid("w-uid").cpu("4").priority(9).nominated("n")
    bound = pod("w").uid("w-uid").cpu("4").priority(9).running("m")
    assert wakes(pod("p").cpu("4"), "NodeResourcesFit", nominated, bound, node("n"), node("m"))


def test_a_pod_replaced_within_one_event_is_gone_and_new() -> None:
    """Its name is the same, but what it took is free."""
    successor = pod("r").uid("r-2").cpu("4")
    assert wakes(pod("p").cpu("4"), "NodeResourcesFit", RUNNING, successor, node("n"))


@pytest.mark.parametrize(("wakeups", "expected"), [("upstream", False), ("complete", True)])
def test_what_upstream_sleeps_through(wakeups: str, expected: bool) -> None:
    """A node comes that no pod keeps this one away from."""
    hermit = pod("q").uid("q-uid").pod_anti_affinity("zone", {"app": "p"}).running("n")
    objects = [thing.dict() for thing in (node("n").label("zone", "a"), hermit, pod("p").uid("p-uid").labels(app="p"))]
    event = {"kind": "Node", "action": "Add", "old": None, "new": node("m").label("zone", "b").dict()}
    assert would_wake(objects, "default/p", ["InterPodAffinity"], event, wakeups=wakeups) is expected
