"""A workload as objects: nodes, running pods, and pods to decide on."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from bayplan.analysis.bench.workloads import ZONES, PodTemplate, Workload
from bayplan.controllers.workloads.expand import POD_NAME_LABEL
from bayplan.core.cache import Cache
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.plugins.volume_claims import BIND_COMPLETED
from bayplan.model.cluster import Service, ServiceSpec
from bayplan.model.meta import LabelSelector, ObjectMeta, ObjectReference
from bayplan.model.node import Node, NodeStatus, Taint
from bayplan.model.pod import (
    Affinity,
    Container,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodResourceClaim,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from bayplan.model.resource_claims import (
    EXACT_COUNT,
    CELDeviceSelector,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from bayplan.model.storage import (
    CSIPersistentVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    VolumeNodeAffinity,
)
from bayplan.model.tolerations import NO_SCHEDULE
from bayplan.model.volumes import (
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimVolumeSource,
    Volume,
    VolumeResourceRequirements,
)
from bayplan.model.well_known import HOSTNAME, TO_BE_DELETED, ZONE

NAMESPACE = "bench"
DEVICE_DRIVER = "devices.bench"
PODS_AT_ONCE = 10_000
#: Nodes that join one after another before as many leave.
SCALED_IN_A_ROW = 10


def nodes_of(workload: Workload, count: int, first: int = 0) -> Iterator[Node]:
    """The nodes, evenly over the zones and pools."""
    template = workload.nodes
    allocatable = {
        "cpu": f"{template.cpu_milli}m",
        "memory": f"{template.memory_mib}Mi",
        "pods": str(template.pods),
    }
    for number in range(first, first + count):
        name = f"node-{number:06}"
        labels = {
            HOSTNAME: name,
            ZONE: ZONES[number % len(ZONES)],
            "pool": f"pool-{number % template.pools}",
        }
        yield Node(metadata=ObjectMeta(name=name, labels=labels), status=NodeStatus(allocatable=dict(allocatable)))


def running_pods(workload: Workload, node_count: int) -> Iterator[Pod]:
    """What runs on every node already; start times differ so that every victim is a choice."""
    for number in range(node_count):
        for place, template in enumerate(workload.running):
            pod = make_pod(template, f"running-{number:06}-{place}", 0)
            pod.spec.node_name = f"node-{number:06}"
            minute, second = divmod((number * 7 + place) % 3600, 60)
            pod.status = PodStatus(phase="Running", start_time=f"2026-01-01T00:{minute:02}:{second:02}Z")
            yield pod


def pods_of(workload: Workload, count: int, first: int = 0) -> list[Pod]:
    """The pods to decide on, templates in turn."""
    template = workload.pods
    return [
        make_pod(template, f"{workload.name}-{number:06}", number // template.replicas % template.variants)
        for number in range(first, first + count)
    ]


class PodBatches:
    """The pods to decide on, made some thousands at a time, so that a million of them take no room."""

    def __init__(self, workload: Workload, count: int, cache: Cache) -> None:
        self._workload = workload
        self._count = count
        self._cache = cache
        self.cpu_seconds = 0.0  # spent on making them

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Pod]:
        for first in range(0, self._count, PODS_AT_ONCE):
            started = time.process_time()
            pods = pods_of(self._workload, min(PODS_AT_ONCE, self._count - first), first)
            add_belongings(self._cache, self._workload, pods, first)
            self.cpu_seconds += time.process_time() - started
            yield from pods


def nominated_pods(workload: Workload, node_count: int) -> Iterator[Pod]:
    """Pods that have a node in view, evenly over the nodes, and wait for it."""
    template = replace(workload.pods, priority=1_000_000)
    count = min(workload.nominated, node_count)
    for number in range(count):
        pod = make_pod(template, f"nominated-{number:06}", 0)
        pod.status.nominated_node_name = f"node-{number * node_count // count:06}"
        yield pod


def changed_node(workload: Workload, node_count: int, times: int) -> Node:
    """A node after a change: of a label and of a taint, in turn; each time it is another node's turn."""
    number = times * 7919 % node_count
    node = next(nodes_of(workload, 1, first=number))
    if times % 2:
        node.metadata.labels["changed"] = str(times)
    else:
        node.spec.taints = [Taint(key="changed", value=str(times), effect="PreferNoSchedule")]
    return node


class NodeChanges(NamedTuple):
    """What happens to nodes at some point."""

    leaving: str | None  # with the pods that are left there
    put: list[Node]  # that join or change


