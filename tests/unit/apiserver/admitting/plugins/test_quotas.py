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


def _claim_without_requests() -> dict[str, Any]:
    return document("resource.k8s.io/v1", "ResourceClaim", {"devices": {"requests": []}})


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
        (_quota({"count/resourceclaims.resource.k8s.io": "5"}), _claim_without_requests(), ""),
        (_quota({"pods": "0"}, scopes=["BestEffort"]), _pod("b"), ""),
        (
            _quota({"pods": "0"}, scopes=["BestEffort"]),
            pod(),
            "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0",
        ),
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


_GOLD = {"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["gold"]}


@pytest.mark.parametrize(
    ("selector", "claim", "counts"),
    [
        (_GOLD, {"spec": {"volumeAttributesClassName": "gold"}}, True),
        (_GOLD, {"spec": {"volumeAttributesClassName": "tin"}}, False),
        (_GOLD, {"spec": {}}, False),
        (_GOLD, {"spec": {}, "status": {"currentVolumeAttributesClassName": "gold"}}, True),
        (_GOLD, {"spec": {}, "status": {"modifyVolumeStatus": {"targetVolumeAttributesClassName": "gold"}}}, True),
        ({**_GOLD, "operator": "NotIn"}, {"spec": {"volumeAttributesClassName": "gold"}}, False),
        ({**_GOLD, "operator": "NotIn"}, {"spec": {}}, True),
        ({"scopeName": "VolumeAttributesClass", "operator": "Exists"}, {"spec": {}}, False),
        ({"scopeName": "PriorityClass", "operator": "Exists"}, {"spec": {"volumeAttributesClassName": "gold"}}, False),
    ],
)
def test_claims_of_volumes_are_selected_by_their_attributes_class(
    selector: dict[str, Any], claim: dict[str, Any], counts: bool
) -> None:
    quota = _quota({"persistentvolumeclaims": "3"}, scopeSelector={"matchExpressions": [selector]})
    stored = {**document("v1", "PersistentVolumeClaim"), **claim}
    stored["metadata"] = {"name": "a", "namespace": "default"}
    assert quota_status(quota, Documents(stored), NOW)["used"] == {"persistentvolumeclaims": "1" if counts else "0"}


@pytest.mark.parametrize(
    ("request_", "used"),
    [
        ({"exactly": {"deviceClassName": "gold", "allocationMode": "ExactCount", "count": 2}}, "2"),
        ({"exactly": {"deviceClassName": "gold", "allocationMode": "All"}}, "32"),
        ({"exactly": {"deviceClassName": "tin", "allocationMode": "ExactCount", "count": 2}}, "0"),
        (
            {
                "firstAvailable": [
                    {"deviceClassName": "gold", "allocationMode": "ExactCount", "count": 3},
                    {"deviceClassName": "gold", "allocationMode": "ExactCount", "count": 5},
                    {"deviceClassName": "tin", "allocationMode": "All"},
                ]
            },
            "5",
        ),
    ],
)
def test_claims_of_devices_count_by_class(request_: dict[str, Any], used: str) -> None:
    name = "gold.deviceclass.resource.k8s.io/devices"
    claim = document("resource.k8s.io/v1", "ResourceClaim", {"devices": {"requests": [{"name": "r", **request_}]}})
    claim["metadata"] = {"name": "c", "namespace": "default"}
    assert quota_status(_quota({name: "9"}), Documents(claim), NOW)["used"] == {name: used}


def test_a_claim_takes_no_more_devices_than_are_left() -> None:
    name = "gold.deviceclass.resource.k8s.io/devices"
    exactly = {"deviceClassName": "gold", "allocationMode": "ExactCount", "count": 2}
    claim = document(
        "resource.k8s.io/v1", "ResourceClaim", {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    )
    why = f"exceeded quota: q, requested: {name}=2, used: {name}=0, limited: {name}=1"
    assert refusal(claim, admitted(_quota({name: "1"}))) == why
    assert refusal(claim, admitted(_quota({name: "2"}))) == ""
