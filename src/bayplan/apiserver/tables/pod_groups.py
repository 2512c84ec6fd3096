"""Rows of pod groups and workloads."""

from __future__ import annotations

from bayplan.apiserver.tables.ages import age
from bayplan.apiserver.tables.columns import AGE, NAME, Cells, Column, Document, Printer, wide
from bayplan.apiserver.tables.wording import NONE, condition
from bayplan.core.groups.cycle import INITIALLY_SCHEDULED


def _group_cells(group: Document, now: int) -> Cells:
    spec = group.get("spec") or {}
    gang = (spec.get("schedulingPolicy") or {}).get("gang")
    found = condition((group.get("status") or {}).get("conditions"), INITIALLY_SCHEDULED) or {}
    topology = (spec.get("schedulingConstraints") or {}).get("topology") or [{}]
    return [
        group["metadata"].get("name", ""),
        "basic" if gang is None else f"gang of {gang.get('minCount', 0)}",
        found.get("reason") or "Waiting",
        age(group, now),
        topology[0].get("key") or NONE,
        spec.get("priority") or 0,
        found.get("message", ""),
    ]


def _workload_cells(workload: Document, now: int) -> Cells:
    spec = workload.get("spec") or {}
    names = [template.get("name", "") for template in spec.get("podGroupTemplates") or ()]
    return [workload["metadata"].get("name", ""), ", ".join(names) or NONE, age(workload, now)]


POD_GROUPS = Printer(
    (
        NAME,
        Column("Policy", "Whether pods are scheduled one by one or as a gang, and how many of them at least."),
        Column("Status", "What came of the last attempt to schedule the group."),
        AGE,
        wide("Within", "Node label of which all pods must get the same value."),
        Column("Priority", "Priority of the group.", "integer", "int32", 1),
        wide("Message", "Why the group waits."),
    ),
    _group_cells,
)
WORKLOADS = Printer((NAME, Column("Templates", "Templates of pod groups."), AGE), _workload_cells)
