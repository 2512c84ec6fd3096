"""Service and Endpoints."""

from __future__ import annotations

from bayplan.apiserver.admitting.cluster import ClusterView
from bayplan.apiserver.admitting.defaults.core import default_endpoints
from bayplan.apiserver.admitting.defaults.services import default_service
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.plugins.service_addresses import allocate, keep_addresses
from bayplan.apiserver.admitting.validation.endpoint_slices import check_endpoints
from bayplan.apiserver.admitting.validation.services import check_service, check_service_status, check_service_update
from bayplan.apiserver.admitting.warnings.services import warn_of_service
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.selecting.selectable_fields import METADATA, SelectableFields, fields
from bayplan.apiserver.tables.networking import ENDPOINTS, SERVICES
from bayplan.model.dns_names import label_faults


def _keep_addresses(
    _resource: Resource, service: Document, old: Document | None, _name: str, _cluster: ClusterView
) -> None:
    keep_addresses(service, old)


SERVICE = Kind(
    "v1",
    "Service",
    defaults=default_service,
    complete=_keep_addresses,
    check=check_service,
    check_update=check_service_update,
    subresources={"status": check_service_status},
    allocate=allocate,
    name_rule=label_faults,
    created_by_update=True,
    warn=warn_of_service,
    printer=SERVICES,
    selectable=SelectableFields({**METADATA, **fields("spec.clusterIP", "spec.type")}),
)
ENDPOINTS_OF_SERVICE = Kind(
    "v1",
    "Endpoints",
    defaults=default_endpoints,
    check=check_endpoints,
    steps=(ChangeCheck.METADATA, ChangeCheck.NEW),
    created_by_update=True,
    printer=ENDPOINTS,
)
