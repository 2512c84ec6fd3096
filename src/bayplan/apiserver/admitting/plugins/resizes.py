"""A pod on a node is only resized if the node can do that, and could ever hold what the pod asks for then.

`check_resize` raises Forbidden. Whether there is room beside the node's other pods is the kubelet's business.
Upstream: plugin/pkg/admission/nodedeclaredfeatures/admission.go and podresize/admission.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bayplan.apiserver.admitting.cluster import NODES, ClusterView
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.pod_resources import pod_totals
from bayplan.apiserver.schema.resources import Resource
from bayplan.model.quantity import NANO_PER_MILLI, NANO_PER_UNIT, parse_quantity
from bayplan.model.well_known import OPERATING_SYSTEM
from bayplan.store.errors import Forbidden, StatusCause

#: What a kubelet must declare for a resize of what pods say as a whole, and of containers that prepare others.
POD_LEVEL_RESIZE: Final = "InPlacePodLevelResourcesVerticalScaling"
INIT_CONTAINER_RESIZE: Final = "InPlacePodVerticalScalingInitContainers"
#: In which units amounts are shown.
_UNITS: Final = (("cpu", NANO_PER_MILLI), ("memory", NANO_PER_UNIT))


def check_resize(resource: Resource, pod: Document, old: Document | None, cluster: ClusterView) -> None:
    node_name = pod["spec"].get("nodeName")
    if old is None or not node_name or pod["metadata"].get("generation") == old["metadata"].get("generation"):
        return
    name = pod["metadata"]["name"]
    node = cluster.find(NODES, "", node_name)
    if node is None:
        raise Forbidden.because(resource, name, f'node "{node_name}" not found')
    lacking = sorted(_needed_features(pod["spec"], old["spec"]) - {*node["status"].get("declaredFeatures", ())})
    if lacking:
        why = f'pod update requires features {", ".join(lacking)} which are not available on node "{node_name}"'
        raise Forbidden.because(resource, name, why)
    system = (node["metadata"].get("labels") or {}).get(OPERATING_SYSTEM, "linux")
    if system != "linux":
        why = f'pod resize is only supported on linux nodes, node "{node_name}" is "{system}"'
        raise Forbidden.because(resource, name, why, [StatusCause("UnsupportedPlatform", "")])
    missing = "; ".join(_missing(pod["spec"], node["status"].get("allocatable", {})))
    if missing:
        why = f"node didn't have enough allocatable resources: {missing}"
        raise Forbidden.because(resource, name, why, [StatusCause("NodeCapacity", "")])


def _needed_features(spec: Document, old: Document) -> set[str]:
    needed = set()
    if spec.get("resources") != old.get("resources"):
        needed.add(POD_LEVEL_RESIZE)
    before = {container["name"]: container["resources"] for container in old.get("initContainers") or ()}
    if any(
        container.get("restartPolicy") != "Always" and container["resources"] != before[container["name"]]
        for container in spec.get("initContainers") or ()
    ):
        needed.add(INIT_CONTAINER_RESIZE)
    return needed


def _missing(spec: Document, allocatable: Document) -> Iterator[str]:
    requests = pod_totals(spec, "requests")
    for name, unit in _UNITS:
        asked, there = parse_quantity(requests.get(name, "0")), parse_quantity(allocatable.get(name, "0"))
        if asked > there:
            yield f"{name}, requested: {-(-asked // unit)}, allocatable: {-(-there // unit)}"
