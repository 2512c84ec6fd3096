"""Checks: what is found wrong with an object whose fields have the right types."""

from typing import Any

import pytest

from bayplan.model.checks import check
from bayplan.model.conversion import convert
from bayplan.model.kinds import KINDS
from bayplan.model.quantity import FORMAT_MESSAGE

NAME_RULE = "must begin with a letter or digit, and may only contain letters, digits, '-', '.', '_' and ':'"
BAD_QUANTITY = f"'1GB': {FORMAT_MESSAGE}"
BAD_OPERATOR = "'Near' is not one of DoesNotExist, Exists, In, NotIn"
BAD_NODE_OPERATOR = "'Near' is not one of DoesNotExist, Exists, Gt, In, Lt, NotIn"
NEAR = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x"]}, {"key": "a", "operator": "Near"}]}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def found(kind: str, fields: dict[str, Any]) -> list[tuple[str, str]]:
    obj, faults = convert({"metadata": {"name": "x"}, **fields}, KINDS[kind].struct)
    assert faults == []
    return check(obj)


@pytest.mark.parametrize(
    ("spec", "path", "message"),
    [
        (
            {"containers": [{}, {"resources": {"requests": {"cpu": "1", "memory": "1GB"}}}]},
            "containers[1].resources.requests[memory]",
            BAD_QUANTITY,
        ),
        (
            {"containers": [{"resources": {"limits": {"cpu": "1GB"}}}]},
            "containers[0].resources.limits[cpu]",
            BAD_QUANTITY,
        ),
        (
            {"initContainers": [{"resources": {"requests": {"cpu": "1GB"}}}]},
            "initContainers[0].resources.requests[cpu]",
            BAD_QUANTITY,
        ),
        ({"overhead": {"cpu": "1GB"}}, "overhead[cpu]", BAD_QUANTITY),
        ({"resources": {"limits": {"cpu": "1GB"}}}, "resources.limits[cpu]", BAD_QUANTITY),
        (
            {"tolerations": [{}, {"operator": "Near"}]},
            "tolerations[1].operator",
            "'Near' is not one of Equal, Exists, Gt, Lt",
        ),
        (
            {"topologySpreadConstraints": [{"whenUnsatisfiable": "Maybe"}]},
            "topologySpreadConstraints[0].whenUnsatisfiable",
            "'Maybe' is not one of DoNotSchedule, ScheduleAnyway",
        ),
        (
            {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule", "nodeTaintsPolicy": "No"}]},
            "topologySpreadConstraints[0].nodeTaintsPolicy",
            "'No' is not one of Honor, Ignore",
        ),
        (
            {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule", "nodeAffinityPolicy": "No"}]},
            "topologySpreadConstraints[0].nodeAffinityPolicy",
            "'No' is not one of Honor, Ignore",
        ),
        (
            {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule", "labelSelector": NEAR}]},
            "topologySpreadConstraints[0].labelSelector.matchExpressions[1].operator",
            BAD_OPERATOR,
        ),
        ({"preemptionPolicy": "Always"}, "preemptionPolicy", "'Always' is not one of Never, PreemptLowerPriority"),
        (
            {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{}, NEAR]}}}},
            f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[1].matchExpressions[1].operator",
            BAD_NODE_OPERATOR,
        ),
        (
            {
                "affinity": {
                    "nodeAffinity": {
                        PREFERRED: [{"preference": {"matchFields": [{"key": "metadata.name", "operator": "Near"}]}}]
                    }
                }
            },
            f"affinity.nodeAffinity.{PREFERRED}[0].preference.matchFields[0].operator",
            BAD_NODE_OPERATOR,
        ),
        (
            {"affinity": {"podAffinity": {REQUIRED: [{"labelSelector": NEAR}]}}},
            f"affinity.podAffinity.{REQUIRED}[0].labelSelector.matchExpressions[1].operator",
            BAD_OPERATOR,
        ),
        (
            {"affinity": {"podAntiAffinity": {PREFERRED: [{"podAffinityTerm": {"namespaceSelector": NEAR}}]}}},
            f"affinity.podAntiAffinity.{PREFERRED}[0].podAffinityTerm.namespaceSelector.matchExpressions[1].operator",
            BAD_OPERATOR,
        ),
        (
            {
                "volumes": [
                    {"ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1GB"}}}}}}
                ]
            },
            "volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]",
            BAD_QUANTITY,
        ),
    ],
)
@pytest.mark.parametrize(
    ("kind", "wrap", "prefix"),
    [
        pytest.param("Pod", lambda spec: spec, "spec", id="pod"),
        pytest.param("Deployment", lambda spec: {"template": {"spec": spec}}, "spec.template.spec", id="template"),
        pytest.param(
            "CronJob",
            lambda spec: {"schedule": "@daily", "jobTemplate": {"spec": {"template": {"spec": spec}}}},
            "spec.jobTemplate.spec.template.spec",
            id="cron-job",
        ),
    ],
)
def test_pod_spec(spec: dict[str, Any], path: str, message: str, kind: str, wrap: Any, prefix: str) -> None:
    """A fault in a pod is found in the pod itself and in the template of a workload."""
    assert found(kind, {"spec": wrap(spec)}) == [(f"{prefix}.{path}", message)]


