"""What budgets allow while pods come and go, and what the eviction API says."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of
from tests.support.changed_clusters import owned

from bayplan.analysis.answers.budget_ledger import BudgetLedger
from bayplan.core.cache import Cache
from bayplan.model.policy import PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from bayplan.testing import builders as make
from bayplan.testing.builders import BudgetBuilder
from bayplan.testing.pods import PodBuilder


def web(name: str) -> PodBuilder:
    return owned(name).labels(app="x")


def allowed(cache: Cache) -> int:
    status = cache.objects.budgets["default", "b"].status
    assert status is not None
    return status.disruptions_allowed


def ledger_of(budget: BudgetBuilder) -> tuple[Cache, BudgetLedger]:
    cache = cache_of(budget.obj())
    return cache, BudgetLedger(cache)


def test_a_ready_pod_that_leaves_counts_once_it_is_published() -> None:
    cache, ledger = ledger_of(make.budget("b").selects(app="x").allows(1))
    assert ledger.leave(web("p").running("a").obj()) == []
    assert allowed(cache) == 1
    ledger.publish()
    assert allowed(cache) == 0


def test_the_one_too_many_breaks_the_budget() -> None:
    _, ledger = ledger_of(make.budget("b").selects(app="x").allows(1))
    left = [ledger.leave(web(name).running("a").obj()) for name in ("p", "q")]
    assert left == [[], ["default/b"]]


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(web("p").node("a").phase("Running"), id="not ready"),
        pytest.param(web("p").running("a").terminating(), id="leaving already"),
        pytest.param(web("p").labels(app="y").running("a"), id="not selected"),
        pytest.param(make.pod("p", "other").labels(app="x").running("a"), id="in another namespace"),
    ],
)
def test_pods_that_a_budget_does_not_count(pod: PodBuilder) -> None:
    _, ledger = ledger_of(make.budget("b").selects(app="x").allows(0))
    assert ledger.leave(pod.obj()) == []


def test_whoever_arrives_makes_up_for_one_that_left() -> None:
    cache, ledger = ledger_of(make.budget("b").selects(app="x").allows(1))
    for _ in range(3):
        ledger.leave(web("p").running("a").obj())
        ledger.arrive(web("p").running("b").obj())
    ledger.publish()
    assert allowed(cache) == 1


def test_a_budget_that_lacks_pods_allows_none_until_there_are_enough() -> None:
    budget = make.budget("b").selects(app="x").obj()
    budget.status = PodDisruptionBudgetStatus(current_healthy=1, desired_healthy=3)
    cache = cache_of(budget)
    ledger = BudgetLedger(cache)
    seen = []
    for name in ("p", "q", "r"):
        ledger.arrive(web(name).running("a").obj())
        ledger.publish()
        seen.append(allowed(cache))
    assert seen == [0, 0, 1]


def test_a_refusal_is_the_api_servers() -> None:
    budget = make.budget("b").selects(app="x").obj()
    budget.status = PodDisruptionBudgetStatus(current_healthy=2, desired_healthy=2)
    message, blamed = BudgetLedger(cache_of(budget)).refusal(web("p").running("a").obj())
    assert message == (
        "Cannot evict pod as it would violate the pod's disruption budget. "
        "The disruption budget b needs 2 healthy pods and has 2 currently"
    )
    assert blamed == "default/b"


def test_a_pod_under_two_budgets_is_refused() -> None:
    cache = cache_of(*(make.budget(name).selects(app="x").allows(5).obj() for name in ("b", "c")))
    message, blamed = BudgetLedger(cache).refusal(web("p").running("a").obj())
    assert message.startswith("This pod has more than one PodDisruptionBudget")
    assert blamed == "default/b, default/c"


@pytest.mark.parametrize(
    ("policy", "pod", "refused"),
    [
        (None, web("p").node("a").phase("Running"), True),
        ("AlwaysAllow", web("p").node("a").phase("Running"), False),
        ("AlwaysAllow", web("p").running("a"), True),
        (None, web("p").running("a").terminating(), False),
        (None, web("p").node("a").phase("Running").phase("Pending"), False),
    ],
)
def test_who_needs_no_budget(policy: str | None, pod: PodBuilder, refused: bool) -> None:
    budget = make.budget("b").selects(app="x").allows(0).obj()
    spec: PodDisruptionBudgetSpec = budget.spec
    spec.unhealthy_pod_eviction_policy = policy
    assert bool(BudgetLedger(cache_of(budget)).refusal(pod.obj())[0]) is refused
