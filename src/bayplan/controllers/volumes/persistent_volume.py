"""The volume controller: binds claims to volumes, has volumes made, and frees those of claims that are gone.

Takes claims, volumes and classes as they change. A claim gets the volume kept for it, else, unless its class waits
for the first consumer, the smallest free one that will do, else one is made for it after a delay. Where the
class waits, the scheduler acts first: it keeps a volume for the claim, or names the node to make one for. Volumes
in use are not protected from deletion, claims of generic ephemeral volumes come from `ephemeral_volume`, and nothing
is resized.
"""

from __future__ import annotations

from contextlib import suppress
from typing import ClassVar, NamedTuple

from bayplan.admission.defaults import default_storage_class, set_storage_class
from bayplan.controllers.delays import Delays, FixedDelays
from bayplan.controllers.ownership import NamespacedName, namespaced_name
from bayplan.controllers.timers import Timers, earliest
from bayplan.controllers.volumes.claim_binding import (
    BOUND,
    bind_claim_to_volume,
    bind_volume_to_claim,
    is_free,
    may_bind_by_name,
    release_volume,
    satisfies,
    unbind_volume,
    with_bound_status,
    with_unbound_status,
    without_selected_node,
)
from bayplan.controllers.volumes.free_volumes import FreeVolumes
from bayplan.controllers.volumes.provisioning import PROVISIONED_BY, is_allowed_on, provisioned_volume
from bayplan.controllers.work_queue import WorkQueue
from bayplan.controllers.writes import write_status
from bayplan.core.plugins.volume_binding import LOST, NO_PROVISIONER
from bayplan.core.plugins.volume_claims import (
    BIND_COMPLETED,
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    class_of_claim,
    class_of_volume,
)
from bayplan.core.plugins.volume_matching import AVAILABLE, is_bound_to
from bayplan.model.node import Node
from bayplan.model.selectors import SelectorError
from bayplan.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from bayplan.model.structs import replace
from bayplan.model.watch_types import DELETED
from bayplan.store import AlreadyExists, Conflict, NotFound, Store, WatchEvent

PENDING, RELEASED = "Pending", "Released"
DELETE, RECYCLE = "Delete", "Recycle"


class _Order(NamedTuple):
    """A volume that is being made."""

    claim_uid: str
    node_name: str
    """As the scheduler selected it; "" for a claim that is bound at once."""


