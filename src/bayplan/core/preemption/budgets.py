"""Which potential victims a PodDisruptionBudget protects.

The budget of each node's dry run is spent from the most important pod downward; a pod that finds it used up
*violates*. Budgets are best effort: violating pods are spared first, but may still have to go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayplan.core.columns import BoolArray, IntArray, RowArray, row_array, row_mask
from bayplan.core.snapshot import NamespacedName, View
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.selectors import CompiledSelector, SelectorError, compile_label_selector

#: Identities whose budgets are remembered, at most: most of them may be gone.
IDENTITIES_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Protection:
    """What budgets say of pods that stand in order of importance, node by node."""

    violating: BoolArray  # (victims,)
    by_budget: dict[str, BoolArray]  # namespace/name -> (victims,) pods that break this budget

    def budgets_by_row(self, pod_rows: RowArray) -> dict[int, list[str]]:
        """Pod row -> the budgets that its eviction breaks; `pod_rows` are those that were asked about."""
        broken: dict[int, list[str]] = {}
        for budget, covered in self.by_budget.items():
            for row in pod_rows[covered].tolist():
                broken.setdefault(row, []).append(budget)
        return broken


def protect(view: View, pod_rows: RowArray, node_starts: RowArray) -> Protection:
    """`pod_rows` are grouped by node, most important first; `node_starts` has the first position of each pod's node."""
    violating = np.zeros(len(pod_rows), dtype=np.bool_)
    by_budget: dict[str, BoolArray] = {}
    ids, positions = np.unique(view.pods.identity_ids[pod_rows], return_inverse=True)
    places: dict[NamespacedName, list[int]] = {}  # by budget: of the identities it covers
    for place, identity_id in enumerate(ids.tolist()):
        for budget in covering(view, identity_id):
            places.setdefault((budget.metadata.namespace, budget.metadata.name), []).append(place)
    stops = view.objects.gates.release.first_broken_budget_ends
    # Upstream takes them as they come from a map; where their order matters it is that of their names here.
    names = sorted(places) if stops else [name for name in view.objects.budgets if name in places] if places else ()
    for namespace, name in names:
        budget = view.objects.budgets[namespace, name]
        covered: BoolArray = row_mask(row_array(places[namespace, name]), len(ids))[positions]
        if stops:
            covered &= ~violating
        if budget.status and budget.status.disrupted_pods:
            covered &= _not_disrupted(view, budget, pod_rows)
        spent = np.cumsum(covered)
        spent_before_node: IntArray = spent[node_starts] - covered[node_starts]
        allowed = budget.status.disruptions_allowed if budget.status else 0
        broken = covered & (spent - spent_before_node > allowed)
        if broken.any():
            by_budget[f"{namespace}/{name}"] = broken
            violating |= broken
    return Protection(violating, by_budget)


def covering(view: View, identity_id: int) -> Sequence[PodDisruptionBudget]:
    """The budgets that count pods with this identity."""
    objects, identity = view.objects, view.shapes.identities.values[identity_id]
    known = objects.covering.get(identity)
    if known is None:
        labels = dict(identity.labels)
        known = [
            budget
            for (namespace, _), budget in objects.budgets.items()
            if namespace == identity.namespace and is_covered(budget, labels)
        ]
        if len(objects.covering) >= IDENTITIES_MAX:
            objects.covering.clear()
        objects.covering[identity] = known
    return known


def is_covered(budget: PodDisruptionBudget, labels: Mapping[str, str]) -> bool:
    """Whether the budget counts pods of its namespace with these labels; never those without any."""
    selector = _selector(budget)
    return selector is not None and bool(labels) and selector.matches(labels)


def _selector(budget: PodDisruptionBudget) -> CompiledSelector | None:
    """None for a budget that protects nothing here: no selector, an empty one, or one that does not parse."""
    try:
        selector = compile_label_selector(budget.spec.selector)
    except SelectorError:
        return None
    return None if selector.selects_nothing or selector.is_empty else selector


def _not_disrupted(view: View, budget: PodDisruptionBudget, pod_rows: RowArray) -> BoolArray:
    assert budget.status is not None
    disrupted = {f"{budget.metadata.namespace}/{name}" for name in budget.status.disrupted_pods}
    return np.array([view.pods.keys[row] not in disrupted for row in pod_rows], dtype=np.bool_)
