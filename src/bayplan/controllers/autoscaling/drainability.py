"""Which pods keep Cluster Autoscaler from removing a node, and which would have to move.

Takes the pods of a node and what is left of budgets; gives the pods to move, or the one that is in the way and why.
Upstream: cluster-autoscaler/simulator/drainability/rules (1.33), in the order of its rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from bayplan.controllers.autoscaling.settings import Settings
from bayplan.controllers.budgets.evicting import is_daemon, is_mirror
from bayplan.controllers.ownership import controller_reference
from bayplan.core.preemption.budgets import is_covered
from bayplan.model.kinds import object_key
from bayplan.model.pod import FINISHED_PHASES, Pod
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.volumes import is_local
from bayplan.model.well_known import SAFE_TO_EVICT, SYSTEM_NAMESPACE

SAFE_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
_TRUE, _FALSE = "true", "false"


class BudgetsLeft:
    """How many more pods each budget lets go, while removals add up."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        self._left = [[budget, 0 if budget.status is None else budget.status.disruptions_allowed] for budget in budgets]

    def covers(self, pod: Pod) -> bool:
        return any(True for _ in self._of(pod))

    def allow(self, pods: Iterable[Pod]) -> Pod | None:
        """The first pod that may not go if all of them go at once; None if all may."""
        spent: dict[int, int] = {}
        for pod in pods:
            for place in self._of(pod):
                spent[place] = spent.get(place, 0) + 1
                if spent[place] > self._allowed(place):
                    return pod
        return None

    def spend(self, pods: Iterable[Pod]) -> None:
        """The pods go."""
        for pod in pods:
            for place in self._of(pod):
                self._left[place][1] = self._allowed(place) - 1

    def _of(self, pod: Pod) -> Iterable[int]:
        for place, (budget, _) in enumerate(self._left):
            assert isinstance(budget, PodDisruptionBudget)
            if budget.metadata.namespace == pod.metadata.namespace and is_covered(budget, pod.metadata.labels):
                yield place

    def _allowed(self, place: int) -> int:
        left = self._left[place][1]
        assert isinstance(left, int)
        return left


@dataclass(frozen=True, slots=True)
class Drainable:
    """What stands in the way of a removal, or what has to move."""

    to_move: list[Pod] = field(default_factory=list)
    blocking: str = ""  # the key of a pod
    why: str = ""


def drainable(pods: Iterable[Pod], budgets: BudgetsLeft, settings: Settings) -> Drainable:
    """Of the pods of one node."""
    to_move = []
    for pod in pods:
        if is_mirror(pod) or is_daemon(pod) or pod.status.phase in FINISHED_PHASES:
            continue
        if pod.metadata.deletion_timestamp is None:
            why = _blocking(pod, budgets, settings)
            if why:
                return Drainable(blocking=object_key(pod), why=why)
        to_move.append(pod)
    refused = budgets.allow(pod for pod in to_move if pod.metadata.deletion_timestamp is None)
    if refused is not None:
        return Drainable(blocking=object_key(refused), why="its budget allows no more disruptions")
    return Drainable(to_move)


def _blocking(pod: Pod, budgets: BudgetsLeft, settings: Settings) -> str:
    """Why the pod may not be evicted; "" if it may, as far as budgets are not concerned."""
    annotations = pod.metadata.annotations
    if annotations.get(SAFE_TO_EVICT) == _TRUE:
        return ""
    if controller_reference(pod.metadata) is None:
        return "it has no controller"
    if settings.spares_system_pods and pod.metadata.namespace == SYSTEM_NAMESPACE and not budgets.covers(pod):
        return f"it is in {SYSTEM_NAMESPACE} and has no budget"
    if annotations.get(SAFE_TO_EVICT) == _FALSE:
        return f"it is annotated {SAFE_TO_EVICT}: {_FALSE}"
    if settings.spares_local_storage and _local_volumes(pod):
        return "it has local storage"
    return ""


def _local_volumes(pod: Pod) -> list[str]:
    """Those that are not annotated as safe."""
    safe = {name.strip() for name in pod.metadata.annotations.get(SAFE_VOLUMES, "").split(",")}
    return [volume.name for volume in pod.spec.volumes if is_local(volume) and volume.name not in safe]
