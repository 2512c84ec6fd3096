"""What disruption budgets allow while pods come and go, counted from what their statuses say at first.

Takes pods that left and pods that run; keeps the statuses in a cache as their controller would. Counts only from the
start on, as a dump may lack what a status was worked out from. A pod that was given a node counts as ready.
"""

from __future__ import annotations

from bayplan.controllers.budgets.evicting import ask_budgets
from bayplan.core.cache import Cache
from bayplan.core.snapshot import NamespacedName
from bayplan.model.conditions import is_ready
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudgetStatus
from bayplan.model.selectors import CompiledSelector, SelectorError, compile_label_selector
from bayplan.model.structs import replace
from bayplan.store.errors import ApiError


class BudgetLedger:
    """The budgets of a cache."""

    def __init__(self, cache: Cache) -> None:
        self._objects = cache.objects
        self._selectors: dict[str, dict[str, CompiledSelector]] = {}  # namespace -> name ->
        self._spare: dict[NamespacedName, int] = {}  # ready pods beyond what the budget wants; below 0 it is broken
        self._changed: dict[NamespacedName, None] = {}
        for (namespace, name), budget in cache.objects.budgets.items():
            try:
                selector = compile_label_selector(budget.spec.selector)
            except SelectorError:
                continue
            if not selector.selects_nothing:
                self._selectors.setdefault(namespace, {})[name] = selector
                self._spare[namespace, name] = _spare(budget.status or PodDisruptionBudgetStatus())

    def covering(self, pod: Pod) -> list[NamespacedName]:
        """The budgets that count the pod."""
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        selectors = self._selectors.get(namespace, {})
        return [(namespace, name) for name, selector in selectors.items() if selector.matches(labels)]

    def leave(self, pod: Pod) -> list[str]:
        """The pod is gone. Returns the budgets that are broken by that, as namespace/name."""
        if not is_healthy(pod):
            return []
        broken = []
        for key in self.covering(pod):
            self._count(key, -1)
            if self._spare[key] < 0:
                broken.append("/".join(key))
        return broken

    def arrive(self, pod: Pod) -> None:
        """The pod runs and is ready."""
        for key in self.covering(pod):
            self._count(key, 1)

    def _count(self, key: NamespacedName, change: int) -> None:
        self._spare[key] += change
        self._changed[key] = None

    def publish(self) -> None:
        """The budgets' controller has counted: from now on everybody knows."""
        for key in self._changed:
            budget = self._objects.budgets[key]
            before = budget.status or PodDisruptionBudgetStatus()
            spare = self._spare[key]
            status = replace(
                before,
                disruptions_allowed=max(0, spare),
                current_healthy=max(0, before.desired_healthy + spare),
                disrupted_pods={},
            )
            self._objects.put(replace(budget, status=status))
        self._changed.clear()

    def refusal(self, pod: Pod) -> tuple[str, str]:
        """Why the API would not let the pod be evicted now, and the budget that is to blame; "" if it would."""
        covering = [self._objects.budgets[key] for key in self.covering(pod)]
        try:
            ask_budgets(pod, covering, now=0)
        except ApiError as error:
            names = ", ".join(f"{each.metadata.namespace}/{each.metadata.name}" for each in covering)
            return " ".join([error.message, *(cause.message for cause in error.causes)]), names
        return "", ""


def is_healthy(pod: Pod) -> bool:
    """As budgets count pods."""
    return pod.metadata.deletion_timestamp is None and is_ready(pod)


def _spare(status: PodDisruptionBudgetStatus) -> int:
    # A status that allows none says with its counts how many are missing.
    return status.disruptions_allowed or min(0, status.current_healthy - status.desired_healthy)
