"""Defaults of kinds other than pods, one table."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.admission_documents import admitted, document, pod

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
SELECTED = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
RBAC = "rbac.authorization.k8s.io"


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value[int(name)] if name.isdigit() else value[name]
    return value


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            document("apps/v1", "Deployment", SELECTED),
            {
                "spec.replicas": 1,
                "spec.revisionHistoryLimit": 10,
                "spec.progressDeadlineSeconds": 600,
                "spec.strategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
                },
            },
        ),
        (
            document("apps/v1", "StatefulSet", {**SELECTED, "serviceName": "s"}),
            {
                "spec.podManagementPolicy": "OrderedReady",
                "spec.updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                "spec.persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
                "status": {"replicas": 0, "availableReplicas": 0},
            },
        ),
        (
            document("apps/v1", "DaemonSet", SELECTED),
            {
                "spec.updateStrategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
                }
            },
        ),
        (
            document("batch/v1", "Job", {"template": {"spec": {**pod()["spec"], "restartPolicy": "Never"}}}),
            {
                "spec.completions": 1,
                "spec.parallelism": 1,
                "spec.backoffLimit": 6,
                "spec.completionMode": "NonIndexed",
                "spec.podReplacementPolicy": "TerminatingOrFailed",
                "spec.suspend": False,
            },
        ),
        (
            document("v1", "Service", {"ports": [{"port": 80}]}),
            {
                "spec.type": "ClusterIP",
                "spec.ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
                "spec.sessionAffinity": "None",
                "spec.internalTrafficPolicy": "Cluster",
                "spec.clusterIP": "10.96.1.1",
                "spec.clusterIPs": ["10.96.1.1"],
                "spec.ipFamilies": ["IPv4"],
                "spec.ipFamilyPolicy": "SingleStack",
                "status": {"loadBalancer": {}},
            },
        ),
        (
            document("v1", "Secret", stringData={"a": "b"}, data={"a": "old"}),
            {"type": "Opaque", "data": {"a": "Yg=="}},
        ),
        (
            document("v1", "Namespace"),
            {
                "metadata.labels": {"kubernetes.io/metadata.name": "x"},
                "spec.finalizers": ["kubernetes"],
                "status.phase": "Active",
            },
        ),
        (
            document(
                "v1",
                "PersistentVolumeClaim",
                {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}},
            ),
            {
                "spec.volumeMode": "Filesystem",
                "spec.resources.requests.storage": "1Gi",
                "status.phase": "Pending",
                "metadata.finalizers": ["kubernetes.io/pvc-protection"],
            },
        ),
        (
            document("v1", "LimitRange", {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}),
            {"spec.limits.0.default": {"cpu": "1"}, "spec.limits.0.defaultRequest": {"cpu": "1"}},
        ),
        (
            document("storage.k8s.io/v1", "StorageClass", provisioner="p"),
            {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
        ),
        (
            document(
                "autoscaling/v2",
                "HorizontalPodAutoscaler",
                {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "A", "name": "b"}},
            ),
            {"spec.minReplicas": 1, "spec.metrics.0.resource.target.averageUtilization": 80},
        ),
        (
            document("networking.k8s.io/v1", "NetworkPolicy", {"podSelector": {}, "egress": [{}]}),
            {"spec.policyTypes": ["Ingress", "Egress"]},
        ),
        (
            document(
                f"{RBAC}/v1",
                "RoleBinding",
                roleRef={"kind": "Role", "name": "r"},
                subjects=[{"kind": "User", "name": "u"}],
            ),
            {"roleRef.apiGroup": RBAC, "subjects.0.apiGroup": RBAC},
        ),
        (
            document(
                "resource.k8s.io/v1",
                "ResourceClaim",
                {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "c"}}]}},
            ),
            {"spec.devices.requests.0.exactly": {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1}},
        ),
        (
            document("policy/v1", "PodDisruptionBudget", {"minAvailable": 1}),
            {"status": {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}},
        ),
    ],
    ids=lambda value: value.get("kind"),
)
def test_a_kind_gets_its_defaults(given: dict[str, Any], expected: dict[str, Any]) -> None:
    made = admitted(given)
    assert {path: _at(made, path) for path in expected} == expected


def test_kinds_of_which_nothing_is_known_are_left_as_they_are() -> None:
    lease = admitted(document("coordination.k8s.io/v1", "Lease", {"holderIdentity": "me"}))
    assert lease["spec"] == {"holderIdentity": "me"}
