"""Which potential victims a PodDisruptionBudget protects.

The budget of each node's dry run is spent from the most important pod downward; a pod that finds it used up
*violates*. Budgets are best effort: violating pods are spared first, but may still have to go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bayplan.core.columns import BoolArray, IdArray, IntArray, RowArray
from bayplan.core.snapshot import View
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.selectors import CompiledSelector, SelectorError, compile_label_selector


@dataclass(frozen=True, slots=True)
class Protection:
    """What budgets say of pods that stand in order of importance, node by node."""

    violating: BoolArray  # (victims,)
    by_budget: dict[str, BoolArray]  # namespace/name -> (victims,) pods that break this budget


def protect(view: View, pod_rows: RowArray, node_starts: RowArray) -> Protection:
    """`pod_rows` are grouped by node, most important first; `node_starts` has the first position of each pod's node."""
    violating = np.zeros(len(pod_rows), dtype=np.bool_)
    by_budget: dict[str, BoolArray] = {}
    identities = np.unique(view.pods.identity_ids[pod_rows], return_inverse=True)
    namespaces = {view.shapes.identities.values[each].namespace for each in identities[0].tolist()}
    for (namespace, name), budget in view.objects.budgets.items():
        covered = _covered(view, budget, pod_rows, identities) if namespace in namespaces else None
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


def is_covered(budget: PodDisruptionBudget, labels: Mapping[str, str]) -> bool:
    """Whether the budget counts pods of its namespace with these labels."""
    selector = _selector(budget)
    return selector is not None and bool(labels) and selector.matches(labels)


def _covered(
    view: View, budget: PodDisruptionBudget, pod_rows: RowArray, identities: tuple[IdArray, RowArray]
) -> BoolArray | None:
    """(victims,) pods whose eviction the budget counts; None when there are none."""
    selector = _selector(budget)
    if selector is None:
        return None
    ids, positions = identities
    matching = _matching(view, budget.metadata.namespace, selector, ids)
    if not matching.any():
        return None
    covered: BoolArray = matching[positions]
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


def _matching(view: View, namespace: str, selector: CompiledSelector, identity_ids: IdArray) -> BoolArray:
    """(identities,) A pod without labels is never covered, whatever the selector says."""
    values = view.shapes.identities.values
    return np.array(
        [
            identity.namespace == namespace and bool(identity.labels) and selector.matches(dict(identity.labels))
            for identity in map(values.__getitem__, identity_ids.tolist())
        ],
        dtype=np.bool_,
    )


def _not_disrupted(view: View, budget: PodDisruptionBudget, pod_rows: RowArray) -> BoolArray:
    assert budget.status is not None
    disrupted = {f"{budget.metadata.namespace}/{name}" for name in budget.status.disrupted_pods}
    return np.array([view.pods.keys[row] not in disrupted for row in pod_rows], dtype=np.bool_)
