"""Levels of Pod Security that namespaces ask for: whom they refuse, and whom they warn."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.admission_documents import NOW, Documents, container, document, namespace, pod, resource_named

from bayplan.apiserver.registry.admission import admit_create, admit_update
from bayplan.apiserver.registry.options import WriteOptions
from bayplan.store.errors import Forbidden

LABEL = "pod-security.kubernetes.io/"
PRIVILEGED = container(securityContext={"privileged": True})
WHY = 'privileged (container "c" must not set securityContext.privileged=true)'
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {**pod()["spec"], "containers": [PRIVILEGED]}}
SELECTED = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
ONCE = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}


def level(**labels: str) -> Documents:
    """A cluster whose namespace says this; `_` stands for a hyphen."""
    given = {LABEL + name.replace("_", "-"): value for name, value in labels.items()}
    return Documents(namespace("default", metadata={"name": "default", "labels": given}))


def warned(given: dict[str, Any], cluster: Documents, old: dict[str, Any] | None = None, subresource: str = "") -> Any:
    options = WriteOptions()
    if old is None:
        admit_create(resource_named(given), given, cluster, NOW, options=options)
    else:
        admit_update(resource_named(given), given, old, cluster, NOW, subresource, options=options)
    return options.warnings


def test_a_namespace_refuses_pods_of_another_level() -> None:
    with pytest.raises(Forbidden) as caught:
        warned(pod(containers=[PRIVILEGED]), level(enforce="baseline"))
    assert caught.value.message == f'pods "x" is forbidden: violates PodSecurity "baseline:latest": {WHY}'
    with pytest.raises(Forbidden, match=r'"baseline:v1\.30"'):
        warned(pod(containers=[PRIVILEGED]), level(enforce="baseline", enforce_version="v1.30"))
    for fine in (level(enforce="privileged"), level(enforce="unknown"), level(), level(audit="restricted")):
        assert warned(pod(containers=[PRIVILEGED]), fine) == []


@pytest.mark.parametrize(
    "given",
    [
        document("apps/v1", "Deployment", SELECTED),
        document("apps/v1", "ReplicaSet", SELECTED),
        document("apps/v1", "StatefulSet", {**SELECTED, "serviceName": "s"}),
        document("apps/v1", "DaemonSet", SELECTED),
        document("v1", "ReplicationController", {"selector": {"a": "b"}, "template": TEMPLATE}),
        document("batch/v1", "Job", {"template": ONCE}),
        document("batch/v1", "CronJob", {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": ONCE}}}),
        document("v1", "PodTemplate", template=TEMPLATE),
    ],
    ids=lambda given: given["kind"],
)
def test_workloads_are_only_warned_of_what_their_pods_will_meet(given: dict[str, Any]) -> None:
    expected = f'would violate PodSecurity "baseline:latest": {WHY}'
    assert warned(given, level(enforce="baseline")) == [expected]
    assert warned(given, level(enforce="baseline", warn="privileged")) == []
    assert warned(given, level(enforce="privileged", warn="baseline")) == [expected]


def test_pods_are_warned_too() -> None:
    [warning] = warned(pod(containers=[PRIVILEGED]), level(warn="baseline", warn_version="v1.30"))
    assert warning == f'would violate PodSecurity "baseline:v1.30": {WHY}'


def test_other_kinds_are_not_looked_at() -> None:
    assert warned(document("v1", "ConfigMap"), level(enforce="restricted")) == []


@pytest.mark.parametrize(
    ("change", "looked_at"),
    [
        ({"activeDeadlineSeconds": 5}, False),
        ({"tolerations": [{"key": "a", "operator": "Exists"}]}, False),
        ({"containers": [{**PRIVILEGED, "image": "other:2"}]}, False),
        ({"initContainers": [{**PRIVILEGED, "name": "i", "image": "other:2"}]}, False),
        ({"schedulingGates": []}, True),
    ],
)
def test_changes_that_make_no_difference_are_not_looked_at(change: dict[str, Any], looked_at: bool) -> None:
    init = {**PRIVILEGED, "name": "i"}
    given = pod(containers=[PRIVILEGED], initContainers=[init], schedulingGates=[{"name": "g"}])
    old = admit_create(resource_named(given), given, level(), NOW)
    for field in ("containers", "initContainers"):
        if field in change:
            change = {**change, field: [{**old["spec"][field][0], **change[field][0]}]}
    new = {**old, "spec": {**old["spec"], **change}}
    if looked_at:
        with pytest.raises(Forbidden):
            warned(new, level(enforce="baseline"), old)
    else:
        assert warned(new, level(enforce="baseline"), old) == []


def test_a_container_for_debugging_is_looked_at_and_a_status_is_not() -> None:
    given = pod()
    old = admit_create(resource_named(given), given, level(), NOW)
    debug = {
        **{"name": "d", "image": "i", "securityContext": {"privileged": True}},
        **{"terminationMessagePolicy": "File", "imagePullPolicy": "Always"},
    }
    new = {**old, "spec": {**old["spec"], "ephemeralContainers": [debug]}}
    with pytest.raises(Forbidden, match=r'container "d" must not set securityContext\.privileged=true'):
        warned(new, level(enforce="baseline"), old, "ephemeralcontainers")
    risky = {**old, "spec": {**old["spec"], "containers": [{**old["spec"]["containers"][0], **PRIVILEGED}]}}
    assert warned(risky, level(enforce="baseline"), risky, "status") == []
