"""What a PodDisruptionBudget allows: the status that the disruption controller would write.

Takes budgets, the pods they select and the workloads these belong to; gives statuses. A pod is healthy only if
its Ready condition is True: a pod that is merely written down with a node name, or that a workload has yet to
create, is not, so a budget over nothing but manifests allows no disruption. The one thing a controller has and
this has not is memory: entries of `disruptedPods` age only if the caller says what time it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from bayplan.controllers.ownership import Ownership, Workload, controller_reference, key_of
from bayplan.model.conditions import is_ready
from bayplan.model.kinds import Object, kind_info
from bayplan.model.meta import Condition, ObjectMeta
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from bayplan.model.selectors import CompiledSelector, SelectorError, compile_label_selector
from bayplan.model.time_units import MINUTE
from bayplan.model.timestamps import parse_time
from bayplan.model.workloads import DaemonSet, Deployment, Job, ReplicaSet

DISRUPTED_FOR_NS = 2 * MINUTE

_Reference: TypeAlias = tuple[str, str, str, str]
"""API version, kind, name and uid of a controller."""


class SyncFailed(Exception):  # noqa: N818 - the reason of the condition that says so
    """Why a budget cannot be worked out, in the controller's words; it then allows nothing."""


class OwnerMissing(SyncFailed):
    """The controller of a pod is not there: it is gone, or the objects are not all there are."""


def fill_budget_status(objects: Sequence[Object]) -> None:
    """Gives every budget without a status the one its controller would write, in place."""
    budgets = [obj for obj in objects if isinstance(obj, PodDisruptionBudget) and obj.status is None]
    if not budgets:
        return
    scales = Scales(objects)
    namespaces = {budget.metadata.namespace for budget in budgets}
    pods = _PodsByLabels(obj for obj in objects if isinstance(obj, Pod) and obj.metadata.namespace in namespaces)
    for budget in budgets:
        try:
            selector = compile_label_selector(budget.spec.selector)
        except SelectorError as error:
            budget.status = _failed(budget, str(error))
        else:
            budget.status = budget_status(budget, pods.selected(budget.metadata.namespace, selector), scales)


def budget_status(
    budget: PodDisruptionBudget, pods: Sequence[Pod], scales: Scales, *, now: int | None = None
) -> PodDisruptionBudgetStatus:
    """The whole status, for all pods the budget selects; `now` in nanoseconds lets old evictions lapse."""
    try:
        return synced_status(budget, BudgetedPods(pods), scales, now=now)
    except SyncFailed as error:
        return _failed(budget, str(error))


def synced_status(
    budget: PodDisruptionBudget, pods: BudgetedPods, scales: Scales, *, now: int | None = None
) -> PodDisruptionBudgetStatus:
    """As `budget_status`, at a cost that depends on the number of controllers, not of pods; raises SyncFailed."""
    expected, desired = _expected_and_desired(budget, pods, scales)
    disrupted = _still_disrupted(budget, pods, now)
    healthy = pods.healthy_count - sum(_is_healthy(pods.by_name[name]) for name in disrupted)
    allowed = max(0, healthy - desired) if expected > 0 else 0
    return PodDisruptionBudgetStatus(
        disruptions_allowed=allowed,
        disrupted_pods=disrupted,
        current_healthy=healthy,
        desired_healthy=desired,
        expected_pods=expected,
        observed_generation=budget.metadata.generation,
        conditions=[_condition(budget, allowed > 0, "SufficientPods" if allowed > 0 else "InsufficientPods")],
    )


class BudgetedPods:
    """The pods that a budget selects, counted as they come and go."""

    def __init__(self, pods: Iterable[Pod] = ()) -> None:
        self.by_name: dict[str, Pod] = {}
        self.healthy_count = 0
        # By what their controller references say, names of pods; pods that nothing controls are not in it.
        self._controlled: dict[_Reference, dict[str, None]] = {}
        for pod in pods:
            self.put(pod)

    def put(self, pod: Pod) -> bool:
        """Takes in the pod, or what has become of it; whether that makes a difference to the budget."""
        name = pod.metadata.name
        old = self.by_name.get(name)
        reference = _reference(pod)
        if old is not None and _reference(old) == reference:
            gained = _is_healthy(pod) - _is_healthy(old)
            self.healthy_count += gained
            self.by_name[name] = pod
            return gained != 0 or old.metadata.deletion_timestamp != pod.metadata.deletion_timestamp
        self.drop(name)
        self.by_name[name] = pod
        self.healthy_count += _is_healthy(pod)
        if reference is not None:
            self._controlled.setdefault(reference, {})[name] = None
        return True

    def drop(self, name: str) -> bool:
        """Lets go of the pod; whether it was there."""
        pod = self.by_name.pop(name, None)
        if pod is None:
            return False
        self.healthy_count -= _is_healthy(pod)
        reference = _reference(pod)
        if reference is not None:
            names = self._controlled[reference]
            del names[name]
            if not names:
                del self._controlled[reference]
        return True

    def one_of_each_controller(self) -> Iterator[Pod]:
        """For every controller that is named, one of its pods."""
        for names in self._controlled.values():
            yield self.by_name[next(iter(names))]


