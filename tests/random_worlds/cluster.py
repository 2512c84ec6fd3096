"""Random furniture of a cluster: nodes, classes, namespaces, budgets, services, storage and devices.

Takes a draw and the character of its world; gives objects as a user, a driver or an administrator would create them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.random_worlds.character import (
    APPS,
    CORES,
    DISKS,
    FEATURES,
    IMAGE_SIZES,
    IMAGES,
    LATE_NAMESPACE,
    NAMESPACES,
    PRIORITIES,
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
from tests.random_worlds.devices import (
    a_device_class,
    a_resource_claim,
    a_taint_rule,
    draw_device_objects,
    draw_slice,
)
from tests.random_worlds.draw import Draw, Table

from bayplan.core.plugins.volume_binding import NO_PROVISIONER
from bayplan.model.kinds import Object
from bayplan.model.storage import CSIDriver, CSIPersistentVolumeSource, CSIStorageCapacity, VolumeAttachment
from bayplan.model.well_known import HOSTNAME, TAINT_EFFECTS
from bayplan.testing.builders import (
    BudgetBuilder,
    CSINodeBuilder,
    NodeBuilder,
    budget,
    claim,
    csi_node,
    namespace,
    node,
    priority_class,
    selector,
    service,
    storage_class,
    volume,
)
from bayplan.testing.building import Builder
from bayplan.testing.clusters import DRIVER, GPU

MIN_AVAILABLE: tuple[int | str, ...] = (0, 1, 3, 100, "0%", "50%", "100%")
MAX_UNAVAILABLE: tuple[int | str, ...] = (0, 1, 100, "0%", "30%", "100%")


def draw_furniture(draw: Draw, character: Character) -> Iterator[Object]:
    """What the cluster starts with."""
    for name in NAMESPACES:
        yield _namespace(name)
    default = draw.pick("default class", None, "low", "mid")
    for name in PRIORITIES:
        yield _priority_class(name, default=name == default)
    yield from _storage(draw)
    yield from draw_device_objects(draw, character.namespaces)
    for _ in range(character.nodes):
        yield from draw_node(draw)
    for _ in range(draw.number(0, 8)):
        yield draw_extra(draw, character)


def draw_node(draw: Draw) -> Iterator[Object]:
    """A node with its CSINode and its devices, if it has them."""
    name = draw.name("node")
    yield draw_node_object(draw, name)
    if draw.chance(0.7):
        yield draw_csi_node(draw, name).manifest().obj()
    if draw.chance(0.7):
        yield draw_slice(draw, name)


def draw_node_object(draw: Draw, name: str) -> Object:
    cores = draw.any_of(CORES)
    made = node(name).capacity(cpu=cores, memory="16Gi", pods=draw.any_of((5, 20, 20)))
    made.label("disk", draw.any_of(DISKS)).label("cores", cores)
    for feature, share in NODE_FEATURES:
        if draw.chance(share):
            feature(draw, made)
    drawn = made.manifest().obj()
    lacks = draw.pick("nodes lack", *["nothing"] * 30, "resources", "a hostname")
    if lacks == "resources":
        drawn.status.capacity, drawn.status.allocatable = {}, {}  # as those that have just registered
    elif lacks == "a hostname":
        del drawn.metadata.labels[HOSTNAME]
    return drawn


def _in_zone(draw: Draw, made: NodeBuilder) -> None:
    made.zone(draw.any_of(ZONES))


def _in_rack(draw: Draw, made: NodeBuilder) -> None:
    made.label(RACK, draw.any_of(RACKS))


def _with_extended_resources(draw: Draw, made: NodeBuilder) -> None:
    made.capacity({GPU: draw.number(1, 3), SMALL_PAGES: "256Mi", "ephemeral-storage": "20Gi"})


def _with_image(draw: Draw, made: NodeBuilder) -> None:
    image = draw.any_of(IMAGES)
    made.image(image, size_bytes=IMAGE_SIZES[image])


def _tainted(draw: Draw, made: NodeBuilder) -> None:
    made.taint(draw.any_of(TAINT_KEYS), draw.any_of(("yes", "no", "3", "7")), draw.any_of(TAINT_EFFECTS))


def _with_odd_amounts(draw: Draw, made: NodeBuilder) -> None:
    """As nobody writes them, but any API server takes them."""
    made.capacity({"memory": draw.any_of(("16e9", "17179869184000m", "1.5Ti", "7Ei")), GPU: "0"})
    made.capacity(pods=draw.any_of(("1e1", "10500m", "0.5")), cpu=draw.any_of(("3.5", "3500m", "2e0", "+4")))


def _with_resource_of_its_own(draw: Draw, made: NodeBuilder) -> None:
    """Which nobody has named before the node joins; strange ones some pods ask for."""
    name = made.obj().metadata.name
    made.capacity({draw.any_of((f"example.com/of-{name}", *STRANGE_RESOURCES)): draw.number(0, 2)})


def _with_words_of_its_own(draw: Draw, made: NodeBuilder) -> None:
    """A label, an image and sometimes a taint that no other node has."""
    name = made.obj().metadata.name
    made.label("example.com/serial", name).image(f"registry/of-{name}:1", size_bytes=500 << 20)
    if draw.chance(0.3):
        made.taint(f"example.com/{name}", name, draw.any_of(TAINT_EFFECTS))


def _declares_feature(draw: Draw, made: NodeBuilder) -> None:
    made.declares(draw.any_of(FEATURES))


NODE_FEATURES = (
    (_with_resource_of_its_own, 0.2),
    (_with_words_of_its_own, 0.2),
    (_declares_feature, 0.3),
    (_in_zone, 0.9),
    (_in_rack, 0.6),
    (_with_extended_resources, 0.5),
    (_with_image, 0.5),
    (_with_image, 0.3),
    (_tainted, 0.1),
    (_with_odd_amounts, 0.1),
)


def draw_csi_node(draw: Draw, node_name: str) -> CSINodeBuilder:
    keys = ["topology.kubernetes.io/zone"] if draw.chance(0.5) else [HOSTNAME]
    return csi_node(node_name).driver(DRIVER, count=draw.pick("CSI limit", None, 1, 2, 5), topology_keys=keys)


def _namespace(name: str) -> Object:
    return namespace(name).labels(NAMESPACES.get(name, {"team": "x"})).manifest().obj()


def _priority_class(name: str, *, default: bool = False) -> Object:
    policy = "Never" if name == "polite" else "PreemptLowerPriority"
    return priority_class(name, PRIORITIES[name], default=default, policy=policy).manifest().obj()


def _storage(draw: Draw) -> Iterator[Object]:
    default = draw.pick("default storage class", None, "at-once", "waits")
    for name in ("at-once", "waits", "local"):
        yield _storage_class(name, default=name == default)
    if draw.pick("capacity tracking", True, False):
        yield _csi_driver(draw, tracks_capacity=True)


def _storage_class(name: str, *, default: bool = False, waits: bool = False) -> Object:
    mode = "WaitForFirstConsumer" if waits or name in ("waits", "local") else "Immediate"
    provisioner = NO_PROVISIONER if name == "local" else DRIVER
    return storage_class(name, mode=mode, provisioner=provisioner, default=default).manifest().obj()


def _csi_driver(draw: Draw, *, tracks_capacity: bool) -> Object:
    driver = CSIDriver()
    driver.spec.storage_capacity = tracks_capacity
    driver.spec.prevent_pod_scheduling_if_missing = draw.pick("driver insists", None, True)
    return Builder(driver, DRIVER).manifest().obj()


# ---------------------------------------------------------------- what comes beside workloads


def draw_extra(draw: Draw, character: Character) -> Object:
    kind = draw.function("extra", EXTRAS)
    draw.note("extra", kind)
    return kind(draw, character)


def a_budget(draw: Draw, character: Character) -> Object:
    made = budget(draw.name("pdb"), draw.any_of(character.namespaces))
    made.selects(draw.any_of((f"app={draw.any_of(APPS)}", f"tier={draw.any_of(TIERS)}", "")))
    return bounded(draw, made).manifest().obj()


def bounded(draw: Draw, made: BudgetBuilder) -> BudgetBuilder:
    """With one of the two ways to say how many must stay."""
    if draw.pick("budget", "minAvailable", "maxUnavailable") == "minAvailable":
        return made.min_available(draw.pick("min available", *MIN_AVAILABLE))
    return made.max_unavailable(draw.pick("max unavailable", *MAX_UNAVAILABLE))


def a_service(draw: Draw, character: Character) -> Object:
    return service(draw.name("svc"), draw.any_of(character.namespaces), app=draw.any_of(APPS)).manifest().obj()


def a_claim(draw: Draw, character: Character) -> Object:
    """One of the handful of claims that pods use."""
    made = claim(f"claim-{draw.number(1, 6)}", draw.any_of(character.namespaces)).storage(draw.any_of(("1Gi", "5Gi")))
    made.modes(draw.pick("claim mode", "ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"))
    made.storage_class(draw.pick("class of claim", None, "at-once", "waits", "local", "absent", ""))
    return made.manifest().obj()


def a_volume(draw: Draw, character: Character) -> Object:
    """Made by hand; it can be reached from some nodes only, or from all."""
    name = draw.name("pv")
    made = volume(name).storage(draw.any_of(("1Gi", "10Gi"))).storage_class(draw.any_of(("local", "waits", "")))
    made.modes(*draw.any_of((("ReadWriteOnce",), ("ReadWriteOnce", "ReadWriteMany"), ("ReadWriteOncePod",))))
    places = {
        "anywhere": None,
        "zone": f"topology.kubernetes.io/zone={draw.any_of(ZONES)}",
        "node": f"{HOSTNAME}=node-{draw.number(1, 8)}",
    }
    place = places[draw.pick("volume is reached from", *places)]
    if place is not None:
        made.node_affinity(place)
    if draw.chance(0.5):
        made.set(csi=CSIPersistentVolumeSource(driver=DRIVER, volume_handle=name))
    if draw.chance(0.2):
        made.labels({"topology.kubernetes.io/zone": draw.any_of(ZONES)})
    return made.manifest().obj()


def a_storage_capacity(draw: Draw, character: Character) -> Object:
    where = selector({"topology.kubernetes.io/zone": draw.any_of(ZONES)})
    made = CSIStorageCapacity(
        node_topology=where, storage_class_name="waits", capacity=draw.pick("capacity", "0", "3Gi", "100Gi")
    )
    return Builder(made, draw.name("capacity")).manifest().obj()


def a_volume_attachment(draw: Draw, character: Character) -> Object:
    made = VolumeAttachment()
    made.spec.attacher, made.spec.node_name = DRIVER, f"node-{draw.number(1, character.nodes)}"
    made.spec.source.persistent_volume_name = draw.any_of(("elsewhere-1", "elsewhere-2"))
    return Builder(made, draw.name("attachment")).manifest().obj()


def a_namespace(draw: Draw, character: Character) -> Object:
    """One of the world's namespaces, if it is gone, or one without pods."""
    return _namespace(draw.any_of((*character.namespaces, LATE_NAMESPACE)))


