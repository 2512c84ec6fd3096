"""What the members of a group must have in common before any of them is tried."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.profile import Profile
from bayplan.model.groups import PodGroup
from bayplan.model.pod import Pod
from bayplan.model.selectors import quoted


@dataclass(slots=True)
class _Common:
    """What all pods so far agree on."""

    scheduler_name: str
    priority: int
    policy: str | None  # None: that of the first pod
    of_group: bool  # the policy is the group's

    def fault(self, pod: Pod) -> str:
        """Why the pod cannot belong to the group, "" if it can."""
        spec = pod.spec
        if spec.scheduler_name != self.scheduler_name:
            names = f"{quoted(spec.scheduler_name)} and {quoted(self.scheduler_name)}"
            return f"all pods in a single pod group should have the same .spec.schedulerName set, got: {names}"
        if (spec.priority or 0) != self.priority:
            return (
                "all pods in a single pod group should have the same priority as the pod group's priority, "
                f"got {spec.priority or 0} and {self.priority}"
            )
        policy = _policy(spec.preemption_policy)
        if self.policy is None:
            self.policy = policy
        elif policy != self.policy:
            whose = " as the pod group's preemption policy" if self.of_group else ""
            return (
                f"all pods in a single pod group should have the same preemption policy{whose}, "
                f"got {policy} and {self.policy}"
            )
        return ""


def fault_in(
    group: PodGroup,
    members: Sequence[Pod],
    scheduled: Iterable[Pod],
    profiles: Mapping[str, Profile],
    gates: FeatureGates,
) -> str:
    """Why the group cannot be tried, "" if it can. There is at least one member."""
    name, of_group = members[0].spec.scheduler_name, gates.pod_group_preemption_policy
    policy = _policy(group.spec.preemption_policy) if of_group else None
    common = _Common(name, group.spec.priority or 0, policy, of_group)
    for pod in (*members, *scheduled):
        fault = common.fault(pod)
        if fault:
            return fault
    return "" if name in profiles else f"profile not found for scheduler name {quoted(name)}"


def _policy(written: str | None) -> str:
    return written or "PreemptLowerPriority"
