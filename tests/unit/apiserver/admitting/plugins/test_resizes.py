"""Pods on nodes that are resized: what their node must be able to do and to hold."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.admission_documents import NOW, Documents, admitted, container, document, namespace, resource_named

from bayplan.apiserver.registry.admission import admit_update
from bayplan.store.errors import Forbidden

POD_LEVEL, OF_INIT_CONTAINERS = "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers"
SMALL = {"requests": {"cpu": "1", "memory": "1Gi"}}


def asking(cpu: str = "1", memory: str = "1Gi") -> dict[str, Any]:
    return {"requests": {"cpu": cpu, "memory": memory}}


def node(*features: str, system: str = "linux") -> dict[str, Any]:
    made = document("v1", "Node", status={"allocatable": {"cpu": "2", "memory": "2Gi"}})
    made["metadata"] |= {"name": "n", "labels": {"kubernetes.io/os": system}}
    if features:
        made["status"]["declaredFeatures"] = [*features]
    return made


def resized(changed: dict[str, Any], *beside: dict[str, Any], **spec: Any) -> Any:
    """The pod after these parts of its spec were changed; it was taken in without node, which came later."""
    given = {"nodeName": "n", "containers": [container(resources=SMALL)], **spec}
    old = admitted(document("v1", "Pod", given), *beside)
    new = {**old, "spec": {**old["spec"], **changed}}
    cluster = Documents(namespace("default"), *beside)
    return admit_update(resource_named(old), new, old, cluster, NOW, subresource="resize")


def refused(changed: dict[str, Any], *beside: dict[str, Any], **spec: Any) -> tuple[str, list[str]]:
    with pytest.raises(Forbidden) as caught:
        resized(changed, *beside, **spec)
    return caught.value.message.removeprefix('pods "x" is forbidden: '), [cause.reason for cause in caught.value.causes]


def of_containers(**more: Any) -> dict[str, Any]:
    return {"containers": [container(resources=asking(**more))]}


def test_a_node_that_could_hold_the_pod() -> None:
    """All of it is enough; what else runs there is not this check's business."""
    spec = resized(of_containers(cpu="2", memory="2Gi"), node())["spec"]
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "2", "memory": "2Gi"}


@pytest.mark.parametrize(
    ("amounts", "why"),
    [
        ({"cpu": "2001m"}, "cpu, requested: 2001, allocatable: 2000"),
        ({"memory": "2049Mi"}, "memory, requested: 2148532224, allocatable: 2147483648"),
        (
            {"cpu": "3", "memory": "3Gi"},
            "cpu, requested: 3000, allocatable: 2000; memory, requested: 3221225472, allocatable: 2147483648",
        ),
    ],
)
def test_one_that_could_not(amounts: dict[str, str], why: str) -> None:
    assert refused(of_containers(**amounts), node()) == (
        f"node didn't have enough allocatable resources: {why}",
        ["NodeCapacity"],
    )


def test_overhead_counts() -> None:
    runtime = document("node.k8s.io/v1", "RuntimeClass", handler="h", overhead={"podFixed": {"cpu": "500m"}})
    message, _ = refused(of_containers(cpu="2"), node(), runtime, runtimeClassName="x")
    assert message.endswith("cpu, requested: 2500, allocatable: 2000")


def test_a_node_that_is_gone() -> None:
    assert refused(of_containers(cpu="2")) == ('node "n" not found', [])


def test_other_systems_than_linux() -> None:
    why = 'pod resize is only supported on linux nodes, node "n" is "windows"'
    assert refused(of_containers(cpu="2"), node(system="windows")) == (why, ["UnsupportedPlatform"])
    unlabelled = node()
    del unlabelled["metadata"]["labels"]
    assert resized(of_containers(cpu="2"), unlabelled)


def test_pods_without_a_node_and_resizes_that_change_nothing() -> None:
    assert resized(of_containers(cpu="9"), nodeName="")["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "9"
    assert resized({}, containers=[container(resources=asking("9"))])


@pytest.mark.parametrize(
    ("spec", "changed", "feature"),
    [
        ({"resources": SMALL}, {"resources": asking("1500m")}, POD_LEVEL),
        (
            {"initContainers": [container(name="i", resources=SMALL)]},
            {"initContainers": [container(name="i", resources=asking("1500m"))]},
            OF_INIT_CONTAINERS,
        ),
    ],
)
def test_what_a_kubelet_must_declare(spec: dict[str, Any], changed: dict[str, Any], feature: str) -> None:
    why = f'pod update requires features {feature} which are not available on node "n"'
    assert refused(changed, node("Other"), **spec) == (why, [])
    assert resized(changed, node(feature), **spec)


def test_sidecars_are_resized_by_any_kubelet() -> None:
    sidecar = {"name": "i", "restartPolicy": "Always"}
    before = {"initContainers": [container(**sidecar, resources=SMALL)]}
    assert resized({"initContainers": [container(**sidecar, resources=asking("500m"))]}, node(), **before)


def test_all_that_is_lacking_is_named() -> None:
    spec = {"initContainers": [container(name="i", resources=SMALL)], "resources": SMALL}
    changed = {
        "initContainers": [container(name="i", resources=asking("500m"))],
        "resources": asking("1500m"),
    }
    message, _ = refused(changed, node(), **spec)
    assert message.startswith(f"pod update requires features {POD_LEVEL}, {OF_INIT_CONTAINERS} which")
