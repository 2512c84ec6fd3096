"""What claims ask for, in the form in which it is looked for.

Takes the specs of claims that have no devices yet; gives for each claim its requests, each with its alternatives: one
for a plain request, several for a list of which the first available counts. Two claims of equal spec have equal plans
but for their names. Which device classes exist was checked before.
Upstream: structured/internal/incubating/allocator_incubating.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayplan.core.columns.devices import Amounts
from bayplan.model.fingerprint import fingerprint
from bayplan.model.quantity import parse_quantity
from bayplan.model.resource_claims import (
    CapacityRequirements,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)


@dataclass(frozen=True, slots=True, eq=False)
class RequestPlan:
    """A request, or one alternative of a list of them (then it has a parent)."""

    name: str
    parent: str
    class_name: str
    selectors: tuple[str | None, ...]
    mode: str
    count: int
    is_admin: bool
    tolerations: tuple[DeviceToleration, ...]
    capacity: Amounts | None

    @property
    def full_name(self) -> str:
        """As an allocation names it."""
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def base_name(self) -> str:
        return self.parent or self.name


@dataclass(frozen=True, slots=True, eq=False)
class ClaimPlan:
    """What one claim asks for."""

    claim: ResourceClaim
    requests: tuple[tuple[RequestPlan, ...], ...]
    constraints: tuple[DeviceConstraint, ...]

    @property
    def label(self) -> str:
        """As messages name the claim."""
        meta = self.claim.metadata
        return f"{meta.namespace}/{meta.name}"


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What all claims of a pod ask for together."""

    claims: tuple[ClaimPlan, ...]
    key: tuple[bytes, ...]  # equal for plans that differ in names only


def plan_of(claims: Sequence[ResourceClaim]) -> Plan:
    return Plan(
        tuple(
            ClaimPlan(
                claim,
                tuple(_alternatives(request) for request in claim.spec.devices.requests),
                tuple(claim.spec.devices.constraints),
            )
            for claim in claims
        ),
        tuple(fingerprint(claim.spec) for claim in claims),
    )


def _alternatives(request: DeviceRequest) -> tuple[RequestPlan, ...]:
    if request.first_available:
        return tuple(_request(each, each.name, request.name) for each in request.first_available)
    assert request.exactly is not None, "a request of an unknown type gets no further than PreFilter"
    return (_request(request.exactly, request.name, ""),)


def _request(asked: ExactDeviceRequest | DeviceSubRequest, name: str, parent: str) -> RequestPlan:
    return RequestPlan(
        name=name,
        parent=parent,
        class_name=asked.device_class_name,
        selectors=expressions_of(asked.selectors),
        mode=asked.allocation_mode,
        count=asked.count,
        is_admin=bool(asked.admin_access) if isinstance(asked, ExactDeviceRequest) else False,
        tolerations=tuple(asked.tolerations),
        capacity=_amounts(asked.capacity),
    )


def expressions_of(selectors: Sequence[DeviceSelector]) -> tuple[str | None, ...]:
    """The CEL expressions; None stands for a selector of a type that nobody knows."""
    return tuple(selector.cel.expression if selector.cel is not None else None for selector in selectors)


def _amounts(capacity: CapacityRequirements | None) -> Amounts | None:
    if capacity is None:
        return None
    return {name: parse_quantity(amount) for name, amount in capacity.requests.items()}
