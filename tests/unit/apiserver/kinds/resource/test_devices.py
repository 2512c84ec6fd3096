"""Rules about devices over the API, in two versions at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bayplan.testing import LiveCluster, cluster
from bayplan.testing.live_objects import Refusal


def rule(taint: dict[str, Any], **selector: str) -> dict[str, Any]:
    spec = {"deviceSelector": selector, "taint": taint}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": {"name": "bad"}, "spec": spec}


BROKEN = {"key": "broken", "effect": "NoSchedule"}


@pytest.fixture
def newer() -> Iterator[LiveCluster]:
    with cluster(nodes=0, scheduler=False, controllers=False, kubernetes_version="1.37") as live:
        yield live


@pytest.fixture
def older() -> Iterator[LiveCluster]:
    with cluster(nodes=0, scheduler=False, controllers=False, kubernetes_version="1.36") as live:
        yield live


def test_rules_are_served_since_1_37(newer: LiveCluster, older: LiveCluster) -> None:
    (made,) = newer.apply(rule(BROKEN, device="d0"))
    assert made["spec"]["taint"]["timeAdded"] == made["metadata"]["creationTimestamp"]
    assert made["metadata"]["generation"] == 1
    with pytest.raises(Refusal, match="DeviceTaintRule"):
        older.apply(rule(BROKEN))


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (rule({"key": "a b", "effect": "NoSchedule"}), 'spec.taint.key: Invalid value: "a b"'),
        (rule({"key": "a", "effect": "Never"}), 'spec.taint.effect: Unsupported value: "Never"'),
        (rule(BROKEN, driver="A_"), 'spec.deviceSelector.driver: Invalid value: "A_"'),
        (rule(BROKEN, device="A"), 'spec.deviceSelector.device: Invalid value: "A"'),
    ],
)
def test_refused(newer: LiveCluster, document: dict[str, Any], said: str) -> None:
    with pytest.raises(Refusal) as raised:
        newer.apply(document)
    assert said in str(raised.value)


def test_a_taint_keeps_its_time_until_it_is_another_one(newer: LiveCluster) -> None:
    (made,) = newer.apply(rule(BROKEN) | {"spec": {"taint": BROKEN | {"timeAdded": "2020-01-01T00:00:00Z"}}})
    (same,) = newer.apply(rule(BROKEN, device="d1"))
    assert same["spec"]["taint"]["timeAdded"] == made["spec"]["taint"]["timeAdded"] == "2020-01-01T00:00:00Z"


def test_fields_of_gates_that_are_off_are_taken_and_not_kept(newer: LiveCluster) -> None:
    volume = {"name": "v", "emptyDir": {"mode": 448}}
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
    (made,) = newer.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    assert made["spec"]["volumes"][0] == {"name": "v", "emptyDir": {}}


def test_a_rule_keeps_pods_from_a_device_and_drives_away_who_uses_it() -> None:
    devices = {
        "driver": "gpu.example.com",
        "nodeName": "node-1",
        "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "d0"}],
    }
    request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    user = {
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "c", "image": "i"}],
        "resourceClaims": [{"name": "device", "resourceClaimName": "c"}],
    }
    api = "resource.k8s.io/v1"
    objects = [
        {"apiVersion": api, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}},
        {"apiVersion": api, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": devices},
        {
            "apiVersion": api,
            "kind": "ResourceClaim",
            "metadata": {"name": "c"},
            "spec": {"devices": {"requests": [request]}},
        },
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": user},
    ]
    with cluster(nodes=1, kubernetes_version="1.37") as live:
        live.apply([rule(BROKEN, device="d0"), *objects])
        (refused,) = live.wait_until(lambda k: k.get("pod", "p")["status"].get("conditions"))
        assert "1 cannot allocate all claims" in refused["message"]
        live.delete("devicetaintrule", "bad")
        live.wait_until("pod/p running", timeout=30)
        live.apply(rule(BROKEN | {"effect": "NoExecute"}, device="d0"))
        live.wait_until("pod/p gone", timeout=30)
