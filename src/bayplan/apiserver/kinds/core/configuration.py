"""ConfigMap, Secret and ServiceAccount."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.core import default_secret
from bayplan.apiserver.admitting.validation.core import (
    check_config_map,
    check_config_map_update,
    check_secret,
    check_secret_update,
)
from bayplan.apiserver.admitting.warnings.secrets import warn_of_secret
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.selecting.selectable_fields import METADATA, SelectableFields, fields
from bayplan.apiserver.tables.cluster import SERVICE_ACCOUNTS
from bayplan.apiserver.tables.configuration import CONFIG_MAPS, SECRETS

CONFIG_MAP = Kind(
    "v1",
    "ConfigMap",
    check=check_config_map,
    check_update=check_config_map_update,
    steps=(ChangeCheck.METADATA, ChangeCheck.UPDATE, ChangeCheck.NEW),
    printer=CONFIG_MAPS,
)
SECRET = Kind(
    "v1",
    "Secret",
    defaults=default_secret,
    check=check_secret,
    warn=warn_of_secret,
    check_update=check_secret_update,
    steps=(ChangeCheck.METADATA, ChangeCheck.UPDATE, ChangeCheck.NEW),
    printer=SECRETS,
    selectable=SelectableFields({**METADATA, **fields("type")}),
)
SERVICE_ACCOUNT = Kind("v1", "ServiceAccount", steps=(ChangeCheck.METADATA, ChangeCheck.NEW), printer=SERVICE_ACCOUNTS)
