"""Lease."""

from __future__ import annotations

from bayplan.apiserver.admitting.validation.core import check_lease
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.tables.configuration import LEASES

LEASE = Kind(
    "coordination.k8s.io/v1",
    "Lease",
    check=check_lease,
    update_needs_version=True,
    created_by_update=True,
    printer=LEASES,
)
