"""What happened in the cluster, as columns.

The cache is the only writer of the tables. Callers say what came, changed or went; `view()` is what everybody else
reads. It knows nothing of queues or decisions: an assumed pod is a pod on a node like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

from bayplan.core.columns import ABSENT, loops
from bayplan.core.columns.counters import Counters
from bayplan.core.columns.devices import PoolId, slice_index
from bayplan.core.columns.nodes import NodeTable
from bayplan.core.columns.nominated import NominatedPods
from bayplan.core.columns.pods import PodTable
from bayplan.core.columns.ports import PortTable
from bayplan.core.columns.resources import ResourceVocabulary
from bayplan.core.columns.shapes import PodClaims, PodInfo, PodShape, Port, Shapes, pod_info
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.snapshot import Objects, Usage, View
from bayplan.model.kinds import Object, object_key
from bayplan.model.node import Node
from bayplan.model.pod import FINISHED_PHASES, Pod
from bayplan.model.resource_claims import ResourceSlice


class Cache:
    """Nodes, running and nominated pods, and the objects plugins look up."""

    def __init__(self, gates: FeatureGates, own_schedulers: frozenset[str] | None = None) -> None:
        """`own_schedulers` are those whose pods preemption may evict; None: those of all."""
        self.gates = gates
        self.resources = ResourceVocabulary()
        self.shapes = Shapes(self.resources, gates)
        self.nodes = NodeTable(self.resources)
        self.pods = PodTable(self.resources, gates, own_schedulers)
        self.ports = PortTable()
        self.counters = Counters(self.shapes, self.pods, self.nodes)
        self.objects = Objects(gates=gates)
        # Which resources may come as devices is part of what is known of nodes.
        self.objects.devices.on_class_change = self.nodes.all_changed
        self.objects.devices.on_devices_change = self._devices_changed
        self.objects.devices.on_slices_change = self._slices_changed
        self.nominated = NominatedPods()
        self._view: View | None = None
        self._undoing: list[Callable[[], None]] | None = None  # during a trial: what undoes it, the last step first

    @contextmanager
    def trial(self) -> Iterator[None]:
        """What is done to nodes, pods and other objects in here is undone at the end, to the order of a node's pods.

        The logs know it: what was worked out before and not looked at in the meantime needs no second look. A trial
        inside another one undoes its own part only, which the logs of the outer one then count as changes.
        """
        outer = self._undoing
        steps: list[Callable[[], None]] = []
        self._undoing = self.objects.undoing = steps
        with self.nodes.trial() if outer is None else nullcontext():
            try:
                yield
            finally:
                self._undoing = self.objects.undoing = None
                for step in reversed(steps):
                    step()
                self._undoing = self.objects.undoing = outer

    def view(self) -> View:
        """The present instant. It is the same object for as long as no column had to move in memory."""
        nodes = self.nodes
        if self.shapes.departed:
            self._forget_shapes()
        if self._view is None or self._view.usage.requested is not nodes.requested:
            usage = Usage(nodes.requested, nodes.nonzero_requested, nodes.pod_counts)
            self._view = View(
                nodes,
                self.pods,
                self.shapes,
                self.counters,
                self.ports,
                self.objects,
                self.nominated,
                usage,
            )
        return self._view

    def info(self, pod: Pod) -> PodInfo:
        """The pod as the scheduler sees it; it takes no room anywhere."""
        if self.shapes.departed:
            self._forget_shapes()
        info = pod_info(pod, self.shapes.of(pod))
        if info.shape.may_use_devices:
            claims, statuses = pod.spec.resource_claims, pod.status.resource_claim_statuses
            info.claims = PodClaims(claims, statuses, self.objects.resource_claims, self.objects.devices)
        return info

    def _forget_shapes(self) -> None:
        """Forget what was kept for shapes that no pod has any more. Never in the middle of anything."""
        for shape_id, identity_id in self.shapes.free_departed():
            self.pods.forget_shape(shape_id)
            self.counters.forget_shape(shape_id)
            if identity_id is not None:
                self.counters.forget_identity(identity_id)

    def add(self, obj: Object) -> None:
        """Any object as it is stored: a node, a pod that runs or is nominated, or something plugins look up.

        A pod that is over takes no room, one that merely waits is not the cache's business.
        """
        if isinstance(obj, Node):
            self.add_node(obj)
        elif isinstance(obj, Pod):
            self._add_stored_pod(obj)
        else:
            self.objects.put(obj)

    def _add_stored_pod(self, pod: Pod) -> None:
        if pod.status.phase in FINISHED_PHASES:
            return
        if pod.spec.node_name:
            self.add_pod(pod)
        elif pod.status.nominated_node_name:
            self.nominate(pod, pod.status.nominated_node_name)

    def add_node(self, node: Node) -> None:
        name = node.metadata.name
        if self._undoing is not None:
            if name in self.nodes.rows_by_name:
                before = self.nodes.change(node)
                if before is not None:
                    self._undoing.append(partial(self.nodes.change_back, before))
                return
            self._undoing.append(partial(self.nodes.remove_node, name))
        self.nodes.add_node(node)

    def remove_node(self, name: str) -> None:
        if self._undoing is not None:
            self._undoing.append(partial(self.nodes.put_back, self.nodes.take_out(name)))
        else:
            self.nodes.remove_node(name)

    def add_pod(self, pod: Pod, node_name: str | None = None, info: PodInfo | None = None) -> PodInfo:
        """A pod that runs on its node, or is assumed on `node_name`; `info` where the caller has it already."""
        if info is None:
            info = self.info(pod) if node_name else self._settled(pod)
        info.row = self._enter(pod, info)
        self._occupy(info.row, info.shape, self.nodes.row_for(node_name or pod.spec.node_name))
        if self._undoing is not None:
            self._undoing.append(partial(self.remove_row, info.row))
        return info

    def _settled(self, pod: Pod) -> PodInfo:
        if self.shapes.departed:
            self._forget_shapes()
        return pod_info(pod, self.shapes.of_settled(pod))

    def update_pod(self, pod: Pod, old: Pod | None = None) -> None:
        """A pod on a node changed. As upstream it takes the last place among the node's pods."""
        self.update_row(self.pods.rows_by_key[object_key(pod)], pod, old)

    def update_row(self, row: int, pod: Pod, old: Pod | None) -> None:
        """The pod in this row changed: see `update_pod`."""
        assert self._undoing is None, "a trial changes no pod"
        nodes, node_row = self.nodes, self.pods.cells.node_rows[row]
        # Most changes are of the status: then the shape is what it was, and need not be worked out.
        shape = None if old is not None and _same_shape(old, pod) else self.shapes.of(pod)
        is_as_before = nodes.names[node_row] == pod.spec.node_name and (shape is None or shape is self.pods.shape(row))
        if is_as_before and self.pods.refresh(row, pod):
            self._move_last(row, node_row)
            nodes.importance_changed(node_row)
            return
        shape = shape or self.pods.shape(row)
        self.remove_row(row)
        self.add_pod(pod, info=pod_info(pod, shape))

    def _move_last(self, row: int, node_row: int) -> None:
        on_node = self.nodes.pod_rows[node_row]
        last = on_node[-1]
        if last == row:
            return
        slots = self.pods.cells.slots
        place = slots[row]
        on_node[place], on_node[-1] = last, row
        slots[last], slots[row] = place, len(on_node) - 1

    def row_on_a_node(self, key: str) -> int | None:
        """The row of the pod if it is on a node; a nominated pod is known here too, but stands nowhere."""
        row = self.pods.rows_by_key.get(key)
        return None if row is None or self.pods.cells.node_rows[row] == ABSENT else row

    def stands_on_a_node(self, key: str) -> bool:
        return self.row_on_a_node(key) is not None

    def remove_pod(self, key: str) -> None:
        """The pod is gone from its node, or its nomination ended."""
        self.remove_row(self.pods.rows_by_key[key])

    def remove_row(self, row: int) -> None:
        """The pod in this row is gone: see `remove_pod`."""
        if self._undoing is not None:
            self._lay_aside(row, self._undoing)
            return
        node_row = self.pods.cells.node_rows[row]
        if node_row != ABSENT:
            self._vacate(row, node_row)
            if not self.nodes.pod_rows[node_row]:
                self.nodes.release_if_empty(node_row)
        else:
            self._drop_nomination(row)
        self.pods.remove(row)

    def _lay_aside(self, row: int, undoing: list[Callable[[], None]]) -> None:
        """The pod is gone until the trial ends."""
        node_row = self.pods.cells.node_rows[row]
        if node_row != ABSENT:
            held = [(port, node_row, self.ports.is_held(port, node_row)) for port in self.pods.shape(row).ports]
            undoing.append(partial(self._put_back, row, node_row, self.pods.cells.slots[row], held))
            self._vacate(row, node_row)
        else:
            undoing.append(partial(self._nominate_again, row, self.nominated.place_of(row)))
            self._drop_nomination(row)
        self.pods.lay_aside(row)

    def _put_back(self, row: int, node_row: int, place: int, held: Iterable[tuple[Port, int, bool]]) -> None:
        """The pod is where it was among the pods of its node, and the ports are held that were."""
        pods, on_node = self.pods, self.nodes.pod_rows[node_row]
        pods.put_back(row)
        self._occupy(row, pods.shape(row), node_row)
        if place < len(on_node) - 1:
            on_node[place], on_node[-1] = row, on_node[place]
            pods.cells.slots[on_node[-1]], pods.cells.slots[row] = len(on_node) - 1, place
        for port, port_row, taken in held:
            self.ports.set(port, port_row, taken)

    def bring_back(self, row: int, node_row: int) -> None:
        """A pod that was taken out in the present trial is on its node again, for the rest of it."""
        assert self._undoing is not None, "nothing was laid aside"
        self._undoing.append(partial(self._take_out_again, row, node_row))
        self.pods.put_back(row)
        self._occupy(row, self.pods.shape(row), node_row)

    def _take_out_again(self, row: int, node_row: int) -> None:
        self._vacate(row, node_row)
        self.pods.lay_aside(row)

    def _nominate_again(self, row: int, place: tuple[str, int] | None) -> None:
        self.pods.put_back(row)
        if place is not None:
            self.nominated.put(row, *place)
            self._nominations_changed(place[0])

    def nominate(self, pod: Pod, node_name: str) -> PodInfo:
        """A pending pod that waits for room on a node."""
        info = self.info(pod)
        info.row = self._enter(pod, info)
        self.pods.cells.slots[info.row] = 0
        self.nominated.put(info.row, node_name)
        self._nominations_changed(node_name)
        if self._undoing is not None:
            self._undoing.append(partial(self.remove_row, info.row))
        return info

    def _enter(self, pod: Pod, info: PodInfo) -> int:
        self.counters.on_shape(info.shape)
        return self.pods.add(pod, info)

    def _occupy(self, row: int, shape: PodShape, node_row: int) -> None:
        cells, on_node = self.pods.cells, self.nodes.pod_rows[node_row]
        cells.node_rows[row] = node_row
        cells.slots[row] = len(on_node)
        on_node.append(row)
        loops.add_to_row(self.nodes.taken, node_row, self.pods.taken_by(row, shape), +1)
        self._account(row, shape, node_row, +1)

    def _vacate(self, row: int, node_row: int) -> None:
        nodes, shape = self.nodes, self.pods.shape(row)
        on_node = nodes.pod_rows[node_row]
        # The last pod takes the freed place: the order decides between victims that are otherwise equal.
        last = on_node.pop()
        if last != row:
            slots = self.pods.cells.slots
            place = slots[row]
            on_node[place] = last
            slots[last] = place
        loops.add_to_row(nodes.taken, node_row, self.pods.taken_by(row, shape), -1)
        self._account(row, shape, node_row, -1)

    def _account(self, row: int, shape: PodShape, node_row: int, sign: int) -> None:
        """Count a pod that came or left wherever it counts but in sums."""
        self.counters.on_pod(row, shape, node_row, sign)
        for port in shape.ports:
            self.ports.set(port, node_row, taken=sign > 0)
        attachable = self.pods.cells.attachable_volumes[row]
        if attachable:
            self.pods.volume_users.on_pod(shape, attachable, node_row, sign)
        self.nodes.pods_changed(node_row)

    def _drop_nomination(self, row: int) -> None:
        node_name = self.nominated.drop(row)
        if node_name is not None:
            self._nominations_changed(node_name)

    def _devices_changed(self, pool_id: PoolId) -> None:
        """Devices of the pool are held by others now."""
        if self._scores_devices():
            self._slices_changed(slice_index(self.objects.devices).by_pool.get(pool_id, ()))

    def _scores_devices(self) -> bool:
        """Devices count in scores where a class stands for a resource."""
        return any(each.spec.extended_resource_name for each in self.objects.device_classes.values())

    def _slices_changed(self, slices: Iterable[ResourceSlice]) -> None:
        if not self._scores_devices():
            return
        names = {each.spec.node_name for each in slices}
        rows = (self.nodes.rows_by_name.get(name) for name in names if name)
        for row in range(self.nodes.count) if not names or None in names else rows:
            if row is not None:
                self.nodes.pods_changed(row)

    def _nominations_changed(self, node_name: str) -> None:
        """A nominated pod counts in the dry runs of its node."""
        node_row = self.nodes.rows_by_name.get(node_name)
        if node_row is not None:
            self.nodes.pods_changed(node_row)


def _same_shape(old: Pod, new: Pod) -> bool:
    """Whether nothing changed that a shape is made of; not knowing is as good as no."""
    before, after = old.metadata, new.metadata
    # A pod's generation grows with each change of its spec but the binding.
    same_spec = old.spec is new.spec or 0 < before.generation == after.generation
    return (
        same_spec
        and (before.labels is after.labels or before.labels == after.labels)
        and (before.owner_references is after.owner_references or before.owner_references == after.owner_references)
    )
