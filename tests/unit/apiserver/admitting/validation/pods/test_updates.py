"""What is refused about changes to pods."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.admission_documents import NOW, Documents, admitted, container, namespace, pod, resource_named

from bayplan.apiserver.registry.admission import admit_update
from bayplan.store.errors import ApiError


def _refusal(old: dict[str, Any], new: dict[str, Any], subresource: str = "") -> str:
    try:
        admit_update(resource_named(old), new, old, Documents(namespace("default")), NOW, subresource)
    except ApiError as error:
        return error.message.partition(": ")[2]
    return ""


def _changed(old: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {**old, "spec": {**old["spec"], **spec}}


@pytest.mark.parametrize(
    ("before", "change", "message"),
    [
        ({}, {"containers": [container(image="other:1")]}, ""),
        ({}, {"activeDeadlineSeconds": 5}, ""),
        ({"activeDeadlineSeconds": 5}, {"activeDeadlineSeconds": 6}, "must be less than or equal to previous value"),
        ({}, {"containers": [container(), container(name="d")]}, "pod updates may not add or remove containers"),
        (
            {"tolerations": [{"key": "a", "operator": "Exists"}]},
            {"tolerations": [{"key": "b", "operator": "Exists"}]},
            "existing toleration can not be modified except its tolerationSeconds",
        ),
        ({}, {"nodeSelector": {"a": "b"}}, "pod updates may not change fields other than"),
        ({}, {"schedulingGates": [{"name": "a"}]}, "only deletion is allowed, but found new scheduling gate 'a'"),
        ({"schedulingGates": [{"name": "a"}]}, {"schedulingGates": []}, ""),
        ({"schedulingGates": [{"name": "a"}]}, {"nodeSelector": {"a": "b"}}, ""),
        (
            {"schedulingGates": [{"name": "a"}], "nodeSelector": {"a": "b"}},
            {"nodeSelector": {"a": "c"}},
            "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
        ),
        ({"terminationGracePeriodSeconds": -1}, {"terminationGracePeriodSeconds": 1}, ""),
    ],
)
def test_only_some_fields_of_a_pod_may_change(before: dict[str, Any], change: dict[str, Any], message: str) -> None:
    old = admitted(pod(**before))
    found = _refusal(old, _changed(old, **change))
    assert message in found if message else found == ""


def test_a_pod_that_says_nothing_of_its_grace_does_not_come_to_have_less() -> None:
    new = admitted(pod(terminationGracePeriodSeconds=1))
    old = {**new, "spec": {**new["spec"]}}
    del old["spec"]["terminationGracePeriodSeconds"]
    assert "pod updates may not change fields other than" in _refusal(old, new)


def test_the_refusal_ends_with_what_changed() -> None:
    old = admitted(pod())
    message = _refusal(old, _changed(old, nodeName="n1"))
    assert message.endswith(
        '- "NodeName": "",\n+ "NodeName": "n1",\n  "SecurityContext": {\n   "HostNetwork": false,\n   '
        '"HostPID": false,\n'
    )


def test_a_bound_pod_is_not_nominated() -> None:
    old = admitted(pod(nodeName="n1"))
    new = {**old, "status": {**old["status"], "nominatedNodeName": "n2"}}
    message = "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"
    assert _refusal(old, new, "status") == message


def test_a_pod_may_be_resized_where_only_cpu_and_memory_change() -> None:
    old = admitted(pod(containers=[container(resources={"requests": {"cpu": "1"}})]))
    assert _refusal(old, _sized(old, {"requests": {"cpu": "2"}}), "resize") == ""
    other = {"requests": {"cpu": "1", "ephemeral-storage": "1Gi"}}
    assert _refusal(old, _sized(old, other), "resize") == "spec: Forbidden: only cpu and memory resources are mutable"
    assert "Pod QOS Class may not change as a result of resizing" in _refusal(old, _sized(old, {}), "resize")


def test_a_resize_writes_nothing_else() -> None:
    old = admitted(pod())
    new = _changed(old, nodeSelector={"a": "b"})
    resized = admit_update(resource_named(old), new, old, Documents(namespace("default")), NOW, "resize")
    assert resized["spec"] == old["spec"]


def _sized(old: dict[str, Any], resources: dict[str, Any]) -> dict[str, Any]:
    return _changed(old, containers=[{**old["spec"]["containers"][0], "resources": resources}])


def test_ephemeral_containers_are_added_and_never_changed() -> None:
    old = admitted(pod())
    new = _changed(old, ephemeralContainers=[{"name": "debug", "image": "i"}])
    assert _refusal(old, new, "ephemeralcontainers") == ""
    stored = admit_update(resource_named(old), new, old, Documents(), NOW, "ephemeralcontainers")
    assert 'existing ephemeral containers "debug" may not be removed' in _refusal(stored, old, "ephemeralcontainers")
