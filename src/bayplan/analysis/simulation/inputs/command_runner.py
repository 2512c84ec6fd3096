"""Commands carried out on a simulated cluster.

They are sent to the store like a user's requests, and to the kubelets for nodes that fail. A planned command that is
refused (because there is no such object, say) becomes a note; it never ends the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from functools import partial
from typing import Any, TypeAlias

from bayplan.analysis.references import Reference
from bayplan.analysis.simulation.inputs.commands import (
    Apply,
    Command,
    Cordon,
    DeleteObject,
    Drain,
    LabelObjects,
    NodesFail,
    NodesRecover,
    PlannedCommand,
    Restate,
    ScaleWorkload,
    SetLabels,
    SetTaints,
    reference_to,
)
from bayplan.analysis.simulation.inputs.draining import drain_node
from bayplan.analysis.simulation.inputs.traces import Arrivals, TraceArrival
from bayplan.analysis.simulation.results.run_format import Note
from bayplan.controllers.nodes.kubelet import Kubelet
from bayplan.controllers.nodes.node_lifecycle import NodeLifecycleController, is_of_condition
from bayplan.model.kinds import Object
from bayplan.model.node import Node, Taint
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.store import ApiError
from bayplan.worlds.simulated import SimulatedWorld

DRAIN_RETRY_NS = 5 * SECOND

#: Its name in a note, and the call.
Request: TypeAlias = tuple[str, Callable[[], object]]


class PlannedCommands:
    """Carries out what is planned, when its time comes."""

    def __init__(self, runner: CommandRunner, started_at: int) -> None:
        self._runner = runner
        self._started_at = started_at
        self.notes: list[Note] = []
        runner.on_refusal = partial(self._note, "drain")

    def plan(self, plan: PlannedCommand) -> None:
        self._runner.world.at(self._started_at + plan.at, partial(self._do, plan))

    def plan_arrivals(self, arrivals: Arrivals) -> None:
        """The pods of a trace; each is made when its time comes, so that a long trace takes little memory."""
        self._await_next(iter(arrivals))

    def _await_next(self, rest: Iterator[TraceArrival]) -> None:
        arrival = next(rest, None)
        if arrival is not None:
            seconds, pod, _ = arrival
            self._runner.world.at(self._started_at + round(seconds * SECOND), partial(self._arrive, pod, rest))

    def _arrive(self, pod: Pod, rest: Iterator[TraceArrival], now: int) -> None:
        self._request((f"apply {reference_to(pod)}", partial(self._runner.hand_over, pod, now)), "trace", now)
        self._await_next(rest)

    def _do(self, plan: PlannedCommand, now: int) -> None:
        for request in self._runner.requests(plan.command, now):
            self._request(request, plan.source, now)

    def _request(self, request: Request, source: str, now: int) -> None:
        what, do = request
        try:
            do()
        except ApiError as error:
            self._note(source, f"{what}: {error}", now)

    def _note(self, source: str, message: str, now: int) -> None:
        self.notes.append(Note((now - self._started_at) / SECOND, source, message))


class CommandRunner:
    """Turns commands into requests to a simulated cluster."""

    def __init__(self, world: SimulatedWorld, kubelet: Kubelet, lifecycle: NodeLifecycleController) -> None:
        self.world = world
        self._kubelet = kubelet
        self._lifecycle = lifecycle
        #: Told of pods that cannot be evicted at all, once each, and when.
        self.on_refusal: Callable[[str, int], None] = lambda _message, _now: None
        self._refused: set[str] = set()  # pods

    def requests(self, command: Command, now: int) -> list[Request]:
        """Each separately, so that a refused one does not prevent the others."""
        match command:
            case Apply(objects):
                return [(f"apply {reference_to(obj)}", partial(self._apply, obj, now)) for obj in objects]
            case Restate(wanted):
                return [(f"change {reference_to(wanted)}", partial(self._restate, wanted, now))]
            case DeleteObject(targets, grace):
                return [(f"delete {target}", partial(self._delete, target, grace, now)) for target in targets]
            case ScaleWorkload(targets, replicas):
                return self._change("scale", targets, partial(_scaled, replicas=replicas), now)
            case LabelObjects(targets, labels):
                return self._change("label", targets, partial(_labeled, labels=labels), now)
            case Cordon(nodes, unschedulable):
                return self._change_nodes("cordon", nodes, partial(_cordoned, unschedulable=unschedulable), now)
            case SetTaints(nodes, add, remove):
                return self._change_nodes("taint", nodes, partial(_tainted, add=add, remove=remove), now)
            case SetLabels(nodes, labels):
                return self._change_nodes("label", nodes, partial(_labeled, labels=labels), now)
            case Drain(nodes):
                return [(f"drain Node {name}", partial(self._drain, name, now)) for name in nodes]
            case NodesFail(nodes):
                return [(f"fail Node {name}", partial(self._fail, name, now)) for name in nodes]
            case NodesRecover(nodes):
                return [(f"recover Node {name}", partial(self._recover, name, now)) for name in nodes]

    def _apply(self, wanted: Object, now: int) -> None:
        # The store completes parts of it in place, and the plan may be played again.
        self.hand_over(deepcopy(wanted), now)

    def hand_over(self, wanted: Object, now: int) -> None:
        """Creates the object, or updates the one of its name; it is the store's from then on."""
        store, target = self.world.store, reference_to(wanted)
        if not target.name or store.find(target.kind, target.namespace, target.name) is None:
            store.create(wanted, now)
        else:
            store.modify(target.kind, target.namespace, target.name, partial(_as_wanted, wanted), now)

    def _restate(self, wanted: Object, now: int) -> None:
        store, target, own = self.world.store, reference_to(wanted), deepcopy(wanted)
        store.modify(target.kind, target.namespace, target.name, partial(_restated, own), now)
        if isinstance(own, Node):
            store.modify_status(Node, "", target.name, partial(_with_resources, own), now)

    def _delete(self, target: Reference, grace_seconds: int | None, now: int) -> None:
        self.world.store.delete(target.kind, target.namespace, target.name, now, grace_seconds=grace_seconds)

    def _change_nodes(self, verb: str, nodes: Iterable[str], change: Callable[[Node], Node], now: int) -> list[Request]:
        return self._change(verb, [Reference("Node", "", name) for name in nodes], change, now)

    def _change(self, verb: str, targets: Iterable[Reference], change: Callable[[Any], Any], now: int) -> list[Request]:
        modify = self.world.store.modify
        return [
            (f"{verb} {target}", partial(modify, target.kind, target.namespace, target.name, change, now))
            for target in targets
        ]

    def _drain(self, name: str, now: int) -> None:
        self.world.store.modify(Node, "", name, partial(_cordoned, unschedulable=True), now)
        self._evict(name, now)

    def _evict(self, name: str, now: int) -> None:
        """Evicts what budgets allow, and retries the rest as long as the node stays cordoned."""
        store = self.world.store
        node = store.find(Node, "", name)
        if node is None or not node.spec.unschedulable:
            return
        remaining = drain_node(store, name, now)
        for key, message in remaining.refused.items():
            if key not in self._refused:
                self._refused.add(key)
                self.on_refusal(f"drain Node {name}: {key} stays: {message}", now)
        if remaining.to_retry:
            self.world.at(now + DRAIN_RETRY_NS, partial(self._evict, name))

    def _fail(self, name: str, now: int) -> None:
        self.world.store.get(Node, "", name)
        self._kubelet.node_down(name, now)
        self._lifecycle.node_down(name, now)

    def _recover(self, name: str, now: int) -> None:
        self.world.store.get(Node, "", name)
        self._kubelet.node_up(name, now)
        self._lifecycle.node_up(name, now)


