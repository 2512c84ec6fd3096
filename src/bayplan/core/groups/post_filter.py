"""The PodGroupPostFilter chain: what is tried when a group does not fit, and what is said about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bayplan.core.framework.args import DEFAULT_PREEMPTION
from bayplan.core.framework.verdict import Code, CycleError, Status, unschedulable
from bayplan.core.groups.member import Tried
from bayplan.core.groups.placing import GroupStage
from bayplan.core.groups.preempting import GroupPreemption, preempt


@dataclass(slots=True)
class _FailedGroup:
    """A `GroupFailure`, with what preemption found."""

    stage: GroupStage
    tried: Sequence[Tried]
    preemption: GroupPreemption = field(default_factory=lambda: GroupPreemption(unschedulable()))

    @property
    def is_constrained(self) -> bool:
        divides = self.stage.cache.gates.topology_aware_workload_scheduling
        return divides and self.stage.group.spec.scheduling_constraints is not None

    def reached(self, plugin: str) -> bool:
        return any(plugin in each.reached for each in self.tried)

    def preempt(self) -> Status:
        try:
            found = preempt(self.stage)
        except CycleError as error:
            found = GroupPreemption(Status(Code.ERROR, (error.message,)))
        said = f"pod group preemption: {found.status.message}"
        found.status = Status(found.status.code, (said,), DEFAULT_PREEMPTION)
        self.preemption = found
        return found.status


def run_group_post_filters(stage: GroupStage, tried: Sequence[Tried]) -> GroupPreemption:
    """Ask the plugins in order until one succeeds or fails for good; the status is that of all together."""
    reasons: list[str] = []
    failure = _FailedGroup(stage, tried)
    for plugin in stage.profile.groups.post_filter:
        status = plugin.pod_group_post_filter(failure)
        result = failure.preemption
        if status.code is Code.ERROR:
            text = f'error in "{plugin.name}" PodGroupPostFilter plugins: {status.message}'
            result.status = Status(Code.ERROR, (text,), plugin.name)
            return result
        if status.code is not Code.UNSCHEDULABLE:
            return result
        reasons += status.reasons
    failure.preemption.status = unschedulable(*reasons)
    return failure.preemption
