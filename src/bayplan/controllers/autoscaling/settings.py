"""How pools grow and shrink, as numbers: an Autoscaler and NodePools in, settings and pools out.

What a template leaves out is what a kubelet would report. Raises InvalidObject for objects that do not go together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from bayplan.model.conditions import TRUE
from bayplan.model.durations import parse_span
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import Object
from bayplan.model.meta import Condition, ObjectMeta
from bayplan.model.node import Node
from bayplan.model.node_pools import POOL_LABEL, Autoscaler, AutoscalerSpec, NodePool, NodeTemplate
from bayplan.model.resource_claims import ResourcePool, ResourceSlice, ResourceSliceSpec
from bayplan.model.structs import replace
from bayplan.model.well_known import ARCHITECTURE, HOSTNAME, OPERATING_SYSTEM, READY

# As a kubelet has them.
_PODS = {"pods": "110"}
_LABELS = {ARCHITECTURE: "amd64", OPERATING_SYSTEM: "linux"}


@dataclass(frozen=True, slots=True)
class Settings:
    """Of the autoscaler; times are nanoseconds."""

    mode: str
    max_nodes: int | None
    may_remove: bool
    expanders: tuple[str, ...]
    scan_ns: int
    threshold: float
    unneeded_ns: int
    delay_after_add_ns: int
    spares_system_pods: bool
    spares_local_storage: bool
    consolidation: str
    consolidate_after_ns: int
    budget: str

    @classmethod
    def of(cls, spec: AutoscalerSpec) -> Settings:
        return cls(
            spec.mode,
            spec.max_nodes,
            spec.scale_down,
            tuple(name.strip() for name in spec.expander.split(",")),
            parse_span(spec.scan_interval),
            spec.utilization_threshold,
            parse_span(spec.unneeded_time),
            parse_span(spec.delay_after_add),
            spec.skip_nodes_with_system_pods,
            spec.skip_nodes_with_local_storage,
            spec.consolidation_policy,
            parse_span(spec.consolidate_after),
            spec.disruption_budget,
        )

    def disruptions_allowed(self, nodes: int) -> int:
        """How many nodes of so many may be on their way out at once."""
        if self.budget.endswith("%"):
            return ceil(nodes * int(self.budget[:-1]) / 100)
        return int(self.budget)


@dataclass(frozen=True, slots=True)
class ScaledPool:
    """Nodes that are alike."""

    name: str
    template: Node
    devices: tuple[ResourceSliceSpec, ...]
    min: int
    max: int
    price: float
    priority: int
    start_ns: int
    unneeded_ns: int
    threshold: float
    consolidate_after_ns: int

    @classmethod
    def of(cls, pool: NodePool, settings: Settings) -> ScaledPool:
        spec = pool.spec
        assert spec.max is not None, "reading has checked it"
        return cls(
            pool.metadata.name,
            _template(pool.metadata.name, spec.template),
            tuple(
                ResourceSliceSpec(driver=each.driver, devices=each.devices, shared_counters=each.shared_counters)
                for each in spec.devices
            ),
            spec.min,
            spec.max,
            spec.price,
            spec.priority,
            parse_span(spec.start_time),
            settings.unneeded_ns if spec.unneeded_time is None else parse_span(spec.unneeded_time),
            settings.threshold if spec.utilization_threshold is None else spec.utilization_threshold,
            settings.consolidate_after_ns if spec.consolidate_after is None else parse_span(spec.consolidate_after),
        )

    def node(self, name: str) -> Node:
        """One of them."""
        meta = self.template.metadata
        return replace(self.template, metadata=replace(meta, name=name, labels={**meta.labels, HOSTNAME: name}))

    def slices(self, node_name: str) -> list[ResourceSlice]:
        """What its drivers publish there."""
        made = []
        for spec in self.devices:
            meta = ObjectMeta(name=f"{node_name}-{spec.driver}")
            pool = ResourcePool(name=node_name, generation=1, resource_slice_count=1)
            made.append(ResourceSlice(metadata=meta, spec=replace(spec, node_name=node_name, pool=pool)))
        return made


def _template(pool: str, given: NodeTemplate) -> Node:
    meta, status = given.metadata, given.status
    amounts = {**_PODS, **(status.allocatable or status.capacity)}
    ready = Condition(type=READY, status=TRUE, reason="KubeletReady", message="kubelet is posting ready status")
    return Node(
        metadata=ObjectMeta(labels={**_LABELS, **meta.labels, POOL_LABEL: pool}, annotations=meta.annotations),
        spec=given.spec,
        status=replace(
            status, allocatable=amounts, capacity={**amounts, **status.capacity}, conditions=[*status.conditions, ready]
        ),
    )


def autoscaler_among(objects: Iterable[Object]) -> Autoscaler | None:
    """The one there is; one with the defaults if there are pools alone, None if there is neither.

    Raises InvalidObject if there are several, or one without pools.
    """
    found = [obj for obj in objects if isinstance(obj, Autoscaler | NodePool)]
    autoscalers = [obj for obj in found if isinstance(obj, Autoscaler)]
    if not found:
        return None
    if len(autoscalers) > 1:
        first, second, *_ = (each.metadata.name for each in autoscalers)
        raise InvalidObject([Fault("", f"Autoscaler {second}", "", f"there is another one, {first}; only one can act")])
    if len(autoscalers) == len(found):
        name = autoscalers[0].metadata.name
        raise InvalidObject([Fault("", f"Autoscaler {name}", "", "there are no NodePools for it to change")])
    return autoscalers[0] if autoscalers else Autoscaler(metadata=ObjectMeta(name="default"))
