"""ResourceQuota and LimitRange."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.core import default_limit_range
from bayplan.apiserver.admitting.validation.core import (
    check_limit_range,
    check_quota,
    check_quota_status,
    check_quota_update,
)
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.tables.configuration import RESOURCE_QUOTAS

RESOURCE_QUOTA = Kind(
    "v1",
    "ResourceQuota",
    check=check_quota,
    check_update=check_quota_update,
    subresources={"status": check_quota_status},
    printer=RESOURCE_QUOTAS,
)
LIMIT_RANGE = Kind(
    "v1",
    "LimitRange",
    defaults=default_limit_range,
    check=check_limit_range,
    names_itself=True,
    steps=(ChangeCheck.NEW,),
    created_by_update=True,
)
