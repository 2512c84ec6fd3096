"""What is refused about statuses of pods."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.pods.status import check_pod_status_update

Part = dict[str, Any]
ENDED = {"terminated": {"exitCode": 1}}
WELL = {"terminated": {"exitCode": 0}}
RUNNING: Part = {"running": {}}
STAYS = "Forbidden: may not be transitioned to non-terminated state"
FAMILIES = "may specify no more than one IP for each IP family"


def said(status: Part, before: Part | None = None, **spec: Any) -> list[str]:
    faults = Faults()
    check_pod_status_update({"status": status}, {"status": before or {}, "spec": spec}, faults)
    return [f"{cause.field}: {cause.message}" for cause in faults]


def ips(*texts: str) -> list[Part]:
    return [{"ip": text} for text in texts]


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"conditions": [{"type": "Ready"}, {"type": "example.com/x", "observedGeneration": 0}]},
        {"nominatedNodeName": "n.x"},
        {"observedGeneration": 0},
        {"podIPs": ips("10.0.0.1", "fd00::1")},
        {"podIPs": ips("fd00::1")},
        {"hostIP": "10.0.0.1", "hostIPs": ips("10.0.0.1", "fd00::1")},
    ],
)
def test_good_statuses(status: Part) -> None:
    assert said(status) == []


@pytest.mark.parametrize(
    ("status", "faults"),
    [
        (
            {"conditions": [{"type": "Ready"}, {"type": "a b", "observedGeneration": -1}]},
            [
                "status.conditions[1].observedGeneration: Invalid value: -1: must be a non-negative integer",
                'status.conditions[1].Type: Invalid value: "a b": name part must consist of ',
            ],
        ),
        (
            {"observedGeneration": -1},
            ["status.observedGeneration: Invalid value: -1: must be a non-negative integer"],
        ),
        ({"qosClass": "Burstable"}, ['status.qosClass: Invalid value: "Burstable": field is immutable']),
        ({"nominatedNodeName": "N"}, ['status.nominatedNodeName: Invalid value: "N": ']),
        (
            {"hostIP": "10.0.0.2", "hostIPs": ips("10.0.0.1", "fd00::1")},
            ['status.hostIPs[0].ip: Invalid value: "10.0.0.1": must be equal to `hostIP`'],
        ),
        ({"podIPs": ips("x")}, ['status.podIPs[0]: Invalid value: "x": ']),
        (
            {"podIPs": ips("10.0.0.1", "10.0.0.2")},
            [f'status.podIPs: Invalid value: [{{"IP":"10.0.0.1"}},{{"IP":"10.0.0.2"}}]: {FAMILIES}'],
        ),
        (
            {"podIPs": ips("10.0.0.1", "fd00::1", "fd00::2")},
            ["status.podIPs: Invalid value: "],
        ),
        ({"podIPs": ips("fd00::1", "fd00::2")}, ["status.podIPs: Invalid value: "]),
        ({"podIPs": ips("x", "10.0.0.1", "10.0.0.2")}, ["status.podIPs[0]: "]),
    ],
)
def test_bad_statuses(status: Part, faults: list[str]) -> None:
    found = said(status)
    assert len(found) == len(faults)
    assert all(one.startswith(fault) for one, fault in zip(found, faults, strict=True))


def test_a_pod_on_a_node_is_not_nominated_anew() -> None:
    assert said({"nominatedNodeName": "n"}, {"nominatedNodeName": "n"}, nodeName="m") == []
    [fault] = said({"nominatedNodeName": "n"}, {"nominatedNodeName": "o"}, nodeName="m")
    assert fault.startswith("status.nominatedNodeName: Forbidden: ")


RULE = {"exitCodes": {"operator": "In", "values": [1, 2]}}
OTHER = {"exitCodes": {"operator": "NotIn", "values": [1, 2]}}


@pytest.mark.parametrize(
    ("container", "policy", "ended", "starts_again"),
    [
        ({}, "Always", WELL, True),
        ({}, "OnFailure", ENDED, True),
        ({}, "OnFailure", WELL, False),
        ({}, "Never", ENDED, False),
        ({"restartPolicy": "Always"}, "Never", WELL, True),
        ({"restartPolicy": "Never"}, "Always", ENDED, False),
        ({"restartPolicy": "Never", "restartPolicyRules": [RULE]}, "Never", ENDED, True),
        ({"restartPolicy": "Never", "restartPolicyRules": [RULE]}, "Never", WELL, False),
        ({"restartPolicy": "Never", "restartPolicyRules": [OTHER]}, "Never", ENDED, False),
        ({"restartPolicy": "Never", "restartPolicyRules": [OTHER]}, "Never", WELL, True),
        ({"restartPolicy": "Never", "restartPolicyRules": [OTHER, RULE]}, "Never", ENDED, True),
        (None, "Always", ENDED, False),
    ],
)
@pytest.mark.parametrize("kind", ["container", "initContainer"])
def test_what_ended_runs_again_only_if_its_policy_says_so(
    kind: str, container: Part | None, policy: str, ended: Part, starts_again: bool
) -> None:
    spec = {"restartPolicy": policy, f"{kind}s": [] if container is None else [{"name": "c", **container}]}
    field = f"{kind}Statuses"
    before = {field: [{"name": "a", "state": RUNNING}, {"name": "c", "state": ended}]}
    expected = [] if starts_again else [f"status.{field}[1].state: {STAYS}"]
    assert said({field: [{"name": "c", "state": RUNNING}]}, before, **spec) == expected
    assert said({field: [{"name": "c", "state": {}}]}, before, **spec) == expected
    assert said({field: [{"name": "c", "state": ended}]}, before, **spec) == []
    assert said({field: [{"name": "other", "state": RUNNING}]}, before, **spec) == []


def test_statuses_of_claims_are_about_claims_of_the_spec() -> None:
    claims = [{"name": "c"}, {"name": "x", "resourceClaimName": "A"}, {"name": "c", "resourceClaimName": "r"}]
    found = said({"resourceClaimStatuses": claims}, resourceClaims=[{"name": "c"}])
    assert found[0] == (
        'status.resourceClaimStatuses[1].name: Invalid value: "x": must match the name of an entry in '
        "`spec.resourceClaims`"
    )
    assert found[1].startswith('status.resourceClaimStatuses[1].resourceClaimName: Invalid value: "A": ')
    assert found[2:] == ['status.resourceClaimStatuses[2].name: Duplicate value: "c"']


def test_a_claim_for_extended_resources_names_what_asks_for_it() -> None:
    containers = [{"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}}]
    good = {"containerName": "c", "resourceName": "example.com/gpu", "requestName": "r"}
    claim = {"requestMappings": [good], "resourceClaimName": "x"}
    assert said({"extendedResourceClaimStatus": claim}, containers=containers) == []
    assert said({"extendedResourceClaimStatus": claim}, initContainers=containers) == []
    wrong = [{**good, "containerName": "d"}, {**good, "resourceName": "cpu"}, {**good, "requestName": "R"}, good, good]
    path = "status.extendedResourceClaimStatus.requestMappings"
    found = said({"extendedResourceClaimStatus": {"requestMappings": wrong}}, containers=containers)
    assert [one.partition(": ")[0] for one in found] == [
        f"{path}[0].containerName",
        f"{path}[1].resourceName",
        "status.extendedResourceClaimStatus.requestName",
        *(f"{path}[4].{field}" for field in ("containerName", "resourceName", "requestName")),
        "status.extendedResourceClaimStatus.resourceClaimName",
    ]
    [none] = said({"extendedResourceClaimStatus": {"resourceClaimName": "x"}}, containers=containers)
    assert none == f"{path}: Required value: at least one request mapping is required"
