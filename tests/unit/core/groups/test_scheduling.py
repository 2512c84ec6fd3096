"""What a scheduler does about a group: everything at once, and nothing by halves."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles, queue_order
from bayplan.config.releases import RELEASES
from bayplan.core.actions import Bind, Emit, Evict, SetCondition, SetGroupCondition
from bayplan.core.decision import Decision, Outcome
from bayplan.core.events import EvictAnswered, ObjectAdded
from bayplan.core.framework.group_contract import GroupFailure, GroupProposal, PodGroupPostFiltered
from bayplan.core.framework.verdict import SUCCESS, unschedulable
from bayplan.core.lifecycle import PodState
from bayplan.core.preemption.safety import UPSTREAM, PreemptionSafety
from bayplan.core.scheduler import Scheduler
from bayplan.model.groups import GangPolicy, GroupSchedulingPolicy, PodGroup, PodGroupSpec
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod, PodSchedulingGroup
from bayplan.model.time_units import SECOND
from bayplan.testing import builders as make

CONFIGURATION = load_configuration(None, "GenericWorkload=true", release=RELEASES["1.37"], with_groups=True)
PROFILES = build_profiles(CONFIGURATION)
NOW = 1_000 * SECOND


def scheduler_with(*objects: Object, safety: PreemptionSafety = UPSTREAM) -> Scheduler:
    scheduler = Scheduler(PROFILES, queue_order(PROFILES), started_at=NOW, gates=CONFIGURATION.gates, safety=safety)
    for each in objects:
        scheduler.observe(ObjectAdded(each), NOW)
    return scheduler


def gang(min_count: int, priority: int = 0) -> PodGroup:
    policy = GroupSchedulingPolicy(gang=GangPolicy(min_count=min_count))
    meta = ObjectMeta(name="g", namespace="default", uid="uid-g", generation=1)
    return PodGroup(metadata=meta, spec=PodGroupSpec(scheduling_policy=policy, priority=priority))


def member(name: str, cpu: str = "1", priority: int = 0) -> Pod:
    pod = make.pod(name).cpu(cpu).priority(priority).obj()
    pod.spec.scheduling_group = PodSchedulingGroup(pod_group_name="g")
    return pod


def decided(scheduler: Scheduler) -> Decision:
    decision = scheduler.decide(NOW + 1)
    assert decision is not None
    return decision


NODE = make.node("n").capacity(cpu="4", memory="8Gi", pods=10).obj()


def test_all_members_are_bound_in_one_decision() -> None:
    """The first of them waits at Permit for the second, and nobody is told of that."""
    decision = decided(scheduler_with(NODE, gang(2), member("a"), member("b")))
    assert (decision.group, decision.outcome) == ("default/g", Outcome.ASSUMED)
    assert [type(action) for action in decision.actions if not isinstance(action, Emit)] == [
        Bind,
        Bind,
        SetGroupCondition,
    ]
    assert [(each.pod, each.node) for each in decision.members] == [("default/a", "n"), ("default/b", "n")]


def test_a_gang_that_does_not_fit_goes_back_whole() -> None:
    scheduler = scheduler_with(NODE, gang(2), member("a", "3"), member("b", "3"))
    decision = decided(scheduler)
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert not any(isinstance(action, Bind) for action in decision.actions)
    assert [action.pod for action in decision.actions if isinstance(action, SetCondition)] == ["default/a", "default/b"]
    assert {queued.state for queued in scheduler.queue.resting.values()} == {PodState.BACKOFF}
    assert not scheduler.pods_on_the_way()


def test_a_condition_that_says_nothing_new_is_not_written() -> None:
    scheduler = scheduler_with(NODE, gang(2), member("a", "3"), member("b", "3"))
    decision = decided(scheduler)
    (written,) = [action for action in decision.actions if isinstance(action, SetGroupCondition)]
    assert written.status == "False"
    assert written.message.startswith("minCount (2) cannot be satisfied: 1 scheduled, 0 remaining")


def preempting(safety: PreemptionSafety = UPSTREAM) -> Scheduler:
    """Both pods on the node have to go."""
    running = [make.pod(name).cpu("1500m").node("n").priority(1).obj() for name in ("low", "lower")]
    members = [member(name, "2", priority=5) for name in ("a", "b")]
    return scheduler_with(NODE, *running, gang(2, priority=5), *members, safety=safety)


def places(scheduler: Scheduler) -> set[PodState]:
    return {queued.state for queued in scheduler.queue.resting.values()}


def test_a_preempting_gang_is_gated_until_its_evictions_are_answered() -> None:
    scheduler = preempting()
    decision = decided(scheduler)
    assert decision.outcome is Outcome.NOMINATED
    first, last = (action for action in decision.actions if isinstance(action, Evict))
    assert first.note == "Preempted by podgroup uid-g on node cluster"
    assert first.condition_message == "default-scheduler: preempting to accommodate a higher priority podgroup"
    assert places(scheduler) == {PodState.GATED}
    assert {queued.gating_plugin for queued in scheduler.queue.resting.values()} == {"DefaultPreemption"}
    scheduler.observe(EvictAnswered(first.pod, first.uid), NOW + 2)
    assert places(scheduler) == {PodState.GATED}
    scheduler.observe(EvictAnswered(last.pod, last.uid), NOW + 3)
    assert places(scheduler) == {PodState.BACKOFF}


def test_an_eviction_that_fails_lets_the_gang_try_again_at_once() -> None:
    scheduler = preempting()
    for action in decided(scheduler).actions:
        if isinstance(action, Evict):
            scheduler.observe(EvictAnswered(action.pod, action.uid, "no"), NOW + 2)
    assert places(scheduler) == {PodState.ACTIVE}


def test_limits_of_preemption_hold_for_groups() -> None:
    scheduler = preempting(PreemptionSafety(evictions_per_minute=1))
    decision = decided(scheduler)
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert not any(isinstance(action, Evict) for action in decision.actions)
    assert not len(scheduler.queue.nominations)
    (written,) = [action for action in decision.actions if isinstance(action, SetGroupCondition)]
    assert written.message.endswith("evictions are limited to 1 a minute, and it takes 2.")


class FromTheSamePlace:
    """Takes the pods of one node, whatever their priority."""

    name: ClassVar[str] = "FromTheSamePlace"

    def pod_group_post_filter(self, failure: GroupFailure) -> PodGroupPostFiltered:
        pods = failure.view.nodes.pod_rows[0]
        nodes = failure.nodes_without(pods)
        if nodes is None:
            return PodGroupPostFiltered(unschedulable("nothing helps"))
        return PodGroupPostFiltered(SUCCESS, GroupProposal(pods, nodes))


def test_a_plugin_makes_room_for_a_group_in_its_own_way() -> None:
    """The old pod is as important as the group: no preemption would take it."""
    profile = PROFILES["default-scheduler"]
    profile = replace(profile, groups=replace(profile.groups, post_filter=(FromTheSamePlace(),)))
    profiles = {"default-scheduler": profile}
    scheduler = Scheduler(profiles, queue_order(profiles), started_at=NOW, gates=CONFIGURATION.gates)
    old = make.pod("old").cpu("3").node("n").obj()
    for each in (NODE, old, gang(2), member("a"), member("b")):
        scheduler.observe(ObjectAdded(each), NOW)
    decision = decided(scheduler)
    assert decision.outcome is Outcome.NOMINATED
    (eviction,) = [action for action in decision.actions if isinstance(action, Evict)]
    assert eviction.pod == "default/old"
    nominated = {each.pod: each.nominated_node for each in decision.actions if isinstance(each, SetCondition)}
    assert nominated == {"default/a": "n", "default/b": "n"}


def test_a_pod_alone_is_unschedulable_where_members_have_outlived_all_nodes() -> None:
    lost, alone = member("lost"), make.pod("alone").obj()
    lost.spec.node_name = "gone"
    decision = decided(scheduler_with(gang(1), lost, alone))
    assert (decision.pod, decision.message) == ("default/alone", "no nodes available to schedule pods")
