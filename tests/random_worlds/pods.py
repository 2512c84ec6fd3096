"""Random pods: what they ask for, and one constraint after another from a table.

Takes a draw and the character of its world, which says how large pods are and how often each constraint is drawn.
Gives a builder, good for a pod of its own and for the template of a workload. Pods are valid, but may fit nowhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tests.random_worlds.character import (
    APPS,
    CORES,
    DEVICE_RESOURCE,
    DISKS,
    GATES,
    HOLD,
    IMAGES,
    NOWHERE,
    PACKING,
    RACK,
    RACKS,
    SMALL_PAGES,
    STORAGE_CLASSES,
    STRANGE_RESOURCES,
    TAINT_KEYS,
    TIERS,
    ZONES,
    Character,
)
from tests.random_worlds.devices import CLAIM_NAMES, TEMPLATE_NAMES
from tests.random_worlds.draw import Draw

from bayplan.controllers.nodes.kubelet import RUN_SECONDS, STOP_SECONDS
from bayplan.model.pod import NodeSelectorRequirement, NodeSelectorTerm
from bayplan.model.volumes import (
    AWSElasticBlockStoreVolumeSource,
    CSIVolumeSource,
    GCEPersistentDiskVolumeSource,
    PersistentVolumeClaimSpec,
    Volume,
    VolumeResourceRequirements,
)
from bayplan.model.well_known import HOSTNAME, TAINT_EFFECTS, ZONE
from bayplan.testing.builders import pod
from bayplan.testing.clusters import GPU
from bayplan.testing.pods import PodBuilder


def draw_pod(draw: Draw, character: Character, name: str) -> PodBuilder:
    """A pod in one of the world's namespaces."""
    drawn = pod(name, draw.any_of(character.namespaces)).cpu(draw.any_of(character.cpus))
    drawn.labels(app=draw.any_of(APPS), tier=draw.any_of(TIERS))
    drawn.priority(None, class_name=draw.pick("priority class", *character.priorities))
    draw.offer("constraint", CONSTRAINTS)
    for constraint in CONSTRAINTS:
        if draw.chance(character.shares[constraint.__name__]):
            constraint(draw, drawn)
            draw.note("constraint", constraint)
    return drawn


# ---------------------------------------------------------------- resources


def asks_memory(draw: Draw, pod: PodBuilder) -> None:
    pod.memory(draw.any_of(("0", "256Mi", "1Gi", "6Gi")))


def asks_nothing(draw: Draw, pod: PodBuilder) -> None:
    pod.cpu("0")


def asks_odd_amounts(draw: Draw, pod: PodBuilder) -> None:
    """As nobody writes them, but any API server takes them."""
    pod.cpu(draw.any_of(("0.5", "1e-1", "999u", ".25", "+1")))
    pod.memory(draw.any_of(("1e8", "1.5Mi", "128974848m")))
    if draw.chance(0.5):
        pod.request({GPU: "0"}).limit({GPU: "0"})


def asks_extended_resource(draw: Draw, pod: PodBuilder) -> None:
    name = draw.pick("resource", GPU, SMALL_PAGES, "ephemeral-storage")
    amount = {GPU: "1", SMALL_PAGES: "64Mi", "ephemeral-storage": "5Gi"}[name]
    pod.request({name: amount}).limit({name: amount})


def asks_strange_resource(draw: Draw, pod: PodBuilder) -> None:
    """One that perhaps no object has named before, and sometimes none of it."""
    amount = draw.pick("amount of a strange resource", "0", "1")
    name = draw.any_of((*STRANGE_RESOURCES, f"example.com/of-node-{draw.number(1, 8)}"))
    pod.request({name: amount}).limit({name: amount})


def has_limits_only(draw: Draw, pod: PodBuilder) -> None:
    pod.limit(memory=draw.any_of(("128Mi", "2Gi")))


def has_pod_level_resources(draw: Draw, pod: PodBuilder) -> None:
    pod.pod_request(cpu=draw.any_of(("1", "3")), memory="1Gi")


def has_init_container(draw: Draw, pod: PodBuilder) -> None:
    pod.init(cpu=draw.any_of(("100m", "2", "5")), image=draw.any_of(IMAGES))