def changes_before(workload: Workload, node_count: int, position: int) -> NodeChanges | None:
    """What happens just before the pod at this position is decided on, in a cluster that began with this many nodes."""
    if workload.relabel_every and not position % workload.relabel_every:
        return NodeChanges(None, [changed_node(workload, node_count, position // workload.relabel_every)])
    if workload.scale_every and not position % workload.scale_every:
        return _scaled(workload, node_count, position // workload.scale_every)
    return None


def _scaled(workload: Workload, node_count: int, times: int) -> NodeChanges:
    """Ten nodes join, one at a time, then ten leave; a node is tainted the time before it leaves."""
    put = [] if _leaves(times) else list(nodes_of(workload, 1, first=node_count + _joined_before(times)))
    if _leaves(times + 1):
        next_to_leave = next(nodes_of(workload, 1, first=_left_before(times + 1)))
        unix_time = str(1_800_000_000 + times)
        next_to_leave.spec.taints = [Taint(key=TO_BE_DELETED, value=unix_time, effect=NO_SCHEDULE)]
        put.append(next_to_leave)
    return NodeChanges(f"node-{_left_before(times):06}" if _leaves(times) else None, put)


def _leaves(times: int) -> bool:
    return times % (2 * SCALED_IN_A_ROW) >= SCALED_IN_A_ROW


def _joined_before(times: int) -> int:
    return sum(not _leaves(earlier) for earlier in range(times))


def _left_before(times: int) -> int:
    return times - _joined_before(times)


def apply_changes(cache: Cache, changes: NodeChanges) -> None:
    if changes.leaving is not None:
        row = cache.nodes.rows_by_name[changes.leaving]
        for pod_row in list(cache.nodes.pod_rows[row]):
            cache.remove_row(pod_row)
        cache.remove_node(changes.leaving)
    for node in changes.put:
        cache.add_node(node)


def build_cache(workload: Workload, node_count: int, pods: list[Pod], gates: FeatureGates) -> Cache:
    """The cluster before the first decision, with the volumes the pods will want."""
    cache = Cache(gates)
    for node in nodes_of(workload, node_count):
        cache.add_node(node)
    for pod in running_pods(workload, node_count):
        cache.add_pod(pod)
    for pod in nominated_pods(workload, node_count):
        cache.nominate(pod, pod.status.nominated_node_name)
    if workload.pods.behind_services:
        for variant in range(workload.pods.variants):
            cache.add(_service(variant))
    for device_object in _devices(workload, node_count):
        cache.add(device_object)
    add_belongings(cache, workload, pods)
    return cache


def add_belongings(cache: Cache, workload: Workload, pods: Sequence[Pod], first: int = 0) -> None:
    """What the pods bring with them: claims, of devices and of volumes."""
    for number, pod in enumerate(pods, start=first):
        if pod.spec.resource_claims:
            cache.add(_device_claim(pod))
        if workload.pods.own_volume:
            for obj in _bound_claim(pod.metadata.name, ZONES[number % len(ZONES)]):
                cache.add(obj)


def make_pod(template: PodTemplate, name: str, variant: int) -> Pod:
    labels = dict(template.labels)
    if template.variants > 1:
        labels["template"] = f"t{variant}"
    if template.own_labels:
        labels[POD_NAME_LABEL] = name
    cpu_milli, memory_mib = (
        template.cpu_milli + template.step[0] * variant,
        template.memory_mib + template.step[1] * variant,
    )
    requests = {"cpu": f"{cpu_milli}m", "memory": f"{memory_mib}Mi"}
    container = Container(name="main", image="bench:1", resources=ResourceRequirements(requests={**requests}))
    spec = PodSpec(containers=[container], scheduler_name="default-scheduler", priority=template.priority)
    spec.affinity = _affinity(template, variant)
    if template.spread is not None:
        key, action = template.spread
        spec.topology_spread_constraints = [
            TopologySpreadConstraint(
                topology_key=key, when_unsatisfiable=action, max_skew=1, label_selector=_selector(template)
            )
        ]
    if template.own_volume:
        source = PersistentVolumeClaimVolumeSource(claim_name=name)
        spec.volumes = [Volume(name="data", persistent_volume_claim=source)]
    if template.own_device:
        spec.resource_claims = [PodResourceClaim(name="device", resource_claim_name=name)]
    meta = ObjectMeta(name=name, namespace=NAMESPACE, uid=f"uid-{name}", labels=labels)
    return Pod(metadata=meta, spec=spec, status=PodStatus(phase="Pending"))


def _selector(template: PodTemplate) -> LabelSelector:
    return LabelSelector(match_labels=dict(template.labels))


def _affinity(template: PodTemplate, variant: int) -> Affinity | None:
    if template.node_label_in is not None:
        return Affinity(node_affinity=_among(*template.node_label_in))
    if template.partner_every or template.pooled_every:
        return _affinity_of_variant(template, variant)
    if template.affinity is not None:
        key, wish = template.affinity
        pod_term = PodAffinityTerm(topology_key=key, label_selector=_selector(template))
        if wish == "near":
            return Affinity(pod_affinity=PodAffinity(required=[pod_term]))
        return Affinity(pod_anti_affinity=PodAntiAffinity(required=[pod_term]))
    return None


def _affinity_of_variant(template: PodTemplate, variant: int) -> Affinity | None:
    """What only some of the templates want."""
    affinity = Affinity()
    if template.partner_every and variant % template.partner_every == template.partner_every - 1:
        partner = LabelSelector(match_labels={"template": f"t{variant - 1}"})
        term = PodAffinityTerm(topology_key=ZONE, label_selector=partner)
        affinity.pod_affinity = PodAffinity(preferred=[WeightedPodAffinityTerm(weight=100, pod_affinity_term=term)])
    if template.pooled_every and variant % template.pooled_every == template.pooled_every - 1:
        affinity.node_affinity = _among("pool", ("pool-1", "pool-2"))
    return affinity if affinity != Affinity() else None


def _among(key: str, values: Sequence[str]) -> NodeAffinity:
    requirement = NodeSelectorRequirement(key=key, operator="In", values=list(values))
    return NodeAffinity(required=NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=[requirement])]))


def _service(variant: int) -> Service:
    name = f"t{variant}"
    meta = ObjectMeta(name=name, namespace=NAMESPACE)
    return Service(metadata=meta, spec=ServiceSpec(selector={"template": name}))


def _devices(workload: Workload, node_count: int) -> Iterator[DeviceClass | ResourceSlice]:
    """Devices of every node, each with an identity of its own, and the class that means all of them."""
    if not workload.nodes.devices:
        return
    selector = DeviceSelector(cel=CELDeviceSelector(expression=f'device.driver == "{DEVICE_DRIVER}"'))
    yield DeviceClass(metadata=ObjectMeta(name="bench"), spec=DeviceClassSpec(selectors=[selector]))
    for number in range(node_count):
        name = f"node-{number:06}"
        devices = [
            Device(
                name=f"device-{place}",
                attributes={
                    "model": DeviceAttribute(string_value=("large", "small")[place % 2]),
                    "serial": DeviceAttribute(string_value=f"{name}-{place}"),
                },
                capacity={"memory": DeviceCapacity(value="40Gi")},
            )
            for place in range(workload.nodes.devices)
        ]
        pool = ResourcePool(name=name, generation=1, resource_slice_count=1)
        spec = ResourceSliceSpec(driver=DEVICE_DRIVER, node_name=name, pool=pool, devices=devices)
        yield ResourceSlice(metadata=ObjectMeta(name=f"{name}-devices"), spec=spec)


def _device_claim(pod: Pod) -> ResourceClaim:
    expression = f'device.attributes["{DEVICE_DRIVER}"].model == "large"'
    wanted = ExactDeviceRequest(
        device_class_name="bench",
        allocation_mode=EXACT_COUNT,
        count=1,
        selectors=[DeviceSelector(cel=CELDeviceSelector(expression=expression))],
    )
    name = pod.metadata.name
    return ResourceClaim(
        metadata=ObjectMeta(name=name, namespace=NAMESPACE, uid=f"claim-{name}"),
        spec=ResourceClaimSpec(devices=DeviceClaim(requests=[DeviceRequest(name="device", exactly=wanted)])),
    )


def _bound_claim(name: str, zone: str) -> tuple[PersistentVolumeClaim, PersistentVolume]:
    in_zone = NodeSelectorRequirement(key=ZONE, operator="In", values=[zone])
    claim = PersistentVolumeClaim(
        metadata=ObjectMeta(name=name, namespace=NAMESPACE, annotations={BIND_COMPLETED: "yes"}),
        spec=PersistentVolumeClaimSpec(
            access_modes=["ReadWriteOnce"],
            volume_name=f"pv-{name}",
            resources=VolumeResourceRequirements(requests={"storage": "1Gi"}),
        ),
        status=PersistentVolumeClaimStatus(phase="Bound"),
    )
    volume = PersistentVolume(
        metadata=ObjectMeta(name=f"pv-{name}"),
        spec=PersistentVolumeSpec(
            capacity={"storage": "1Gi"},
            access_modes=["ReadWriteOnce"],
            claim_ref=ObjectReference(kind="PersistentVolumeClaim", namespace=NAMESPACE, name=name),
            csi=CSIPersistentVolumeSource(driver="bench.csi", volume_handle=name),
            node_affinity=VolumeNodeAffinity(
                required=NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=[in_zone])])
            ),
        ),
        status=PersistentVolumeStatus(phase="Bound"),
    )
    return claim, volume
