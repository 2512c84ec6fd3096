"""FlowSchema and PriorityLevelConfiguration."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.admitting.defaults.extending import default_flow_schema, default_priority_level
from bayplan.apiserver.admitting.validation.flowcontrol import check_flow_schema, check_priority_level
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.tables.api_policies import FLOW_SCHEMAS, PRIORITY_LEVELS

_NO_LIMITS: Final = "requests are answered in the order in which they come"

FLOW_SCHEMA = Kind(
    "flowcontrol.apiserver.k8s.io/v1",
    "FlowSchema",
    without_effect=_NO_LIMITS,
    defaults=default_flow_schema,
    check=check_flow_schema,
    steps=(ChangeCheck.NEW,),
    watched=("spec",),
    printer=FLOW_SCHEMAS,
)
PRIORITY_LEVEL = Kind(
    "flowcontrol.apiserver.k8s.io/v1",
    "PriorityLevelConfiguration",
    without_effect=_NO_LIMITS,
    defaults=default_priority_level,
    check=check_priority_level,
    steps=(ChangeCheck.NEW,),
    watched=("spec",),
    printer=PRIORITY_LEVELS,
)
