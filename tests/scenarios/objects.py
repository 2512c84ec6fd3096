"""Objects out of a few words: `n1 cpu=4 memory=8Gi taint=gpu:NoSchedule`.

Takes a name and attributes as a scenario's command has them; gives manifests, as a user would apply them. An attribute
may be given several times. A word that means nothing is a ValueError.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.support.devices import asks, claim_of, device, device_class, slice_of

from bayplan.analysis.simulation.inputs.verbs import taint_parts
from bayplan.controllers.device_driver import READY_SECONDS
from bayplan.controllers.nodes.kubelet import FAILS
from bayplan.model.groups import (
    DisruptionMode,
    EmptyPart,
    GangPolicy,
    GroupSchedulingConstraints,
    GroupSchedulingPolicy,
    PodGroup,
    PodGroupSpec,
    TopologyConstraint,
)
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.node import NodeStatus
from bayplan.model.node_pools import Autoscaler, AutoscalerSpec, NodePool, NodePoolSpec, NodeTemplate
from bayplan.model.pod import PodSchedulingGroup
from bayplan.model.quantity import parse_quantity, whole_value
from bayplan.model.resource_claims import DeviceToleration
from bayplan.model.structs import replace
from bayplan.model.tolerations import NO_EXECUTE
from bayplan.model.volumes import ImageVolumeSource, Volume
from bayplan.model.well_known import DEFAULT_NAMESPACE, HOSTNAME
from bayplan.testing.builders import (
    budget,
    claim,
    deployment,
    namespace,
    node,
    pod,
    priority_class,
    replica_set,
    storage_class,
    volume,
)
from bayplan.testing.pods import PodBuilder

Words = Sequence[str]
Pairs = list[tuple[str, str]]


def made(kind: str, name: str, words: Words) -> Object:
    """The object that `kind name words…` describes."""
    pairs = list(_pairs(words))
    match kind:
        case "node":
            return _node(name, pairs)
        case "pod":
            own = [pair for pair in pairs if pair[0] not in ("finalizer", "group", "namespace")]
            lone = _pod(pod(name, dict(pairs).get("namespace", DEFAULT_NAMESPACE)).manifest(), own).obj()
            lone.metadata.finalizers = [value for key, value in pairs if key == "finalizer"]
            group = dict(pairs).get("group")
            lone.spec.scheduling_group = PodSchedulingGroup(pod_group_name=group) if group else None
            return lone
        case "replicaset" | "deployment":
            return _workload(kind, name, pairs)
        case "budget":
            return _budget(name, pairs)
        case "priority":
            value, *policy = words
            return priority_class(name, int(value), policy=policy[0] if policy else None).manifest().obj()
        case "class":
            mode = dict(pairs).get("mode", "WaitForFirstConsumer")
            return storage_class(name, mode=mode, provisioner="kubernetes.io/no-provisioner").manifest().obj()
        case "volume":
            return _volume(name, dict(pairs))
        case "pool":
            return _pool(name, pairs)
        case "autoscaler":
            fields: dict[str, Any] = {key.replace("-", "_"): value for key, value in pairs}
            return Autoscaler(metadata=ObjectMeta(name=name), spec=AutoscalerSpec(**fields))
        case "group":
            return _group(name, dict(pairs))
        case "deviceclass":
            return device_class(name)
        case "devices":
            return _devices(name, pairs)
        case "deviceclaim":
            return _device_claim(name, pairs)
        case "claim":
            return _claim(name, dict(pairs))
        case "namespace":
            return namespace(name).labels(dict(pairs)).obj()
    raise ValueError(f"no such kind: {kind}")


def _pairs(words: Words) -> Iterator[tuple[str, str]]:
    for word in words:
        key, _, value = word.partition("=")
        yield key, value


def _group(name: str, given: dict[str, str]) -> Object:
    """`min=3`: a gang; `mode=all`: evicted as a whole; `within=rack`: on nodes with one value of that label.

    `preempts=Never`: it does not.
    """
    gang = GangPolicy(min_count=int(given["min"])) if "min" in given else None
    policy = GroupSchedulingPolicy(gang=gang, basic=EmptyPart() if gang is None else None)
    mode = DisruptionMode(all=EmptyPart()) if given.get("mode") == "all" else None
    topology = [TopologyConstraint(key=given["within"])] if "within" in given else []
    spec = PodGroupSpec(
        scheduling_policy=policy,
        disruption_mode=mode,
        priority_class_name=given.get("priority", ""),
        preemption_policy=given.get("preempts"),
        scheduling_constraints=GroupSchedulingConstraints(topology=topology) if topology else None,
    )
    return PodGroup(metadata=ObjectMeta(name=name, namespace=DEFAULT_NAMESPACE), spec=spec)


def _pool(name: str, pairs: Pairs) -> Object:
    """`cpu=4 min=1 max=3 price=0.5 start=60s`: amounts are those of a node."""
    spec, amounts = NodePoolSpec(max=10), {"memory": "8Gi"}
    for key, value in pairs:
        if key in ("min", "max", "priority"):
            setattr(spec, key, int(value))
        elif key == "price":
            spec.price = float(value)
        elif key in ("start", "unneeded"):
            setattr(spec, f"{key}_time", value)
        else:
            amounts[key] = value
    spec.template = NodeTemplate(status=NodeStatus(allocatable={**amounts}))
    return NodePool(metadata=ObjectMeta(name=name), spec=spec)


def _node(name: str, pairs: Pairs) -> Object:
    built = node(name).capacity(memory="8Gi").manifest()
    for key, value in pairs:
        if key == "taint":
            parts = taint_parts(value)
            if not parts[0]:
                raise ValueError(f"not a taint: {value}")
            built.taint(*parts)
        elif key == "unschedulable":
            built.unschedulable()
        elif key.startswith("label."):
            built.label(key.removeprefix("label."), value)
        elif key.startswith("image."):
            built.image(f"{key.removeprefix('image.')}:latest", size_bytes=whole_value(parse_quantity(value)))
        else:
            built.capacity({key: value})
    return built.obj()


def _pod(built: PodBuilder, pairs: Pairs) -> PodBuilder:
    built.grace(3)
    for key, value in pairs:
        _describe_pod(built, key, value)
    return built


def _describe_pod(built: PodBuilder, key: str, value: str) -> None:
    start, _, rest = key.partition(".")
    match start:
        case "priority":
            built.priority_class(value)
        case "grace":
            built.grace(int(value))
        case "gate":
            built.gate(value)
        case "on":
            built.node(value)
        case "port":
            built.port(int(value))
        case "claim":
            built.claim(value)
        case "uses":
            built.resource_claim(value, value)
        case "label":
            built.labels({rest: value})
        case "select":
            built.node_selector({rest: value})
        case "nodes":
            built.node_affinity(value)
        case "near":
            built.pod_affinity(HOSTNAME, value)
        case "away":
            selecting, at, namespaces = value.partition("@")
            more: dict[str, Any] = {"namespace_selector": namespaces} if at else {}
            built.pod_anti_affinity(HOSTNAME, selecting, **more)
        case "also":
            built.container(cpu=value)
        case "image":
            built.image(value)
        case "imagevolume":
            built.volume(Volume(name=value, image=ImageVolumeSource(reference=value)))
        case "podlevel":
            built.pod_request(**{rest: value})
        case "spread":
            selecting, _, topology = value.partition("@")
            topology, *numbers = topology.split(":")  # skew and domains, if they are not 1
            skew, domains = [*map(int, numbers), 1, 1][:2]
            built.spread(topology, selecting, max_skew=skew, min_domains=domains if domains > 1 else None)
        case "tolerate":
            built.tolerates(value)
        case "scheduler":
            built.scheduler(value)
        case _:
            built.request({key: value})
            if "/" in key:
                built.limit({key: value})


def _workload(kind: str, name: str, pairs: Pairs) -> Object:
    built = replica_set(name) if kind == "replicaset" else deployment(name)
    own = [pair for pair in pairs if pair[0] != "replicas"]
    pattern = _pod(pod(name).manifest().labels(app=name), own)
    return built.replicas(int(dict(pairs).get("replicas", "1"))).template(pattern).manifest().obj()


def _budget(name: str, pairs: Pairs) -> Object:
    built = budget(name).manifest()
    labels = {}
    for key, value in pairs:
        if key == "min":
            built.min_available(_number(value))
        elif key == "max":
            built.max_unavailable(_number(value))
        else:
            labels[key] = value
    return built.selects(labels).obj()


def _number(text: str) -> int | str:
    return text if text.endswith("%") else int(text)


def _claim(name: str, attributes: Mapping[str, str]) -> Object:
    built = claim(name).storage_class(attributes["class"])
    if "storage" in attributes:
        built.storage(attributes["storage"])
    if "mode" in attributes:
        built.modes(attributes["mode"])
    return built.manifest().obj()


def _volume(name: str, attributes: Mapping[str, str]) -> Object:
    built = volume(name).set(storage_class_name=attributes["class"])
    if "storage" in attributes:
        built.storage(attributes["storage"])
    if "mode" in attributes:
        built.modes(attributes["mode"])
    if "node" in attributes:
        built.node_affinity(f"{HOSTNAME} in ({attributes['node']})")
    return built.manifest().obj()


def _devices(node_name: str, pairs: Pairs) -> Object:
    """`d0 d1` are a node's devices; `waits=`, `fails-on=`: conditions; `ready=20`, `fails`: what comes of it."""
    names = [key for key, value in pairs if not value and key != "fails"]
    conditions = {word: [value for key, value in pairs if key == word] for word in ("waits", "fails-on")}
    made_slice = slice_of(
        node_name,
        *(device(name, waits_for=conditions["waits"], fails_on=conditions["fails-on"]) for name in names),
    )
    ready = dict(pairs).get("ready")
    made_slice.metadata.annotations = {
        **({READY_SECONDS: ready} if ready else {}),
        **({FAILS: "true"} if ("fails", "") in pairs else {}),
    }
    return made_slice


def _device_claim(name: str, pairs: Pairs) -> Object:
    """`class=gpu count=2`; `tolerate=key:30` is a toleration of a NoExecute taint for that many seconds."""
    attributes = dict(pairs)
    key, _, seconds = attributes.get("tolerate", "").partition(":")
    toleration = DeviceToleration(
        key=key, operator="Exists", effect=NO_EXECUTE, toleration_seconds=int(seconds) if seconds else None
    )
    request = asks(
        "devices",
        of=attributes["class"],
        count=int(attributes.get("count", "1")),
        tolerations=[toleration] if key else [],
    )
    return replace(claim_of(name, request), metadata=ObjectMeta(name=name, namespace=DEFAULT_NAMESPACE))
