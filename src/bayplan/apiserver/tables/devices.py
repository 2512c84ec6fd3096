"""Rows of the kinds of dynamic resource allocation: device classes, claims, templates of claims, slices."""

from __future__ import annotations

from bayplan.apiserver.tables.ages import age, named_age
from bayplan.apiserver.tables.columns import AGE, NAME, Cells, Column, Document, Printer


def _claim_cells(claim: Document, now: int) -> Cells:
    return [claim["metadata"].get("name", ""), ",".join(_claim_states(claim)), age(claim, now)]


def _claim_states(claim: Document) -> list[str]:
    status = claim.get("status") or {}
    is_deleted = bool(claim["metadata"].get("deletionTimestamp"))
    states = ["deleted"] if is_deleted else []
    if status.get("allocation") is None:
        return states or ["pending"]
    return [*states, "allocated", *(["reserved"] if status.get("reservedFor") else [])]


def _slice_cells(resource_slice: Document, now: int) -> Cells:
    spec = resource_slice.get("spec") or {}
    return [
        resource_slice["metadata"].get("name", ""),
        spec.get("nodeName") or "",
        spec.get("driver", ""),
        (spec.get("pool") or {}).get("name", ""),
        age(resource_slice, now),
    ]


DEVICE_CLASSES = Printer((NAME, AGE), named_age)
DEVICE_TAINT_RULES = Printer((NAME, AGE), named_age)
RESOURCE_CLAIM_TEMPLATES = Printer((NAME, AGE), named_age)
RESOURCE_CLAIMS = Printer(
    (NAME, Column("State", "Whether the claim is pending, allocated, reserved, deleted."), AGE), _claim_cells
)
RESOURCE_SLICES = Printer(
    (
        NAME,
        Column("Node", "Node that has the devices."),
        Column("Driver", "Driver that publishes the devices."),
        Column("Pool", "Pool that the devices belong to."),
        AGE,
    ),
    _slice_cells,
)
