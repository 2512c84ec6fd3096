"""Defaults of pods and templates."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.admission_documents import admitted, container, document, pod

from bayplan.apiserver.admitting.defaults.pods import default_pod


def test_a_pod_gets_every_default() -> None:
    assert admitted(pod())["spec"] == {
        "containers": [
            {
                "name": "c",
                "image": "image:1",
                "resources": {},
                "imagePullPolicy": "IfNotPresent",
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "tolerations": [
            {"key": f"node.kubernetes.io/{why}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for why in ("not-ready", "unreachable")
        ],
    }


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("host:5000/nginx", "Always"),
        ("host:5000/nginx:1.27", "IfNotPresent"),
        ("nginx@sha256:" + "0" * 64, "IfNotPresent"),
    ],
)
def test_an_image_is_always_pulled_if_its_tag_is_latest(image: str, policy: str) -> None:
    made = admitted(pod(containers=[container(image=image)]))
    assert made["spec"]["containers"][0]["imagePullPolicy"] == policy


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"ports": [{"containerPort": 80}]}, {"ports": [{"containerPort": 80, "protocol": "TCP"}]}),
        (
            {"resources": {"limits": {"cpu": "0.5"}}},
            {"resources": {"limits": {"cpu": "500m"}, "requests": {"cpu": "500m"}}},
        ),
        (
            {"livenessProbe": {"httpGet": {"port": 80}}},
            {
                "livenessProbe": {
                    "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
                    "timeoutSeconds": 1,
                    "periodSeconds": 10,
                    "successThreshold": 1,
                    "failureThreshold": 3,
                }
            },
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}]},
        ),
    ],
)
def test_parts_of_containers_get_theirs(given: dict[str, Any], expected: dict[str, Any]) -> None:
    [made] = admitted(pod(containers=[container(**given)]))["spec"]["containers"]
    assert {name: made[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"emptyDir": {}}),
        ({"secret": {"secretName": "s"}}, {"secret": {"secretName": "s", "defaultMode": 0o644}}),
        ({"hostPath": {"path": "/a"}}, {"hostPath": {"path": "/a", "type": ""}}),
    ],
)
def test_volumes_get_theirs(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert admitted(pod(volumes=[{"name": "v", **given}]))["spec"]["volumes"] == [{"name": "v", **expected}]


def test_ports_on_the_network_of_the_node_are_ports_of_the_node() -> None:
    made = admitted(pod(hostNetwork=True, containers=[container(ports=[{"containerPort": 80}])]))
    assert made["spec"]["containers"][0]["ports"][0]["hostPort"] == 80


def test_a_template_has_no_requests_from_limits() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
    template["spec"]["containers"] = [container(resources={"limits": {"cpu": "1"}})]
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    made = admitted(document("apps/v1", "Deployment", spec))["spec"]["template"]["spec"]
    assert made["containers"][0]["resources"] == {"limits": {"cpu": "1"}}
    assert "enableServiceLinks" not in made


@pytest.mark.parametrize("given", [{"serviceAccount": "a"}, {"serviceAccountName": "a"}])
def test_an_account_is_shown_under_both_of_its_names(given: dict[str, Any]) -> None:
    spec = admitted(pod(**given))["spec"]
    assert (spec["serviceAccount"], spec["serviceAccountName"]) == ("a", "a")


@pytest.mark.parametrize(
    ("status", "one", "several"),
    [
        ({"podIP": "10.0.0.1"}, "10.0.0.1", ["10.0.0.1"]),
        ({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}, "10.0.0.1", ["10.0.0.1", "fd00::1"]),
        ({"podIP": "10.0.0.2", "podIPs": [{"ip": "10.0.0.1"}]}, "10.0.0.2", ["10.0.0.2"]),
    ],
)
def test_the_address_of_a_pod_is_the_first_of_all(status: dict[str, Any], one: str, several: list[str]) -> None:
    given = {**pod(), "status": status}
    given = {**admitted(pod()), "status": status}
    default_pod(given)
    assert (given["status"]["podIP"], [each["ip"] for each in given["status"]["podIPs"]]) == (one, several)