def has_sidecar(draw: Draw, pod: PodBuilder) -> None:
    pod.init(cpu=draw.any_of(("50m", "500m")), sidecar=True)


def has_second_container(draw: Draw, pod: PodBuilder) -> None:
    pod.container(cpu=draw.any_of(("50m", "500m")), image=draw.any_of(IMAGES))


def has_overhead(draw: Draw, pod: PodBuilder) -> None:
    pod.overhead(cpu=draw.any_of(("50m", "500m")))


def names_image(draw: Draw, pod: PodBuilder) -> None:
    pod.image(draw.any_of(IMAGES))


# ---------------------------------------------------------------- nodes


def needs_declared_feature(draw: Draw, pod: PodBuilder) -> None:
    pod.host_network().host_users(False)


def has_node_selector(draw: Draw, pod: PodBuilder) -> None:
    pod.node_selector({"disk": draw.any_of(DISKS)} if draw.chance(0.5) else {ZONE: draw.any_of(ZONES)})


def _node_term(draw: Draw) -> NodeSelectorTerm:
    operator = draw.pick("node operator", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
    values = {"Exists": [], "DoesNotExist": [], "Gt": [draw.any_of(CORES)], "Lt": [draw.any_of(CORES)]}
    key = "cores" if operator in ("Gt", "Lt") else draw.any_of(("disk", ZONE, RACK))
    options = {"disk": DISKS, ZONE: ZONES, RACK: RACKS}.get(key, ())
    chosen = values.get(operator, [draw.any_of(options)] if options else [])
    return NodeSelectorTerm(match_expressions=[NodeSelectorRequirement(key=key, operator=operator, values=chosen)])


def has_node_affinity(draw: Draw, pod: PodBuilder) -> None:
    pod.node_affinity(*(_node_term(draw) for _ in range(draw.number(1, 2))))


def prefers_nodes(draw: Draw, pod: PodBuilder) -> None:
    pod.node_affinity(*(_node_term(draw) for _ in range(draw.number(1, 2))), weight=draw.number(1, 100))


def has_match_fields(draw: Draw, pod: PodBuilder) -> None:
    operator = draw.pick("field operator", "In", "NotIn")
    names = [f"node-{draw.number(1, 8)}"]
    fields = [NodeSelectorRequirement(key="metadata.name", operator=operator, values=names)]
    pod.node_affinity(NodeSelectorTerm(match_fields=fields))


def tolerates_taint(draw: Draw, pod: PodBuilder) -> None:
    effect = draw.pick("tolerated effect", "", *TAINT_EFFECTS)
    operator = draw.pick("toleration operator", "Exists", "Equal", "Gt", "Lt")
    seconds = draw.pick("toleration seconds", None, 3) if effect == "NoExecute" else None
    key = draw.any_of(("", *TAINT_KEYS)) if operator == "Exists" else draw.any_of(TAINT_KEYS)
    value = {"Exists": None, "Equal": "yes"}.get(operator, "5")
    pod.tolerates(key, value, effect, operator=operator, seconds=seconds)


def has_many_tolerations(draw: Draw, pod: PodBuilder) -> None:
    """Of which one may matter."""
    for number in range(100):
        pod.tolerates(f"example.com/{number}", "", "NoSchedule", operator="Exists")
    pod.tolerates(draw.any_of(TAINT_KEYS), "yes", draw.any_of(TAINT_EFFECTS))


def leaves_failed_node_soon(draw: Draw, pod: PodBuilder) -> None:
    pod.tolerates("node.kubernetes.io/unreachable", None, "NoExecute", seconds=draw.number(0, 5))


def has_host_port(draw: Draw, pod: PodBuilder) -> None:
    address = draw.pick("host address", "", "127.0.0.1", "0.0.0.0", "::")
    protocol = draw.pick("protocol", "TCP", "UDP", "SCTP")
    pod.port(draw.any_of((8080, 9090)), protocol=protocol, ip=address)


# ---------------------------------------------------------------- other pods


def _selected(draw: Draw) -> str:
    app, tier = draw.any_of(APPS), draw.any_of(TIERS)
    return draw.any_of((f"app={app}", f"app in ({app}, batch)", f"tier notin ({tier})", f"app!={app}, tier", "!tier"))


def _affinity_term(draw: Draw) -> tuple[str, str, dict[str, Any]]:
    """Topology key, selector, and which namespaces."""
    key = draw.pick("topology key", HOSTNAME, HOSTNAME, ZONE, ZONE, RACK, RACK, NOWHERE)
    scope: dict[str, dict[str, Any]] = {
        "own": {},
        "listed": {"namespaces": ["default", "red"]},
        "selected": {"namespace_selector": "team=x"},
        "all": {"namespace_selector": ""},
    }
    keys: dict[str, dict[str, Any]] = {
        "none": {},
        "match": {"match_label_keys": ["tier"]},
        "mismatch": {"mismatch_label_keys": ["tier"]},
    }
    more = {**scope[draw.pick("namespaces", *scope)], **keys[draw.pick("label keys", *keys)]}
    return key, f"app={draw.any_of(APPS)}" if "match_label_keys" in more else _selected(draw), more


def needs_pod_affinity(draw: Draw, pod: PodBuilder) -> None:
    key, selector, more = _affinity_term(draw)
    pod.pod_affinity(key, selector, **more)


def needs_pod_anti_affinity(draw: Draw, pod: PodBuilder) -> None:
    key, selector, more = _affinity_term(draw)
    pod.pod_anti_affinity(key, selector, **more)


def prefers_pod_affinity(draw: Draw, pod: PodBuilder) -> None:
    key, selector, more = _affinity_term(draw)
    pod.pod_affinity(key, selector, weight=draw.number(1, 100), **more)


def prefers_pod_anti_affinity(draw: Draw, pod: PodBuilder) -> None:
    key, selector, more = _affinity_term(draw)
    pod.pod_anti_affinity(key, selector, weight=draw.number(1, 100), **more)


def contradicts_itself(draw: Draw, pod: PodBuilder) -> None:
    """It wants to be with pods like itself, and away from them."""
    key, app = draw.any_of((HOSTNAME, ZONE)), f"app={draw.any_of(APPS)}"
    pod.pod_affinity(key, app).pod_anti_affinity(draw.any_of((HOSTNAME, ZONE)), app)


def spreads(draw: Draw, pod: PodBuilder) -> None:
    when = draw.pick("when unsatisfiable", "DoNotSchedule", "ScheduleAnyway")
    more: dict[str, Any] = {
        "min_domains": draw.pick("min domains", None, 1, 3, 100) if when == "DoNotSchedule" else None,
        "node_affinity_policy": draw.pick("node affinity policy", None, "Honor", "Ignore"),
        "node_taints_policy": draw.pick("node taints policy", None, "Honor", "Ignore"),
        "match_label_keys": draw.pick("spread label keys", [], ["tier"]),
    }
    key = draw.pick("spread key", HOSTNAME, HOSTNAME, ZONE, ZONE, RACK, RACK, NOWHERE)
    pod.spread(key, f"app={draw.any_of(APPS)}", max_skew=draw.any_of((1, 1, 2, 2**31 - 1)), when=when, **more)


def has_words_of_its_own(draw: Draw, pod: PodBuilder) -> None:
    """A label that no other workload has, and constraints that select by it, as those of Jobs do."""
    own = pod.obj().metadata.name
    pod.labels(own=own)
    words = ("label", "spread", "anti-affinity", "affinity", "image", "node affinity", "toleration")
    match draw.pick("own words", *words):
        case "spread":
            when = draw.any_of(("DoNotSchedule", "ScheduleAnyway"))
            pod.spread(draw.any_of((HOSTNAME, ZONE)), f"own={own}", when=when)
        case "anti-affinity":
            pod.pod_anti_affinity(draw.any_of((HOSTNAME, ZONE)), f"own={own}", weight=draw.any_of((None, 5)))
        case "affinity":
            pod.pod_affinity(draw.any_of((HOSTNAME, ZONE)), f"own={own}", weight=draw.any_of((None, 5)))
        case "image":
            pod.image(draw.any_of((f"registry/of-{own}:1", f"registry/of-node-{draw.number(1, 8)}:1")))
        case "node affinity":
            pod.node_affinity(f"example.com/serial in (node-{draw.number(1, 8)},{own})", weight=draw.number(1, 100))
        case "toleration":
            pod.tolerates(f"example.com/node-{draw.number(1, 8)}", None)


# ---------------------------------------------------------------- volumes


def uses_claim(draw: Draw, pod: PodBuilder) -> None:
    """One of a handful of claims, which others may use too and which may not be there yet."""
    pod.claim(f"claim-{draw.number(1, 6)}", read_only=draw.chance(0.2))


def has_ephemeral_volume(draw: Draw, pod: PodBuilder) -> None:
    spec = PersistentVolumeClaimSpec(
        access_modes=["ReadWriteOnce"],
        storage_class_name=draw.any_of(STORAGE_CLASSES),
        resources=VolumeResourceRequirements(requests={"storage": "1Gi"}),
    )
    pod.ephemeral("scratch", spec)


def has_disk(draw: Draw, pod: PodBuilder) -> None:
    disk, read_only = f"disk-{draw.number(1, 2)}", draw.chance(0.3)
    volumes = {
        "gce": Volume(
            name="disk", gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name=disk, read_only=read_only)
        ),
        "aws": Volume(name="disk", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id=disk)),
        "csi": Volume(name="disk", csi=CSIVolumeSource(driver="example.com/inline")),
    }
    pod.volume(volumes[draw.pick("disk", *volumes)])