class Owners(Protocol):
    """Where workloads are looked up."""

    def controller_of(self, meta: ObjectMeta) -> Workload | None:
        """The workload that the metadata's controller reference leads to, if it is there."""


@dataclass(frozen=True, slots=True)
class WorkloadScale:
    """How many pods one workload is meant to have."""

    workload: Workload
    replicas: int


class Scales:
    """The scale behind a pod, found as the disruption controller does; among objects, or wherever `owners` look."""

    def __init__(self, objects: Iterable[Object] = (), *, owners: Owners | None = None) -> None:
        self._owners: Owners = Ownership(objects) if owners is None else owners

    def behind(self, pod: Pod) -> WorkloadScale | None:
        """None for a pod that nothing controls; SyncFailed when its controller is missing or has no scale."""
        reference = controller_reference(pod.metadata)
        if reference is None:
            return None
        found = self._owners.controller_of(pod.metadata)
        if isinstance(found, ReplicaSet):
            found = self._above(found)
        info = kind_info(reference.api_version, reference.kind)
        if info is not None and info.struct in (Job, DaemonSet):
            raise SyncFailed(f"{info.kind.lower()}s.{info.group} does not implement the scale subresource")
        if found is None or isinstance(found, Job | DaemonSet):
            raise OwnerMissing(f'found no controllers for pod "{pod.metadata.name}"')
        return WorkloadScale(found, 1 if found.spec.replicas is None else found.spec.replicas)

    def _above(self, replica_set: ReplicaSet) -> Workload | None:
        """Its Deployment if it has one, else itself; None when the Deployment is gone."""
        reference = controller_reference(replica_set.metadata)
        if reference is None or reference.kind != "Deployment":
            return replica_set
        found = self._owners.controller_of(replica_set.metadata)
        return found if isinstance(found, Deployment) else None


def _expected_and_desired(budget: PodDisruptionBudget, pods: BudgetedPods, scales: Scales) -> tuple[int, int]:
    # Upstream: pkg/controller/disruption/disruption.go getExpectedPodCount (v1.36); maxUnavailable comes first.
    spec = budget.spec
    if spec.max_unavailable is not None:
        expected = _total_scale(pods, scales)
        return expected, max(0, expected - _share(spec.max_unavailable, expected))
    if isinstance(spec.min_available, int):
        return len(pods.by_name), spec.min_available
    if spec.min_available is not None:
        expected = _total_scale(pods, scales)
        return expected, _share(spec.min_available, expected)
    return 0, 0


def _total_scale(pods: BudgetedPods, scales: Scales) -> int:
    """The sum over distinct workloads; pods that nothing controls are left out."""
    found = (scales.behind(pod) for pod in pods.one_of_each_controller())
    return sum({key_of(scale.workload): scale.replicas for scale in found if scale is not None}.values())


def _share(number: int | str, total: int) -> int:
    """A count as it is; a percentage of the total, rounded up."""
    if isinstance(number, int):
        return number
    digits = number.removesuffix("%")
    if digits == number or not digits.removeprefix("-").isdecimal():
        raise SyncFailed(f'invalid value for IntOrString: invalid type: string is not a percentage: "{number}"')
    return -(-int(digits) * total // 100)


def _is_healthy(pod: Pod) -> bool:
    if pod.metadata.deletion_timestamp is not None:
        return False
    return is_ready(pod)


def _reference(pod: Pod) -> _Reference | None:
    reference = controller_reference(pod.metadata)
    return None if reference is None else (reference.api_version, reference.kind, reference.name, reference.uid)


def _still_disrupted(budget: PodDisruptionBudget, pods: BudgetedPods, now: int | None) -> dict[str, str | None]:
    """Evictions granted lately whose pods have not begun to go; they count as gone already."""
    if budget.status is None:
        return {}
    return {
        name: since
        for name, since in budget.status.disrupted_pods.items()
        if (pod := pods.by_name.get(name)) is not None
        and pod.metadata.deletion_timestamp is None
        and (now is None or not since or now - parse_time(since) <= DISRUPTED_FOR_NS)
    }


def _failed(budget: PodDisruptionBudget, message: str) -> PodDisruptionBudgetStatus:
    condition = _condition(budget, False, "SyncFailed")
    condition.message = message
    return PodDisruptionBudgetStatus(observed_generation=budget.metadata.generation, conditions=[condition])


def _condition(budget: PodDisruptionBudget, holds: bool, reason: str) -> Condition:
    return Condition(
        type="DisruptionAllowed",
        status="True" if holds else "False",
        reason=reason,
        observed_generation=budget.metadata.generation,
    )


class _PodsByLabels:
    """Pods of each namespace under their labels, so that a selector is asked once for each set of labels."""

    def __init__(self, pods: Iterable[Pod]) -> None:
        self._namespaces: dict[str, dict[tuple[tuple[str, str], ...], list[Pod]]] = {}
        for pod in pods:
            labels = tuple(sorted(pod.metadata.labels.items()))
            self._namespaces.setdefault(pod.metadata.namespace, {}).setdefault(labels, []).append(pod)

    def selected(self, namespace: str, selector: CompiledSelector) -> list[Pod]:
        return [
            pod
            for labels, pods in self._namespaces.get(namespace, {}).items()
            if selector.matches(dict(labels))
            for pod in pods
        ]
