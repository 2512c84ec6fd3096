"""Whether a pod's requests fit on a node, and how full the node would be.

Filters on requests as the pod states them against what the pods there take; scores with the minimum the scheduler
supposes of containers that state nothing. A failure code is a set of bits: bit 0 for too many pods, one bit for each
requested resource that falls short, and a top bit when not even the empty node would do. Bits depend on the pod and
the arguments alone, so codes of equal pods mean the same. A resource that a device class stands for is left to
DynamicResources on nodes that offer none of it themselves; in scores its devices count.
Upstream: plugins/noderesources/fit.go, least_allocated.go, most_allocated.go, resource_allocation.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np

from bayplan.core.columns import (
    ABSENT,
    BoolArray,
    IntArray,
    RowArray,
    Rows,
    column_at,
    loops,
)
from bayplan.core.columns.devices import Inventory
from bayplan.core.columns.loops import TOO_MANY_PODS_BIT, UNRESOLVABLE_BIT
from bayplan.core.columns.resources import (
    BASIC_NAMES,
    EPHEMERAL_STORAGE,
    MEMORY,
    ResourceVocabulary,
    is_extended_resource,
)
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.args import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    NodeResourcesFitArgs,
    ResourceWeight,
    ShapePoint,
)
from bayplan.core.framework.contract import (
    MAX_NODE_SCORE,
    Reads,
    Ready,
)
from bayplan.core.framework.group_contract import PodGroupAssignments, PodGroupInfo
from bayplan.core.framework.requeue import ActionType, ClusterEventWithHint, EventResource
from bayplan.core.framework.speed_hints import OtherNodes, sign_requests
from bayplan.core.framework.verdict import CycleError, Status, unresolvable, unschedulable
from bayplan.core.plugins.device_amounts import DeviceBacked, count_devices, device_backed
from bayplan.core.plugins.node_amounts import (
    Amounts,
    amounts_at,
    none_is_zero,
)
from bayplan.core.plugins.node_resources_fit_hints import (
    after_device_class,
    after_node_change,
    after_nominated_pod_asks_for_less,
    after_pod_change,
)
from bayplan.core.plugins.placement_utilization import utilizations
from bayplan.core.plugins.requeue_rules import on
from bayplan.core.plugins.utilization import rounded_quotient, scores_by_utilization, truncated_quotient
from bayplan.core.snapshot import View

TOO_MANY_PODS = "Too many pods"


def insufficient(resource: str) -> str:
    """What the scheduler says of a node that has less of the resource than the pod requests."""
    return f"Insufficient {resource}"


DEMANDS_MAX = 61  # the bits between the two


#: (rows,) scores of nodes for a resource: what they have, and what would be taken of it.
Rating: TypeAlias = Callable[[IntArray, IntArray], IntArray]


class Demand(NamedTuple):
    """A resource the pod cannot do without."""

    name: str
    resource: int
    amount: int
    bit: int
    may_be_devices: bool = False  # a device class stands for it


class FitState(NamedTuple):
    """What the pod cannot do without."""

    demands: tuple[Demand, ...]


class ScoredResource(NamedTuple):
    """A resource that counts in the score of this pod."""

    resource: int
    request: int
    weight: int


@dataclass(eq=False)
class ScoreState:
    """What counts in the score of this pod."""

    resources: tuple[ScoredResource, ...]
    devices: tuple[DeviceBacked, ...] = ()  # those among them that may come as devices


class NodeResourcesFit:
    """Filter and score."""

    name: ClassVar[str] = "NodeResourcesFit"
    without_pre_filter: ClassVar[str] = 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'
    prepares_scores_itself: ClassVar[bool] = True
    looks_up: ClassVar[frozenset[str]] = frozenset({"ResourceClaim", "DeviceClass", "ResourceSlice"})
    reads: ClassVar[Reads] = Reads.NODE | Reads.USAGE
    score_reads: ClassVar[Reads] = Reads.NODE | Reads.USAGE
    sign_pod = staticmethod(sign_requests)
    other_nodes: ClassVar[OtherNodes] = OtherNodes.NOTHING
    stays_in_range: ClassVar[bool] = True
    sees_counts_only: ClassVar[bool] = True
    follows_requests: ClassVar[bool] = True

    def __init__(self, args: NodeResourcesFitArgs | None = None, *, gates: FeatureGates) -> None:
        self.args = args or NodeResourcesFitArgs()
        self._gates = gates
        strategy = self.args.scoring_strategy
        self._leaves_out_zeros = strategy.type == REQUESTED_TO_CAPACITY_RATIO
        self._rating = _rating(strategy.type, strategy.shape)
        self._is_in_loops = strategy.type in (LEAST_ALLOCATED, MOST_ALLOCATED)
        self._prefers_full_nodes = strategy.type == MOST_ALLOCATED

    def pre_filter(self, pod: PodInfo, view: View) -> Ready:
        demands = self._demands(pod.shape.requests.asked, view.nodes.resources, view.objects.devices)
        return Ready(FitState(demands))

    def filter(self, state: FitState, view: View, rows: Rows) -> IntArray:
        if loops.compiled is not None:
            return _compiled_codes(loops.compiled, state, view, rows)
        nodes, usage = view.nodes, view.usage
        too_many = column_at(rows, usage.pod_counts) >= column_at(rows, nodes.allowed_pods)
        codes: IntArray = too_many.astype(np.int64)  # TOO_MANY_PODS_BIT
        for demand in state.demands:
            short = free_at(view, rows, demand.resource) < demand.amount
            if np.count_nonzero(short):
                capacity = amounts_at(rows, demand.resource, nodes.allocatable)
                # What exceeds the whole node is always short.
                failures: IntArray = short * demand.bit | (capacity < demand.amount) * UNRESOLVABLE_BIT
                codes |= failures * (capacity > 0) if demand.may_be_devices else failures
        return codes

    def room(self, state: FitState, view: View, rows: RowArray) -> IntArray | None:
        """(rows,) how many more of these pods the nodes take; None if devices stand for what they request."""
        nodes = view.nodes
        found: IntArray = nodes.allowed_pods[rows] - view.usage.pod_counts[rows]
        for demand in state.demands:
            if demand.may_be_devices:
                return None
            free: IntArray = amounts_at(rows, demand.resource, nodes.allocatable) - amounts_at(
                rows, demand.resource, view.usage.requested
            )
            found = np.minimum(found, free // demand.amount)
        return np.maximum(found, 0)

    def explain_failure(self, state: FitState, view: View, code: int) -> Status:  # noqa: ARG002
        reasons = [insufficient(demand.name) for demand in self.unmet(state, code)]
        if code & TOO_MANY_PODS_BIT:
            reasons.insert(0, TOO_MANY_PODS)
        return unresolvable(*reasons) if code & UNRESOLVABLE_BIT else unschedulable(*reasons)

    def unmet(self, state: FitState, code: int) -> list[Demand]:
        """The demands that a failure code says are not met."""
        return [demand for demand in state.demands if code & demand.bit]

    def pre_score(
        self,
        pod: PodInfo,
        view: View,
        feasible_rows: RowArray,  # noqa: ARG002
    ) -> ScoreState:
        configured = self.args.scoring_strategy.resources
        resources = scored_resources(configured, pod.shape.requests.scored, view.nodes.resources)
        return ScoreState(resources, device_backed(configured, resources, view))

    def score(self, state: ScoreState, view: View, rows: Rows) -> IntArray:
        if not state.resources:
            return np.zeros(view.nodes.alive[rows].shape, dtype=np.int64)
        if loops.compiled is not None and self._is_in_loops and not state.devices:
            return self._compiled_scores(loops.compiled, state, view, rows)
        capacities, taken = amounts_of(state, view, rows)
        totals: Amounts = 0
        weights: Amounts = 0
        for entry, capacity, amount in zip(state.resources, capacities, taken, strict=True):
            scores, counted = self._rate(capacity, amount + entry.request)
            totals = totals + scores * entry.weight
            weights = weights + (entry.weight if counted is None else counted * entry.weight)
        mean: IntArray = self._mean(totals, np.maximum(weights, 1))
        return mean

    def _compiled_scores(self, compiled: ModuleType, state: ScoreState, view: View, rows: Rows) -> IntArray:
        nodes, usage = view.nodes, view.usage
        given, scores = loops.rows_to_fill(rows, nodes.count)
        tables = (nodes.allocatable, usage.requested, usage.nonzero_requested)
        compiled.fit_scores(scores, given, *tables, state.resources, self._prefers_full_nodes)
        return scores

    def score_placements(
        self,
        group: PodGroupInfo,  # noqa: ARG002
        view: View,
        assignments: Sequence[PodGroupAssignments],
    ) -> IntArray:
        return utilizations(self.args.scoring_strategy.resources, view, assignments)

    def filter_rule(self, state: FitState) -> loops.Rule:
        return loops.Rule(loops.FIT_CODES, state.demands)

    def score_rule(self, state: ScoreState) -> loops.Rule | None:
        if not self._is_in_loops or state.devices or len(state.resources) > loops.AMOUNTS_MAX:
            return None
        return loops.Rule(loops.MOST_ALLOCATED if self._prefers_full_nodes else loops.LEAST_ALLOCATED, state.resources)

    def _rate(self, capacities: IntArray, needed: IntArray) -> tuple[IntArray, BoolArray | None]:
        """(rows,) scores, and where they count (None: everywhere). Nodes are not judged by what they lack."""
        if none_is_zero(capacities):
            scores = self._rating(capacities, needed)
            return scores, scores > 0 if self._leaves_out_zeros else None
        offered = capacities > 0
        scores = self._rating(np.maximum(capacities, 1), needed) * offered
        return scores, scores > 0 if self._leaves_out_zeros else offered

    def _mean(self, total: Amounts, weights: Amounts) -> Amounts:
        return rounded_quotient(total, weights) if self._leaves_out_zeros else truncated_quotient(total, weights)

    def _demands(
        self, asked: Mapping[str, int], resources: ResourceVocabulary, devices: Inventory
    ) -> tuple[Demand, ...]:
        names = [name for name in BASIC_NAMES if asked.get(name, 0) > 0]
        if len(names) < len(asked):
            # Upstream names scalars in the random order of a map; by name is as good and can be repeated.
            scalars = sorted([name for name in asked if name not in BASIC_NAMES and not self._is_ignored(name)])
            names += [name for name in scalars if asked[name] > 0]
        if len(names) > DEMANDS_MAX:
            raise CycleError(self.name, f"a pod may ask for at most {DEMANDS_MAX} resources, not {len(names)}")
        demands, bit, are_classes = [], TOO_MANY_PODS_BIT, bool(devices.classes)
        for name in names:
            bit <<= 1
            may_be_devices = are_classes and devices.class_of_resource(name) is not None
            demands.append(Demand(name, _known(resources, name), asked[name], bit, may_be_devices))
        return tuple(demands)

    def _is_ignored(self, name: str) -> bool:
        args = self.args
        if not (args.ignored_resources or args.ignored_resource_groups) or not is_extended_resource(name):
            return False
        return name in args.ignored_resources or name.partition("/")[0] in args.ignored_resource_groups

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        # As upstream: hints look at pod-level requests whether they count or not.
        after_pod = partial(after_pod_change, gates=replace(self._gates, pod_level_resources=True))
        changes = (
            on(EventResource.POD, ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN, after_pod),
            on(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE, after_node_change),
        )
        if not self._gates.dra_extended_resource:
            return changes
        return (*changes, on(EventResource.DEVICE_CLASS, ActionType.ADD | ActionType.UPDATE, after_device_class))

    def events_slept_through(self) -> tuple[ClusterEventWithHint, ...]:
        after_node = partial(after_node_change, is_ignored=self._is_ignored)
        after_pod = partial(after_nominated_pod_asks_for_less, gates=self._gates)
        return (
            on(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE, after_node),
            on(EventResource.POD, ActionType.UPDATE_POD_SCALE_DOWN, after_pod),
        )


def _compiled_codes(compiled: ModuleType, state: FitState, view: View, rows: Rows) -> IntArray:
    """(rows,) failure codes; 0 where the pod fits."""
    nodes, usage = view.nodes, view.usage
    given, codes = loops.rows_to_fill(rows, nodes.count)
    tables = (nodes.allocatable, usage.requested, nodes.allowed_pods, usage.pod_counts)
    compiled.fit_codes(codes, given, *tables, state.demands)
    return codes


def free_at(view: View, rows: Rows, resource: int) -> IntArray:
    """(rows,) what pods leave of a resource."""
    return amounts_at(rows, resource, view.nodes.allocatable) - amounts_at(rows, resource, view.usage.requested)


def amounts_of(state: ScoreState, view: View, rows: Rows) -> tuple[list[IntArray], list[IntArray]]:
    """For each resource (rows,) what nodes have and what pods take: of cpu and memory not less than is supposed."""
    usage = view.usage
    capacities = [amounts_at(rows, entry.resource, view.nodes.allocatable) for entry in state.resources]
    taken = [
        amounts_at(rows, entry.resource, usage.nonzero_requested if entry.resource <= MEMORY else usage.requested)
        for entry in state.resources
    ]
    if state.devices:
        count_devices(state.devices, view, rows, capacities, taken)
    return capacities, taken


def scored_resources(
    configured: Sequence[ResourceWeight], requests: Mapping[str, int], resources: ResourceVocabulary
) -> tuple[ScoredResource, ...]:
    """The configured resources by which this pod's nodes are judged: not by a scalar it does not ask for."""
    found = []
    for entry in configured:
        resource, request = resources.find(entry.name), requests.get(entry.name, 0)
        # A name nobody has used is one that no node offers.
        if resource != ABSENT and (resource <= EPHEMERAL_STORAGE or request):
            found.append(ScoredResource(resource, request, entry.weight))
    return tuple(found)


def least_allocated(capacities: IntArray, needed: IntArray) -> IntArray:
    """The percentage that would stay free."""
    scores: IntArray = np.maximum(capacities - needed, 0)
    scores *= MAX_NODE_SCORE
    free: IntArray = truncated_quotient(scores, capacities)
    return free


def most_allocated(capacities: IntArray, needed: IntArray) -> IntArray:
    """The percentage that would be in use. Supposed minima can make it look like more than there is."""
    scores = np.minimum(needed, capacities)
    scores *= MAX_NODE_SCORE
    used: IntArray = truncated_quotient(scores, capacities)
    return used


def _known(resources: ResourceVocabulary, name: str) -> int:
    resource = resources.find(name)
    assert resource != ABSENT, f"the tables have no column for {name}"
    return resource


def _rating(strategy: str, shape: Sequence[ShapePoint]) -> Rating:
    if strategy == REQUESTED_TO_CAPACITY_RATIO:
        by_utilization = scores_by_utilization(shape)
        most = len(by_utilization) - 1  # what has overflowed may be anything
        return lambda capacities, needed: by_utilization[np.clip(most_allocated(capacities, needed), 0, most)]
    return most_allocated if strategy == MOST_ALLOCATED else least_allocated
