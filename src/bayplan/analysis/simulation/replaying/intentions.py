"""What users, operators and machines did to a recorded cluster, as plans; not what its controllers made of that.

Takes the events of a recording in order. Pods of known workloads, ReplicaSets of Deployments, Jobs of CronJobs and
volumes that were provisioned are consequences; so are evictions by the scheduler and for nodes that failed. Whatever
else was created, changed or deleted is done again at its time. Nodes join when they are ready for the first time, and
fail as long before the cluster noticed as it takes a cluster to notice.
"""

from __future__ import annotations

from typing import Any, Final

from bayplan.analysis.references import Reference
from bayplan.analysis.simulation.inputs.commands import (
    Apply,
    Command,
    DeleteObject,
    Drain,
    NodesFail,
    NodesRecover,
    PlannedCommand,
    Restate,
    reference_to,
)
from bayplan.analysis.simulation.recording.pod_ledger import cause_of_eviction
from bayplan.analysis.simulation.results.run_format import EvictionCause
from bayplan.controllers.budgets.evicting import is_mirror
from bayplan.controllers.nodes.node_lifecycle import MONITOR_GRACE_NS, is_of_condition
from bayplan.controllers.ownership import WORKLOADS, controller_reference, is_terminal
from bayplan.controllers.volumes.provisioning import PROVISIONED_BY
from bayplan.controllers.workloads.deployment import DESIRED_REPLICAS, MAX_REPLICAS, REVISION
from bayplan.controllers.workloads.job_pods import is_finished
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.model.conditions import TRUE, find_condition
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.node import Node
from bayplan.model.pod import Pod, PodStatus
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim, VolumeAttachment
from bayplan.model.structs import replace
from bayplan.model.well_known import READY
from bayplan.model.workloads import CronJob, Job, StatefulSet

_CONTROLLERS: Final = frozenset({CronJob.__name__, Pod.__name__, *(kind.__name__ for kind in WORKLOADS)})
#: Written by controllers onto what users own.
_OF_CONTROLLERS: Final = frozenset({REVISION, DESIRED_REPLICAS, MAX_REPLICAS})
#: Of these, controllers write more than the status.
_LEFT_ALONE: Final = (PersistentVolume, PersistentVolumeClaim, ResourceClaim)