@pytest.mark.parametrize(
    ("kind", "fields", "path", "message"),
    [
        ("Node", {"status": {"allocatable": {"cpu": "1GB"}}}, "status.allocatable[cpu]", BAD_QUANTITY),
        ("Node", {"status": {"capacity": {"cpu": "1GB"}}}, "status.capacity[cpu]", BAD_QUANTITY),
        (
            "Pod",
            {"status": {"containerStatuses": [{"allocatedResources": {"cpu": "1GB"}}]}},
            "status.containerStatuses[0].allocatedResources[cpu]",
            BAD_QUANTITY,
        ),
        (
            "Pod",
            {"status": {"initContainerStatuses": [{"resources": {"requests": {"cpu": "1GB"}}}]}},
            "status.initContainerStatuses[0].resources.requests[cpu]",
            BAD_QUANTITY,
        ),
        ("Pod", {"status": {"resources": {"limits": {"cpu": "1GB"}}}}, "status.resources.limits[cpu]", BAD_QUANTITY),
        (
            "Pod",
            {"status": {"startTime": "noon"}},
            "status.startTime",
            "'noon' is not an RFC 3339 time (such as 2026-01-31T12:00:00Z)",
        ),
        (
            "Pod",
            {"metadata": {"name": "x", "deletionTimestamp": "2026-02-30T00:00:00Z"}},
            "metadata.deletionTimestamp",
            "'2026-02-30T00:00:00Z' is not a valid time",
        ),
        ("PersistentVolume", {"spec": {"capacity": {"storage": "1GB"}}}, "spec.capacity[storage]", BAD_QUANTITY),
        (
            "PersistentVolume",
            {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [NEAR]}}}},
            "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[1].operator",
            BAD_NODE_OPERATOR,
        ),
        (
            "PersistentVolumeClaim",
            {"spec": {"resources": {"requests": {"storage": "1GB"}}}},
            "spec.resources.requests[storage]",
            BAD_QUANTITY,
        ),
        (
            "PersistentVolumeClaim",
            {"status": {"capacity": {"storage": "1GB"}}},
            "status.capacity[storage]",
            BAD_QUANTITY,
        ),
        ("CSIStorageCapacity", {"capacity": "1GB"}, "capacity", BAD_QUANTITY),
        ("CSIStorageCapacity", {"maximumVolumeSize": "1GB"}, "maximumVolumeSize", BAD_QUANTITY),
        ("CSIStorageCapacity", {"nodeTopology": NEAR}, "nodeTopology.matchExpressions[1].operator", BAD_OPERATOR),
        (
            "StatefulSet",
            {"spec": {"volumeClaimTemplates": [{"spec": {"resources": {"requests": {"storage": "1GB"}}}}]}},
            "spec.volumeClaimTemplates[0].spec.resources.requests[storage]",
            BAD_QUANTITY,
        ),
        ("ReplicaSet", {"spec": {"selector": NEAR}}, "spec.selector.matchExpressions[1].operator", BAD_OPERATOR),
        (
            "ReplicationController",
            {"spec": {"template": {"spec": {"overhead": {"cpu": "1GB"}}}}},
            "spec.template.spec.overhead[cpu]",
            BAD_QUANTITY,
        ),
        (
            "PodDisruptionBudget",
            {"spec": {"selector": NEAR}},
            "spec.selector.matchExpressions[1].operator",
            BAD_OPERATOR,
        ),
        (
            "PodDisruptionBudget",
            {"spec": {"minAvailable": "half"}},
            "spec.minAvailable",
            "'half' is neither a number nor a percentage such as 50%",
        ),
        ("CronJob", {"spec": {}}, "spec.schedule", "is missing"),
        (
            "CronJob",
            {"spec": {"schedule": "61 * * * *"}},
            "spec.schedule",
            "'61 * * * *': end of range (61) above maximum (59): 61",
        ),
        (
            "CronJob",
            {"spec": {"schedule": "@daily", "concurrencyPolicy": "Maybe"}},
            "spec.concurrencyPolicy",
            "'Maybe' is not one of Allow, Forbid, Replace",
        ),
        (
            "CronJob",
            {"spec": {"schedule": "@daily", "failedJobsHistoryLimit": -1}},
            "spec.failedJobsHistoryLimit",
            "-1: must be greater than or equal to 0",
        ),
        (
            "CronJob",
            {"spec": {"schedule": "@daily"}, "status": {"lastScheduleTime": "noon"}},
            "status.lastScheduleTime",
            "'noon' is not an RFC 3339 time (such as 2026-01-31T12:00:00Z)",
        ),
        ("Namespace", {"metadata": {}}, "metadata.name", "is missing"),
        ("Node", {"metadata": {"generateName": "n-"}}, "metadata.name", "is missing"),
        ("Pod", {"metadata": {"name": "a/b"}}, "metadata.name", f"'a/b': {NAME_RULE}"),
        ("Pod", {"metadata": {"name": "a", "namespace": "b/c"}}, "metadata.namespace", f"'b/c': {NAME_RULE}"),
        ("Pod", {"metadata": {"generateName": "a/"}}, "metadata.generateName", f"'a/': {NAME_RULE}"),
    ],
)
def test_other_kinds(kind: str, fields: dict[str, Any], path: str, message: str) -> None:
    """Quantities, times, operators and names are checked wherever they stand."""
    assert found(kind, fields) == [(path, message)]


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        pytest.param("Pod", {"metadata": {"generateName": "web-"}}, id="generated-name"),
        pytest.param("PodDisruptionBudget", {"spec": {"maxUnavailable": "50%", "minAvailable": 1}}, id="budget"),
        pytest.param("Pod", {"spec": {"tolerations": [{"operator": "Gt"}, {}]}}, id="comparing-tolerations"),
        pytest.param("Pod", {"metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"}}, id="time"),
    ],
)
def test_nothing_wrong(kind: str, fields: dict[str, Any]) -> None:
    """What Kubernetes accepts is accepted."""
    assert found(kind, fields) == []


def test_all_faults_of_a_container() -> None:
    """Each bad quantity of a container is named once."""
    resources = {"requests": {"cpu": "x", "memory": "y"}, "limits": {"cpu": "z", "memory": "1"}}
    paths = [path for path, _ in found("Pod", {"spec": {"containers": [{"resources": resources}]}})]
    start = "spec.containers[0].resources"
    assert paths == [f"{start}.requests[cpu]", f"{start}.requests[memory]", f"{start}.limits[cpu]"]
