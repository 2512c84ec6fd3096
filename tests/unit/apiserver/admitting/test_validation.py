"""What is refused about documents of other kinds than pods, new or changed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.admission_documents import (
    NOW,
    Documents,
    admitted,
    document,
    namespace,
    pod,
    refusal,
    resource_named,
)

from bayplan.apiserver.registry.admission import admit_update
from bayplan.store.errors import ApiError

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
SELECTED = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
ONCE = {"spec": {**pod()["spec"], "restartPolicy": "Never"}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
RBAC = "rbac.authorization.k8s.io"
ROLE = {"kind": "Role", "name": "r"}
REQUESTS = [{"name": f"r{number}", "exactly": {"deviceClassName": "c"}} for number in range(33)]
DEFINITION = {
    "group": "example.com",
    "scope": "Namespaced",
    "names": {"plural": "things", "kind": "Thing"},
    "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}],
}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            document("apps/v1", "Deployment", {**SELECTED, "selector": {}}),
            "spec.selector: Invalid value: {}: empty selector is invalid for deployment",
        ),
        (
            document(
                "apps/v1",
                "Deployment",
                {**SELECTED, "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
            ),
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0",
        ),
        (
            document("apps/v1", "DaemonSet", {**SELECTED, "selector": {"matchLabels": {"a": "c"}}}),
            'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`',
        ),
        (
            document("apps/v1", "StatefulSet", {**SELECTED, "replicas": -1}),
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            document(
                "v1",
                "ReplicationController",
                {"selector": {"a": "b"}, "template": TEMPLATE, "replicas": -1, "minReadySeconds": -1},
            ),
            "[spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0, "
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0]",
        ),
        (
            document("v1", "ReplicationController", {"selector": {"a": "b"}}),
            "spec.template: Required value",
        ),
        (
            document("batch/v1", "Job", {"template": {"spec": pod()["spec"]}}),
            'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
        ),
        (
            document("batch/v1", "Job", {"template": ONCE, "completionMode": "Indexed", "parallelism": 2}),
            "spec.completions: Required value: when completion mode is Indexed",
        ),
        (
            document("batch/v1", "CronJob", {"schedule": "* * * *", "jobTemplate": {"spec": {"template": ONCE}}}),
            'spec.schedule: Invalid value: "* * * *": expected exactly 5 fields, found 4: [* * * *]',
        ),
        (
            document(
                "batch/v1",
                "CronJob",
                {"schedule": "0 * * * *", "timeZone": "X", "jobTemplate": {"spec": {"template": ONCE}}},
            ),
            'spec.timeZone: Invalid value: "X": unknown time zone X',
        ),
        (document("v1", "Service", {}), "spec.ports: Required value"),
        (
            document("v1", "Service", {"ports": [{"port": 1}, {"port": 2, "name": "b"}]}),
            "spec.ports[0].name: Required value",
        ),
        (
            document("v1", "Service", {"type": "ExternalName"}),
            "spec.externalName: Required value",
        ),
        (
            document("v1", "Service", {"ports": [{"port": 1}], "clusterIP": "1.2.3.4"}),
            'spec.clusterIPs: Invalid value: ["1.2.3.4"]: failed to allocate IP 1.2.3.4: the provided network does not '
            "match the current range",
        ),
        (
            document("v1", "Service", {"ports": [{"port": 1, "nodePort": 80}], "type": "NodePort"}),
            "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid "
            "ports is 30000-32767",
        ),
        (
            document("v1", "ConfigMap", data={"a b": "c"}),
            "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' "
            "or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
        ),
        (document("v1", "ConfigMap", data={"a": "x" * 1_048_577}), "[]: Too long: may not be more than 1048576 bytes"),
        (document("v1", "Secret", type="kubernetes.io/tls", data={"tls.crt": ""}), "data[tls.key]: Required value"),
        (
            document("v1", "Node", {"taints": [{"key": "a", "effect": "X"}]}),
            'metadata.taints[0].effect: Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule", '
            '"NoExecute"',
        ),
        (
            document("v1", "ResourceQuota", {"hard": {"gpus": "1"}}),
            '[spec.hard[gpus]: Invalid value: "gpus": must be a standard resource type or fully qualified, '
            'spec.hard[gpus]: Invalid value: "gpus": must be a standard resource for quota]',
        ),
        (
            document("v1", "LimitRange", {"limits": [{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]}),
            '[spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1, '
            'spec.limits[0].defaultRequest[cpu]: Invalid value: "1": min value 2 is greater than default '
            "request value 1, "
            'spec.limits[0].default[cpu]: Invalid value: "2": min value 2 is greater than default value 1]',
        ),
        (
            document("v1", "PersistentVolumeClaim", {"accessModes": ["X"]}),
            '[spec.accessModes: Unsupported value: "X": supported values: "ReadOnlyMany", "ReadWriteMany", '
            '"ReadWriteOnce", "ReadWriteOncePod", spec.resources[storage]: Required value]',
        ),
        (
            document("v1", "PersistentVolume", {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}),
            "spec: Required value: must specify a volume type",
        ),
        (
            document("scheduling.k8s.io/v1", "PriorityClass", value=2_000_000_000),
            "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
        ),
        (
            document("storage.k8s.io/v1", "VolumeAttributesClass", driverName="d", parameters={"": "a"}),
            'parameters: Invalid value: "": field can not be empty.',
        ),
        (
            document("policy/v1", "PodDisruptionBudget", {"minAvailable": "101%"}),
            'spec.minAvailable: Invalid value: "101%": must not be greater than 100%',
        ),
        (
            document("coordination.k8s.io/v1", "Lease", {"leaseDurationSeconds": 0}),
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        ),
        (
            document(f"{RBAC}/v1", "Role", rules=[{"verbs": ["get"], "resources": ["pods"]}]),
            "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
        ),
        (
            document(f"{RBAC}/v1", "ClusterRoleBinding", roleRef=ROLE),
            'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
        ),
        (
            document("networking.k8s.io/v1", "Ingress", {}),
            "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified",
        ),
        (
            document("networking.k8s.io/v1", "NetworkPolicy", {"podSelector": {}, "ingress": [{"from": [{}]}]}),
            "spec.ingress[0].from[0]: Required value: must specify a peer",
        ),
        (
            document(
                "autoscaling/v2",
                "HorizontalPodAutoscaler",
                {
                    "maxReplicas": 1,
                    "minReplicas": 2,
                    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "A", "name": "b"},
                },
            ),
            "spec.maxReplicas: Invalid value: 1: must be greater than or equal to `minReplicas`",
        ),
        (
            document("resource.k8s.io/v1", "ResourceClaim", {"devices": {"requests": [{"name": "a", "exactly": {}}]}}),
            "spec.devices.requests[0].exactly.deviceClassName: Required value",
        ),
        (document("resource.k8s.io/v1", "ResourceClaim", {"devices": {"requests": REQUESTS[:32]}}), ""),
        (
            document("resource.k8s.io/v1", "ResourceClaim", {"devices": {"requests": REQUESTS}}),
            "spec.devices.requests: Too many: 33: must have at most 32 items",
        ),
        (
            document("apiextensions.k8s.io/v1", "CustomResourceDefinition", DEFINITION),
            'metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group',
        ),
        (
            {**document("v1", "ServiceAccount"), "metadata": {"name": "A", "namespace": "default"}},
            'metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case '
            "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
            "'example.com', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_new_documents(given: dict[str, Any], message: str) -> None:
    assert refusal(given) == message


@pytest.mark.parametrize(
    ("before", "changes", "message"),
    [
        (
            document("v1", "ConfigMap", immutable=True, data={"a": "b"}),
            {"data": {"a": "c"}},
            "data: Forbidden: field is immutable when `immutable` is set",
        ),
        (document("v1", "Secret"), {"type": "x/y"}, 'type: Invalid value: "x/y": field is immutable'),
        (
            document("scheduling.k8s.io/v1", "PriorityClass", value=1),
            {"value": 2},
            "value: Forbidden: may not be changed in an update.",
        ),
        (
            document("apps/v1", "ReplicaSet", SELECTED),
            {
                "spec": {
                    **SELECTED,
                    "selector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]},
                }
            },
            "spec.selector: Invalid value: "
            '{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a","operator":"Exists"}]}'
            ": field is immutable",
        ),
        (
            document("apps/v1", "StatefulSet", {**SELECTED, "serviceName": "a"}),
            {"spec": {**SELECTED, "serviceName": "b"}},
            "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
            "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
            "'minReadySeconds' are "
            "forbidden",
        ),
        (
            document(f"{RBAC}/v1", "RoleBinding", roleRef=ROLE),
            {"roleRef": {"kind": "Role", "name": "s"}},
            f'roleRef: Invalid value: {{"APIGroup":"{RBAC}","Kind":"Role","Name":"s"}}: cannot change roleRef',
        ),
        (
            document("v1", "Node", {"providerID": "a"}),
            {"spec": {"providerID": "b"}},
            'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
        ),
        (
            document("v1", "Service", {"ports": [{"port": 1}]}),
            {"spec": {"ports": [{"port": 1}], "clusterIP": "10.96.0.9"}},
            'spec.clusterIPs[0]: Invalid value: ["10.96.0.9"]: may not change once set',
        ),
        (
            document("storage.k8s.io/v1", "StorageClass", provisioner="a"),
            {"provisioner": "b"},
            'provisioner: Invalid value: "b": field is immutable',
        ),
    ],
    ids=lambda value: value.get("kind", "") if isinstance(value, dict) else "",
)
def test_changes(before: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    old = admitted(before)
    with pytest.raises(ApiError) as caught:
        _update(old, {**old, **changes})
    assert caught.value.message.partition(": ")[2] == message


def _update(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return admit_update(resource_named(old), new, old, Documents(namespace("default")), NOW)


def test_a_claim_keeps_its_spec_and_the_refusal_shows_what_changed() -> None:
    old = admitted(document("v1", "PersistentVolumeClaim", CLAIM))
    with pytest.raises(ApiError) as caught:
        _update(old, {**old, "spec": {**old["spec"], "accessModes": ["ReadOnlyMany"]}})
    assert '- "ReadWriteOnce"\n+ "ReadOnlyMany"\n' in caught.value.message.replace("  ", " ")


def test_the_template_of_a_job_changes_only_while_the_job_is_suspended() -> None:
    running = admitted(document("batch/v1", "Job", {"template": ONCE}))
    template = {
        **running["spec"]["template"],
        "spec": {**running["spec"]["template"]["spec"], "nodeSelector": {"a": "b"}},
    }
    with pytest.raises(ApiError) as caught:
        _update(running, {**running, "spec": {**running["spec"], "template": template}})
    assert caught.value.message.endswith("field is immutable")
    suspended = admitted(document("batch/v1", "Job", {"template": ONCE, "suspend": True}))
    assert _update(suspended, {**suspended, "spec": {**suspended["spec"], "template": template}})


def test_a_fault_of_metadata_is_found_four_times_in_a_change_and_told_once() -> None:
    old = admitted(document("v1", "ConfigMap"))
    with pytest.raises(ApiError) as caught:
        _update(old, {**old, "metadata": {**old["metadata"], "labels": {"a": "b c"}}})
    assert len(caught.value.causes) == 4
    assert caught.value.message.count("a valid label must be") == 1


@pytest.mark.parametrize(
    ("given", "any_will_do"),
    [
        (document("coordination.k8s.io/v1", "Lease", {}), True),
        (document("node.k8s.io/v1", "RuntimeClass", handler="h"), True),
        (document("apiregistration.k8s.io/v1", "APIService", {}), True),
        (document("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"), True),
        (document("v1", "ConfigMap"), False),
        (document("storage.k8s.io/v1", "CSINode", {"drivers": []}), False),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_some_kinds_let_finalizers_be_without_a_domain(given: dict[str, Any], any_will_do: bool) -> None:
    text = "name is neither a standard finalizer name nor is it fully qualified"
    given = {**given, "metadata": {**given["metadata"], "finalizers": ["mine"]}}
    assert (text not in refusal(given)) == any_will_do
    old = {**given, "metadata": {**given["metadata"], "finalizers": ["a/b"]}}
    try:
        admit_update(resource_named(given), given, old, Documents(namespace("default")), NOW)
        message = ""
    except ApiError as error:
        message = error.message
    assert (text not in message) == any_will_do


@pytest.mark.parametrize(
    ("error", "faults"),
    [
        ({"errorCode": 0, "message": "m" * 1024}, ""),
        ({"errorCode": -1}, "errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive"),
        ({"message": "m" * 300_000}, "message: Too long: may not be more than 262144 bytes"),
    ],
)
@pytest.mark.parametrize("field", ["attachError", "detachError"])
def test_errors_of_attachments(field: str, error: dict[str, Any], faults: str) -> None:
    spec = {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    old = admitted(document("storage.k8s.io/v1", "VolumeAttachment", spec))
    new = {**old, "status": {"attached": False, field: error}}
    try:
        admit_update(resource_named(old), new, old, Documents(namespace("default")), NOW, "status")
        message = ""
    except ApiError as refused:
        message = refused.message.partition(f"status.{field}.")[2]
    assert message == faults
