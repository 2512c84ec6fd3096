"""What a resize may change, and of which pods."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.admission_documents import NOW, Documents, admitted, container, namespace, pod, resource_named

from bayplan.apiserver.registry.admission import admit_update
from bayplan.apiserver.schema.versions import serving
from bayplan.store.errors import Invalid

BOTH = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "2Gi"}}
MORE = {"requests": {"cpu": "2", "memory": "2Gi"}, "limits": {"cpu": "3", "memory": "3Gi"}}
ONLY_CPU = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
HUGE = {"hugepages-2Mi": "4Mi"}
MUTABLE = "spec: Forbidden: only cpu and memory resources are mutable"
RESTARTS = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]


def containers(resources: Any = None, **more: Any) -> dict[str, Any]:
    return {"containers": [container(resources=BOTH if resources is None else resources, **more)]}


def starting(resources: Any, **more: Any) -> dict[str, Any]:
    return {"initContainers": [container(name="i", resources=resources, **more)]}


def resized(
    changed: dict[str, Any],
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
) -> dict[str, Any]:
    old = admitted(pod(**containers(), **(spec or {})))
    old = {**old, "status": {**old["status"], **(status or {})}, "metadata": {**old["metadata"], **(metadata or {})}}
    new = {**old, "spec": {**old["spec"], **changed}}
    if "resources" in changed and changed["resources"] is None:
        del new["spec"]["resources"]
    return admit_update(resource_named(old), new, old, Documents(namespace("default")), NOW, "resize")


def refusal(changed: dict[str, Any], *args: Any, **more: Any) -> str:
    with pytest.raises(Invalid) as caught:
        resized(changed, *args, **more)
    return caught.value.message.removeprefix('Pod "x" is invalid: ')


@pytest.mark.parametrize(
    ("spec", "changed"),
    [
        ({}, containers(MORE)),
        (starting(BOTH), starting(MORE)),
        (starting(BOTH, restartPolicy="Always", resizePolicy=RESTARTS), starting(MORE, restartPolicy="Always")),
        ({"resources": BOTH}, {"resources": MORE}),
        ({}, {"resources": MORE}),
        ({"resources": {**BOTH, "limits": {**BOTH["limits"], **HUGE}}}, {}),
    ],
)
def test_amounts_may_change(spec: dict[str, Any], changed: dict[str, Any]) -> None:
    before = changed.get("initContainers", [{}])[0]
    if before.get("restartPolicy"):
        before["resizePolicy"] = RESTARTS
    made = resized(changed, spec)
    for field, value in changed.items():
        if field == "resources":
            assert made["spec"]["resources"] == value
        else:
            assert made["spec"][field][0]["resources"] == value[0]["resources"]


@pytest.mark.parametrize(
    ("spec", "changed", "why"),
    [
        (
            {},
            containers({"limits": BOTH["limits"] | HUGE, "requests": BOTH["requests"]}),
            MUTABLE,
        ),
        (
            {},
            containers(ONLY_CPU),
            "[spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed, "
            "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed]",
        ),
        (
            starting(BOTH),
            starting({"requests": BOTH["requests"]}),
            "spec.initContainers[0].resources.limits: Forbidden: resource limits cannot be removed",
        ),
        (
            {},
            {"containers": [container(resources=BOTH), container(name="d")]},
            "spec.containers: Forbidden: containers may not be added or removed on resize",
        ),
        (
            {},
            containers(name="d"),
            "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize",
        ),
        (
            starting(BOTH),
            {"initContainers": []},
            "spec.initContainers: Forbidden: initContainers may not be added or removed on resize",
        ),
        (
            starting(BOTH),
            {"initContainers": [container(name="j", resources=BOTH)]},
            "spec.initContainers[0].name: Forbidden: initContainers may not be renamed or reordered on resize",
        ),
        (
            starting(BOTH),
            starting(BOTH, resizePolicy=[{"resourceName": "cpu", "restartPolicy": "NotRequired"}]),
            "spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar containers are "
            "mutable",
        ),
        ({}, containers({}), "Pod QOS Class may not change as a result of resizing"),
        (
            {"resources": BOTH},
            {"resources": None},
            "spec.resources: Forbidden: pod-level resources cannot be removed",
        ),
        (
            {"resources": BOTH},
            {"resources": ONLY_CPU},
            "spec.resources.limits: Forbidden: pod-level resource limits cannot be removed",
        ),
        (
            {"resources": BOTH},
            {"resources": {"requests": BOTH["requests"]}},
            "spec.resources.limits: Forbidden: pod-level resource limits cannot be removed",
        ),
        (
            {"resources": BOTH},
            {"resources": {**BOTH, "limits": {**BOTH["limits"], **HUGE}}},
            f"{MUTABLE} at pod-level",
        ),
    ],
)
def test_nothing_else(spec: dict[str, Any], changed: dict[str, Any], why: str) -> None:
    assert why in refusal(changed, spec)


def test_static_pods_and_pods_on_windows() -> None:
    """Nothing else is said of them."""
    static = {"annotations": {"kubernetes.io/config.mirror": "m"}}
    assert refusal(containers(MORE), metadata=static) == "[]: Forbidden: static pods cannot be resized"
    assert refusal(containers(MORE), {"os": {"name": "windows"}}) == "[]: Forbidden: windows pods cannot be resized"


@pytest.mark.parametrize(
    ("first", "second", "supported"),
    [
        ({"state": {"running": {}}}, {}, False),
        ({"state": {"running": {}}, "resources": {}}, {}, True),
        ({"state": {"waiting": {}}}, {"state": {"running": {}}}, False),
        ({"state": {"waiting": {}}}, {"state": {"terminated": {}}}, True),
        ({"state": {"running": {}}, "resources": {}}, {"state": {"running": {}}}, True),
    ],
)
def test_the_first_container_that_runs_shows_whether_the_kubelet_can(
    first: dict[str, Any], second: dict[str, Any], supported: bool
) -> None:
    status = {"containerStatuses": [{"name": "c", **first}, {"name": "d", **second}]}
    if supported:
        assert resized(containers(MORE), status=status)
    else:
        assert refusal(containers(MORE), status=status) == (
            "spec: Forbidden: Pod running on node without support for resize"
        )


def test_the_class_that_the_status_says_counts() -> None:
    why = refusal(containers(MORE), status={"qosClass": "Guaranteed"})
    assert why.endswith("Pod QOS Class may not change as a result of resizing")


def test_what_the_pod_says_as_a_whole_stays_where_it_is_left_out() -> None:
    with serving("1.37"):
        assert resized({"resources": None}, {"resources": BOTH})["spec"]["resources"] == BOTH


def test_containers_that_start_a_pod_and_restart_for_their_size_are_of_older_versions() -> None:
    with pytest.raises(Invalid, match="must not be set to 'RestartContainer' for non-sidecar initContainers"):
        admitted(pod(**containers(), **starting(BOTH, resizePolicy=RESTARTS)))
    old = admitted(pod(**containers(), **starting(BOTH)))
    old["spec"]["initContainers"][0]["resizePolicy"] = RESTARTS
    new = {**old, "spec": {**old["spec"], **starting(MORE, resizePolicy=RESTARTS)}}
    with pytest.raises(Invalid, match="a resize policy of RestartContainer cannot be resized"):
        admit_update(resource_named(old), new, old, Documents(namespace("default")), NOW, "resize")
