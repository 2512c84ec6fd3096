"""EndpointSlice."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.networking import default_endpoint_slice
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.tables.networking import ENDPOINT_SLICES

ENDPOINT_SLICE = Kind(
    "discovery.k8s.io/v1",
    "EndpointSlice",
    defaults=default_endpoint_slice,
    watched=("addressType", "endpoints", "ports"),
    watched_metadata=("labels",),
    printer=ENDPOINT_SLICES,
)
