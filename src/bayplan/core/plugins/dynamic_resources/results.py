"""An allocation as it is written into a claim's status.

Takes the devices that a search chose on a node, and device classes; gives the status that upstream's PreBind writes.
Upstream: structured/internal/incubating/allocator_incubating.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bayplan.core.plugins.dynamic_resources.allocation import Chosen
from bayplan.core.plugins.dynamic_resources.configuration import configuration
from bayplan.core.release import Release
from bayplan.model.fingerprint import digest
from bayplan.model.pod import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from bayplan.model.quantity import NANO_PER_UNIT
from bayplan.model.resource_claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceClass,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from bayplan.model.selectors import IN, NODE_NAME_FIELD


def allocation_result(
    claim: ResourceClaim,
    chosen: Sequence[Chosen],
    node_name: str,
    classes: Mapping[str, DeviceClass],
    release: Release,
) -> AllocationResult:
    results = [_result(claim, place, device) for place, device in enumerate(chosen)]
    config = configuration(claim, {result.request for result in results}, classes, release)
    return AllocationResult(
        devices=DeviceAllocationResult(results=results, config=config), node_selector=_node_selector(chosen, node_name)
    )


def _result(claim: ResourceClaim, place: int, chosen: Chosen) -> DeviceRequestAllocationResult:
    request, device, device_id = chosen.request, chosen.entry.device, chosen.entry.id
    is_shared = chosen.consumed is not None
    return DeviceRequestAllocationResult(
        request=request.full_name,
        driver=device_id.driver,
        pool=device_id.pool,
        device=device_id.device,
        admin_access=True if request.is_admin else None,
        tolerations=list(request.tolerations),
        binding_conditions=device.binding_conditions,
        binding_failure_conditions=device.binding_failure_conditions,
        share_id=_share_id(claim, place) if is_shared else None,
        consumed_capacity={name: _quantity(amount) for name, amount in (chosen.consumed or {}).items()},
    )


def _share_id(claim: ResourceClaim, place: int) -> str:
    """Upstream draws one; this one is the same whenever the same claim gets its devices."""
    meta = claim.metadata
    text = digest((meta.namespace, meta.name, meta.uid, place)).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _quantity(nano: int) -> str:
    return str(nano // NANO_PER_UNIT) if nano % NANO_PER_UNIT == 0 else f"{nano}n"


def _node_selector(chosen: Sequence[Chosen], node_name: str) -> NodeSelector | None:
    """Where the devices can be used; None: everywhere."""
    expressions: list[NodeSelectorRequirement] = []
    fields: list[NodeSelectorRequirement] = []
    for each in chosen:
        spec = each.entry.slice.spec
        where = each.entry.device if spec.per_device_node_selection else spec
        if where.node_name is not None or each.entry.device.binds_to_node:
            here = NodeSelectorRequirement(key=NODE_NAME_FIELD, operator=IN, values=[node_name])
            return NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[here])])
        if where.node_selector is not None and where.node_selector.node_selector_terms:
            term = where.node_selector.node_selector_terms[0]
            _add_new(term.match_fields, fields)
            _add_new(term.match_expressions, expressions)
    if not expressions and not fields:
        return None
    return NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=expressions, match_fields=fields)])


def _add_new(requirements: Sequence[NodeSelectorRequirement], into: list[NodeSelectorRequirement]) -> None:
    for requirement in requirements:
        known = any(
            (other.key, other.operator, set(other.values))
            == (requirement.key, requirement.operator, set(requirement.values))
            for other in into
        )
        if not known:
            into.append(requirement)