# ---------------------------------------------------------------- devices


def uses_resource_claim(draw: Draw, pod: PodBuilder) -> None:
    """One of a handful of claims, which others may use too and which may not be there yet."""
    pod.resource_claim("shared", draw.any_of(CLAIM_NAMES))


def has_own_resource_claim(draw: Draw, pod: PodBuilder) -> None:
    pod.resource_claim("own", template=draw.any_of(TEMPLATE_NAMES))


def asks_devices_as_resource(draw: Draw, pod: PodBuilder) -> None:
    amount = str(draw.number(1, 2))
    pod.request({DEVICE_RESOURCE: amount}).limit({DEVICE_RESOURCE: amount})


# ---------------------------------------------------------------- its life


def is_gated(draw: Draw, pod: PodBuilder) -> None:
    pod.gate(*GATES[: draw.number(1, 2)])


def ends_by_itself(draw: Draw, pod: PodBuilder) -> None:
    pod.annotations({RUN_SECONDS: str(draw.number(2, 20))})


def stops_slowly(draw: Draw, pod: PodBuilder) -> None:
    pod.grace(draw.pick("grace", 0, 1, 30)).annotations({STOP_SECONDS: str(draw.number(0, 20))})


def is_held(draw: Draw, pod: PodBuilder) -> None:
    """Once it is deleted it stays until somebody lets it go."""
    pod.finalizers(HOLD)


