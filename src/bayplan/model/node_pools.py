"""NodePool and Autoscaler: nodes that come and go by need, as bayplan's own files describe them.

A pool has a node as a template, with the devices that such a node offers, and bounds; an Autoscaler says by which rules
pools grow and shrink. No API server knows these kinds, so a field that does not exist is a fault here, not ignored.
Durations are texts such as `90s`. See `meta` for the rest.
"""

from typing import Final

import msgspec

from bayplan.model.meta import Int32, ObjectMeta, ObjectPart, TopLevel
from bayplan.model.node import NodeSpec, NodeStatus
from bayplan.model.resource_claims import CounterSet, Device

OWN_API: Final = "bayplan/v1"
#: The label of nodes that belong to a pool.
POOL_LABEL: Final = "bayplan/node-pool"

CLUSTER_AUTOSCALER: Final = "cluster-autoscaler"
KARPENTER: Final = "karpenter"
MODES: Final = (CLUSTER_AUTOSCALER, KARPENTER)
EXPANDERS: Final = ("least-waste", "most-pods", "least-nodes", "price", "priority", "random")
WHEN_EMPTY: Final = "WhenEmpty"
CONSOLIDATION: Final = ("WhenEmptyOrUnderutilized", WHEN_EMPTY, "Never")


class NodeTemplate(ObjectPart, kw_only=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class OfferedDevices(ObjectPart, kw_only=True, forbid_unknown_fields=True):
    """What one driver publishes for each node of a pool."""

    driver: str = ""
    devices: list[Device] = []
    shared_counters: list[CounterSet] = []


class NodePoolSpec(ObjectPart, kw_only=True, forbid_unknown_fields=True):
    template: NodeTemplate = msgspec.field(default_factory=NodeTemplate)
    devices: list[OfferedDevices] = []
    min: Int32 = 0
    max: Int32 | None = None
    price: float = 0.0  # of a node for an hour
    start_time: str = "60s"  # from the request for a node until it is ready
    priority: Int32 = 0
    unneeded_time: str | None = None  # these replace the autoscaler's
    utilization_threshold: float | None = None
    consolidate_after: str | None = None


class NodePool(TopLevel, kw_only=True):
    spec: NodePoolSpec = msgspec.field(default_factory=NodePoolSpec)


class AutoscalerSpec(ObjectPart, kw_only=True, forbid_unknown_fields=True):
    """The defaults are those of the autoscaler that the mode names."""

    mode: str = CLUSTER_AUTOSCALER
    max_nodes: Int32 | None = None  # of all pools together
    scale_down: bool = True
    # Of the mode cluster-autoscaler, under the names of its flags.
    expander: str = "least-waste"
    scan_interval: str = "10s"
    utilization_threshold: float = 0.5
    unneeded_time: str = "10m"
    delay_after_add: str = "10m"
    skip_nodes_with_system_pods: bool = True
    skip_nodes_with_local_storage: bool = True
    # Of the mode karpenter, under the names of its NodePools.
    consolidation_policy: str = "WhenEmptyOrUnderutilized"
    consolidate_after: str = "0s"
    disruption_budget: str = "10%"


class Autoscaler(TopLevel, kw_only=True):
    spec: AutoscalerSpec = msgspec.field(default_factory=AutoscalerSpec)
