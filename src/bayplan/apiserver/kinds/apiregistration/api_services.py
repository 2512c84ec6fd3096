"""APIService."""

from __future__ import annotations

from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.tables.cluster import API_SERVICES

API_SERVICE = Kind("apiregistration.k8s.io/v1", "APIService", printer=API_SERVICES)
