"""What users do to a cluster while time passes, as plain data, and the doing of it.

`Plan` says when and what. Commands go to the store as a user's requests would, and to the kubelets for nodes that fail.
A request that is refused when its time comes (no such object, say) becomes a note; it never ends the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from msgspec.structs import replace

from bayplan.analysis.simulation.inputs.draining import drain_node
from bayplan.analysis.simulation.inputs.traces import Arrivals, TraceArrival
from bayplan.analysis.simulation.results.result import Note
from bayplan.controllers.nodes.kubelet import Kubelet
from bayplan.controllers.nodes.node_lifecycle import NodeLifecycle
from bayplan.model.kinds import KINDS, Object
from bayplan.model.node import Node, Taint
from bayplan.model.pod import Pod
from bayplan.model.time_units import SECOND
from bayplan.store import ApiError
from bayplan.worlds.simulated import SimulatedWorld

DRAIN_RETRY_NS = 5 * SECOND


@dataclass(frozen=True, slots=True)
class Target:
    """One object by name; the namespace is "" for kinds that have none."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """`Deployment shop/web`."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Apply:
    """Create the objects, or bring those that exist to what is wanted now."""

    objects: tuple[Object, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    targets: tuple[Target, ...]
    grace_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """Set `spec.replicas`, or a Job's parallelism."""

    targets: tuple[Target, ...]
    replicas: int


@dataclass(frozen=True, slots=True)
class Cordon:
    nodes: tuple[str, ...]
    unschedulable: bool = True


@dataclass(frozen=True, slots=True)
class Drain:
    """Cordon, and evict the node's pods as budgets allow; daemons stay."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodesFail:
    """The machines stop: nothing happens on them, and nobody hears of them."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodesRecover:
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetTaints:
    nodes: tuple[str, ...]
    add: tuple[Taint, ...] = ()
    remove: tuple[tuple[str, str], ...] = ()  # key and effect, "" for any effect


@dataclass(frozen=True, slots=True)
class SetLabels:
    nodes: tuple[str, ...]
    labels: dict[str, str | None] = field(default_factory=dict)  # None takes the label away


Command: TypeAlias = Apply | Delete | Scale | Cordon | Drain | NodesFail | NodesRecover | SetTaints | SetLabels


@dataclass(frozen=True, slots=True)
class Plan:
    """A command and when it is due, in nanoseconds since the start; `source` is `file:line`."""

    at: int
    command: Command
    source: str = ""


class Commands:
    """Does what is planned, when its time comes."""

    def __init__(self, world: SimulatedWorld, kubelet: Kubelet, lifecycle: NodeLifecycle, started_at: int) -> None:
        self._world = world
        self._kubelet = kubelet
        self._lifecycle = lifecycle
        self._started_at = started_at
        self.notes: list[Note] = []

    def plan(self, plan: Plan) -> None:
        self._world.at(self._started_at + plan.at, partial(self._do, plan))

    def plan_arrivals(self, arrivals: Arrivals) -> None:
        """The pods of a trace; each is made when its time comes, so that a long trace takes little memory."""
        self._await_next(iter(arrivals))

    def _await_next(self, rest: Iterator[TraceArrival]) -> None:
        arrival = next(rest, None)
        if arrival is not None:
            seconds, pod, _ = arrival
            self._world.at(self._started_at + round(seconds * SECOND), partial(self._arrive, pod, rest))

    def _arrive(self, pod: Pod, rest: Iterator[TraceArrival], now: int) -> None:
        self._do(Plan(now - self._started_at, Apply((pod,)), "trace"), now)
        self._await_next(rest)

    def _do(self, plan: Plan, now: int) -> None:
        for what, request in self._requests(plan, now):
            try:
                request()
            except ApiError as error:
                self.notes.append(Note(now - self._started_at, plan.source, f"{what}: {error}"))

    def _requests(self, plan: Plan, now: int) -> Iterable[tuple[str, Callable[[], object]]]:
        """Each on its own, so that one that is refused does not keep the others from being done."""
        store = self._world.store
        match plan.command:
            case Apply(objects):
                return [(f"apply {target_of(one)}", partial(self._apply, one, now)) for one in objects]
            case Delete(targets, grace):
                return [
                    (
                        f"delete {one}",
                        partial(store.delete, one.kind, one.namespace, one.name, now, grace_seconds=grace),
                    )
                    for one in targets
                ]
            case Scale(targets, replicas):
                change = partial(_scaled, replicas=replicas)
                return [
                    (f"scale {one}", partial(store.modify, one.kind, one.namespace, one.name, change, now))
                    for one in targets
                ]
            case Cordon(nodes, unschedulable):
                return self._change_nodes("cordon", nodes, partial(_cordoned, unschedulable=unschedulable), now)
            case SetTaints(nodes, add, remove):
                return self._change_nodes("taint", nodes, partial(_tainted, add=add, remove=remove), now)
            case SetLabels(nodes, labels):
                return self._change_nodes("label", nodes, partial(_labelled, labels=labels), now)
            case Drain(nodes):
                return [(f"drain Node {name}", partial(self._drain, name, now)) for name in nodes]
            case NodesFail(nodes):
                return [(f"fail Node {name}", partial(self._fail, name, now)) for name in nodes]
            case NodesRecover(nodes):
                return [(f"recover Node {name}", partial(self._recover, name, now)) for name in nodes]

    def _apply(self, wanted: Object, now: int) -> None:
        store, target = self._world.store, target_of(wanted)
        wanted = deepcopy(wanted)  # the store completes parts of it in place, and the plan may be played again
        if not target.name or store.find(target.kind, target.namespace, target.name) is None:
            store.create(wanted, now)
        else:
            store.modify(target.kind, target.namespace, target.name, partial(_as_wanted, wanted), now)

    def _change_nodes(
        self, verb: str, nodes: Iterable[str], change: Callable[[Node], Node], now: int
    ) -> list[tuple[str, Callable[[], object]]]:
        modify = self._world.store.modify
        return [(f"{verb} Node {name}", partial(modify, Node, "", name, change, now)) for name in nodes]

    def _drain(self, name: str, now: int) -> None:
        self._world.store.modify(Node, "", name, partial(_cordoned, unschedulable=True), now)
        self._evict(name, now)

    def _evict(self, name: str, now: int) -> None:
        """Evict what budgets allow; come back for the rest, as long as the node stays cordoned."""
        store = self._world.store
        node = store.find(Node, "", name)
        if node is not None and node.spec.unschedulable and drain_node(store, name, now):
            self._world.at(now + DRAIN_RETRY_NS, partial(self._evict, name))

    def _fail(self, name: str, now: int) -> None:
        self._world.store.get(Node, "", name)
        self._kubelet.node_down(name, now)
        self._lifecycle.node_down(name, now)

    def _recover(self, name: str, now: int) -> None:
        self._world.store.get(Node, "", name)
        self._kubelet.node_up(name, now)
        self._lifecycle.node_up(name, now)


def target_of(one: Object) -> Target:
    kind = type(one).__name__
    return Target(kind, one.metadata.namespace if KINDS[kind].namespaced else "", one.metadata.name)


def _as_wanted(wanted: Any, stored: Any) -> Any:
    """The wanted object in place of the stored one; what belongs to the server, and the status, stays."""
    metadata = replace(
        stored.metadata,
        labels={**stored.metadata.labels, **wanted.metadata.labels},
        annotations={**stored.metadata.annotations, **wanted.metadata.annotations},
    )
    return replace(wanted, metadata=metadata)


def _scaled(stored: Any, *, replicas: int) -> Any:
    field_name = "parallelism" if type(stored).__name__ == "Job" else "replicas"
    return replace(stored, spec=replace(stored.spec, **{field_name: replicas}))


def _cordoned(node: Node, *, unschedulable: bool) -> Node:
    return replace(node, spec=replace(node.spec, unschedulable=unschedulable))


def _tainted(node: Node, *, add: tuple[Taint, ...], remove: tuple[tuple[str, str], ...]) -> Node:
    gone = {*remove, *((one.key, one.effect) for one in add)}
    kept = [one for one in node.spec.taints if (one.key, one.effect) not in gone and (one.key, "") not in gone]
    return replace(node, spec=replace(node.spec, taints=[*kept, *add]))


def _labelled(node: Node, *, labels: dict[str, str | None]) -> Node:
    merged = {**node.metadata.labels, **labels}
    left = {key: value for key, value in merged.items() if value is not None}
    return replace(node, metadata=replace(node.metadata, labels=left))