class PersistentVolumeController:
    """Binds, makes and frees volumes.

    Args:
        delays: how long it takes to make one.
    """

    # Upstream: pkg/controller/volume/persistentvolume/pv_controller.go (v1.36).
    name: ClassVar[str] = "persistentvolume-binder-controller"
    watches: ClassVar[frozenset[str]] = frozenset({"PersistentVolume", "PersistentVolumeClaim", "StorageClass"})

    def __init__(self, delays: Delays | None = None) -> None:
        self._delays = delays or FixedDelays()
        self._free = FreeVolumes()
        self._kept: dict[NamespacedName, dict[str, None]] = {}
        """By claim, the volumes that name it."""
        self._claim_of: dict[str, NamespacedName] = {}
        """By volume, the claim it names."""
        self._unbound: dict[str, dict[NamespacedName, None]] = {}
        """By storage class, claims that have no volume yet."""
        self._class_of: dict[NamespacedName, str] = {}
        """By claim that has no volume yet, its storage class."""
        self._orders: dict[NamespacedName, _Order] = {}
        self._deliveries: Timers[NamespacedName] = Timers()
        self._volume_queue: WorkQueue[str] = WorkQueue()
        self._claim_queue: WorkQueue[NamespacedName] = WorkQueue()

    def observe(self, change: WatchEvent, now: int) -> None:  # noqa: ARG002
        obj, gone = change.new, change.type == DELETED
        if isinstance(obj, PersistentVolumeClaim):
            self._observe_claim(obj, gone=gone)
        elif isinstance(obj, PersistentVolume):
            self._observe_volume(obj, gone=gone)
        elif isinstance(obj, StorageClass) and not gone:
            self._enqueue_unbound(obj.metadata.name)
            self._enqueue_unbound("")  # they may get it as the default

    def reconcile(self, store: Store, now: int) -> None:
        for name in self._volume_queue.take(now):
            with suppress(NotFound, Conflict):
                self._sync_volume(store, name, now)
        for key in self._deliveries.pop_due(now):
            with suppress(NotFound, Conflict, AlreadyExists):
                self._deliver(store, key, self._orders.pop(key), now)
        for key in self._claim_queue.take(now):
            with suppress(NotFound, Conflict):
                self._sync_claim(store, key, now)

    def wake_at(self) -> int | None:
        return earliest(self._volume_queue.wake_at(), self._claim_queue.wake_at(), self._deliveries.next_at())

    # Noting what changed.

    def _observe_claim(self, claim: PersistentVolumeClaim, *, gone: bool) -> None:
        key = namespaced_name(claim)
        if gone:
            self._claim_queue.discard(key)
        else:
            self._claim_queue.add(key)
        if gone or BIND_COMPLETED in claim.metadata.annotations:
            self._list_under(key, None)
            self._cancel(key)
        else:
            self._list_under(key, class_of_claim(claim))
        for name in self._kept.get(key, ()):
            self._volume_queue.add(name)

    def _list_under(self, key: NamespacedName, class_name: str | None) -> None:
        """Files an unbound claim under its class; None for one that is unbound no longer."""
        known = self._class_of.get(key)
        if known == class_name:
            return
        if known is not None:
            del self._class_of[key]
            del self._unbound[known][key]
            if not self._unbound[known]:
                del self._unbound[known]
        if class_name is not None:
            self._class_of[key] = class_name
            self._unbound.setdefault(class_name, {})[key] = None

    def _cancel(self, key: NamespacedName) -> None:
        if self._orders.pop(key, None) is not None:
            self._deliveries.cancel(key)

    def _observe_volume(self, volume: PersistentVolume, *, gone: bool) -> None:
        name = volume.metadata.name
        reference = volume.spec.claim_ref
        self._file(name, None if gone or reference is None else (reference.namespace, reference.name))
        if reference is not None:
            self._claim_queue.add((reference.namespace, reference.name))
        if gone:
            self._volume_queue.discard(name)
        else:
            self._volume_queue.add(name)
        if gone or not is_free(volume):
            self._free.take(name)
            return
        self._free.put(volume)
        self._enqueue_unbound(class_of_volume(volume))

    def _file(self, name: str, key: NamespacedName | None) -> None:
        known = self._claim_of.pop(name, None)
        if known is not None and known != key:
            del self._kept[known][name]
            if not self._kept[known]:
                del self._kept[known]
        if key is not None:
            self._claim_of[name] = key
            self._kept.setdefault(key, {})[name] = None

    def _enqueue_unbound(self, class_name: str) -> None:
        for key in self._unbound.get(class_name, ()):
            self._claim_queue.add(key)

    # Volumes.

    def _sync_volume(self, store: Store, name: str, now: int) -> None:
        volume = store.find(PersistentVolume, "", name)
        if volume is None:
            return
        reference = volume.spec.claim_ref
        if reference is None or not reference.uid:
            _set_volume_phase(store, volume, AVAILABLE, now)
            return
        claim = store.find(PersistentVolumeClaim, reference.namespace, reference.name)
        if claim is None or claim.metadata.uid != reference.uid:
            _reclaim(store, volume, now)
        elif not claim.spec.volume_name:
            self._claim_queue.add((reference.namespace, reference.name))
        elif claim.spec.volume_name == name:
            _set_volume_phase(store, volume, BOUND, now)
        elif PROVISIONED_BY in volume.metadata.annotations and _reclaim_policy(volume) == DELETE:
            # It was made for the claim, which has got another by now.
            _reclaim(store, volume, now)
        else:
            store.modify(PersistentVolume, "", name, release_volume, now)

    # Claims.

    def _sync_claim(self, store: Store, key: NamespacedName, now: int) -> None:
        claim = store.find(PersistentVolumeClaim, *key)
        if claim is None:
            return
        wanted = claim.spec.volume_name
        volume = store.find(PersistentVolume, "", wanted) if wanted else None
        if BIND_COMPLETED in claim.metadata.annotations:
            self._sync_bound(store, claim, volume, now)
        elif not wanted:
            self._sync_unbound(store, claim, now)
        elif volume is not None and may_bind_by_name(claim, volume):
            self._bind(store, volume, claim, now)
        else:
            _set_claim_phase(store, claim, PENDING, now)

    def _sync_bound(
        self, store: Store, claim: PersistentVolumeClaim, volume: PersistentVolume | None, now: int
    ) -> None:
        reference = volume.spec.claim_ref if volume is not None else None
        if volume is None or (reference is not None and reference.uid != claim.metadata.uid):
            _set_claim_phase(store, claim, LOST, now)
        else:
            self._bind(store, volume, claim, now)

    def _sync_unbound(self, store: Store, claim: PersistentVolumeClaim, now: int) -> None:
        class_name = class_of_claim(claim)
        storage_class = store.find(StorageClass, "", class_name) if class_name else None
        waits = storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
        volume = self._best_volume(store, claim, waits=waits)
        if volume is not None:
            self._bind(store, volume, claim, now)
            return
        if _take_default_class(store, claim, now):
            return
        if storage_class is not None and (not waits or SELECTED_NODE in claim.metadata.annotations):
            self._order(claim, storage_class, now)
        _set_claim_phase(store, claim, PENDING, now)

    def _best_volume(self, store: Store, claim: PersistentVolumeClaim, *, waits: bool) -> PersistentVolume | None:
        """What is kept for the claim, or the best free volume, whichever has fewer access modes to spare."""
        # Upstream: component-helpers/storage/volume/pv_helpers.go FindMatchingVolume by index.go findByClaim (v1.36).
        kept = self._best_kept(store, claim)
        free = None if waits else self._best_free(store, claim)
        if kept is None or free is None:
            return kept or free
        return free if _mode_count(free) < _mode_count(kept) else kept

    def _best_kept(self, store: Store, claim: PersistentVolumeClaim) -> PersistentVolume | None:
        found = (store.find(PersistentVolume, "", name) for name in self._kept.get(namespaced_name(claim), ()))
        fitting = [
            volume for volume in found if volume is not None and is_bound_to(volume, claim) and satisfies(claim, volume)
        ]
        return min(fitting, key=_mode_count, default=None)

    def _best_free(self, store: Store, claim: PersistentVolumeClaim) -> PersistentVolume | None:
        while True:
            try:
                name = self._free.best_for(claim)
            except SelectorError:
                return None
            if name is None:
                return None
            volume = store.find(PersistentVolume, "", name)
            if volume is not None and is_free(volume):
                return volume
            # News of what happened to it are on their way.
            self._free.take(name)

    def _bind(self, store: Store, volume: PersistentVolume, claim: PersistentVolumeClaim, now: int) -> None:
        """Writes the binding on both sides, the volume's first."""
        name, key = volume.metadata.name, namespaced_name(claim)
        self._free.take(name)
        self._cancel(key)
        written = store.modify(PersistentVolume, "", name, lambda stored: bind_volume_to_claim(stored, claim), now)
        _set_volume_phase(store, written, BOUND, now)
        bound = store.modify(PersistentVolumeClaim, *key, lambda stored: bind_claim_to_volume(stored, name), now)
        if bound.status.phase != BOUND:
            store.modify_status(PersistentVolumeClaim, *key, lambda stored: with_bound_status(stored, written), now)

    # Making volumes.

    def _order(self, claim: PersistentVolumeClaim, storage_class: StorageClass, now: int) -> None:
        if storage_class.provisioner in ("", NO_PROVISIONER) or claim.metadata.deletion_timestamp is not None:
            return
        key = namespaced_name(claim)
        order = _Order(claim.metadata.uid, claim.metadata.annotations.get(SELECTED_NODE, ""))
        if self._orders.get(key) != order:
            self._orders[key] = order
            self._deliveries.set(key, now + self._delays.provision_ns(claim))

    def _deliver(self, store: Store, key: NamespacedName, order: _Order, now: int) -> None:
        claim = store.find(PersistentVolumeClaim, *key)
        if claim is None or claim.metadata.uid != order.claim_uid or claim.spec.volume_name:
            return
        storage_class = store.find(StorageClass, "", class_of_claim(claim))
        if storage_class is None or claim.metadata.annotations.get(SELECTED_NODE, "") != order.node_name:
            return
        if not order.node_name:
            store.create(provisioned_volume(claim, storage_class, None, None), now)
            return
        node = store.find(Node, "", order.node_name)
        if node is None or not is_allowed_on(node, storage_class):
            # The scheduler has to look for another node.
            store.modify(PersistentVolumeClaim, *key, without_selected_node, now)
            return
        csi_node = store.find(CSINode, "", order.node_name)
        store.create(provisioned_volume(claim, storage_class, node, csi_node), now)


