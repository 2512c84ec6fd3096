"""IPAddress and ServiceCIDR."""

from __future__ import annotations

from bayplan.apiserver.admitting.validation.names import address_faults
from bayplan.apiserver.admitting.validation.networking import (
    check_ip_address,
    check_ip_address_update,
    check_service_cidr,
    check_service_cidr_update,
)
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.tables.networking import IP_ADDRESSES, SERVICE_CIDRS

IP_ADDRESS = Kind(
    "networking.k8s.io/v1",
    "IPAddress",
    check=check_ip_address,
    check_update=check_ip_address_update,
    steps=(ChangeCheck.NEW, ChangeCheck.METADATA, ChangeCheck.UPDATE),
    name_rule=address_faults,
    printer=IP_ADDRESSES,
)
SERVICE_CIDR = Kind(
    "networking.k8s.io/v1",
    "ServiceCIDR",
    check=check_service_cidr,
    check_update=check_service_cidr_update,
    printer=SERVICE_CIDRS,
)
