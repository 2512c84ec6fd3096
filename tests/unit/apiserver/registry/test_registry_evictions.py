"""Evictions: what budgets say, and what becomes of the pod."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import PODS, Api, pod

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
RUNNING = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def _with_pod(status: dict[str, Any], **budget_status: Any) -> Api:
    api = Api()
    api.post(PODS, {**pod(labels={"app": "a"}), "spec": {**pod()["spec"], "nodeName": "n1"}})
    api.patch(f"{PODS}/p/status", {"status": status})
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
    api.post(BUDGETS, {"metadata": {"name": "b"}, "spec": spec})
    api.patch(f"{BUDGETS}/b/status", {"status": {"observedGeneration": 1, **budget_status}})
    return api


def test_a_pod_that_may_go_begins_to_end_and_says_why() -> None:
    api = _with_pod(RUNNING, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1, expectedPods=2)
    assert api.post(f"{PODS}/p/eviction", EVICTION)["status"] == "Success"
    ending = api.get(f"{PODS}/p")
    assert "deletionTimestamp" in ending["metadata"]
    assert ("DisruptionTarget", "EvictionByEvictionAPI") in [
        (condition["type"], condition.get("reason")) for condition in ending["status"]["conditions"]
    ]
    status = api.get(f"{BUDGETS}/b")["status"]
    assert (status["disruptionsAllowed"], set(status["disruptedPods"])) == (0, {"p"})


@pytest.mark.parametrize(
    ("budget", "cause"),
    [
        (
            {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1},
            "The disruption budget b needs 1 healthy pods and has 1 currently",
        ),
        (
            {"observedGeneration": 0, "disruptionsAllowed": 1},
            "The disruption budget b is still being processed by the server.",
        ),
    ],
)
def test_a_budget_that_allows_none_refuses(budget: dict[str, Any], cause: str) -> None:
    api = _with_pod(RUNNING, **budget)
    status, refusal = api.call("POST", f"{PODS}/p/eviction", EVICTION)
    assert (status, refusal["reason"], refusal["details"]["causes"][0]["message"]) == (429, "TooManyRequests", cause)
    assert "deletionTimestamp" not in api.get(f"{PODS}/p")["metadata"]


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
def test_pods_that_do_not_run_need_no_budget(phase: str) -> None:
    api = _with_pod({"phase": phase}, currentHealthy=0, desiredHealthy=1)
    assert api.post(f"{PODS}/p/eviction", EVICTION)["status"] == "Success"


def test_a_dry_run_asks_the_budget_and_changes_nothing() -> None:
    api = _with_pod(RUNNING, disruptionsAllowed=1)
    before = api.version
    api.post(f"{PODS}/p/eviction?dryRun=All", EVICTION)
    assert api.version == before
