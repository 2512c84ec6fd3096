"""EndpointSlice."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.apiserver.admitting.defaults.networking import default_endpoint_slice
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.endpoint_slices import (
    check_endpoint_slice,
    check_endpoint_slice_update,
)
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.tables.networking import ENDPOINT_SLICES


def _warn(new: Document, old: Document | None) -> Iterator[str]:
    if old is None and new["addressType"] == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"


ENDPOINT_SLICE = Kind(
    "discovery.k8s.io/v1",
    "EndpointSlice",
    defaults=default_endpoint_slice,
    check=check_endpoint_slice,
    check_update=check_endpoint_slice_update,
    steps=(ChangeCheck.METADATA, ChangeCheck.UPDATE),
    warn=_warn,
    watched=("addressType", "endpoints", "ports"),
    watched_metadata=("labels",),
    printer=ENDPOINT_SLICES,
)