def _as_wanted(wanted: Any, stored: Any) -> Any:
    """The wanted object in place of the stored one; what belongs to the server, and the status, stays."""
    metadata = replace(
        stored.metadata,
        labels={**stored.metadata.labels, **wanted.metadata.labels},
        annotations={**stored.metadata.annotations, **wanted.metadata.annotations},
    )
    return replace(wanted, metadata=metadata)


def _restated(wanted: Any, stored: Any) -> Any:
    metadata = replace(stored.metadata, labels=wanted.metadata.labels, annotations=wanted.metadata.annotations)
    if isinstance(stored, Pod):  # whose spec is for good, but for what still holds it back
        return replace(
            stored, metadata=metadata, spec=replace(stored.spec, scheduling_gates=wanted.spec.scheduling_gates)
        )
    if isinstance(stored, Node):
        taints = [*wanted.spec.taints, *filter(is_of_condition, stored.spec.taints)]
        return replace(stored, metadata=metadata, spec=replace(wanted.spec, taints=taints))
    return replace(wanted, metadata=metadata)


def _with_resources(wanted: Node, stored: Node) -> Node:
    return replace(stored, status=replace(wanted.status, conditions=stored.status.conditions))


def _scaled(stored: Any, *, replicas: int) -> Any:
    field_name = "parallelism" if type(stored).__name__ == "Job" else "replicas"
    return replace(stored, spec=replace(stored.spec, **{field_name: replicas}))


def _cordoned(node: Node, *, unschedulable: bool) -> Node:
    return replace(node, spec=replace(node.spec, unschedulable=unschedulable))


def _tainted(node: Node, *, add: tuple[Taint, ...], remove: tuple[tuple[str, str], ...]) -> Node:
    gone = {*remove, *((taint.key, taint.effect) for taint in add)}
    kept = [
        taint for taint in node.spec.taints if (taint.key, taint.effect) not in gone and (taint.key, "") not in gone
    ]
    return replace(node, spec=replace(node.spec, taints=[*kept, *add]))


def _labeled(stored: Any, *, labels: dict[str, str | None]) -> Any:
    merged = {**stored.metadata.labels, **labels}
    left = {key: value for key, value in merged.items() if value is not None}
    return replace(stored, metadata=replace(stored.metadata, labels=left))
