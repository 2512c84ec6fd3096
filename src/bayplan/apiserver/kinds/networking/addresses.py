"""IPAddress and ServiceCIDR."""

from __future__ import annotations

from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.tables.networking import IP_ADDRESSES, SERVICE_CIDRS

IP_ADDRESS = Kind("networking.k8s.io/v1", "IPAddress", printer=IP_ADDRESSES)
SERVICE_CIDR = Kind("networking.k8s.io/v1", "ServiceCIDR", printer=SERVICE_CIDRS)
