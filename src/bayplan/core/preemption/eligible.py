"""May this pod preempt at all, now?

Its policy may forbid it, and victims of an earlier preemption may still be leaving.
"""

from __future__ import annotations

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.filtering import Filtered
from bayplan.core.framework.verdict import Code
from bayplan.core.preemption.units import unit_priority
from bayplan.core.snapshot import View

POLICY_NEVER = "not eligible due to preemptionPolicy=Never."
VICTIMS_LEAVING = "not eligible due to a terminating pod on the nominated node."


def ineligible_reason(pod: PodInfo, view: View, filtered: Filtered) -> str:
    """Why the pod must not preempt, "" if it may."""
    if pod.preemption_policy == "Never":
        return POLICY_NEVER
    node_row = view.nodes.rows_by_name.get(pod.nominated_node_name)
    if not pod.nominated_node_name or node_row is None or not view.nodes.alive[node_row]:
        return ""
    if filtered.status_of(view, node_row).code is Code.UNRESOLVABLE:
        return ""
    on_node = view.nodes.pod_rows[node_row]
    if view.objects.gates.generic_workload:
        leaving = any(view.pods.preempted[row] and unit_priority(view, row) < pod.priority for row in on_node)
    else:
        leaving = bool((view.pods.preempted[on_node] & (view.pods.priorities[on_node] < pod.priority)).any())
    return VICTIMS_LEAVING if leaving else ""