class Intentions:
    """Plans, with times since the start of the recording."""

    def __init__(self, started_at: int, *, source: str, with_nodes: bool = True) -> None:
        self.plans: list[PlannedCommand] = []
        self.evictions_left_out = 0
        """By somebody who did not cordon the node first: which pods they would choose now is not known."""
        self._started_at = started_at
        self._source = source
        self._with_nodes = with_nodes
        self._claims_of: dict[tuple[str, str], tuple[str, ...]] = {}  # StatefulSet -> how its claims' names begin
        self._joining: set[str] = set()  # nodes that have not been ready yet
        self._cordoned: set[str] = set()
        self._drained: set[str] = set()  # since they were cordoned
        self._finished: set[Reference] = set()  # pods and Jobs of users that had ended when they were deleted

    def at_first(self, obj: Object) -> None:
        """An object of the first list."""
        self._note(obj)
        if isinstance(obj, Node) and self._with_nodes and not _is_ready(obj):
            self._plan(self._started_at, NodesFail((obj.metadata.name,)))

    def observe(self, event: Event, now: int) -> None:
        match event:
            case ObjectAdded(new):
                self._note(new)
                self._added(new, now)
            case ObjectChanged(old, new):
                self._note(new)
                self._changed(old, new, now)
            case ObjectRemoved(old):
                self._removed(old, now)

    def _plan(self, at: int, command: Command) -> None:
        self.plans.append(PlannedCommand(max(at - self._started_at, 0), command, self._source))

    def _note(self, obj: Object) -> None:
        if isinstance(obj, StatefulSet):
            meta, templates = obj.metadata, obj.spec.volume_claim_templates
            names = tuple(f"{template.metadata.name}-{meta.name}-" for template in templates)
            self._claims_of[meta.namespace, meta.name] = names
        elif isinstance(obj, Node):
            if obj.spec.unschedulable:
                self._cordoned.add(obj.metadata.name)
            else:
                self._cordoned.discard(obj.metadata.name)
                self._drained.discard(obj.metadata.name)

    def _added(self, new: Object, now: int) -> None:
        if isinstance(new, Node):
            if self._with_nodes:
                self._joining.add(new.metadata.name)
                self._node_changed(None, new, now)
        elif not self._is_consequence(new):
            if reference_to(new) in self._finished:
                self._finished.discard(reference_to(new))
                self._plan(now, DeleteObject((reference_to(new),), grace_seconds=0))
            self._plan(now, Apply((as_created(new),)))

    def _changed(self, old: Object, new: Object, now: int) -> None:
        if isinstance(new, Node) and isinstance(old, Node):
            if self._with_nodes:
                self._node_changed(old, new, now)
            return
        if isinstance(new, Pod) and isinstance(old, Pod) and cause_of_eviction(new) and not cause_of_eviction(old):
            self._evicted(new, now)
        if self._is_consequence(new):
            return
        if _is_leaving(new) and not _is_leaving(old):
            self._deleted(new, now)
        elif isinstance(new, Pod) and isinstance(old, Pod):
            is_bound_now = new.spec.node_name != old.spec.node_name  # which adds labels of the node
            is_labeled = new.metadata.labels != old.metadata.labels and not is_bound_now
            if is_labeled or new.spec.scheduling_gates != old.spec.scheduling_gates:
                self._plan(now, Restate(as_created(new)))
        elif not isinstance(new, _LEFT_ALONE) and not _is_leaving(new) and as_created(old) != as_created(new):
            self._plan(now, Restate(as_created(new)))

    def _removed(self, old: Object, now: int) -> None:
        if isinstance(old, Node):
            if self._with_nodes and old.metadata.name not in self._joining:
                self._plan(now, DeleteObject((reference_to(old),)))
            self._joining.discard(old.metadata.name)
        elif not _is_leaving(old) and not self._is_consequence(old):
            self._deleted(old, now)

    def _deleted(self, obj: Object, now: int) -> None:
        if (isinstance(obj, Pod) and is_terminal(obj)) or (isinstance(obj, Job) and is_finished(obj)):
            # In another run it may still be at work at that time, and nobody had meant to stop it.
            self._finished.add(reference_to(obj))
        elif not isinstance(obj, Pod):
            self._plan(now, DeleteObject((reference_to(obj),)))
        elif cause_of_eviction(obj) is None:
            self._plan(now, DeleteObject((reference_to(obj),), obj.metadata.deletion_grace_period_seconds))

    def _evicted(self, pod: Pod, now: int) -> None:
        """Preemptions and failing nodes evict again by themselves."""
        if cause_of_eviction(pod) is not EvictionCause.DRAIN:
            return
        node = pod.spec.node_name
        if node not in self._cordoned:
            self.evictions_left_out += 1
        elif node not in self._drained:
            self._drained.add(node)
            if self._with_nodes:
                self._plan(now, Drain((node,)))

    def _node_changed(self, old: Node | None, new: Node, now: int) -> None:
        name = new.metadata.name
        if name in self._joining:
            if _is_ready(new):
                self._joining.discard(name)
                self._plan(now, Apply((as_created(new),)))
            return
        if old is None:
            return
        if _is_ready(old) and not _is_ready(new):
            self._plan(now - MONITOR_GRACE_NS, NodesFail((name,)))
        elif _is_ready(new) and not _is_ready(old):
            self._plan(now, NodesRecover((name,)))
        if _lasting(old) != _lasting(new):
            self._plan(now, Restate(as_created(new)))

    def _is_consequence(self, obj: Object) -> bool:
        reference = controller_reference(obj.metadata)
        if reference is not None and reference.kind in _CONTROLLERS:
            return True
        if isinstance(obj, PersistentVolumeClaim):
            namespace, name = obj.metadata.namespace, obj.metadata.name
            return any(
                name.startswith(starts) and name.removeprefix(start).isdecimal()
                for (owner_namespace, _), starts in self._claims_of.items()
                if owner_namespace == namespace
                for start in starts
            )
        return isinstance(obj, VolumeAttachment) or (
            isinstance(obj, PersistentVolume) and PROVISIONED_BY in obj.metadata.annotations
        )


def as_created(obj: Any) -> Any:
    """The object as who made it may have sent it, and a node as it is known once it is ready."""
    meta = obj.metadata
    annotations = {key: text for key, text in meta.annotations.items() if key not in _OF_CONTROLLERS}
    kept = ObjectMeta(name=meta.name, namespace=meta.namespace, labels=meta.labels, annotations=annotations)
    if isinstance(obj, Node):
        taints = [taint for taint in obj.spec.taints if not is_of_condition(taint)]
        return replace(obj, metadata=kept, spec=replace(obj.spec, taints=taints))
    if isinstance(obj, Pod):
        spec = obj.spec if is_mirror(obj) else replace(obj.spec, node_name="")
        return replace(obj, metadata=kept, spec=spec, status=PodStatus())
    if "status" in obj.__struct_fields__:
        return replace(obj, metadata=kept, status=type(obj)().status)
    return replace(obj, metadata=kept)


def _lasting(node: Node) -> tuple[Any, ...]:
    """What is not a matter of conditions."""
    created, status = as_created(node), node.status
    return created.metadata, created.spec, status.allocatable, status.capacity, status.declared_features


def _is_ready(node: Node) -> bool:
    """A node that says nothing about it counts as ready."""
    condition = find_condition(node.status.conditions, READY)
    return condition is None or condition.status == TRUE


def _is_leaving(obj: Object) -> bool:
    return obj.metadata.deletion_timestamp is not None
