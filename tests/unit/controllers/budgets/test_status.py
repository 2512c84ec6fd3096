"""PodDisruptionBudget status: the arithmetic in a table, the scale behind a pod, and filling in place."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bayplan.controllers.budgets.status import Scales, budget_status, fill_budget_status
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.time_units import SECOND
from bayplan.testing.builders import (
    BudgetBuilder,
    budget,
    daemon_set,
    deployment,
    job,
    pod,
    replica_set,
    replication_controller,
    stateful_set,
)


def owned_pods(owner: Object, number: int, ready: int, prefix: str = "p") -> list[Pod]:
    return [
        (pod(f"{prefix}{i}").labels(app="x").owner(owner).node("n").condition("Ready", str(i < ready)).obj())
        for i in range(number)
    ]


@pytest.mark.parametrize(
    ("given", "replicas", "number", "ready", "expected"),
    [
        # Expected: (expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed).
        pytest.param(budget("b").min_available(2), 3, 3, 3, (3, 2, 3, 1), id="minAvailable 2 of 3"),
        pytest.param(budget("b").min_available("50%"), 5, 5, 5, (5, 3, 5, 2), id="minAvailable 50% rounds up"),
        pytest.param(budget("b").max_unavailable("30%"), 5, 5, 5, (5, 3, 5, 2), id="maxUnavailable 30% rounds up"),
        pytest.param(budget("b").max_unavailable(1), 3, 3, 2, (3, 2, 2, 0), id="one is away already"),
        pytest.param(budget("b").max_unavailable(0), 3, 3, 3, (3, 3, 3, 0), id="none may be away"),
        pytest.param(budget("b").min_available(0), 0, 0, 0, (0, 0, 0, 0), id="no pods"),
        pytest.param(budget("b").max_unavailable("100%"), 4, 4, 1, (4, 0, 1, 1), id="all may be away"),
        pytest.param(budget("b").max_unavailable(7), 3, 3, 3, (3, 0, 3, 3), id="more than there are"),
        pytest.param(budget("b").min_available(1), 9, 2, 2, (2, 1, 2, 1), id="a count looks at pods, not scale"),
        pytest.param(budget("b").min_available("50%"), 9, 2, 2, (9, 5, 2, 0), id="a percentage looks at scale"),
        pytest.param(budget("b").min_available(3), 2, 2, 2, (2, 3, 2, 0), id="more than there are wanted"),
        pytest.param(budget("b"), 3, 3, 3, (0, 0, 3, 0), id="neither"),
        pytest.param(
            budget("b").min_available(0).max_unavailable(1), 3, 3, 3, (3, 2, 3, 1), id="maxUnavailable comes first"
        ),
    ],
)
def test_arithmetic(
    given: BudgetBuilder, replicas: int, number: int, ready: int, expected: tuple[int, int, int, int]
) -> None:
    owner = replica_set("web").replicas(replicas).obj()
    pods = owned_pods(owner, number, ready)
    status = budget_status(given.obj(), pods, Scales([owner, *pods]))
    counted = status.expected_pods, status.desired_healthy, status.current_healthy, status.disruptions_allowed
    assert counted == expected
    condition = status.conditions[0]
    assert (condition.type, condition.status, condition.reason) == (
        ("DisruptionAllowed", "True", "SufficientPods")
        if expected[-1]
        else ("DisruptionAllowed", "False", "InsufficientPods")
    )


WEB = deployment("web").replicas(4)
OLD = replica_set("web-1").replicas(1).owner(WEB)
NEW = replica_set("web-2").replicas(3).owner(WEB)
ONE = budget("b").max_unavailable(1)


@pytest.mark.parametrize(
    ("objects", "owners", "expected"),
    [
        pytest.param([WEB, OLD, NEW], [OLD, NEW], 4, id="a Deployment counts once, through its ReplicaSets"),
        pytest.param([OLD.obj(), replica_set("r").replicas(2)], ["r"], 2, id="ReplicaSet alone"),
        pytest.param([stateful_set("s").replicas(3)], [stateful_set("s")], 3, id="StatefulSet"),
        pytest.param([stateful_set("s")], [stateful_set("s")], 1, id="replicas left out"),
        pytest.param(
            [replication_controller("r").replicas(5)], [replication_controller("r")], 5, id="ReplicationController"
        ),
        pytest.param(
            [stateful_set("s").replicas(3), WEB, NEW], [stateful_set("s"), NEW, None], 7, id="two and one unmanaged"
        ),
        pytest.param([], [None, None], 0, id="unmanaged alone"),
        pytest.param([], [NEW], 'found no controllers for pod "p0"', id="controller missing"),
        pytest.param([NEW], [NEW], 'found no controllers for pod "p0"', id="Deployment missing"),
        pytest.param(
            [replica_set("r").replicas(2).uid("later")],
            [replica_set("r").uid("earlier")],
            'found no controllers for pod "p0"',
            id="another of the same name",
        ),
        pytest.param(
            [job("j")], [job("j")], "jobs.batch does not implement the scale subresource", id="jobs have no scale"
        ),
        pytest.param(
            [], [daemon_set("d")], "daemonsets.apps does not implement the scale subresource", id="nor daemon sets"
        ),
    ],
)
def test_scale_behind_pods(objects: list[object], owners: list[object], expected: int | str) -> None:
    """The scale that percentages refer to; a text is the message of a failed sync."""
    cluster: list[Object] = [one.obj() if hasattr(one, "obj") else one for one in objects]  # type: ignore[misc]
    pods = []
    for position, owner in enumerate(owners):
        built = pod(f"p{position}").condition("Ready")
        if owner == "r":
            built.owner("ReplicaSet", "r")
        elif owner is not None:
            built.owner(owner.obj())  # type: ignore[attr-defined]
        pods.append(built.obj())
    status = budget_status(ONE.obj(), pods, Scales(cluster))
    if isinstance(expected, int):
        assert status.expected_pods == expected
        return
    condition = status.conditions[0]
    assert (condition.status, condition.reason, condition.message) == ("False", "SyncFailed", expected)
    assert status.disruptions_allowed == 0


def test_a_count_needs_no_controller() -> None:
    pods = [pod(f"p{i}").condition("Ready").obj() for i in range(3)]
    assert budget_status(budget("b").min_available(2).obj(), pods, Scales([])).disruptions_allowed == 1


def allowed(*pods: Pod, given: BudgetBuilder | None = None, now: int | None = None) -> int:
    built = given or budget("b")
    return budget_status(built.min_available(0).obj(), list(pods), Scales([]), now=now).disruptions_allowed


def test_who_is_healthy() -> None:
    ready = pod("a").condition("Ready").obj()
    assert allowed(ready) == 1
    assert allowed(ready, pod("b").condition("Ready", "False").obj()) == 1
    assert allowed(ready, pod("b").node("n").obj()) == 1, "no condition, not ready"
    assert allowed(ready, pod("b").condition("Ready").terminating().obj()) == 1
    assert allowed(ready, pod("b").condition("Ready").phase("Failed").obj()) == 2, "the phase is not looked at"


def test_granted_evictions_count_as_gone_for_two_minutes() -> None:
    pods: Sequence[Pod] = [pod("a").condition("Ready").obj(), pod("b").condition("Ready").obj()]
    given = budget("b").min_available(0).allows(2, disrupted=["a", "gone"]).obj()
    assert given.status is not None
    given.status.disrupted_pods["a"] = "1970-01-01T00:01:40Z"
    early = budget_status(given, pods, Scales([]), now=220 * SECOND)
    late = budget_status(given, pods, Scales([]), now=221 * SECOND)
    assert (early.disruptions_allowed, list(early.disrupted_pods)) == (1, ["a"])
    assert (late.disruptions_allowed, list(late.disrupted_pods)) == (2, [])
    assert budget_status(given, pods, Scales([])).disruptions_allowed == 1, "without a time nothing lapses"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(budget("b").selects(app="x"), 2, id="selector"),
        pytest.param(budget("b").selects("app in (x, y)"), 3, id="expressions"),
        pytest.param(budget("b").selects(""), 4, id="empty selects the namespace"),
        pytest.param(budget("b"), 0, id="absent selects nothing"),
        pytest.param(budget("b", "other").selects(""), 1, id="other namespace"),
    ],
)
def test_filling_selects_pods_of_the_namespace(given: BudgetBuilder, expected: int) -> None:
    made = given.min_available(0).obj()
    objects: list[Object] = [
        pod("a").labels(app="x").condition("Ready").obj(),
        pod("b").labels(app="x").condition("Ready").obj(),
        pod("c").labels(app="y").condition("Ready").obj(),
        pod("d").condition("Ready").obj(),
        pod("a", "other").labels(app="x").condition("Ready").obj(),
        made,
    ]
    fill_budget_status(objects)
    assert made.status is not None
    assert made.status.disruptions_allowed == expected


def test_filling_leaves_a_status_that_is_there() -> None:
    made = budget("b").selects("").min_available(0).allows(7).obj()
    fill_budget_status([pod("a").condition("Ready").obj(), made])
    assert made.status is not None
    assert made.status.disruptions_allowed == 7


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(budget("b").selects("a < 3"), '"Lt" is not a valid label selector operator', id="selector"),
        pytest.param(
            budget("b").selects("").max_unavailable("few"),
            'invalid value for IntOrString: invalid type: string is not a percentage: "few"',
            id="percentage",
        ),
    ],
)
def test_what_cannot_be_worked_out_allows_nothing(given: BudgetBuilder, message: str) -> None:
    made = given.obj()
    fill_budget_status([pod("a").condition("Ready").obj(), made])
    assert made.status is not None
    assert made.status.disruptions_allowed == 0
    assert (made.status.conditions[0].reason, made.status.conditions[0].message) == ("SyncFailed", message)
