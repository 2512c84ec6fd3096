"""NetworkPolicy."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.networking import default_network_policy
from bayplan.apiserver.admitting.validation.networking import check_network_policy
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.tables.networking import NETWORK_POLICIES

NETWORK_POLICY = Kind(
    "networking.k8s.io/v1",
    "NetworkPolicy",
    without_effect="pods have no network",
    defaults=default_network_policy,
    check=check_network_policy,
    watched=("spec",),
    printer=NETWORK_POLICIES,
)
