"""APIService."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.extending import default_api_service
from bayplan.apiserver.admitting.validation.api_services import check_api_service
from bayplan.apiserver.admitting.validation.names import path_segment_faults
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.tables.cluster import API_SERVICES

API_SERVICE = Kind(
    "apiregistration.k8s.io/v1",
    "APIService",
    without_effect="no requests are passed on to other servers",
    defaults=default_api_service,
    check=check_api_service,
    steps=(ChangeCheck.METADATA, ChangeCheck.NEW),
    name_rule=path_segment_faults,
    update_needs_version=True,
    printer=API_SERVICES,
    any_finalizers=True,
)
