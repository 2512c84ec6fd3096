"""What a configuration may tell each plugin, as plain frozen data with upstream's defaults.

Plugins take these in their constructors. Decoding from a KubeSchedulerConfiguration and checking happen in
`bayplan.config.args`; an instance made by hand is believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from bayplan.model.pod import NodeAffinity, TopologySpreadConstraint
from bayplan.model.well_known import HOSTNAME, ZONE

LEAST_ALLOCATED = "LeastAllocated"
MOST_ALLOCATED = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"

SYSTEM_DEFAULTING = "System"
LIST_DEFAULTING = "List"

SYSTEM_DEFAULT_CONSTRAINTS = (
    TopologySpreadConstraint(topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway", max_skew=3),
    TopologySpreadConstraint(topology_key=ZONE, when_unsatisfiable="ScheduleAnyway", max_skew=5),
)


@dataclass(frozen=True, slots=True)
class ResourceWeight:
    """How much a resource counts in a score."""

    name: str
    weight: int = 1


@dataclass(frozen=True, slots=True)
class ShapePoint:
    """A point of a broken-linear score: `utilization` in 0..100, `score` in 0..10 as configured."""

    utilization: int
    score: int


DEFAULT_RESOURCES = (ResourceWeight("cpu"), ResourceWeight("memory"))


@dataclass(frozen=True, slots=True)
class ScoringStrategy:
    """How NodeResourcesFit scores; `shape` is for RequestedToCapacityRatio only."""

    type: str = LEAST_ALLOCATED
    resources: tuple[ResourceWeight, ...] = DEFAULT_RESOURCES
    shape: tuple[ShapePoint, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeResourcesFitArgs:
    """Extended resources left to others, and the scoring strategy."""

    ignored_resources: frozenset[str] = frozenset()
    ignored_resource_groups: frozenset[str] = frozenset()
    scoring_strategy: ScoringStrategy = ScoringStrategy()


@dataclass(frozen=True, slots=True)
class NodeResourcesBalancedAllocationArgs:
    """The resources whose use should be in balance; all weights are 1."""

    resources: tuple[ResourceWeight, ...] = DEFAULT_RESOURCES


@dataclass(frozen=True, slots=True)
class InterPodAffinityArgs:
    """What a required affinity of an existing pod counts in the score of a pod it would like."""

    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False


@dataclass(frozen=True, slots=True)
class NodeAffinityArgs:
    """An affinity that every pod of the profile has besides its own."""

    added_affinity: NodeAffinity | None = None


@dataclass(frozen=True, slots=True)
class PodTopologySpreadArgs:
    """Constraints of pods that have none; with System defaulting they are `SYSTEM_DEFAULT_CONSTRAINTS`."""

    defaulting_type: str = SYSTEM_DEFAULTING
    default_constraints: tuple[TopologySpreadConstraint, ...] = SYSTEM_DEFAULT_CONSTRAINTS


@dataclass(frozen=True, slots=True)
class VolumeBindingArgs:
    """How long binding the volumes of a pod may take, and what the use of storage is worth in the score."""

    bind_timeout_seconds: int = 600
    shape: tuple[ShapePoint, ...] = (ShapePoint(utilization=0, score=10), ShapePoint(utilization=100, score=0))


@dataclass(frozen=True, slots=True)
class DynamicResourcesArgs:
    """How long allocating devices for one node, and binding them, may take."""

    filter_timeout_ns: int = 10_000_000_000
    binding_timeout_ns: int = 600_000_000_000


#: The plugin that preempts; attempts of groups, and the queue while victims are evicted, know it by its name.
DEFAULT_PREEMPTION: Final = "DefaultPreemption"


@dataclass(frozen=True, slots=True)
class DefaultPreemptionArgs:
    """How many candidates upstream's search looks for before it stops."""

    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100


PluginArgs: TypeAlias = (
    NodeResourcesFitArgs
    | NodeResourcesBalancedAllocationArgs
    | InterPodAffinityArgs
    | NodeAffinityArgs
    | PodTopologySpreadArgs
    | VolumeBindingArgs
    | DynamicResourcesArgs
    | DefaultPreemptionArgs
)
