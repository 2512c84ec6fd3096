"""Whether the host ports a pod wants are free on a node.

Looks at the ports held by the pods of each node. They form a set, as upstream's do: a port two pods hold is free when
one of them goes. In a what-if world the last pod of a port that came or went therefore decides, whoever else is there.
Upstream: plugins/nodeports/node_ports.go (v1.36).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bayplan.core.columns import BoolArray, IntArray, RowArray, Rows
from bayplan.core.columns.ports import clash
from bayplan.core.columns.shapes import PodInfo, Port, host_ports
from bayplan.core.framework.contract import (
    SKIP,
    PreFiltered,
    Reads,
    Ready,
)
from bayplan.core.framework.requeue import ActionType, ClusterEventWithHint, EventResource
from bayplan.core.framework.speed_hints import OtherNodes, sign_constraints
from bayplan.core.framework.verdict import Status, unschedulable
from bayplan.core.plugins.requeue_rules import has_place, on
from bayplan.core.snapshot import View
from bayplan.model.pod import Pod

NO_FREE_PORTS = "node(s) didn't have free ports for the requested pod ports"


@dataclass(frozen=True, slots=True)
class PortsState:
    """The wanted ports and, once forked, what is held in the shifted worlds."""

    wanted: tuple[Port, ...]
    held: dict[Port, BoolArray] | None = None  # (nodes,) for each port that clashes; None: as the view says


class NodePorts:
    """Filter."""

    name: ClassVar[str] = "NodePorts"
    without_pre_filter: ClassVar[str] = 'reading "PreFilterNodePorts" from cycleState: not found'
    reads: ClassVar[Reads] = Reads.USAGE
    sign_pod = staticmethod(sign_constraints)
    other_nodes: ClassVar[OtherNodes] = OtherNodes.NOTHING

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:  # noqa: ARG002
        wanted = pod.shape.ports
        return Ready(PortsState(wanted)) if wanted else SKIP

    def filter(self, state: PortsState, view: View, rows: Rows) -> IntArray:
        codes = np.zeros(view.nodes.alive[rows].shape, dtype=np.int64)
        for held in _held_ports(state, view).values():
            codes |= held[rows]
        return codes

    def explain_failure(self, state: PortsState, view: View, code: int) -> Status:  # noqa: ARG002
        return unschedulable(NO_FREE_PORTS)

    def fork(self, state: PortsState, view: View) -> PortsState:
        return PortsState(state.wanted, {port: held.copy() for port, held in _held_ports(state, view).items()})

    def shift(self, state: PortsState, view: View, pod_rows: RowArray, node_rows: RowArray, sign: int) -> None:
        assert state.held is not None, "only a forked state can be shifted"
        shape_ids = view.pods.shape_ids[pod_rows]
        for shape_id in set(shape_ids.tolist()):
            for port in view.shapes[shape_id].ports:
                if any(clash(wanted, port) for wanted in state.wanted):
                    held = state.held.get(port)
                    if held is None:
                        held = state.held[port] = np.zeros(view.nodes.count, dtype=np.bool_)
                    held[node_rows[shape_ids == shape_id]] = sign > 0

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (
            on(EventResource.POD, ActionType.DELETE, after_pod_deleted),
            on(EventResource.NODE, ActionType.ADD),
        )


def after_pod_deleted(pod: PodInfo, old: Pod, new: None) -> bool:  # noqa: ARG001
    """Hint: the pod that went held a port that this one wants."""
    return has_place(old) and any(clash(wanted, held) for held in host_ports(old.spec) for wanted in pod.shape.ports)


def _held_ports(state: PortsState, view: View) -> dict[Port, BoolArray]:
    if state.held is not None:
        return state.held
    held: dict[Port, BoolArray] = {}
    for wanted in state.wanted:
        held.update(view.ports.conflicting(wanted, view.nodes.count))
    return held
