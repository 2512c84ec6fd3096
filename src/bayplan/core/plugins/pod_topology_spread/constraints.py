"""Which spread constraints a pod has, and which nodes count for each of them.

A pod's own constraints come first; a pod without any has the profile's default ones, with the selector that its
services and its controller suggest. Nothing here counts pods.
Upstream: plugins/podtopologyspread/common.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bayplan.core.columns import BoolArray
from bayplan.core.columns.counters import NodeCounts, PodCounter, PodMatch
from bayplan.core.columns.labels import LabelColumn
from bayplan.core.columns.node_selectors import match_required, required_nodes
from bayplan.core.columns.nodes import NodeTable
from bayplan.core.columns.shapes import PodShape
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.args import SYSTEM_DEFAULT_CONSTRAINTS, SYSTEM_DEFAULTING, PodTopologySpreadArgs
from bayplan.core.snapshot import Objects, View
from bayplan.model.meta import LabelSelector
from bayplan.model.node import Taint
from bayplan.model.pod import PodSpec, Toleration, TopologySpreadConstraint
from bayplan.model.selectors import (
    CompiledSelector,
    SelectorError,
    compile_label_selector,
    compile_match_labels,
)
from bayplan.model.tolerations import NO_EXECUTE, NO_SCHEDULE, any_tolerates

HARD = "DoNotSchedule"
SOFT = "ScheduleAnyway"
HONOR = "Honor"
IGNORE = "Ignore"


class SpreadConstraint(NamedTuple):
    """A constraint with everything that may be left out filled in."""

    topology_key: str
    max_skew: int
    min_domains: int
    selector: CompiledSelector
    honors_affinity: bool
    honors_taints: bool
    compares: bool  # whether the pod's tolerations may compare numbers


def constraints_of(
    shape: PodShape, objects: Objects, args: PodTopologySpreadArgs, gates: FeatureGates, action: str
) -> list[SpreadConstraint]:
    """The constraints that act in the wanted way, in order. Raises SelectorError."""
    if shape.spec.topology_spread_constraints:
        return _own_constraints(shape, gates, action)
    selector = _remembered_selector(shape, objects)
    return [] if selector.is_empty else [_filled_in(written, selector, gates) for written in _defaults(args, action)]


def is_spread(shape: PodShape, objects: Objects) -> bool:
    """Whether the pod has constraints of its own, or there is something that default ones could select by."""
    if shape.spec.topology_spread_constraints:
        return True
    if shape.controller is None and not objects.services:
        return False
    return not _remembered_selector(shape, objects).is_empty


def visible_constraints(
    shape: PodShape, args: PodTopologySpreadArgs, gates: FeatureGates, action: str
) -> list[SpreadConstraint]:
    """As `constraints_of`, for one who sees no other objects: default constraints then select every pod."""
    if shape.spec.topology_spread_constraints:
        return _own_constraints(shape, gates, action)
    return [_filled_in(written, CompiledSelector.EVERYTHING, gates) for written in _defaults(args, action)]


def may_have_constraints(spec: PodSpec, args: PodTopologySpreadArgs, action: str) -> bool:
    """Whether there could be any that act in the wanted way, whatever services and controllers there are."""
    # A generator would take longer than most of these answers.
    for written in spec.topology_spread_constraints or _given(args):  # noqa: SIM110
        if written.when_unsatisfiable == action:
            return True
    return False


def requires_all_keys(spec: PodSpec, args: PodTopologySpreadArgs) -> bool:
    """Whether scoring passes over nodes that lack a key; system defaults put up with clusters without zones."""
    return bool(spec.topology_spread_constraints) or args.defaulting_type != SYSTEM_DEFAULTING


def _remembered_selector(shape: PodShape, objects: Objects) -> CompiledSelector:
    """Looking for the selector walks over all services: once for each shape is enough."""
    known: tuple[int, CompiledSelector] | None = shape.remembered.get("spread selector")
    if known is None or known[0] != objects.selecting_version:
        known = (objects.selecting_version, default_selector(shape, objects))
        shape.remembered["spread selector"] = known
    return known[1]


def default_selector(shape: PodShape, objects: Objects) -> CompiledSelector:
    """What the services and the controller of a pod select, all together; empty if there are none."""
    # Upstream: plugins/helper/spread.go DefaultSelector (v1.36).
    selected = _selected_by_services(shape, objects)
    owner = shape.controller
    if owner is None:
        return compile_match_labels(selected)
    place = (shape.namespace, owner.name)
    match owner.api_version, owner.kind:
        case "v1", "ReplicationController":
            controller = objects.replication_controllers.get(place)
            return compile_match_labels({**selected, **(controller.spec.selector if controller else {})})
        case "apps/v1", "ReplicaSet":
            replica_set = objects.replica_sets.get(place)
            return _narrowed(replica_set.spec.selector if replica_set else None, selected)
        case "apps/v1", "StatefulSet":
            stateful_set = objects.stateful_sets.get(place)
            return _narrowed(stateful_set.spec.selector if stateful_set else None, selected)
    return compile_match_labels(selected)


def topology_columns(constraints: Sequence[SpreadConstraint], nodes: NodeTable) -> tuple[list[LabelColumn], BoolArray]:
    """The column of each constraint's key, and (nodes,) the nodes that have them all."""
    columns = [nodes.labels.column(constraint.topology_key) for constraint in constraints]
    complete = nodes.alive.copy()
    for column in columns:
        complete &= column.present
    return columns, complete


