"""FlowSchema and PriorityLevelConfiguration."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.extending import default_flow_schema, default_priority_level
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.tables.api_policies import FLOW_SCHEMAS, PRIORITY_LEVELS

FLOW_SCHEMA = Kind(
    "flowcontrol.apiserver.k8s.io/v1",
    "FlowSchema",
    defaults=default_flow_schema,
    watched=("spec",),
    printer=FLOW_SCHEMAS,
)
PRIORITY_LEVEL = Kind(
    "flowcontrol.apiserver.k8s.io/v1",
    "PriorityLevelConfiguration",
    defaults=default_priority_level,
    watched=("spec",),
    printer=PRIORITY_LEVELS,
)
