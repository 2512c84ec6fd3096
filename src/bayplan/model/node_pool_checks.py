"""What can be wrong with a NodePool or an Autoscaler beyond the types of its fields.

Takes the object, gives faults as (field, message). Whether several of them go together is for whoever runs them.
"""

from collections.abc import Collection, Iterator
from math import isfinite

from bayplan.model.conversion import FieldFault
from bayplan.model.durations import parse_span
from bayplan.model.near_matches import did_you_mean, near
from bayplan.model.node_pools import (
    CONSOLIDATION,
    EXPANDERS,
    MODES,
    Autoscaler,
    AutoscalerSpec,
    NodePool,
    NodePoolSpec,
    NodeTemplate,
)
from bayplan.model.quantity import parse_quantity
from bayplan.model.well_known import TAINT_EFFECTS

#: More nodes than this in one pool are a mistake.
_NODES_MAX = 15_000
_PERCENT_MAX = 100


def check_node_pool(pool: NodePool, faults: list[FieldFault]) -> None:
    faults += _pool_faults(pool.spec)


def check_autoscaler(autoscaler: Autoscaler, faults: list[FieldFault]) -> None:
    faults += _autoscaler_faults(autoscaler.spec)


def _pool_faults(spec: NodePoolSpec) -> Iterator[FieldFault]:
    if spec.max is None:
        yield "spec.max", "is required: the most nodes that the pool may have"
    elif not 0 < spec.max <= _NODES_MAX:
        yield "spec.max", f"{spec.max} is not a number from 1 to {_NODES_MAX:,}"
    elif spec.min > spec.max:
        yield "spec.min", f"{spec.min} is more than spec.max, {spec.max}"
    if spec.min < 0:
        yield "spec.min", f"{spec.min} is negative"
    if not (isfinite(spec.price) and spec.price >= 0):
        yield "spec.price", f"{spec.price:g} is not a price: expected 0 or more for a node and an hour"
    yield from _span_faults("spec.startTime", spec.start_time)
    yield from _span_faults("spec.unneededTime", spec.unneeded_time)
    yield from _span_faults("spec.consolidateAfter", spec.consolidate_after)
    if spec.utilization_threshold is not None:
        yield from _share_faults(spec.utilization_threshold)
    yield from _template_faults(spec.template)
    for position, offered in enumerate(spec.devices):
        if not offered.driver:
            yield f"spec.devices[{position}].driver", "is required"
        if not offered.devices:
            yield f"spec.devices[{position}].devices", "has no devices"


def _template_faults(template: NodeTemplate) -> Iterator[FieldFault]:
    status, path = template.status, "spec.template.status"
    if not status.allocatable and not status.capacity:
        yield f"{path}.allocatable", "is required: without it no pod fits"
    for field, amounts in (("allocatable", status.allocatable), ("capacity", status.capacity)):
        for resource, amount in amounts.items():
            try:
                if parse_quantity(amount) < 0:
                    yield f"{path}.{field}[{resource}]", f"{amount} is negative"
            except ValueError as error:
                yield f"{path}.{field}[{resource}]", f"{amount!r}: {error}"
    for position, taint in enumerate(template.spec.taints):
        at = f"spec.template.spec.taints[{position}]"
        if not taint.key:
            yield f"{at}.key", "is required"
        if taint.effect not in TAINT_EFFECTS:
            yield f"{at}.effect", f"{taint.effect!r}: expected one of {', '.join(TAINT_EFFECTS)}"


def _autoscaler_faults(spec: AutoscalerSpec) -> Iterator[FieldFault]:
    yield from _name_faults("spec.mode", spec.mode, MODES)
    for name in spec.expander.split(","):
        yield from _name_faults("spec.expander", name.strip(), EXPANDERS)
    yield from _name_faults("spec.consolidationPolicy", spec.consolidation_policy, CONSOLIDATION)
    if spec.max_nodes is not None and spec.max_nodes < 1:
        yield "spec.maxNodes", f"{spec.max_nodes} is less than 1"
    if spec.scan_interval.strip() in ("0", "0s"):
        yield "spec.scanInterval", "must be more than 0"
    else:
        yield from _span_faults("spec.scanInterval", spec.scan_interval)
    yield from _share_faults(spec.utilization_threshold)
    yield from _span_faults("spec.unneededTime", spec.unneeded_time)
    yield from _span_faults("spec.delayAfterAdd", spec.delay_after_add)
    yield from _span_faults("spec.consolidateAfter", spec.consolidate_after)
    digits = spec.disruption_budget.removesuffix("%")
    if not digits.isdecimal() or (digits != spec.disruption_budget and int(digits) > _PERCENT_MAX):
        yield "spec.disruptionBudget", f"{spec.disruption_budget!r}: expected a number of nodes, or a share such as 10%"


def _name_faults(field: str, name: str, known: Collection[str]) -> Iterator[FieldFault]:
    if name not in known:
        yield field, f"{name!r} is not one of {', '.join(known)}{did_you_mean(near(name, known))}"


def _share_faults(share: float) -> Iterator[FieldFault]:
    if not 0 <= share <= 1:
        yield "spec.utilizationThreshold", f"{share:g} is not a share from 0 to 1"


def _span_faults(field: str, text: str | None) -> Iterator[FieldFault]:
    if text is None:
        return
    try:
        if parse_span(text) < 0:
            yield field, f"{text!r} is negative"
    except ValueError as error:
        yield field, str(error)
