"""ResourceQuotas: what is used, and what would be too much."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.admission_documents import NOW, Documents, admitted, container, document, pod, refusal

from bayplan.apiserver.admitting.plugins.quotas import quota_status


def _quota(hard: dict[str, str], **more: Any) -> dict[str, Any]:
    made = document("v1", "ResourceQuota", {"hard": hard, **more})
    return {**made, "metadata": {"name": "q", "namespace": "default"}}


def _pod(name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    made = pod(containers=[container(resources={"requests": {"cpu": cpu}})], **spec)
    return {**made, "metadata": {**made["metadata"], "name": name}}


@pytest.mark.parametrize(
    ("quota", "new", "message"),
    [
        (
            _quota({"requests.cpu": "1500m", "pods": "5"}),
            _pod("b"),
            "exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=1, limited: requests.cpu=1500m",
        ),
        (_quota({"pods": "1"}), _pod("b"), "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"),
        (_quota({"pods": "2"}), _pod("b"), ""),
        (
            _quota({"limits.memory": "1Gi", "requests.cpu": "9"}),
            _pod("b"),
            "failed quota: q: must specify limits.memory for: c",
        ),
        (
            _quota({"count/configmaps": "0"}),
            document("v1", "ConfigMap"),
            "exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=0, limited: count/configmaps=0",
        ),
        (_quota({"pods": "0"}, scopes=["BestEffort"]), _pod("b"), ""),
        (_quota({"pods": "0"}, scopes=["NotTerminating"]), _pod("b", activeDeadlineSeconds=5), ""),
        (
            _quota({"services.nodeports": "0"}),
            document("v1", "Service", {"type": "NodePort", "ports": [{"port": 1}]}),
            "exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=0, "
            "limited: services.nodeports=0",
        ),
    ],
)
def test_a_write_takes_no_more_than_is_left(quota: dict[str, Any], new: dict[str, Any], message: str) -> None:
    assert refusal(new, admitted(quota), admitted(_pod("a"))) == message


def test_the_status_says_what_is_used() -> None:
    finished = {**admitted(_pod("c", "4")), "status": {"phase": "Succeeded"}}
    quota = admitted(_quota({"requests.cpu": "4", "pods": "9", "count/configmaps": "1"}))
    cluster = Documents(admitted(_pod("a")), admitted(_pod("b", "500m")), finished, quota)
    assert quota_status(quota, cluster, NOW) == {
        "hard": {"requests.cpu": "4", "pods": "9", "count/configmaps": "1"},
        "used": {"requests.cpu": "1500m", "pods": "2", "count/configmaps": "0"},
    }


def test_scopes_of_priority_classes_select_pods() -> None:
    expressions = [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]
    quota = admitted(_quota({"pods": "0"}, scopeSelector={"matchExpressions": expressions}))
    high = document("scheduling.k8s.io/v1", "PriorityClass", value=1)
    high["metadata"] = {"name": "high"}
    assert refusal(_pod("b"), quota) == ""
    assert refusal(_pod("b", priorityClassName="high"), quota, high).startswith("exceeded quota: q, requested: pods=1")
