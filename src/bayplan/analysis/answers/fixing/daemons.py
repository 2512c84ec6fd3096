"""Nodes that a DaemonSet leaves out, and why: pods that do not exist are not pending, but somebody may miss them."""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.analysis.written import written_taint
from bayplan.controllers.workloads.daemon_placement import DaemonPlaces, daemon_template
from bayplan.model.node import Node
from bayplan.model.pod import PodSpec
from bayplan.model.tolerations import NO_EXECUTE, NO_SCHEDULE, any_tolerates
from bayplan.model.workloads import DaemonSet


def left_out(daemon_set: DaemonSet, nodes: Iterable[Node]) -> dict[str, str]:
    """By node, what keeps the DaemonSet from creating a pod for it."""
    spec = daemon_template(daemon_set).spec
    places = DaemonPlaces(spec)
    return {node.metadata.name: _reason(spec, node) for node in nodes if not places.include(node)}


def _reason(spec: PodSpec, node: Node) -> str:
    for taint in node.spec.taints:
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not any_tolerates(spec.tolerations, taint):
            return f"taint {written_taint(taint)}"
    return "its node selector or affinity"
