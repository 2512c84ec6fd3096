"""Looks at running pods: what evicts each of them, decided with probes.

A threshold is a pair of decisions: a probe that must run on the pod's node and asks for so much evicts the pod, and one
that asks for one unit less does not. Only preemption counts here; drains, failing nodes and the kubelet's own evictions
do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from bayplan.admission.priority import PREEMPT_LOWER_PRIORITY, PriorityClasses
from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.exposure.answer import BudgetCover, Danger, GroupExposure, PodExposure, Threshold
from bayplan.analysis.answers.exposure.probing import Amounts, Probing
from bayplan.analysis.answers.exposure.turns import NEVER, Turns, smallest_request, turns
from bayplan.analysis.answers.owners import short_name, workload_of
from bayplan.core.columns import row_array
from bayplan.core.columns.resources import PODS_NAME
from bayplan.core.groups.feasible import min_count
from bayplan.core.preemption.budgets import is_covered
from bayplan.core.preemption.units import unit_priority
from bayplan.model.cluster import PriorityClass
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod
from bayplan.model.well_known import DEFAULT_NAMESPACE

#: No pod can have a higher priority.
PRIORITY_MAX = PriorityClasses([]).by_value()[-1].value


class Exposing:
    """Looks at pods of one cluster."""

    def __init__(self, asking: Asking) -> None:
        self._cache = asking.cache()
        self._view = self._cache.view()
        profiles = list(asking.profiles.values())
        preempting = [profile for profile in profiles if profile.preempts]
        self._preempts = bool(preempting)
        self._probing = Probing(self._cache, [*preempting, *profiles][0])
        objects = asking.cluster.objects
        self.ownership = asking.cluster.ownership
        classes = PriorityClasses(obj for obj in objects if isinstance(obj, PriorityClass)).by_value()
        self._classes = [each for each in classes if (each.preemption_policy or PREEMPT_LOWER_PRIORITY) != "Never"]

    def classes_above(self, priority: int) -> list[PriorityClass]:
        """Those that preempt, lowest first."""
        return [each for each in self._classes if each.value > priority]

    def priority_of(self, pod: Pod) -> int:
        """What a preemptor has to outrank: of a pod in a pod group, where there are groups, the group's priority."""
        row = self._cache.pods.rows_by_key.get(object_key(pod))
        if row is None or not self._cache.gates.generic_workload:
            return priority_of(pod)
        return unit_priority(self._view, row)

    def group_of(self, key: str) -> GroupExposure | None:
        """What is to be known of a pod group; None if there is none of that name."""
        namespace, _, name = key.partition("/")
        group = self._view.objects.pod_groups.get((namespace, name))
        if group is None:
            return None
        mode = group.spec.disruption_mode
        return GroupExposure(
            group=key,
            priority=group.spec.priority or 0,
            goes_as_a_whole=mode is not None and mode.all is not None,
            running=len(self._cache.pods.scheduled_members(key)),
            needed=min_count(group),
        )

    # Where to look.

    def ranked(self, pods: Iterable[Pod]) -> list[Pod]:
        """By how little a preemptor that just outranks them must ask for, as far as arithmetic tells."""
        by_priority: dict[int, list[Pod]] = {}
        for pod in pods:
            by_priority.setdefault(self.priority_of(pod), []).append(pod)
        shares: list[tuple[float, str, Pod]] = []
        for priority, same in by_priority.items():
            share_of = self._shares(priority + 1, {pod.spec.node_name for pod in same})
            shares += [(share_of.get(object_key(pod), float("inf")), object_key(pod), pod) for pod in same]
        return [pod for _, _, pod in sorted(shares, key=lambda entry: entry[:2])]

    def _shares(self, priority: int, nodes: Iterable[str]) -> dict[str, float]:
        """Pod -> the smallest share of its node that a preemptor of this priority must ask for."""
        view = self._view
        found = self._turns(priority, nodes)
        offered = view.nodes.allocatable[view.pods.node_rows[found.pod_rows]].clip(1)
        shares = (found.amounts / offered).min(axis=1, initial=float("inf"))
        shares[found.crowded] = 0.0
        return {view.pods.keys[row]: share for row, share in zip(found.pod_rows.tolist(), shares.tolist(), strict=True)}

    def _turns(self, priority: int, nodes: Iterable[str]) -> Turns:
        view = self._view
        rows = sorted(row for row in map(view.nodes.rows_by_name.get, nodes) if row is not None)
        alive = row_array([row for row in rows if view.nodes.alive[row]])
        return turns(self._probing.info(priority, {}, DEFAULT_NAMESPACE), view, alive)

    # What is so.

    def look_at(self, pod: Pod, *, by_class: bool = False) -> PodExposure:
        """Decide what evicts the pod; `by_class` for each PriorityClass that outranks it as well."""
        key, priority = object_key(pod), self.priority_of(pod)
        workload = short_name(workload_of(pod, self.ownership))
        reason = self._out_of_reach(pod)
        if reason:
            nothing = Danger(priority + 1, "", ())
            return PodExposure(key, workload, pod.spec.node_name, priority, nothing, reason=reason)
        at = self._turns(priority + 1, [pod.spec.node_name])
        place = at.place_of(self._cache.pods.rows_by_key[key])
        lowest = Danger(priority + 1, "", self._thresholds(pod, priority + 1))
        ports = tuple(self._host_ports(pod, priority + 1))
        return PodExposure(
            pod=key,
            workload=workload,
            node=pod.spec.node_name,
            priority=priority,
            lowest=lowest,
            host_ports=ports,
            spared_after=int(at.spared_after[place]),
            budgets=tuple(self._budgets(pod)),
            protected=bool(at.protected[place]),
            classes=tuple(self._of_class(pod, each) for each in self.classes_above(priority)) if by_class else (),
            reason="" if lowest.thresholds or ports else "evicting it frees nothing that a preemptor could need",
        )

    def _out_of_reach(self, pod: Pod) -> str:
        """Why nothing can evict the pod, whatever it asks for; "" if something may."""
        nodes, row = self._view.nodes, self._view.nodes.rows_by_name.get(pod.spec.node_name)
        if row is None or not nodes.alive[row]:
            return f"its node {pod.spec.node_name} is not in the input"
        if not self._preempts:
            return "no profile of this configuration preempts"
        if self.priority_of(pod) >= PRIORITY_MAX:
            return "no priority is higher than its own"
        if self._cache.pods.foreign[self._cache.pods.rows_by_key[object_key(pod)]]:
            return f"its scheduler is {pod.spec.scheduler_name!r}, whose pods are not evicted for others"
        return ""

    def _of_class(self, pod: Pod, priority_class: PriorityClass) -> Danger:
        """What pods of the class can do, on the pod's node and if they may go anywhere."""
        priority = priority_class.value
        thresholds = self._thresholds(pod, priority)
        unpinned = None
        if thresholds:
            amounts = _amounts(thresholds[0].resource, thresholds[0].amount)
            unpinned = self._probing.decide(self._probing.info(priority, amounts, pod.metadata.namespace))
        return Danger(priority, priority_class.metadata.name, thresholds, unpinned)

    def _thresholds(self, pod: Pod, priority: int) -> tuple[Threshold, ...]:
        """For each resource the pod takes, the smallest share of the node first."""
        key, node_row = object_key(pod), self._view.nodes.rows_by_name[pod.spec.node_name]

        def victims(resource: str, amount: int) -> tuple[str, ...]:
            amounts = _amounts(resource, amount)
            return self._probing.on_node(pod.spec.node_name, priority, amounts, pod.metadata.namespace)

        def evicts(resource: str, amount: int) -> bool:
            return key in victims(resource, amount)

        gone = victims(PODS_NAME, 1)
        if key in gone:  # the node has as many pods as it may have
            return (Threshold(PODS_NAME, 1, 1 / max(1, int(self._view.nodes.allowed_pods[node_row])), gone),)
        at = self._turns(priority, [pod.spec.node_name])
        place = at.place_of(self._cache.pods.rows_by_key[key])
        keys = self._cache.pods.keys
        leave_anyway = {turn for turn, row in enumerate(at.pod_rows.tolist()) if keys[row] in gone}
        found = []
        for column, asked in enumerate(at.requests[place].tolist()):
            offered = int(self._view.nodes.allocatable[node_row, column])
            if not asked or not offered:
                continue
            expected = smallest_request(at, place, column, set() if at.crowded.any() else leave_anyway)
            if expected == NEVER:
                expected = offered
            resource = self._cache.resources.values[column]
            amount = _smallest(partial(evicts, resource), expected, offered)
            if amount is not None:
                found.append(Threshold(resource, amount, amount / offered, victims(resource, amount)))
        return tuple(sorted(found, key=lambda threshold: threshold.share))

    def _host_ports(self, pod: Pod, priority: int) -> Iterator[str]:
        """Those of the pod for which a preemptor of this priority evicts it."""
        for container in (*pod.spec.containers, *pod.spec.init_containers):
            for port in container.ports:
                if port.host_port and object_key(pod) in self._probing.for_port(
                    pod.spec.node_name, priority, port, pod.metadata.namespace
                ):
                    yield f"{port.host_port}/{port.protocol or 'TCP'}"

    def _budgets(self, pod: Pod) -> Iterator[BudgetCover]:
        for (namespace, name), budget in self._view.objects.budgets.items():
            if namespace == pod.metadata.namespace and is_covered(budget, pod.metadata.labels):
                yield BudgetCover(f"{namespace}/{name}", budget.status.disruptions_allowed if budget.status else 0)


def priority_of(pod: Pod) -> int:
    return pod.spec.priority or 0


def _amounts(resource: str, amount: int) -> Amounts:
    """What a probe asks for; every pod takes the place of one."""
    return {} if resource == PODS_NAME else {resource: amount}


def _smallest(evicts: Callable[[int], bool], expected: int, most: int) -> int | None:
    """An amount that evicts while one less does not; 0 does not. None if nothing up to `most` is seen to."""
    if evicts(expected):
        if expected == 1 or not evicts(expected - 1):
            return expected
        most = expected
    elif not evicts(most):
        return None
    # Something else than room plays a part here, such as a rule against being together.
    too_little = 0
    while most - too_little > 1:
        middle = (too_little + most) // 2
        if evicts(middle):
            most = middle
        else:
            too_little = middle
    return most


def most_exposed_first(found: Sequence[PodExposure]) -> list[PodExposure]:
    return sorted(found, key=lambda each: (each.share, each.pod))
