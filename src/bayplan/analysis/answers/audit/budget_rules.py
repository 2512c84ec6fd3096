"""PodDisruptionBudgets that protect nothing, block everything or get in each other's way.

Pods that workloads have yet to create count, so that manifests which nobody has applied are judged as if they were.
What a budget demands is worked out as its controller does; pods whose workloads are not in the input prove nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from bayplan.analysis.answers.audit.audited import Audited, name_of
from bayplan.analysis.answers.audit.rules import Finding
from bayplan.controllers.budgets.status import BudgetedPods, OwnerMissing, Scales, SyncFailed, synced_status
from bayplan.controllers.ownership import is_active
from bayplan.model.kinds import Object, object_key
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from bayplan.model.selectors import CompiledSelector, SelectorError, compile_label_selector


def budget_findings(audited: Audited) -> Iterator[Finding]:
    budgets = [obj for obj in audited.cluster.objects if isinstance(obj, PodDisruptionBudget)]
    if not budgets:
        return
    pods = _pods_by_namespace(audited)
    scales = Scales([*audited.cluster.objects, *_made_along(audited)])
    selected = {object_key(budget): pods[budget.metadata.namespace].selected_by(budget) for budget in budgets}
    for budget in budgets:
        if selected[object_key(budget)] or not _selects_a_template(budget, audited):
            yield from _judged(budget, selected[object_key(budget)], scales)
    yield from _overlaps(budgets, selected)


class _Pods:
    """Pods of a namespace; those with the same labels have the same number."""

    def __init__(self) -> None:
        self._numbered: list[tuple[Pod, int]] = []
        self._labels: list[dict[str, str]] = []  # by number
        self._numbers: dict[tuple[tuple[str, str], ...], int] = {}

    def add(self, pod: Pod) -> None:
        labels = pod.metadata.labels
        number = self._numbers.setdefault(tuple(labels.items()), len(self._labels))
        if number == len(self._labels):
            self._labels.append(labels)
        self._numbered.append((pod, number))

    def selected_by(self, budget: PodDisruptionBudget) -> list[Pod]:
        selector = _selector(budget)
        matching = {number for number, labels in enumerate(self._labels) if selector.matches(labels)}
        return [pod for pod, number in self._numbered if number in matching]


def _pods_by_namespace(audited: Audited) -> defaultdict[str, _Pods]:
    """All that are there or will be."""
    found: defaultdict[str, _Pods] = defaultdict(_Pods)
    planned = [new.pod for new in audited.planned.by_key.values()]
    for pod in (*filter(is_active, audited.pods), *planned):
        found[pod.metadata.namespace].add(pod)
    return found


def _made_along(audited: Audited) -> list[Object]:
    """ReplicaSets that Deployments have yet to create."""
    origins = {id(new.origin): new.origin for new in audited.planned.by_key.values()}
    return [obj for origin in origins.values() for obj in origin.along]


def _selector(budget: PodDisruptionBudget) -> CompiledSelector:
    try:
        return compile_label_selector(budget.spec.selector)
    except SelectorError:
        return CompiledSelector.NOTHING


def _selects_a_template(budget: PodDisruptionBudget, audited: Audited) -> bool:
    """Whether there will be pods for it: a workload may be scaled to none for now."""
    selector, namespace = _selector(budget), budget.metadata.namespace
    return any(
        each.metadata.namespace == namespace and selector.matches(each.spec.template.metadata.labels)
        for each in audited.workloads
    )


def _judged(budget: PodDisruptionBudget, pods: Sequence[Pod], scales: Scales) -> Iterator[Finding]:
    name = name_of(budget)
    if not pods:
        yield Finding("budget-selects-nothing", name, "no pod in its namespace matches its selector")
        return
    try:
        status = _status(budget, pods, scales)
    except SyncFailed as error:
        yield Finding("budget-cannot-be-kept", name, f"its controller cannot compute it: {error}")
        return
    if status is None:
        return
    expected, desired = status.expected_pods, status.desired_healthy
    demands = _demands(budget)
    if desired > expected:
        yield Finding("budget-cannot-be-kept", name, f"{demands}, but expectedPods is only {expected:,}")
    elif desired == expected:
        why = f"{demands} and expectedPods is {expected:,}: no pod can ever be evicted"
        yield Finding("budget-allows-nothing", name, why)


def _status(budget: PodDisruptionBudget, pods: Sequence[Pod], scales: Scales) -> PodDisruptionBudgetStatus | None:
    """What its controller computes; if workloads are missing from the input, what it once computed, if known."""
    try:
        return synced_status(budget, BudgetedPods(pods), scales)
    except OwnerMissing:
        return budget.status if budget.status is not None and budget.status.expected_pods else None


def _demands(budget: PodDisruptionBudget) -> str:
    spec = budget.spec
    if spec.max_unavailable is not None:
        return f"maxUnavailable is {spec.max_unavailable}"
    return f"minAvailable is {spec.min_available}"


def _overlaps(budgets: Sequence[PodDisruptionBudget], selected: dict[str, list[Pod]]) -> Iterator[Finding]:
    holders: defaultdict[str, list[PodDisruptionBudget]] = defaultdict(list)
    for budget in budgets:
        for pod in selected[object_key(budget)]:
            holders[object_key(pod)].append(budget)
    shared: dict[tuple[str, str], str] = {}
    for key, found in holders.items():
        for other in found[1:]:
            shared.setdefault((name_of(other), found[0].metadata.name), key)
    for (name, first), example in shared.items():
        yield Finding("budgets-overlap", name, f"it also selects pods of budget {first}, such as {example}")
