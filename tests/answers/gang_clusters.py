"""Small clusters in which a gang, called `train`, is pending or runs, as an engineer would write them down."""

from __future__ import annotations

from typing import Any

from tests.answers.manifests import (
    HOST,
    Document,
    deployment,
    device_claim_template,
    device_class,
    devices,
    job,
    manifest,
    node,
    pod,
    pod_spec,
    priority_class,
)

RACK = "rack"


def gang(
    name: str,
    size: int,
    cpu: str = "3",
    *,
    min_count: int = 0,
    within: str = "",
    whole: bool = False,
    workload: str = "",
    priority_class_name: str = "",
    replaces_at_once: bool = False,
) -> list[Document]:
    """A PodGroup, and a Job that makes its pods; or a Deployment, which `replaces_at_once` those that are evicted."""
    spec: Document = {"schedulingPolicy": {"gang": {"minCount": min_count or size}}}
    own: dict[str, Any] = {"schedulingGroup": {"podGroupName": name}}
    if within:
        spec["schedulingConstraints"] = {"topology": [{"key": within}]}
    if whole:
        spec["disruptionMode"] = {"all": {}}
    if workload:
        spec["workloadRef"] = {"workloadName": workload, "templateName": "workers"}
    if priority_class_name:
        spec["priorityClassName"] = own["priorityClassName"] = priority_class_name
    make = deployment if replaces_at_once else job
    return [manifest("PodGroup", name, spec=spec), make(name, size, pod_spec(cpu, **own))]


def racks(*sizes: int, cpu: str = "4") -> list[Document]:
    """Racks a, b, … with so many nodes each."""
    return [
        node(f"{rack}{number}", cpu, labels={RACK: rack})
        for rack, size in zip("abcdef", sizes, strict=False)
        for number in range(1, size + 1)
    ]


def with_claims(made: list[Document], own: str, shared: str) -> list[Document]:
    """The gang with a device for each pod and one for all of them, both made from templates."""
    group, maker = made
    group["spec"]["resourceClaims"] = [{"name": "shared", "resourceClaimTemplateName": shared}]
    pods = maker["spec"]["template"]["spec"]
    pods["resourceClaims"] = [
        {"name": "own", "resourceClaimTemplateName": own},
        {"name": "shared", "resourceClaimTemplateName": shared},
    ]
    pods["containers"][0]["resources"]["claims"] = [{"name": "own"}, {"name": "shared"}]
    return made


CLASSES = [priority_class("high", 1000)]
SPARE = node("spare", cordoned=True, labels={RACK: "a"})

GANG_CLUSTERS: dict[str, list[Document]] = {
    "gang-too-large": [*racks(2), *gang("train", 3)],
    "gang-and-a-cordoned-node": [*racks(2), SPARE, *gang("train", 3)],
    "gang-in-one-rack": [*racks(2, 3, 1), *gang("train", 4, within=RACK)],
    "gang-in-one-rack-and-a-cordoned-node": [*racks(2, 2), SPARE, *gang("train", 3, within=RACK)],
    "gang-that-lacks-a-pod": [*racks(3), *gang("train", 2, min_count=3)],
    "gang-beside-a-pod": [*racks(2), pod("other", pod_spec("3", nodeSelector={HOST: "a1"})), *gang("train", 2)],
    "gang-that-runs": [*racks(3), *gang("train", 2, replaces_at_once=True)],
    "gang-in-a-full-cluster": [*racks(2), *CLASSES, *gang("train", 2, whole=True, replaces_at_once=True)],
    "gang-that-goes-pod-by-pod": [*racks(1), node("a2", "5"), *CLASSES, *gang("train", 2)],
    "gangs-of-a-workload": [*racks(2), *gang("train", 3, workload="model"), *gang("eval", 1, "1", workload="model")],
    "room-for-gangs": [*racks(4, 3, 2), *gang("train", 2, within=RACK)],
    "room-for-gangs-with-devices": [
        *racks(2),
        device_class("gpu"),
        *(devices(each, "d1", "d2", "d3") for each in ("a1", "a2")),
        device_claim_template("own"),
        *with_claims(gang("train", 2, "500m"), own="own", shared="own"),
    ],
    "gangs-that-evict": [
        *racks(3),
        *CLASSES,
        *gang("other", 2, "3", whole=True),
        *gang("train", 1, "3", priority_class_name="high"),
    ],
    "gang-that-is-spread": [*racks(4, cpu="6"), *gang("train", 4, "2", min_count=3, replaces_at_once=True)],
    "gang-on-one-node": [
        *racks(2, cpu="8"),
        pod("small", pod_spec("1", nodeSelector={HOST: "a1"})),
        pod("blocker", pod_spec("6", nodeSelector={HOST: "a1"})),
        *gang("train", 2, "2", replaces_at_once=True),
    ],
    "web-in-the-way": [*racks(2, 1), deployment("web", 1, pod_spec("2"))],
    "webs-in-the-way": [*racks(2, 1), deployment("web", 2, pod_spec("2"))],
    "no-gang": [*racks(2, 3), *CLASSES],
}
