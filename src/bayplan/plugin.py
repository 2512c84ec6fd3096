"""Everything that a plugin of your own needs, under one name; docs/guide/plugins.md has a table of it.

Gives the contract of each extension point, statuses, cluster events, what plugins look at (`View`, `PodInfo`), array
types, and `PerNodePlugin` for those who do not want to think in arrays. Nothing is defined here, and nothing in the
product imports this module: it keeps the names in place for others while the modules behind them move.
"""

from bayplan.core.actions import Action, Emit
from bayplan.core.columns import (
    ABSENT,
    ALL_ROWS,
    BoolArray,
    IntArray,
    RowArray,
    Rows,
    distinct,
    every_row,
    row_array,
)
from bayplan.core.columns.nodes import NodeTable
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import (
    MAX_NODE_SCORE,
    SKIP,
    UNFORESEEN,
    BindPlugin,
    FilterPlugin,
    ForesightPlugin,
    NormalizePlugin,
    OneRowFilter,
    OneRowScore,
    PermitPlugin,
    PodParts,
    PostBindPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFiltered,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    Reads,
    Ready,
    ReservePlugin,
    ScorePlugin,
    SelectivePlugin,
    Skip,
    State,
    UnpreparedPlugin,
    Wait,
    WhatIfPlugin,
    default_normalize,
)
from bayplan.core.framework.per_node import NodeView, PerNodePlugin
from bayplan.core.framework.requeue import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EnqueueExtensions,
    EventResource,
    Hint,
)
from bayplan.core.framework.verdict import SUCCESS, Code, CycleError, Status, unresolvable, unschedulable
from bayplan.core.snapshot import View
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod

__all__ = [
    "ABSENT",
    "ALL_ROWS",
    "MAX_NODE_SCORE",
    "SKIP",
    "SUCCESS",
    "UNFORESEEN",
    "Action",
    "ActionType",
    "BindPlugin",
    "BoolArray",
    "ClusterEvent",
    "ClusterEventWithHint",
    "Code",
    "CycleError",
    "Emit",
    "EnqueueExtensions",
    "EventResource",
    "FilterPlugin",
    "ForesightPlugin",
    "Hint",
    "IntArray",
    "Node",
    "NodeTable",
    "NodeView",
    "NormalizePlugin",
    "Object",
    "OneRowFilter",
    "OneRowScore",
    "PerNodePlugin",
    "PermitPlugin",
    "Pod",
    "PodInfo",
    "PodParts",
    "PostBindPlugin",
    "PreBindPlugin",
    "PreEnqueuePlugin",
    "PreFilterPlugin",
    "PreFiltered",
    "PreScorePlugin",
    "QueueSortPlugin",
    "Reads",
    "Ready",
    "ReservePlugin",
    "RowArray",
    "Rows",
    "ScorePlugin",
    "SelectivePlugin",
    "Skip",
    "State",
    "Status",
    "UnpreparedPlugin",
    "View",
    "Wait",
    "WhatIfPlugin",
    "default_normalize",
    "distinct",
    "every_row",
    "row_array",
    "unresolvable",
    "unschedulable",
]