def counts_everywhere(constraint: SpreadConstraint, spec: PodSpec) -> bool:
    """Whether the inclusion policies leave no node out, whatever nodes there are."""
    return not constraint.honors_taints and (not constraint.honors_affinity or not required_nodes(spec).restricts)


def included_nodes(constraints: Sequence[SpreadConstraint], spec: PodSpec, nodes: NodeTable) -> list[BoolArray]:
    """For each constraint (nodes,) the nodes whose pods its inclusion policies let count; never a ghost."""
    affine = tolerated = nodes.alive
    required = required_nodes(spec)
    if required.restricts and any(constraint.honors_affinity for constraint in constraints):
        affine = match_required(nodes, required)
    if any(constraint.honors_taints for constraint in constraints):
        tolerated = nodes.alive & _tolerated(spec.tolerations, nodes, compares=constraints[0].compares)
    return [
        (affine if constraint.honors_affinity else nodes.alive)
        & (tolerated if constraint.honors_taints else nodes.alive)
        for constraint in constraints
    ]


def pod_counter(constraint: SpreadConstraint, shape: PodShape, view: View) -> PodCounter:
    """Counts the running pods of the shape's namespace that the constraint selects."""
    match = PodMatch(frozenset((shape.namespace,)), constraint.selector)
    return view.counters.pods_matching((match,), shape, skip_terminating=True)


def pod_counts(constraint: SpreadConstraint, counter: PodCounter) -> NodeCounts:
    """How many pods count on each node; upstream counts none for a selector that would select them all."""
    return NodeCounts(np.zeros(0, dtype=np.int32)) if constraint.selector.is_empty else counter.nodes


def _own_constraints(shape: PodShape, gates: FeatureGates, action: str) -> list[SpreadConstraint]:
    """Compiled once for each shape; the list is shared and must not be changed."""
    compares, by_keys = gates.taint_toleration_comparison_operators, gates.match_label_keys_in_pod_topology_spread
    key = ("spread constraints", action, compares, by_keys)
    own: list[SpreadConstraint] | None = shape.remembered.get(key)
    if own is None:
        written = [each for each in shape.spec.topology_spread_constraints if each.when_unsatisfiable == action]
        own = shape.remembered[key] = [_own(each, shape.labels, gates) for each in written]
    return own


def _own(written: TopologySpreadConstraint, labels: Mapping[str, str], gates: FeatureGates) -> SpreadConstraint:
    keys = written.match_label_keys if gates.match_label_keys_in_pod_topology_spread else ()
    shared = {key: labels[key] for key in keys if key in labels}
    return _filled_in(written, compile_label_selector(written.label_selector).narrowed_to(shared), gates)


def _filled_in(written: TopologySpreadConstraint, selector: CompiledSelector, gates: FeatureGates) -> SpreadConstraint:
    return SpreadConstraint(
        topology_key=written.topology_key,
        max_skew=written.max_skew,
        min_domains=1 if written.min_domains is None else written.min_domains,
        selector=selector,
        honors_affinity=(written.node_affinity_policy or HONOR) == HONOR,
        honors_taints=(written.node_taints_policy or IGNORE) == HONOR,
        compares=gates.taint_toleration_comparison_operators,
    )


def _defaults(args: PodTopologySpreadArgs, action: str) -> list[TopologySpreadConstraint]:
    return [written for written in _given(args) if written.when_unsatisfiable == action]


def _given(args: PodTopologySpreadArgs) -> tuple[TopologySpreadConstraint, ...]:
    return SYSTEM_DEFAULT_CONSTRAINTS if args.defaulting_type == SYSTEM_DEFAULTING else args.default_constraints


def _selected_by_services(shape: PodShape, objects: Objects) -> dict[str, str]:
    """The selectors of all services that select the pod; they cannot contradict each other."""
    selected: dict[str, str] = {}
    by_label, labels = _service_selectors(shape.namespace, objects), shape.labels.items()
    for label in labels:
        for selector in by_label.get(label, ()):
            if selector.items() <= labels:
                selected |= selector
    return selected


def _service_selectors(namespace: str, objects: Objects) -> Mapping[tuple[str, str], Sequence[Mapping[str, str]]]:
    """The selectors of the namespace's services, by their first label; an empty one adds nothing to any other."""
    key = ("service selectors", namespace)
    by_label: dict[tuple[str, str], list[Mapping[str, str]]] | None = objects.remembered.get(key)
    if by_label is None:
        by_label = objects.remembered[key] = {}
        for (space, _), service in objects.services.items():
            if space == namespace and service.spec.selector:
                by_label.setdefault(next(iter(service.spec.selector.items())), []).append(service.spec.selector)
    return by_label


def _narrowed(written: LabelSelector | None, selected: Mapping[str, str]) -> CompiledSelector:
    """A controller without a selector, or with an invalid one, adds nothing."""
    try:
        selector = compile_label_selector(written)
    except SelectorError:
        return compile_match_labels(selected)
    return compile_match_labels(selected) if selector.selects_nothing else selector.narrowed_to(selected)


def _tolerated(tolerations: Sequence[Toleration], nodes: NodeTable, *, compares: bool) -> BoolArray:
    """(nodes,) nodes without a taint that keeps the pod away."""
    lookup = [
        all(
            effect not in (NO_SCHEDULE, NO_EXECUTE)
            or any_tolerates(tolerations, Taint(key=key, value=value, effect=effect), compares=compares)
            for key, value, effect in taint_set
        )
        for taint_set in nodes.taint_sets.values
    ]
    return np.array(lookup, dtype=np.bool_)[nodes.taint_set_ids]