def _mode_count(volume: PersistentVolume) -> int:
    return len(set(volume.spec.access_modes))


def _reclaim_policy(volume: PersistentVolume) -> str:
    return volume.spec.persistent_volume_reclaim_policy or "Retain"


def _reclaim(store: Store, volume: PersistentVolume, now: int) -> None:
    """Does what the volume's policy says, now that its claim is gone."""
    _set_volume_phase(store, volume, RELEASED, now)
    policy, name = _reclaim_policy(volume), volume.metadata.name
    if policy == DELETE:
        store.delete(PersistentVolume, "", name, now)
    elif policy == RECYCLE:
        store.modify(PersistentVolume, "", name, unbind_volume, now)


def _set_volume_phase(store: Store, volume: PersistentVolume, phase: str, now: int) -> None:
    write_status(store, volume, replace(volume.status, phase=phase), now)


def _set_claim_phase(store: Store, claim: PersistentVolumeClaim, phase: str, now: int) -> None:
    if claim.status.phase != phase:
        key = namespaced_name(claim)
        store.modify_status(PersistentVolumeClaim, *key, lambda stored: with_unbound_status(stored, phase), now)


def _take_default_class(store: Store, claim: PersistentVolumeClaim, now: int) -> bool:
    """Lets a claim that came before there was a default class have it; whether there is one for it."""
    default = None if class_of_claim(claim) else default_storage_class(store.list(StorageClass))
    if default is None:
        return False
    changed = replace(claim, spec=replace(claim.spec))
    set_storage_class(changed, default)
    if changed.spec == claim.spec:
        return False
    store.modify(PersistentVolumeClaim, *namespaced_name(claim), lambda _: changed, now)
    return True
