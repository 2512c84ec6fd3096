"""The cluster as the autoscaler sees it, and what would fit where.

Changes are noted as they happen and taken in when somebody looks, so that a pod that changes ten times between two
looks costs one. Whether a pod fits is asked of the scheduler's filters, on the scheduler's own tables. In a `trial`
nodes and pods come and go that do not exist. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager

from bayplan.controllers.ownership import controller_of_kind, reference_to
from bayplan.controllers.workloads.daemon_placement import DaemonPlaces, daemon_template, pin
from bayplan.controllers.workloads.pods_from_templates import Stamp
from bayplan.core.cache import Cache
from bayplan.core.failure_handling import UNSCHEDULABLE
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.filtering import filter_pod
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError
from bayplan.core.snapshot import HOLDING
from bayplan.model.conditions import FALSE, find_condition
from bayplan.model.kinds import Object, object_key
from bayplan.model.node import Node
from bayplan.model.pod import FINISHED_PHASES, Pod
from bayplan.model.resource_claims import ResourceClaim, ResourceClaimStatus
from bayplan.model.structs import replace
from bayplan.model.watch_types import DELETED
from bayplan.model.well_known import POD_SCHEDULED
from bayplan.model.workloads import DaemonSet
from bayplan.store import WatchEvent

_KINDS = frozenset({"Pod", "Node", "DaemonSet", *HOLDING.values()})
Change = tuple[Object, bool]
"""An object as it was last heard of, and whether it is there."""


class Picture:
    """What is known of the cluster."""

    def __init__(self, profiles: Mapping[str, Profile], gates: FeatureGates) -> None:
        """`profiles` of the scheduler whose filters are asked; pods of other schedulers are asked of the first."""
        self._profiles = profiles
        self._cache = Cache(gates)
        self._news: dict[tuple[str, str], Change] = {}
        self._known: set[tuple[str, str]] = set()  # what was taken in and is there
        self.nodes: dict[str, Node] = {}
        self.refused: dict[str, Pod] = {}
        """Pods that the scheduler found no node for, by key, in the order in which it said so."""
        self._bound: dict[str, Pod] = {}
        self._daemon_sets: dict[str, DaemonSet] = {}
        self._daemons: dict[str, tuple[DaemonSet, Stamp]] = {}

    def note(self, change: WatchEvent) -> None:
        """Something changed; it is taken in later."""
        if change.kind not in _KINDS:
            return
        key = (change.kind, object_key(change.new))
        if change.type == DELETED and key not in self._known:
            self._news.pop(key, None)  # it came and went: without pools, nobody may ever look
        else:
            self._news[key] = (change.new, change.type != DELETED)

    @property
    def has_news(self) -> bool:
        """Whether anything was noted that is not taken in yet."""
        return bool(self._news)

    def take_in(self) -> None:
        """All that was noted since the last time."""
        news, self._news = self._news, {}
        for key, (obj, is_there) in news.items():
            if is_there:
                self._known.add(key)
            else:
                self._known.discard(key)
            if isinstance(obj, Pod):
                self._take_in_pod(obj, is_there=is_there)
            elif isinstance(obj, Node):
                self._take_in_node(obj, is_there=is_there)
            else:
                if isinstance(obj, DaemonSet):
                    self._take_in_daemon_set(obj, is_there=is_there)
                if is_there:
                    self._cache.objects.put(obj)
                else:
                    self._cache.objects.remove(obj)

    def _take_in_pod(self, pod: Pod, *, is_there: bool) -> None:
        key, cache = object_key(pod), self._cache
        if key in self._bound:
            cache.remove_pod(key)
            del self._bound[key]
        is_refused = is_there and was_refused(pod)
        if not is_refused:
            self.refused.pop(key, None)
        if not is_there or pod.status.phase in FINISHED_PHASES:
            return
        if pod.spec.node_name:
            cache.add_pod(pod)
            self._bound[key] = pod
        elif is_refused:
            self.refused[key] = pod

    def _take_in_node(self, node: Node, *, is_there: bool) -> None:
        name = node.metadata.name
        if is_there:
            self.nodes[name] = node
            self._cache.add_node(node)
        elif self.nodes.pop(name, None) is not None:
            self._cache.remove_node(name)

    def _take_in_daemon_set(self, daemon_set: DaemonSet, *, is_there: bool) -> None:
        key = object_key(daemon_set)
        self._daemon_sets.pop(key, None)
        if is_there:
            self._daemon_sets[key] = daemon_set

    # ------------------------------------------------------------------ what is the case

    @property
    def cache(self) -> Cache:
        """To be read only."""
        return self._cache

    def pods_on(self, node_name: str) -> list[Pod]:
        """By name."""
        table = self._cache.nodes
        row = table.rows_by_name.get(node_name)
        keys = sorted(self._cache.pods.keys[pod_row] for pod_row in table.pod_rows[row]) if row is not None else []
        return [self._bound[key] for key in keys if key in self._bound]

    def shape(self, pod: Pod) -> int:
        """Equal for pods that no filter can tell apart."""
        return self._cache.info(pod).shape.serial

    # ------------------------------------------------------------------ what would be

    def trial(self) -> AbstractContextManager[None]:
        """What is done to the picture in here is undone at its end."""
        return self._cache.trial()

    def add_node(self, node: Node, *, slices: Iterable[Object] = ()) -> None:
        """A node that would be there, with the daemons that would run on it."""
        name = node.metadata.name
        self._cache.add_node(node)
        for each in slices:
            self._cache.objects.put(each)
        for daemon_set in self._daemon_sets.values():
            if DaemonPlaces(daemon_template(daemon_set).spec).include(node):
                self._cache.add_pod(self._daemon(daemon_set, name), name)

    def remove_node(self, name: str) -> list[Pod]:
        """A node that would no longer be there; gives its pods, which are gone with it."""
        pods = self.pods_on(name)
        for pod in pods:
            self._cache.remove_pod(object_key(pod))
        self._cache.remove_node(name)
        return pods

    def nodes_for(self, pod: Pod) -> set[str]:
        """The nodes on which the pod, which has none, would pass the filters."""
        profile = self._profiles.get(pod.spec.scheduler_name) or next(iter(self._profiles.values()))
        view = self._cache.view()
        if not view.nodes.alive_count:
            return set()
        try:
            rows = filter_pod(profile, self._cache.info(pod), view).feasible_rows
        except CycleError:
            return set()
        return {view.nodes.names[row] for row in rows.tolist()}

    def put(self, pod: Pod, node_name: str) -> None:
        """The pod runs on the node, with what the scheduler would reserve for it there."""
        profile = self._profiles.get(pod.spec.scheduler_name) or next(iter(self._profiles.values()))
        info, view = self._cache.info(pod), self._cache.view()
        row = view.nodes.rows_by_name[node_name]
        for objects in [plugin.reserve(info, view, row) for plugin in profile.reserve]:
            for obj in objects:
                self._cache.objects.put(obj)
        self._cache.add_pod(pod, node_name, info)

    def node_of(self, pod: Pod) -> str:
        """The node that the pod is on; "" if it is on none."""
        row = self._cache.row_on_a_node(object_key(pod))
        return "" if row is None else self._cache.nodes.names[int(self._cache.pods.cells.node_rows[row])]

    def place(self, pod: Pod) -> bool:
        """Puts the pod onto some node that is there; whether it fits anywhere."""
        names = self.nodes_for(pod)
        if not names:
            return False
        try:
            self.put(pod, min(names))
        except CycleError:
            return False
        return True

    def unbound(self, pod: Pod) -> Pod:
        """The pod that would be made in place of this one; claims made for it alone give their devices back."""
        for claim in self._claims_of(pod):
            self._cache.objects.put(replace(claim, status=ResourceClaimStatus()))
        return replace(pod, spec=replace(pod.spec, node_name=""), status=replace(pod.status, nominated_node_name=""))

    def _claims_of(self, pod: Pod) -> list[ResourceClaim]:
        if not pod.status.resource_claim_statuses:
            return []
        held = self._cache.objects.resource_claims
        names = [(pod.metadata.namespace, each.resource_claim_name) for each in pod.status.resource_claim_statuses]
        claims = [held[name] for name in names if name in held]
        return [claim for claim in claims if any(o.uid == pod.metadata.uid for o in claim.metadata.owner_references)]

    def _daemon(self, daemon_set: DaemonSet, node_name: str) -> Pod:
        key = object_key(daemon_set)
        known = self._daemons.get(key)
        if known is None or known[0] is not daemon_set:
            known = self._daemons[key] = (daemon_set, Stamp(daemon_template(daemon_set), daemon_set))
        pod = known[1].pod(f"{daemon_set.metadata.name}-{node_name}")
        pod.metadata.owner_references = [reference_to(daemon_set)]
        pin(pod, node_name)
        return pod


def was_refused(pod: Pod) -> bool:
    """Whether the scheduler found no node for the pod, which still wants one and is not a daemon."""
    if pod.spec.node_name or pod.metadata.deletion_timestamp is not None:
        return False
    said = find_condition(pod.status.conditions, POD_SCHEDULED)
    is_unschedulable = said is not None and said.status == FALSE and said.reason == UNSCHEDULABLE
    return is_unschedulable and controller_of_kind(pod.metadata, DaemonSet.__name__) is None
