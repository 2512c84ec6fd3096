"""Documents that the API servers of two versions take, refuse or complete each in its own way."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from tests.support.admission_documents import (
    NOW,
    Documents,
    admitted,
    container,
    document,
    namespace,
    pod,
    refusal,
    resource_named,
)

from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.admitting.validation.conditions import check_conditions
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.registry.admission import admit_update
from bayplan.apiserver.schema.gates import gate_is_on
from bayplan.apiserver.schema.versions import FIRST, LATER, serving
from bayplan.store.errors import ApiError

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
SELECTED = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
RBAC = "rbac.authorization.k8s.io"
NETWORKING = "networking.k8s.io/v1"
TARGET = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
METRIC = {"type": "External", "external": {"metric": {"name": "m"}, "target": {"type": "Value", "value": "1"}}}


class New(NamedTuple):
    """A new document and what each version says against it."""

    given: dict[str, Any]
    before: str
    after: str


NEW = {
    "a rule without verbs": New(
        document(RBAC + "/v1", "Role", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": []}]),
        "rules[0].verbs: Required value: verbs must contain at least one value",
        "rules[0].verbs: Required value",
    ),
    "what is declared comes last": New(
        document(RBAC + "/v1", "Role", rules=[{"verbs": [], "apiGroups": [""]}]),
        "[rules[0].verbs: Required value: verbs must contain at least one value, "
        "rules[0].resources: Required value: resource rules must supply at least one resource]",
        "[rules[0].resources: Required value: resource rules must supply at least one resource, "
        "rules[0].verbs: Required value]",
    ),
    "an autoscaler without a maximum": New(
        document("autoscaling/v2", "HorizontalPodAutoscaler", {"scaleTargetRef": TARGET, "maxReplicas": 0}),
        "[spec.maxReplicas: Required value: must be set and greater than 0, "
        "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`]",
        "[spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`, "
        "spec.maxReplicas: Required value]",
    ),
    "an autoscaler that goes down to nothing": New(
        document(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            {"scaleTargetRef": TARGET, "minReplicas": 0, "maxReplicas": 2, "metrics": [METRIC]},
        ),
        "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
        "",
    ),
    "ports that end before they begin": New(
        document(
            NETWORKING,
            "NetworkPolicy",
            {"podSelector": {}, "ingress": [{"ports": [{"protocol": "TCP", "port": 80, "endPort": 70}]}]},
        ),
        "spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`",
        "spec.ingress[0].ports[0].endPort: Invalid value: 70: must be greater than or equal to `port`",
    ),
    "an endpoint without addresses": New(
        document("discovery.k8s.io/v1", "EndpointSlice", addressType="IPv4", endpoints=[{"addresses": []}], ports=[]),
        "endpoints[0].addresses: Required value: must contain at least 1 address",
        "endpoints[0].addresses: Required value",
    ),
    "an image volume of a template without an image": New(
        document(
            "apps/v1",
            "Deployment",
            {
                **SELECTED,
                "template": {**TEMPLATE, "spec": {**TEMPLATE["spec"], "volumes": [{"name": "v", "image": {}}]}},
            },
        ),
        "",
        "spec.template.spec.volumes[0].image.reference: Required value",
    ),
    "a pod with somebody's trust bundle, which was dropped": New(
        pod(volumes=[{"name": "v", "projected": {"sources": [{"clusterTrustBundle": {"path": "p"}}]}}]),
        "",
        "spec.volumes[0].projected.sources[0].clusterTrustBundle: Required value: either name or signerName must be "
        "specified",
    ),
    "a pod with a certificate, which was dropped": New(
        pod(
            volumes=[
                {
                    "name": "v",
                    "projected": {
                        "sources": [{"podCertificate": {"signerName": "a.b/c", "keyType": "X", "keyPath": "k"}}]
                    },
                }
            ]
        ),
        "",
        'spec.volumes[0].projected.sources[0].podCertificate.keyType: Unsupported value: "X": supported values: '
        '"RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"',
    ),
    "the name of a driver": New(
        document(
            "resource.k8s.io/v1",
            "DeviceClass",
            {"config": [{"opaque": {"driver": "Bad_", "parameters": {"a": 1}}}]},
        ),
        'spec.config[0].opaque.driver: Invalid value: "Bad_": a lowercase RFC 1123 subdomain must consist of lower '
        "case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
        "'example.com', regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        'spec.config[0].opaque.driver: Invalid value: "Bad_": an RFC 1123 subdomain must consist of alphanumeric '
        "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'Example.com', regex used "
        "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ),
    "an image volume of a pod without an image": New(
        pod(volumes=[{"name": "v", "image": {}}]),
        "spec.volumes[0].image.reference: Required value",
        "spec.volumes[0].image.reference: Required value",
    ),
}


@pytest.mark.parametrize("case", NEW.values(), ids=NEW.keys())
def test_new_documents(case: New) -> None:
    assert refusal(case.given) == case.before
    with serving("1.37"):
        assert refusal(case.given) == case.after


class Changed(NamedTuple):
    """A document, what is changed in it, and what each version says against that."""

    given: dict[str, Any]
    changes: dict[str, Any]
    before: str
    after: str


STATEFUL_SET = document("apps/v1", "StatefulSet", {**SELECTED, "serviceName": "s"})
BINDING = document(RBAC + "/v1", "RoleBinding", roleRef={"apiGroup": RBAC, "kind": "Role", "name": "r"})
INDEXED = document(
    "batch/v1",
    "Job",
    {
        "completionMode": "Indexed",
        "completions": 1,
        "template": {"spec": {**pod()["spec"], "restartPolicy": "Never"}},
    },
)
CHANGED = {
    "the service of a StatefulSet": Changed(
        STATEFUL_SET,
        {"serviceName": "t"},
        "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are "
        "forbidden",
        'spec.serviceName: Invalid value: "t": field is immutable',
    ),
    "a node's provider": Changed(
        document("v1", "Node", {"providerID": "a"}),
        {"providerID": "b"},
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
        "spec.providerID: Invalid value: null: field cannot be modified once set",
    ),
    "a node's provider taken away": Changed(
        document("v1", "Node", {"providerID": "a"}),
        {"providerID": ""},
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
        "spec.providerID: Invalid value: null: field cannot be cleared once set",
    ),
}


def _said_of_change(case: Changed) -> str:
    standing = admitted(case.given)
    new = {**standing, "spec": {**standing["spec"], **case.changes}}
    try:
        admit_update(resource_named(new), new, standing, Documents(namespace("default")), NOW)
    except ApiError as error:
        return error.message.partition(" is invalid: ")[2]
    return ""


@pytest.mark.parametrize("case", CHANGED.values(), ids=CHANGED.keys())
def test_changed_documents(case: Changed) -> None:
    assert _said_of_change(case) == case.before
    with serving("1.37"):
        assert _said_of_change(case) == case.after


def test_pods_are_shown_as_the_version_keeps_them() -> None:
    said = []
    for version in (FIRST, *LATER):
        with serving(version):
            standing = admitted(pod(hostNetwork=True))
            new = {**standing, "spec": {**standing["spec"], "hostNetwork": False}}
            with pytest.raises(ApiError) as error:
                admit_update(resource_named(new), new, standing, Documents(namespace("default")), NOW)
            said.append([line for line in error.value.message.splitlines() if line[:1] in "+-" and "Host" in line])
    first, second = said
    assert first == ['-  "HostNetwork": true,', '+  "HostNetwork": false,']
    assert second == ['- "HostNetwork": true,', '+ "HostNetwork": false,']


def test_csi_drivers_say_whether_pods_wait_for_them() -> None:
    driver = document("storage.k8s.io/v1", "CSIDriver", {})
    assert "preventPodSchedulingIfMissing" not in admitted(driver)["spec"]
    with serving("1.37"):
        assert admitted(driver)["spec"]["preventPodSchedulingIfMissing"] is False


def test_a_condition_that_lacks_its_status() -> None:
    faults = []
    for version in (FIRST, *LATER):
        with serving(version):
            found = Faults()
            condition = {"type": "A", "status": "", "reason": "R", "message": "", "lastTransitionTime": "now"}
            check_conditions([condition, {**condition, "status": "True"}], found, "c")
            faults.append([(one.field, one.reason) for one in found])
    assert faults == [
        [("c[0].status", "FieldValueNotSupported"), ("c[1].type", "FieldValueDuplicate")],
        [("c[0].status", "FieldValueRequired"), ("c[1]", "FieldValueDuplicate")],
    ]


def test_the_role_of_a_binding_never_changes() -> None:
    said = []
    for version in (FIRST, *LATER):
        with serving(version):
            standing = admitted(BINDING)
            new = {**standing, "roleRef": {**standing["roleRef"], "name": "other"}}
            with pytest.raises(ApiError) as error:
                admit_update(resource_named(new), new, standing, Documents(namespace("default")), NOW)
            said.append(error.value.message.rpartition(": ")[2])
    assert said == ["cannot change roleRef", "field is immutable"]


def test_what_is_wrong_with_a_changed_job_was_said_twice() -> None:
    counts = []
    for version in (FIRST, *LATER):
        with serving(version):
            standing = admitted(INDEXED)
            new = {**standing, "spec": {**standing["spec"], "parallelism": -1}}
            with pytest.raises(ApiError) as error:
                admit_update(resource_named(new), new, standing, Documents(namespace("default")), NOW)
            counts.append(len(error.value.causes))
    assert counts == [2, 1]


LIMITS = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "l", "namespace": "default"},
    "spec": {"limits": [{"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "100m"}}]},
}


@pytest.mark.parametrize(
    ("given", "before", "after"),
    [
        # What a LimitRange gives to containers counts in the pod's total.
        ({"limits": {"cpu": "4"}}, {"cpu": "4"}, {"cpu": "100m"}),
        # Without limits nothing was completed.
        ({"requests": {"memory": "1Gi"}}, {"memory": "1Gi"}, {"cpu": "100m", "memory": "1Gi"}),
    ],
)
def test_totals_of_a_pod(given: dict[str, Any], before: dict[str, str], after: dict[str, str]) -> None:
    assert admitted(pod(resources=given), LIMITS)["spec"]["resources"]["requests"] == before
    with serving("1.37"):
        assert admitted(pod(resources=given), LIMITS)["spec"]["resources"]["requests"] == after


def test_a_pod_is_limited_as_a_whole_if_all_its_containers_are() -> None:
    limited = {"resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "100m"}}}
    given = pod(resources={"requests": {"cpu": "1"}}, containers=[container(**limited), container(name="d", **limited)])
    assert admitted(given)["spec"]["resources"] == {"requests": {"cpu": "1"}}
    with serving("1.37"):
        assert admitted(given)["spec"]["resources"] == {"limits": {"cpu": "4"}, "requests": {"cpu": "1"}}
        half = pod(resources={"requests": {"cpu": "1"}}, containers=[container(**limited), container(name="d")])
        assert "limits" not in admitted(half)["spec"]["resources"]


def test_stateful_sets_say_how_many_may_be_unavailable() -> None:
    given = document("apps/v1", "StatefulSet", {**SELECTED, "updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}})
    usual = document("apps/v1", "StatefulSet", SELECTED)

    def rolling(each: dict[str, Any]) -> Any:
        return admitted(each)["spec"]["updateStrategy"]["rollingUpdate"]

    assert [rolling(each) for each in (given, usual)] == [{"partition": 0}, {"partition": 0}]
    with serving("1.37"):
        assert rolling(given) == {"maxUnavailable": 2, "partition": 0}
        assert rolling(usual) == {"maxUnavailable": 1, "partition": 0}


def test_autoscalers_count_their_generations() -> None:
    given = document("autoscaling/v2", "HorizontalPodAutoscaler", {"scaleTargetRef": TARGET, "maxReplicas": 2})
    assert "generation" not in admitted(given)["metadata"]
    with serving("1.37"):
        standing = admitted(given)
        assert standing["metadata"]["generation"] == 1
        new = {**standing, "spec": {**standing["spec"], "maxReplicas": 3}}
        changed = admit_update(resource_named(new), new, standing, Documents(namespace("default")), NOW)
        assert changed["metadata"]["generation"] == 2


def test_every_version_that_is_served_has_its_rules() -> None:
    for version in (FIRST, *LATER):
        with serving(version):
            admission_release()
            assert not gate_is_on("NoSuchGate")