def has_other_scheduler(draw: Draw, pod: PodBuilder) -> None:
    """One that only some configurations know."""
    if draw.chance(0.2):
        pod.scheduler(PACKING)


Constraint: TypeAlias = Callable[[Draw, PodBuilder], None]
CONSTRAINTS: tuple[Constraint, ...] = (
    asks_memory,
    asks_nothing,
    asks_odd_amounts,
    asks_extended_resource,
    asks_strange_resource,
    has_limits_only,
    has_pod_level_resources,
    has_init_container,
    has_sidecar,
    has_second_container,
    has_overhead,
    names_image,
    needs_declared_feature,
    has_node_selector,
    has_node_affinity,
    prefers_nodes,
    has_match_fields,
    tolerates_taint,
    has_many_tolerations,
    leaves_failed_node_soon,
    has_host_port,
    needs_pod_affinity,
    needs_pod_anti_affinity,
    prefers_pod_affinity,
    prefers_pod_anti_affinity,
    contradicts_itself,
    spreads,
    has_words_of_its_own,
    uses_claim,
    has_ephemeral_volume,
    has_disk,
    uses_resource_claim,
    has_own_resource_claim,
    asks_devices_as_resource,
    is_gated,
    ends_by_itself,
    stops_slowly,
    is_held,
    has_other_scheduler,
)