def a_priority_class(draw: Draw, character: Character) -> Object:
    """One that pods name, if it is gone."""
    return _priority_class(draw.any_of(list(PRIORITIES)))


def a_storage_class(draw: Draw, character: Character) -> Object:
    """One that claims name, if it is gone or was never there."""
    return _storage_class(draw.any_of(STORAGE_CLASSES), waits=draw.chance(0.5))


def a_csi_driver(draw: Draw, character: Character) -> Object:
    return _csi_driver(draw, tracks_capacity=draw.chance(0.5))


def a_csi_node(draw: Draw, character: Character) -> Object:
    return draw_csi_node(draw, f"node-{draw.number(1, character.nodes)}").manifest().obj()


def a_slice(draw: Draw, character: Character) -> Object:
    """The devices of one of the first nodes, if it has none."""
    return draw_slice(draw, f"node-{draw.number(1, character.nodes)}")


EXTRAS: Table[Object] = (
    (5, a_budget),
    (3, a_service),
    (5, a_claim),
    (4, a_volume),
    (2, a_storage_capacity),
    (2, a_volume_attachment),
    (5, a_resource_claim),
    (2, a_namespace),
    (2, a_priority_class),
    (2, a_storage_class),
    (2, a_csi_driver),
    (1, a_csi_node),
    (2, a_device_class),
    (2, a_taint_rule),
    (2, a_slice),
)
