"""Lease."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.core import check_lease
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.schema.gates import gate_is_on
from bayplan.apiserver.tables.configuration import LEASES

_ELECTION_FIELDS: Final = ("strategy", "preferredHolder")


def _create(lease: Document, now: int) -> None:  # noqa: ARG001 - other kinds need the time
    _drop_election(lease, {"spec": {}})


def _drop_election(new: Document, old: Document) -> None:
    """How candidates are chosen is for servers that choose them."""
    # Upstream: pkg/registry/coordination/lease/strategy.go (v1.36).
    if not gate_is_on("CoordinatedLeaderElection"):
        for name in _ELECTION_FIELDS:
            if name not in old["spec"]:
                new["spec"].pop(name, None)


LEASE = Kind(
    "coordination.k8s.io/v1",
    "Lease",
    on_create=_create,
    on_update=_drop_election,
    check=check_lease,
    update_needs_version=True,
    created_by_update=True,
    printer=LEASES,
    any_finalizers=True,
)
