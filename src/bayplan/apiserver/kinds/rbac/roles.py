"""Role, ClusterRole and their bindings."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bayplan.apiserver.admitting.defaults.rbac import default_binding
from bayplan.apiserver.admitting.validation.names import path_segment_faults
from bayplan.apiserver.admitting.validation.rbac import check_binding, check_binding_update, check_role
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.tables.configuration import ROLE_BINDINGS

_NOT_ENFORCED: Final = "everybody who has a token may do everything"

ROLE = Kind(
    "rbac.authorization.k8s.io/v1",
    "Role",
    without_effect=_NOT_ENFORCED,
    check=check_role,
    name_rule=path_segment_faults,
    created_by_update=True,
)
CLUSTER_ROLE = replace(ROLE, kind="ClusterRole")
ROLE_BINDING = Kind(
    "rbac.authorization.k8s.io/v1",
    "RoleBinding",
    without_effect=_NOT_ENFORCED,
    defaults=default_binding,
    check=check_binding,
    check_update=check_binding_update,
    name_rule=path_segment_faults,
    created_by_update=True,
    printer=ROLE_BINDINGS,
)
CLUSTER_ROLE_BINDING = replace(ROLE_BINDING, kind="ClusterRoleBinding")
