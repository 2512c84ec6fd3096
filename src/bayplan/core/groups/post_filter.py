"""The PodGroupPostFilter chain: what is tried when a group does not fit, and what is said about it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bayplan.core.actions import Action
from bayplan.core.columns import IntArray, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.args import DEFAULT_PREEMPTION
from bayplan.core.framework.contract import Skip, State
from bayplan.core.framework.group_contract import GroupProposal, PodGroupInfo, PodGroupPostFiltered
from bayplan.core.framework.verdict import Code, CycleError, Status, unschedulable
from bayplan.core.groups.member import Tried
from bayplan.core.groups.placements import find_placement
from bayplan.core.groups.placing import GroupStage
from bayplan.core.groups.preempting import GroupPreemption, name_victims, preempt
from bayplan.core.preemption.post_filter import codes_of
from bayplan.core.snapshot import View


@dataclass(slots=True)
class FailedGroup:
    """A `GroupFailure`, with what preemption found."""

    stage: GroupStage
    tried: Sequence[Tried]
    preemption: GroupPreemption = field(default_factory=lambda: GroupPreemption(unschedulable()))
    proposal: GroupProposal | None = None  # that of preemption

    @property
    def info(self) -> PodGroupInfo:
        return self.stage.info

    @property
    def view(self) -> View:
        return self.stage.cache.view()

    @property
    def is_constrained(self) -> bool:
        divides = self.stage.cache.gates.topology_aware_workload_scheduling
        return divides and self.stage.group.spec.scheduling_constraints is not None

    def reached(self, plugin: str) -> bool:
        return any(plugin in each.reached for each in self.tried)

    def state_of(self, plugin: str, pod: PodInfo) -> State | Skip | None:
        tried = next((each for each in self.tried if each.member.key == pod.key), None)
        return None if tried is None else tried.states.get(plugin)

    def codes_of(self, plugin: str, pod: PodInfo) -> IntArray:
        filtered = next((each.filtered for each in self.tried if each.member.key == pod.key), None)
        return row_array([]).astype(np.int64) if filtered is None else codes_of(filtered, plugin)

    def nodes_without(self, victim_rows: Collection[int]) -> Mapping[str, str] | None:
        cache = self.stage.cache
        with cache.trial():
            for row in victim_rows:
                cache.remove_row(row)
            found = find_placement(replace(self.stage, decider=None)).placed
        return {each.member.key: each.node for each in found.assigned} if found.status.ok else None

    def preempt(self) -> PodGroupPostFiltered:
        try:
            found = preempt(self.stage)
        except CycleError as error:
            found = GroupPreemption(Status(Code.ERROR, (error.message,)))
        said = f"pod group preemption: {found.status.message}"
        found.status = Status(found.status.code, (said,), DEFAULT_PREEMPTION)
        self.preemption = found
        rows = self.stage.cache.pods.rows_by_key
        self.proposal = GroupProposal([rows[key] for key in found.victims], found.proposed)
        return PodGroupPostFiltered(found.status, self.proposal)

    def take(self, said: PodGroupPostFiltered, status: Status) -> GroupPreemption:
        """What a plugin that ends the chain has found, which may not be what preemption did."""
        found = self.preemption
        if said.found is not self.proposal:
            found = self.preemption = GroupPreemption(status, ran=said.found is not None)
            if said.found is not None:
                name_victims(found, self.view, said.found.victim_rows)
                found.proposed = dict(said.found.nodes)
        found.status = status
        return found


def run_group_post_filters(stage: GroupStage, tried: Sequence[Tried]) -> GroupPreemption:
    """Ask the plugins in order until one succeeds or fails for good; the status is that of all together."""
    reasons: list[str] = []
    failure = FailedGroup(stage, tried)
    actions: list[Action] = []
    found: GroupPreemption | None = None
    for plugin in stage.profile.groups.post_filter:
        said = plugin.pod_group_post_filter(failure)
        actions += said.actions
        status = said.status
        if status.code is Code.ERROR:
            text = f'error in "{plugin.name}" PodGroupPostFilter plugins: {status.message}'
            found = failure.take(said, Status(Code.ERROR, (text,), plugin.name))
        elif status.code is not Code.UNSCHEDULABLE:
            found = failure.take(said, status)
        if found is not None:
            break
        reasons += status.reasons
    if found is None:
        found = failure.preemption
        found.status = unschedulable(*reasons)
    found.actions = tuple(actions)
    return found
