"""Which pods may be evicted, and what becomes of their budget."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.controllers.budgets.evicting import MIRROR_ANNOTATION, ask_budgets, is_daemon, is_mirror
from bayplan.model.policy import PodDisruptionBudgetStatus
from bayplan.store import ApiError
from bayplan.testing import builders as make

READY = make.pod("p").labels(app="a").running("n1")
UNREADY = make.pod("p").labels(app="a").node("n1").phase("Running")


def guard(name: str = "b", **counts: Any) -> Any:
    budget = make.budget(name).selects(app="a").obj()
    budget.status = PodDisruptionBudgetStatus(observed_generation=1, **counts)
    return budget


def refusal(pod: Any, *budgets: Any) -> str:
    with pytest.raises(ApiError) as caught:
        ask_budgets(pod.obj(), budgets, 0)
    return str(caught.value)


def test_a_budget_with_room_is_charged() -> None:
    after = ask_budgets(READY.obj(), [guard(disruptions_allowed=1)], 0)
    assert after is not None
    assert after.status is not None
    assert (after.status.disruptions_allowed, list(after.status.disrupted_pods)) == (0, ["p"])


def test_a_budget_without_room_refuses() -> None:
    assert "would violate the pod's disruption budget" in refusal(READY, guard())


def test_two_budgets_refuse_whatever_they_allow() -> None:
    both = [guard(name, disruptions_allowed=9) for name in "bc"]
    assert "more than one PodDisruptionBudget" in refusal(READY, *both)


@pytest.mark.parametrize(
    ("pod", "policy"),
    [
        pytest.param(make.pod("p").labels(app="a").phase("Pending"), None, id="pending"),
        pytest.param(make.pod("p").labels(app="a").running("n1").phase("Succeeded"), None, id="finished"),
        pytest.param(make.pod("p").labels(app="other").running("n1"), None, id="not covered"),
        pytest.param(UNREADY, "AlwaysAllow", id="not ready, which the policy allows"),
    ],
)
def test_pods_that_need_no_budget(pod: Any, policy: str | None) -> None:
    budget = guard()
    budget.spec.unhealthy_pod_eviction_policy = policy
    assert ask_budgets(pod.obj(), [budget], 0) is None


def test_a_pod_that_is_not_ready_may_go_while_enough_others_are() -> None:
    assert ask_budgets(UNREADY.obj(), [guard(current_healthy=2, desired_healthy=2)], 0) is None
    assert refusal(UNREADY, guard(current_healthy=1, desired_healthy=2))


def test_pods_that_a_drain_leaves_alone() -> None:
    daemon = make.pod("d").owner("DaemonSet", "agent").obj()
    mirror = make.pod("m").annotations({MIRROR_ANNOTATION: "x"}).obj()
    assert [(is_daemon(pod), is_mirror(pod)) for pod in (daemon, mirror, READY.obj())] == [
        (True, False),
        (False, True),
        (False, False),
    ]
