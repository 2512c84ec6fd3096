"""What is evicted as a whole: a pod, or all pods of a group whose disruption mode is `all`.

The priority of a unit is that of its group, whatever its pods say; a pod without a group has its own. Units stand in
order of importance: priority, groups before pods, the larger, the older, and where all is equal by the name of their
first pod. A pod of a group that is evicted pod by pod counts as a group in this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayplan.core.columns import row_array
from bayplan.core.framework.verdict import CycleError
from bayplan.core.preemption.budgets import protect
from bayplan.core.snapshot import View
from bayplan.model.groups import PodGroup
from bayplan.model.pod import group_key


@dataclass(frozen=True, slots=True)
class Unit:
    """Pods that go together."""

    pod_rows: tuple[int, ...]  # by key
    priority: int
    is_group: bool
    started_at: int  # of the pod that started first
    first_key: str

    @property
    def importance(self) -> tuple[int, bool, int, int]:
        """Smaller is more important."""
        return -self.priority, not self.is_group, -len(self.pod_rows), self.started_at

    @property
    def order(self) -> tuple[int, bool, int, int, str]:
        """As `importance`, with the name deciding where that leaves it open."""
        return *self.importance, self.first_key


@dataclass(frozen=True, slots=True)
class BrokenBudgets:
    """What evictions of pods would break."""

    by_row: Mapping[int, list[str]]  # pod row -> budgets; pods that break none are left out

    def violations(self, unit: Unit) -> int:
        """How many pods of the unit would break a budget."""
        return sum(row in self.by_row for row in unit.pod_rows)


def group_of(view: View, pod_row: int) -> PodGroup | None:
    """The PodGroup of a pod that is on a node, if there is one."""
    pod = view.pods.grouped.get(pod_row)
    if pod is None or pod.spec.scheduling_group is None:
        return None
    return view.objects.pod_groups.get((pod.metadata.namespace, pod.spec.scheduling_group.pod_group_name))


def unit_priority(view: View, pod_row: int) -> int:
    group = group_of(view, pod_row)
    return int(view.pods.priorities[pod_row]) if group is None else group.spec.priority or 0


def unit_of(view: View, pod_row: int) -> Unit:
    """The unit that a pod on a node is part of."""
    group = group_of(view, pod_row)
    is_whole = (
        group is not None and group.spec.disruption_mode is not None and group.spec.disruption_mode.all is not None
    )
    rows = view.pods.scheduled_members(group_key(view.pods.grouped[pod_row])) if is_whole else [pod_row]
    return Unit(
        pod_rows=tuple(rows),
        priority=unit_priority(view, pod_row),
        is_group=pod_row in view.pods.grouped,
        started_at=min(int(view.pods.started_at[row]) for row in rows),
        first_key=view.pods.keys[rows[0]],
    )


def units_on(view: View, node_rows: Iterable[int], *, leaves_out_strays: bool = False) -> list[Unit]:
    """All units with a pod on these nodes, each once.

    If one has a pod on a node that is gone, as upstream, a CycleError is raised; or such units are left out.
    """
    seen: set[int] = set()
    units: list[Unit] = []
    for node_row in node_rows:
        for pod_row in view.nodes.pod_rows[node_row]:
            if pod_row not in seen:
                unit = unit_of(view, pod_row)
                seen.update(unit.pod_rows)
                units.append(unit)
    if leaves_out_strays:
        return [unit for unit in units if all(view.nodes.alive[view.pods.node_rows[row]] for row in unit.pod_rows)]
    for unit in units:
        check_nodes(view, unit)
    return units


def check_nodes(view: View, unit: Unit) -> None:
    """Raises CycleError if a pod of the unit is on a node that is gone."""
    for row in unit.pod_rows:
        node_row = int(view.pods.node_rows[row])
        if not view.nodes.alive[node_row]:
            name = view.nodes.names[node_row]
            missing = f'nodeinfo not found for node name "{name}"'
            raise CycleError("", f'failed to get node info for node "{name}" from snapshot: {missing}')


def order_of_reprieve(view: View, units: Sequence[Unit]) -> tuple[list[Unit], BrokenBudgets]:
    """Units, given by importance, in the order in which they are put back, and the budgets they would break."""
    rows = row_array([row for unit in units for row in unit.pod_rows])
    broken = BrokenBudgets(protect(view, rows, np.zeros(len(rows), dtype=np.intp)).budgets_by_row(rows))
    return sorted(units, key=lambda unit: not broken.violations(unit)), broken


def may_go(view: View, unit: Unit) -> bool:
    """Whether no pod of it is another scheduler's that may not be evicted."""
    return view.pods.own_schedulers is None or not any(view.pods.foreign[row] for row in unit.pod_rows)
