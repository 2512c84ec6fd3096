"""Objects of every kind that plugins look up, for a cluster that changes.

`MAKERS` has a maker for each kind. It takes two small numbers, which of a few objects of its kind and what it is like,
so that objects are replaced by different ones of the same name, and gives the object as a server stores it. `FAMILIES`
says which belong together, and has pods that depend on them. A test checks that no kind is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from tests.support import devices

from bayplan.core.plugins.volume_binding import NO_PROVISIONER
from bayplan.model.cluster import Namespace, Service
from bayplan.model.kinds import Object
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.resource_claims import DeviceClass, DeviceTaint, DeviceTaintRule, ResourceClaim, ResourceSlice
from bayplan.model.storage import (
    CSIDriver,
    CSINode,
    CSIPersistentVolumeSource,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from bayplan.model.workloads import ReplicaSet, ReplicationController, StatefulSet
from bayplan.testing.builders import (
    ClaimBuilder,
    budget,
    claim,
    csi_node,
    namespace,
    replica_set,
    replication_controller,
    selector,
    service,
    stateful_set,
    storage_class,
    volume,
)
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder

ZONE = "topology.kubernetes.io/zone"
DRIVER = "csi.example.com"
NODE_NAMES = tuple(f"n{number}" for number in range(6))
CLAIMS = ("c0", "c1", "c2")
UNBOUND_CLAIM = "unbound"
DEVICE_CLAIMS = ("d0", "d1")
WORKLOADS = ("w0", "w1")
#: What device classes may stand for.
DEVICE = "example.com/device"
#: A profile that scores devices, and spreads pods by rules of its own.
WEIGHING = "weighing"
SELECTED = ({"app": "x"}, {"app": "y"}, {"app": "z"}, {"tier": "s"}, {"app": "x", "tier": "s"})

T = TypeVar("T")


def _one_of(options: Sequence[T], number: int) -> T:
    return options[number % len(options)]


# ---------------------------------------------------------------- namespaces and what selects pods


def _namespace(which: int, like: int) -> Object:
    return (
        namespace(_one_of(("other", "default"), which)).labels(_one_of(({}, {"team": "t"}, {"team": "u"}), like)).obj()
    )


def _service(which: int, like: int) -> Object:
    return service(f"s{which % 2}", **_one_of((*SELECTED, {}), like)).obj()


def _replication_controller(which: int, like: int) -> Object:
    return replication_controller(_one_of(WORKLOADS, which)).set(selector=_one_of(SELECTED, like)).obj()


def _replica_set(which: int, like: int) -> Object:
    return replica_set(_one_of(WORKLOADS, which)).selects(_one_of(SELECTED, like)).obj()


def _stateful_set(which: int, like: int) -> Object:
    return stateful_set(_one_of(WORKLOADS, which)).selects(_one_of(SELECTED, like)).obj()


def _budget(which: int, like: int) -> Object:
    return budget(f"pdb{which % 2}").selects(_one_of(SELECTED, like)).allows(like % 3).obj()


# ---------------------------------------------------------------- storage


def bound_claim(name: str, mode: str = "ReadWriteMany") -> ClaimBuilder:
    return claim(name).modes(mode).bound(f"pv-{name}")


def volume_of(name: str, zone: str) -> PersistentVolume:
    """The volume of a bound claim; it can be reached from one zone, and from zone d."""
    source = CSIPersistentVolumeSource(driver=DRIVER, volume_handle=name)
    made = volume(f"pv-{name}").modes("ReadWriteMany").set(csi=source).bound_to(bound_claim(name))
    return made.node_affinity(f"{ZONE} in ({zone},d)").obj()


def _claim(which: int, like: int) -> Object:
    name = _one_of((*CLAIMS, UNBOUND_CLAIM, UNBOUND_CLAIM), which)
    if name == UNBOUND_CLAIM:
        return claim(name).storage_class(_one_of(("waits", "local"), like)).storage(_one_of(("1Gi", "5Gi"), like)).obj()
    mode = _one_of(("ReadWriteMany", "ReadWriteOncePod", "ReadWriteOnce"), like)
    return _one_of(
        (bound_claim(name, mode), bound_claim(name).terminating(), claim(name).storage_class("waits")), like
    ).obj()


def _volume(which: int, like: int) -> Object:
    if which % 2:
        return volume_of(_one_of(CLAIMS, which // 2), _one_of(("a", "b", "c"), like))
    made = volume(f"free-{which % 4}").storage(_one_of(("1Gi", "10Gi"), like)).storage_class("local")
    return made.node_affinity(f"{ZONE} in ({_one_of(('a', 'b'), like)})").obj()


def _storage_class(which: int, like: int) -> Object:
    provisioner = _one_of((DRIVER, NO_PROVISIONER), which)
    mode = _one_of(("WaitForFirstConsumer", "WaitForFirstConsumer", "Immediate"), like)
    return storage_class(_one_of(("waits", "local"), which), mode=mode, provisioner=provisioner).obj()


def _csi_node(which: int, like: int) -> Object:
    return csi_node(_one_of(NODE_NAMES, which)).driver(DRIVER, count=like % 3, topology_keys=[ZONE]).obj()


def _csi_driver(which: int, like: int) -> Object:
    made = CSIDriver()
    made.spec.storage_capacity = bool(which % 2)
    made.spec.prevent_pod_scheduling_if_missing = _one_of((None, True), like)
    return Builder(made, DRIVER).obj()


def _storage_capacity(which: int, like: int) -> Object:
    where = selector({ZONE: _one_of(("a", "b"), which)})
    made = CSIStorageCapacity(
        node_topology=where, storage_class_name="waits", capacity=_one_of(("0", "3Gi", "100Gi"), like)
    )
    return Builder(made, f"capacity-{which % 2}").obj()


def _attachment(which: int, like: int) -> Object:
    made = VolumeAttachment()
    made.spec.attacher, made.spec.node_name = DRIVER, _one_of(NODE_NAMES, like)
    made.spec.source.persistent_volume_name = _one_of(("pv-c0", "elsewhere"), which)
    return Builder(made, f"attachment-{which % 2}").obj()


# ---------------------------------------------------------------- devices


def _device_class(which: int, like: int) -> Object:
    """The classes of all devices and of the large ones; either may stand for the resource, or none."""
    name, expressions = _one_of(((devices.CLASS, ()), ("large", (LARGE,))), which)
    return devices.device_class(name, *expressions, extended=_one_of((DEVICE, None), like))


LARGE = f'device.attributes["{devices.DRIVER}"].model == "large"'


def _slice(which: int, like: int) -> Object:
    """Devices of a node, or of every node."""
    taints = [DeviceTaint(key="odd", effect="NoSchedule")] if like % 5 == 4 else []
    offered = [
        devices.device(f"device-{number}", taints=taints, model=_one_of(("large", "small"), number + like))
        for number in range(1 + like % 3)
    ]
    if which % 5 == 4:
        return devices.slice_of("", *offered, name="everywhere", pool="everywhere", all_nodes=True)
    return devices.slice_of(_one_of(NODE_NAMES, which), *offered)


def _taint_rule(which: int, like: int) -> Object:
    return devices.taint_rule(f"rule-{which % 2}", "odd", device=f"device-{like % 3}")


def _device_claim(which: int, like: int) -> Object:
    made = devices.claim_of(
        _one_of(DEVICE_CLAIMS, which), devices.asks("any", of=_one_of((devices.CLASS, "large"), like // 2))
    )
    return made if like % 3 == 0 else devices.held(made, _one_of(NODE_NAMES, like), f"device-{which % 2}")


Maker = Callable[[int, int], Object]
Pattern = Callable[[PodBuilder], PodBuilder]


class Family(NamedTuple):
    """Objects that belong together, and pods whose placement depends on them."""

    makers: dict[type[Object], Maker]
    patterns: tuple[Pattern, ...]
    at_start: tuple[Object, ...] = ()


_UNBOUND: Pattern = lambda p: p.cpu("100m").claim(UNBOUND_CLAIM)  # noqa: E731
_BOUND: Pattern = lambda p: p.cpu("100m").claim("c0")  # noqa: E731
_AS_RESOURCE: Pattern = lambda p: p.cpu("100m").request({DEVICE: 1})  # noqa: E731
_WEIGHED: Pattern = lambda p: p.cpu("100m").request({DEVICE: 1}).scheduler(WEIGHING)  # noqa: E731
_DEVICES = (_device_class(0, 0), *(_slice(number, 2 * number) for number in range(4)))

#: Small, so that few kinds change at a time and a change meets pods that it matters to.
FAMILIES = (
    Family(
        {Service: _service, StatefulSet: _stateful_set},
        (
            lambda p: p.cpu("100m").labels(app="x", tier="s").owner("StatefulSet", "w0"),
            lambda p: p.cpu("100m").labels(app="x").owner("StatefulSet", "w1").scheduler(WEIGHING),
        ),
    ),
    Family(
        {ReplicationController: _replication_controller, ReplicaSet: _replica_set},
        (
            lambda p: p.cpu("100m").labels(app="x").owner("ReplicaSet", "w0"),
            lambda p: p.cpu("100m").labels(app="x").owner("ReplicationController", "w0"),
            lambda p: p.cpu("100m").labels(tier="s").owner("ReplicaSet", "w1").scheduler(WEIGHING),
        ),
    ),
    Family(
        {Namespace: _namespace, PodDisruptionBudget: _budget},
        (
            lambda p: p.cpu("2").labels(app="x").pod_anti_affinity(ZONE, "app=x", namespace_selector="team=t"),
            lambda p: p.cpu("3").labels(app="x"),
        ),
    ),
    Family({PersistentVolumeClaim: _claim, PersistentVolume: _volume}, (_BOUND, _UNBOUND), (_storage_class(1, 0),)),
    Family({CSINode: _csi_node, VolumeAttachment: _attachment}, (_BOUND, lambda p: p.cpu("100m").claim("c2"))),
    Family(
        {StorageClass: _storage_class, CSIDriver: _csi_driver, CSIStorageCapacity: _storage_capacity},
        (_UNBOUND,),
        (_storage_class(0, 0), _claim(3, 0), _csi_driver(1, 0), _storage_capacity(0, 2)),
    ),
    Family({ResourceClaim: _device_claim}, (_WEIGHED, _AS_RESOURCE), _DEVICES),
    Family(
        {DeviceClass: _device_class, DeviceTaintRule: _taint_rule, ResourceSlice: _slice},
        (_WEIGHED, _AS_RESOURCE, lambda p: p.cpu("100m").resource_claim("devices", "d0")),
        (*_DEVICES, _device_claim(0, 0)),
    ),
)
MAKERS = {kind: maker for family in FAMILIES for kind, maker in family.makers.items()}
