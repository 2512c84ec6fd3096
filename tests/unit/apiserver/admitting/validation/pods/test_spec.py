"""What is refused about new pods."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.admission_documents import container, pod, refusal

NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _with_container(**more: Any) -> dict[str, Any]:
    return pod(containers=[container(**more)])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (pod(), ""),
        (pod(containers=[]), "spec.containers: Required value"),
        (
            pod(restartPolicy="X"),
            'spec.restartPolicy: Unsupported value: "X": supported values: "Always", "OnFailure", "Never"',
        ),
        (
            pod(activeDeadlineSeconds=0),
            "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
        ),
        (pod(nodeSelector={"a b": "c"}), f'spec.nodeSelector: Invalid value: "a b": {NAME_PART}'),
        (pod(schedulingGates=[{"name": "a"}, {"name": "a"}]), 'spec.schedulingGates[1]: Duplicate value: "a"'),
        (
            pod(nodeName="n", schedulingGates=[{"name": "a"}]),
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        ),
        (
            pod(dnsPolicy="None"),
            "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
        ),
        (
            pod(hostNetwork=True, containers=[container(ports=[{"containerPort": 80, "hostPort": 81}])]),
            "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when "
            "`hostNetwork` is true",
        ),
        (
            pod(initContainers=[container(name="i", lifecycle={"preStop": {"sleep": {"seconds": 1}}})]),
            "spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without "
            "restartPolicy=Always",
        ),
        (
            pod(securityContext={"runAsUser": -1}),
            "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
        ),
    ],
)
def test_pods_as_a_whole(given: dict[str, Any], message: str) -> None:
    assert refusal(given) == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"image": ""}, "spec.containers[0].image: Required value"),
        (
            {"image": " i"},
            'spec.containers[0].image: Invalid value: " i": must not have leading or trailing whitespace',
        ),
        (
            {"imagePullPolicy": "X"},
            'spec.containers[0].imagePullPolicy: Unsupported value: "X": supported values: "Always", '
            '"IfNotPresent", "Never"',
        ),
        (
            {"ports": [{"containerPort": 0}]},
            "spec.containers[0].ports[0].containerPort: Required value",
        ),
        (
            {"ports": [{"containerPort": 70000}]},
            "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
        ),
        (
            {"env": [{"name": "a=b"}]},
            'spec.containers[0].env[0].name: Invalid value: "a=b": a valid environment variable name must consist only '
            "of printable ASCII characters other than '='",
        ),
        (
            {"env": [{"name": "A", "valueFrom": {}}]},
            'spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, '
            "`resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.x"}}}]},
            'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.x": error converting '
            "fieldPath: field label not supported: spec.x",
        ),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/a"}]},
            'spec.containers[0].volumeMounts[0].name: Not found: "v"',
        ),
        (
            {"livenessProbe": {}},
            "spec.containers[0].livenessProbe: Required value: must specify a handler type",
        ),
        (
            {"livenessProbe": {"tcpSocket": {"port": 1}, "successThreshold": 2}},
            "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
        ),
        (
            {"resources": {"requests": {"hugepages-2Mi": "2Mi"}}},
            "[spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources, "
            "spec.containers[0].resources: Forbidden: HugePages require cpu or memory]",
        ),
        (
            {"resources": {"limits": {"example.com/gpu": "500m"}}},
            '[spec.containers[0].resources.limits[example.com/gpu]: Invalid value: "500m": must be an integer, '
            'spec.containers[0].resources.requests[example.com/gpu]: Invalid value: "500m": must be an integer]',
        ),
        (
            {"resources": {"claims": [{"name": "a"}]}},
            'spec.containers[0].resources.claims[0]: Not found: "a": must be one of the names in '
            "pod.spec.resourceClaims "
            "which is empty",
        ),
        (
            {"restartPolicy": "Sometimes"},
            'spec.containers[0].restartPolicy: Unsupported value: "Sometimes": supported values: "Always", '
            '"Never", "OnFailure"',
        ),
    ],
)
def test_containers(given: dict[str, Any], message: str) -> None:
    assert refusal(_with_container(**given)) == message


def test_init_containers_share_names_with_the_others_and_have_no_probes() -> None:
    probe = {"tcpSocket": {"port": 1}}
    given = pod(initContainers=[container(readinessProbe=probe)])
    assert refusal(given) == (
        '[spec.initContainers[0].name: Duplicate value: "c", spec.initContainers[0].readinessProbe: Forbidden: '
        "may not be set for init containers without restartPolicy=Always]"
    )
    assert refusal(pod(initContainers=[container(name="s", restartPolicy="Always", readinessProbe=probe)])) == ""


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        ({"name": "A"}, "spec.volumes[0].name"),
        (
            {"name": "v", "emptyDir": {}, "secret": {"secretName": "s"}},
            "spec.volumes[0].secret: Forbidden: may not specify more than 1 volume type",
        ),
        ({"name": "v", "secret": {}}, "spec.volumes[0].secret.secretName: Required value"),
        (
            {"name": "v", "hostPath": {"path": "/a/../b"}},
            "spec.volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
        ),
        ({"name": "v", "persistentVolumeClaim": {}}, "spec.volumes[0].persistentVolumeClaim.claimName: Required value"),
        (
            {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}},
            "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value",
        ),
    ],
)
def test_volumes(volume: dict[str, Any], message: str) -> None:
    assert refusal(pod(volumes=[volume])).startswith(message)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"tolerations": [{"operator": "Equal"}]},
            'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which '
            'means "match all values and all keys"',
        ),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 1}]},
            "spec.tolerations[0].effect: Invalid value: \"\": effect must be 'NoExecute' when "
            "`tolerationSeconds` is set",
        ),
        (
            {
                "affinity": {
                    "nodeAffinity": {
                        REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In"}]}]}
                    }
                }
            },
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].values: Required value: "
            "must be specified when `operator` is 'In' or 'NotIn'",
        ),
        (
            {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 101, "preference": {}}]}}},
            f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight: Invalid value: 101: must be in the range 1-100",
        ),
        (
            {"affinity": {"podAffinity": {REQUIRED: [{"topologyKey": "zone", "matchLabelKeys": ["a"]}]}}},
            f"spec.affinity.podAffinity.{REQUIRED}[0].matchLabelKeys: Forbidden: must not be specified when "
            "labelSelector is not set",
        ),
        (
            {"topologySpreadConstraints": [SPREAD, SPREAD]},
            "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "
            '"{zone, DoNotSchedule}"',
        ),
        (
            {"topologySpreadConstraints": [{**SPREAD, "minDomains": 1, "whenUnsatisfiable": "ScheduleAnyway"}]},
            "spec.topologySpreadConstraints[0].minDomains: Invalid value: 1: can only use minDomains if "
            "whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
        ),
    ],
)
def test_placement(given: dict[str, Any], message: str) -> None:
    assert refusal(pod(**given)) == message
