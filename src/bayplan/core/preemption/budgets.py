"""Which potential victims a PodDisruptionBudget protects.

The budget of each node's dry run is spent from the most important pod downward; a pod that finds it used up
*violates*. Budgets are best effort: violating pods are spared first, but may still have to go.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayplan.core.columns import BoolArray, IntArray, RowArray
from bayplan.core.snapshot import View
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.selectors import CompiledSelector, SelectorError, compile_label_selector

_NOBODY: BoolArray = np.zeros(0, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Protection:
    """What budgets say of pods that stand in order of importance, node by node."""

    violating: BoolArray  # (victims,)
    by_budget: dict[str, BoolArray]  # namespace/name -> (victims,) pods that break this budget


def protect(view: View, pod_rows: RowArray, node_starts: RowArray) -> Protection:
    """`pod_rows` are grouped by node, most important first; `node_starts` has the first position of each pod's node."""
    violating = np.zeros(len(pod_rows), dtype=np.bool_)
    by_budget: dict[str, BoolArray] = {}
    for (namespace, name), budget in view.objects.budgets.items():
        covered = _covered(view, budget, pod_rows)
        if covered is None:
            continue
        spent = np.cumsum(covered)
        spent_before_node: IntArray = spent[node_starts] - covered[node_starts]
        allowed = budget.status.disruptions_allowed if budget.status else 0
        broken = covered & (spent - spent_before_node > allowed)
        if broken.any():
            by_budget[f"{namespace}/{name}"] = broken
            violating |= broken
    return Protection(violating, by_budget)


def _covered(view: View, budget: PodDisruptionBudget, pod_rows: RowArray) -> BoolArray | None:
    """(victims,) pods whose eviction the budget counts; None when there are none."""
    selector = _selector(budget)
    if selector is None:
        return None
    lookup = _matching_identities(view, budget, selector)
    if not lookup.any():
        return None
    covered = lookup[view.pods.identity_ids[pod_rows]]
    if budget.status and budget.status.disrupted_pods:
        covered &= _not_disrupted(view, budget, pod_rows)
    return covered if covered.any() else None


def _selector(budget: PodDisruptionBudget) -> CompiledSelector | None:
    """None for a budget that protects nothing here: no selector, an empty one, or one that does not parse."""
    try:
        selector = compile_label_selector(budget.spec.selector)
    except SelectorError:
        return None
    return None if selector.selects_nothing or selector.is_empty else selector


def _matching_identities(view: View, budget: PodDisruptionBudget, selector: CompiledSelector) -> BoolArray:
    """(identities,) A pod without labels is never covered, whatever the selector says."""
    # Identities only ever get more, so what was found stays: hundreds of budgets are looked at for each preemption.
    namespace, wanted = budget.metadata.namespace, budget.spec.selector
    remembered, key = view.objects.remembered, (PodDisruptionBudget, namespace, budget.metadata.name)
    known_for, lookup = remembered.get(key, (None, _NOBODY))
    if known_for != wanted:
        lookup = _NOBODY
    identities = view.shapes.identities.values
    if len(lookup) < len(identities):
        new = [
            identity.namespace == namespace and bool(identity.labels) and selector.matches(dict(identity.labels))
            for identity in identities[len(lookup) :]
        ]
        lookup = np.concatenate((lookup, np.array(new, dtype=np.bool_)))
        remembered[key] = wanted, lookup
    matching: BoolArray = lookup
    return matching


def _not_disrupted(view: View, budget: PodDisruptionBudget, pod_rows: RowArray) -> BoolArray:
    assert budget.status is not None
    disrupted = {f"{budget.metadata.namespace}/{name}" for name in budget.status.disrupted_pods}
    return np.array([view.pods.keys[row] not in disrupted for row in pod_rows], dtype=np.bool_)
