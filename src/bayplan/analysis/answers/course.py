"""The course of events in a cluster after something has happened to it, without a clock.

Pods that wait are tried in the queue's order, as `place` does; that is one round. Whoever is evicted in a round waits
in the next one if a controller makes another of it, together with all that wait still, until a round evicts nobody. An
eviction puts a pod in the place of less important ones, so this ends: with each round the most important pods that
still have to move are less important than before. Where pod groups are on, those of a group are tried together. Budgets
are counted between rounds, and pods that got a node are ready by then. How long anything takes, and what else happens
meanwhile, is for `simulate`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from typing import Any

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.budget_ledger import BudgetLedger
from bayplan.analysis.answers.replacements import Replacements, comes_back
from bayplan.analysis.device_claims import templates_among, with_claims_made
from bayplan.analysis.placement import PlacedPod, Placer
from bayplan.analysis.references import POD
from bayplan.config.registry import queue_order
from bayplan.controllers.ownership import controller_reference
from bayplan.core.cache import Cache
from bayplan.core.groups.member import Member
from bayplan.core.groups.waiting import in_order
from bayplan.core.preemption.prepare import let_go
from bayplan.model.conditions import TRUE
from bayplan.model.kinds import Object, object_key
from bayplan.model.meta import Condition
from bayplan.model.node import Node
from bayplan.model.pod import FINISHED_PHASES, Pod, group_key
from bayplan.model.structs import replace
from bayplan.model.well_known import READY


class DepartureCause(StrEnum):
    """Why a pod left its node."""

    PREEMPTED = "preempted"
    DRAINED = "drained"
    TAINTED = "tainted"  # its node got a NoExecute taint
    NODE_DELETED = "node-deleted"
    DELETED = "deleted"
    SCALED_DOWN = "scaled-down"
    UPDATED = "updated"  # its workload has another template now


#: Causes nobody asks for: they follow from a change, and budgets have no say.
UNINTENDED = frozenset({DepartureCause.PREEMPTED, DepartureCause.TAINTED, DepartureCause.NODE_DELETED})


@dataclass(frozen=True, slots=True)
class Departure:
    """A pod left its node, or a pending pod is no longer wanted."""

    pod: str
    node: str  # "" of a pod that was pending
    cause: DepartureCause
    by: str  # the pod that took its place, or the node or object that the cause is about
    priority: int
    priority_class: str
    comes_back: bool
    breaks: tuple[str, ...] = ()  # budgets

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"pod": self.pod, "node": self.node, "cause": self.cause.value, "by": self.by}
        plain |= {"priority": self.priority, "priorityClass": self.priority_class, "comesBack": self.comes_back}
        if self.breaks:
            plain["breaks"] = list(self.breaks)
        return plain


@dataclass(frozen=True, slots=True)
class Arrival:
    """A pod got a node."""

    pod: str
    node: str
    victims: tuple[str, ...] = ()


@dataclass(slots=True)
class Waiting:
    """A pod without a node, and why it has none."""

    pod: Pod
    arrival: int
    message: str = ""


class Course:
    """A cluster in which things happen one after another."""

    def __init__(self, asking: Asking, cache: Cache | None = None, placer: Placer | None = None) -> None:
        """`cache` is one of the cluster, with a `placer` for it; they are made if they are not given."""
        cluster, self._asking = asking.cluster, asking
        self.cache = cache or asking.cache()
        self.budgets = BudgetLedger(self.cache)
        self.pods = {key: pod for key, pod in cluster.pods.items() if _runs(pod)}
        self.nodes = {obj.metadata.name: obj for obj in cluster.objects if isinstance(obj, Node)}
        self.waiting: dict[str, Waiting] = {}
        self.departures: list[Departure] = []
        self.arrivals: list[Arrival] = []
        self._placer = placer or asking.placer(self.cache)
        self._profiles = asking.profiles
        self._order = queue_order(asking.profiles)
        self._replacements = Replacements(cluster.objects)
        self._claim_templates = templates_among(cluster.objects)
        self._numbers = count()
        queue = cluster.queue_under(asking.profiles, asking.configuration.gates)
        self.held_back = dict(queue.gated)  # pods that are not tried, and why
        self.held_back |= {key: _left_to(scheduler) for key, scheduler in queue.foreign.items()}
        self.enqueue(cluster.prepared(queue.keys, self.cache))

    # What may happen.

    def enqueue(self, pods: Iterable[Pod]) -> None:
        """Pods for which everything is there that they need wait."""
        for pod in pods:
            self._wait(pod)

    def add(self, pods: Iterable[Pod], along: Iterable[Object] = ()) -> None:
        """New pods wait; what is made along with them is there."""
        owned: defaultdict[str, list[Object]] = defaultdict(list)
        for obj in along:
            owned[_owning_pod(obj)].append(obj)
        for obj in owned[""]:
            self.cache.add(obj)
        for pod in pods:
            self._wait(self._claiming(pod, owned[object_key(pod)]))

    def remove(self, keys: Sequence[str], cause: DepartureCause, by: str, *, for_good: bool) -> list[Departure]:
        """The pods go, by whatever but preemption; unless it is for good their controllers make others."""
        lost = [self.pods[key] for key in keys if key in self.pods]
        let_go(self.cache, [object_key(pod) for pod in lost])
        found = [self._leave(pod, cause, by, for_good=for_good) for pod in lost]
        for key in keys:
            unplaced = self.waiting.get(key)
            # In place of a pod that waits its controller makes another one that does.
            if unplaced is not None and (for_good or not comes_back(unplaced.pod)):
                del self.waiting[key]
                found.append(_departure(unplaced.pod, "", cause, by, returns=False))
        self.departures += found
        self._bring_back(lost, found)
        self.budgets.publish()
        return found

    def put_node(self, node: Node) -> None:
        """A node changes."""
        self.nodes[node.metadata.name] = node
        self.cache.add_node(node)

    def settle(self) -> None:
        """Try what waits until nobody is evicted any more."""
        while self.waiting and self._try_all():
            pass

    # What is the case.

    def node_of(self, key: str) -> str:
        """ "" for a pod that has none."""
        pod = self.pods.get(key)
        return pod.spec.node_name if pod is not None else ""

    def message(self, key: str) -> str:
        """Why the pod has no node."""
        waiting = self.waiting.get(key)
        return waiting.message if waiting is not None else self.held_back.get(key, "")

    def knows(self, key: str) -> bool:
        """Whether the pod is wanted: it runs, or it waits to."""
        return key in self.pods or key in self.waiting

    def is_pending(self, key: str) -> bool:
        return key in self.waiting or key in self.held_back

    def pods_on(self, node_name: str) -> list[Pod]:
        """In the order in which an API server lists them."""
        row = self.cache.nodes.rows_by_name.get(node_name)
        rows = self.cache.nodes.pod_rows[row] if row is not None else ()
        return [self.pods[key] for key in sorted(self.cache.pods.keys[row] for row in rows)]

    # Steps.

    def _try_all(self) -> bool:
        """One round; whether it evicted anybody."""
        lost: list[Pod] = []
        departures: list[Departure] = []
        for placed in self._placed():
            key, waiting = placed.pod, self.waiting[placed.pod]
            victims = [self.pods[victim] for victim in placed.victims]
            departures += [self._leave(victim, DepartureCause.PREEMPTED, key) for victim in victims]
            lost += victims
            if placed.node is None:
                waiting.message = placed.message
                self._forget_nomination(waiting)
                continue
            del self.waiting[key]
            self._arrive(waiting.pod, placed.node, placed.victims)
        self.departures += departures
        self._bring_back(lost, departures)
        self.budgets.publish()
        return bool(lost)

    def _placed(self) -> Iterator[PlacedPod]:
        """What becomes of each pod that waits; pods of a group come together, when the first has its turn."""
        groups = self._waiting_groups()
        together = self._asking.group_placer(self.cache, self._placer)
        grouped = {member.key: name for name, members in groups.items() for member in members}
        for key in self._in_order(groups):
            name = grouped.get(key)
            if name is None:
                yield self._placer.place(self.waiting[key].pod)
            elif name in groups:
                yield from together.place(name, in_order(groups.pop(name)))

    def _waiting_groups(self) -> dict[str, list[Member]]:
        """The groups of the pods that wait, where there are groups, with their members in order of arrival."""
        found: defaultdict[str, list[Member]] = defaultdict(list)
        if self.cache.gates.generic_workload:
            for waiting in sorted(self.waiting.values(), key=lambda each: each.arrival):
                if key := group_key(waiting.pod):
                    found[key].append(Member(waiting.pod, self.cache.info(waiting.pod), queued_at=waiting.arrival))
        return found

    def _in_order(self, groups: Mapping[str, Sequence[Member]]) -> list[str]:
        """A group has the priority of its PodGroup, and came when the first of its pods did."""
        place = {key: (self.cache.info(each.pod), each.arrival) for key, each in self.waiting.items()}
        for name, members in groups.items():
            namespace, _, group_name = name.partition("/")
            group = self.cache.objects.pod_groups.get((namespace, group_name))
            priority = group.spec.priority or 0 if group is not None else 0
            first = replace(members[0].info, priority=priority)
            place |= {member.key: (first, members[0].queued_at) for member in members}
        return sorted(place, key=lambda key: self._order(*place[key]))

    def _forget_nomination(self, waiting: Waiting) -> None:
        """Preemption looked for the pod in vain: nothing is kept for it any longer."""
        pod = waiting.pod
        if pod.status.nominated_node_name and object_key(pod) not in self.cache.pods.rows_by_key:
            waiting.pod = replace(pod, status=replace(pod.status, nominated_node_name=""))

    def _arrive(self, pod: Pod, node_name: str, victims: tuple[str, ...]) -> None:
        key = object_key(pod)
        self.pods[key] = running = _running(pod, node_name)
        self.budgets.arrive(running)
        self.arrivals.append(Arrival(key, node_name, victims))

    def _leave(self, pod: Pod, cause: DepartureCause, by: str, *, for_good: bool = False) -> Departure:
        del self.pods[object_key(pod)]
        broken = self.budgets.leave(pod)
        breaks = tuple(broken) if cause in UNINTENDED else ()
        returns = not for_good and comes_back(pod)
        return _departure(pod, pod.spec.node_name, cause, by, returns=returns, breaks=breaks)

    def _bring_back(self, lost: Sequence[Pod], departures: Sequence[Departure]) -> None:
        for pod, departure in zip(lost, departures, strict=False):
            if departure.comes_back:
                made, claims = self._replacements.instead_of(pod, departure.node)
                self._wait(self._claiming(made, claims))

    def _wait(self, pod: Pod) -> None:
        key = object_key(pod)
        if pod.spec.scheduler_name not in self._profiles:
            self.held_back[key] = _left_to(pod.spec.scheduler_name)
            return
        self.waiting[key] = Waiting(pod, next(self._numbers))

    def _claiming(self, pod: Pod, own_claims: Iterable[Object]) -> Pod:
        """The pod with an identity of its own, to which the claims that are made for it belong."""
        knowing, resource_claims = with_claims_made(pod, self._claim_templates)
        identity = f"{object_key(pod)}#{next(self._numbers)}"
        for claim in (*own_claims, *resource_claims):
            for reference in claim.metadata.owner_references:
                reference.uid = identity
            self.cache.add(claim)
        return replace(knowing, metadata=replace(knowing.metadata, uid=identity))


def _owning_pod(obj: Object) -> str:
    """The key of the pod for which something is made; "" if it is not made for one pod alone."""
    owner = controller_reference(obj.metadata)
    return f"{obj.metadata.namespace}/{owner.name}" if owner is not None and owner.kind == POD else ""


def _departure(
    pod: Pod, node_name: str, cause: DepartureCause, by: str, *, returns: bool, breaks: tuple[str, ...] = ()
) -> Departure:
    spec = pod.spec
    return Departure(
        object_key(pod), node_name, cause, by, spec.priority or 0, spec.priority_class_name, returns, breaks
    )


def _runs(pod: Pod) -> bool:
    return bool(pod.spec.node_name) and pod.status.phase not in FINISHED_PHASES


def _running(pod: Pod, node_name: str) -> Pod:
    ready = Condition(type=READY, status=TRUE)
    return replace(
        pod,
        spec=replace(pod.spec, node_name=node_name),
        status=replace(pod.status, phase="Running", nominated_node_name="", conditions=[ready]),
    )


def _left_to(scheduler: str) -> str:
    return f"left to scheduler {scheduler!r}, which the configuration does not have"
