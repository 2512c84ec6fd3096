"""Would everything on a node fit elsewhere, and is it allowed to leave? Nodes are drained as `kubectl drain` does.

A node is cordoned; its pods are evicted through the API, which asks their disruption budgets; a pod that a budget
protects waits until others are ready again, which they are once they have a node. Pods of DaemonSets and pods that a
kubelet runs from a file stay, bare pods are lost: kubectl wants to be told so with options, which the answer names.
Nodes are drained one after another: all of them for good, or rolling, where each is back before the next one goes.
Volumes of the type emptyDir, for which kubectl wants an option too, are not looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from typing import Any

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.course import Course, Departure, DepartureCause
from bayplan.analysis.answers.replacements import comes_back
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.label_selection import selected_by
from bayplan.analysis.references import not_found
from bayplan.analysis.showing import Shown
from bayplan.controllers.budgets.evicting import is_daemon, is_mirror
from bayplan.controllers.ownership import controller_reference
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import object_key
from bayplan.model.near_matches import did_you_mean, near
from bayplan.model.node import Node
from bayplan.model.structs import replace


@dataclass(frozen=True, slots=True)
class Blocked:
    """A pod that may not be evicted."""

    pod: str
    budget: str
    message: str  # the API server's

    def to_dict(self) -> dict[str, Any]:
        return {"pod": self.pod, "budget": self.budget, "message": self.message}


@dataclass(frozen=True, slots=True)
class Eviction:
    """A pod that leaves a drained node, and what becomes of it."""

    pod: str
    step: int  # all of a step go at once, as soon as those of the step before run elsewhere
    returns: bool  # its controller makes another one
    bare: bool = False  # it has no controller
    node: str = ""  # where it goes; "" if it is lost or finds no place
    victims: tuple[str, ...] = ()  # whom it evicts there
    message: str = ""  # why it finds no place

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"pod": self.pod, "step": self.step, "node": self.node or None}
        plain |= {"returns": self.returns, "bare": self.bare}
        if self.victims:
            plain["victims"] = list(self.victims)
        if self.message:
            plain["message"] = self.message
        return plain


@dataclass(frozen=True, slots=True)
class DrainedNode:
    """What draining one node comes to."""

    node: str
    evictions: tuple[Eviction, ...]
    daemons: tuple[str, ...]  # pods of DaemonSets, which stay
    mirrors: tuple[str, ...]  # pods that the kubelet runs from files, which stay
    blocked: tuple[Blocked, ...]
    preempted: tuple[Departure, ...]  # pods on other nodes, in the order in which they are evicted

    @property
    def pending(self) -> tuple[str, ...]:
        """Pods that find no place elsewhere."""
        return tuple(each.pod for each in self.evictions if not each.node and each.returns)

    @property
    def lost(self) -> tuple[str, ...]:
        """Bare pods, which are gone for good."""
        return tuple(each.pod for each in self.evictions if each.bare)

    def to_dict(self) -> dict[str, Any]:
        return {
            "node": self.node,
            "evictions": [each.to_dict() for each in self.evictions],
            "daemons": list(self.daemons),
            "mirrors": list(self.mirrors),
            "blocked": [each.to_dict() for each in self.blocked],
            "preempted": [each.to_dict() for each in self.preempted],
        }


@dataclass(frozen=True, slots=True, repr=False)
class Draining(Shown):
    """What draining nodes comes to."""

    nodes: tuple[DrainedNode, ...]
    unreached: tuple[str, ...]  # nodes behind one that could not be drained, when rolling
    rolling: bool
    pending: Mapping[str, str] = field(default_factory=dict)  # pods without a node at the end, because of this; why
    ends_on: Mapping[str, str] = field(default_factory=dict)  # where pods that had to go are at the end, if anywhere

    @property
    def works(self) -> bool:
        """Whether every node gets empty and every pod runs in the end."""
        blocked = any(node.blocked for node in self.nodes)
        return not (blocked or self.unreached or self.pending or self.lost)

    @property
    def lost(self) -> list[str]:
        """Bare pods, which are gone for good."""
        return [pod for node in self.nodes for pod in node.lost]

    @property
    def preempted(self) -> list[Departure]:
        return [departure for node in self.nodes for departure in node.preempted]

    @property
    def blocking_budgets(self) -> list[str]:
        """Budgets that keep a node from getting empty."""
        return list(dict.fromkeys(each.budget for node in self.nodes for each in node.blocked))

    @property
    def options(self) -> list[str]:
        """What `kubectl drain` has to be told."""
        daemons = ["--ignore-daemonsets"] if any(node.daemons for node in self.nodes) else []
        return [*daemons, *(["--force"] if self.lost else [])]

    def to_dict(self) -> dict[str, Any]:
        return {
            "works": self.works,
            "rolling": self.rolling,
            "nodes": [node.to_dict() for node in self.nodes],
            "unreached": list(self.unreached),
            "pending": [{"pod": pod, "message": message} for pod, message in self.pending.items()],
            "endsOn": dict(self.ends_on),
            "kubectlOptions": self.options,
        }


def nodes_named(cluster: Cluster, names: Sequence[str], selector: str = "") -> list[str]:
    """These nodes, then those with the labels, by name. Raises InvalidObject."""
    known = {obj.metadata.name: obj for obj in cluster.objects if isinstance(obj, Node)}
    check_nodes(known, names)
    found: list[str] = []
    if selector:
        selects = selected_by(selector)
        found = sorted(name for name, node in known.items() if selects(node.metadata.labels))
        if not found:
            raise InvalidObject([Fault("", "", "--selector", f"{selector!r} selects no node")])
    return list(dict.fromkeys([*names, *found]))


def drain(asking: Asking, names: Sequence[str], *, rolling: bool = False) -> Draining:
    """Drains nodes of the cluster as it is once its pending pods have been tried. Raises InvalidObject."""
    course = Course(asking)
    check_nodes(course.nodes, names)
    course.settle()
    return drain_in(course, names, rolling=rolling)


def drain_in(course: Course, names: Sequence[str], *, rolling: bool = False) -> Draining:
    """Drains nodes where things have happened before."""
    pending_before = {*course.waiting, *course.held_back}
    since = len(course.departures)
    names = list(dict.fromkeys(names))
    before = {name: course.nodes[name] for name in names}
    if not rolling:
        for node in before.values():
            course.put_node(cordoned(node))
    drained: list[DrainedNode] = []
    for name in names:
        course.put_node(cordoned(before[name]))
        drained.append(_drain_node(course, name))
        if rolling:
            if drained[-1].blocked:
                break
            drained[-1] = _back(course, before[name], drained[-1])
    pending = {key: course.message(key) for key in (*course.waiting, *course.held_back) if key not in pending_before}
    moved = {departure.pod for departure in course.departures[since:]} & course.pods.keys()
    ends_on = {key: course.node_of(key) for key in sorted(moved)}
    return Draining(tuple(drained), tuple(names[len(drained) :]), rolling, pending, ends_on)


def check_nodes(known: Collection[str], names: Sequence[str]) -> None:
    """Raises InvalidObject for a node that is not there."""
    for name in names:
        if name not in known:
            raise not_found(f"Node {name}", f"not found in the input{did_you_mean(near(name, known))}")


def _back(course: Course, node: Node, drained: DrainedNode) -> DrainedNode:
    """The node takes pods again; those that waited for it may still evict others."""
    since = len(course.departures)
    course.put_node(node)
    course.settle()
    return replace_fields(drained, preempted=(*drained.preempted, *course.departures[since:]))


def cordoned(node: Node) -> Node:
    """The node as it is when no pods may come to it."""
    return replace(node, spec=replace(node.spec, unschedulable=True))


def _drain_node(course: Course, name: str) -> DrainedNode:
    on_node = course.pods_on(name)
    daemons = list(filter(is_daemon, on_node))
    mirrors = list(filter(is_mirror, on_node))
    staying = {object_key(pod) for pod in (*daemons, *mirrors)}
    going = {object_key(pod): pod for pod in on_node if object_key(pod) not in staying}
    since = len(course.departures), len(course.arrivals)
    steps = _evict_all(course, name, list(going))
    blocked = [key for key in going if course.node_of(key) == name]
    departures, arrivals = course.departures[since[0] :], course.arrivals[since[1] :]
    victims = {arrival.pod: arrival.victims for arrival in arrivals}
    return DrainedNode(
        node=name,
        evictions=tuple(
            Eviction(
                pod=key,
                step=step,
                returns=comes_back(going[key]),
                bare=controller_reference(going[key].metadata) is None,
                node=course.node_of(key),
                victims=victims.get(key, ()),
                message=course.message(key),
            )
            for step, keys in enumerate(steps, 1)
            for key in keys
        ),
        daemons=tuple(map(object_key, daemons)),
        mirrors=tuple(map(object_key, mirrors)),
        blocked=tuple(_blocked(course, key) for key in blocked),
        preempted=tuple(departure for departure in departures if departure.cause is DepartureCause.PREEMPTED),
    )


def _evict_all(course: Course, name: str, going: Sequence[str]) -> list[list[str]]:
    """Evicts what may be evicted, step by step; those who are left may not."""
    steps: list[list[str]] = []
    left = list(going)
    while left:
        granted = []
        for key in left:
            if not course.budgets.refusal(course.pods[key])[0]:
                course.remove([key], DepartureCause.DRAINED, name, for_good=False)
                granted.append(key)
        if not granted:
            break
        steps.append(granted)
        course.settle()
        left = [key for key in left if key not in granted and course.node_of(key) == name]
    return steps


def _blocked(course: Course, key: str) -> Blocked:
    message, budget = course.budgets.refusal(course.pods[key])
    return Blocked(key, budget, message)
