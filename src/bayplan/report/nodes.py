"""How full the nodes are: what their pods request, of what is allocatable."""

from __future__ import annotations

from bayplan.core.columns.resources import CPU, MEMORY
from bayplan.core.snapshot import View
from bayplan.model.well_known import UNSCHEDULABLE
from bayplan.report.answers.parts import Table
from bayplan.report.answers.tables import table_of

_GIB = 1 << 30


def node_table(view: View) -> Table:
    """A row for each node, by name."""
    rows = []
    nodes = view.nodes
    for name in sorted(nodes.rows_by_name):
        row = nodes.rows_by_name[name]
        if not nodes.alive[row]:
            continue
        used, offered = view.usage.requested[row], nodes.allocatable[row]
        restricted = _keeps_away(view, row)
        amounts = (
            int(view.usage.pod_counts[row]),
            f"{_share(used[CPU], 1000)} of {_share(offered[CPU], 1000)}",
            f"{_share(used[MEMORY], _GIB)} of {_share(offered[MEMORY], _GIB)}Gi",
        )
        rows.append((name, *amounts, restricted))
    numeric = ("pods", "cpu", "memory")
    return table_of(("node", *numeric, "restricted by"), rows, numeric)


def _share(amount: int, unit: int) -> str:
    return f"{int(amount) / unit:.4g}"


def _keeps_away(view: View, row: int) -> str:
    nodes = view.nodes
    taints = nodes.taint_sets.values[int(nodes.taint_set_ids[row])]
    # A cordoned node has this taint, too; saying it twice is useless.
    said = [f"taint {key}={value}" if value else f"taint {key}" for key, value, _ in taints if key != UNSCHEDULABLE]
    return ", ".join([*said, *(["cordon"] if nodes.unschedulable[row] else [])])
