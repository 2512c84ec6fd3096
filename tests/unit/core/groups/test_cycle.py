"""One attempt to schedule a group: what each pod and the group are told, and that nothing is left behind."""

from __future__ import annotations

from tests.support.caches import content_of

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import RELEASES
from bayplan.core.cache import Cache
from bayplan.core.groups.cycle import GroupAttempt, attempt_group
from bayplan.core.groups.member import Member
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod, PodSchedulingGroup
from bayplan.testing import builders as make

CONFIGURATION = load_configuration(None, "GenericWorkload=true", release=RELEASES["1.37"], with_groups=True)
PROFILES = build_profiles(CONFIGURATION)


def gang(name: str, min_count: int, priority: int = 0, *, whole: bool = False) -> PodGroup:
    made = make.pod_group(name).gang(min_count).priority(priority)
    return (made.disrupted_as_a_whole() if whole else made).obj()


def member(pod: Pod, group: str) -> Pod:
    pod.spec.scheduling_group = PodSchedulingGroup(pod_group_name=group)
    return pod


def cache_with(*objects: Object) -> Cache:
    cache = Cache(CONFIGURATION.gates)
    for each in objects:
        cache.add(each)
    return cache


def tried(cache: Cache, group: PodGroup, *pods: Pod) -> GroupAttempt:
    before = content_of(cache)
    attempt = attempt_group(cache, PROFILES, group, [Member(pod, cache.info(pod)) for pod in pods])
    assert content_of(cache) == before
    return attempt


def test_members_count_for_those_after_them() -> None:
    cache = cache_with(
        make.node("a").capacity(cpu="2", memory="8Gi", pods=10).obj(),
        make.node("b").capacity(cpu="2", memory="8Gi", pods=10).obj(),
    )
    pods = [member(make.pod(name).cpu("1500m").obj(), "g") for name in "xyz"]
    attempt = tried(cache, gang("g", 2), *pods)
    assert [each.node for each in attempt.outcomes] == ["a", "b", ""]
    assert attempt.condition is not None
    assert attempt.condition.status == "True"


def test_a_gang_that_is_too_large_gets_nothing() -> None:
    cache = cache_with(make.node("a").capacity(cpu="2", memory="8Gi", pods=10).obj())
    attempt = tried(cache, gang("g", 2), *[member(make.pod(name).cpu("1500m").obj(), "g") for name in "xy"])
    assert not attempt.bound
    assert attempt.condition is not None
    assert attempt.condition.message.startswith("minCount (2) cannot be satisfied: 1 scheduled, 0 remaining, ")
    assert attempt.outcomes[0].message.startswith("pod group is unschedulable, minCount (2) cannot be satisfied: ")
    assert attempt.outcomes[1].message == "0/1 nodes are available: 1 Insufficient cpu."


def test_pods_of_another_priority_than_their_group_are_an_error() -> None:
    cache = cache_with(make.node("a").obj())
    attempt = tried(cache, gang("g", 1, priority=5), member(make.pod("x").obj(), "g"))
    assert attempt.root.failed
    assert "got 0 and 5" in attempt.outcomes[0].message


def test_a_whole_group_goes_or_stays() -> None:
    """A pod of it would be enough, and the other one is on a node that nobody wants."""
    old = gang("old", 2, whole=True)
    running = [member(make.pod(f"o{name}").cpu("1500m").running(name).obj(), "old") for name in "ab"]
    cache = cache_with(
        make.node("a").capacity(cpu="2", memory="8Gi", pods=10).obj(),
        make.node("b").capacity(cpu="2", memory="8Gi", pods=10).obj(),
        old,
        *running,
    )
    attempt = tried(cache, gang("g", 1, priority=9), member(make.pod("x").priority(9).cpu("1").obj(), "g"))
    assert attempt.preemption is not None
    assert attempt.preemption.evicted == ["default/oa", "default/ob"]
    assert attempt.preemption.proposed == {"default/x": "a"}


def test_pods_of_a_group_that_is_not_whole_go_one_by_one() -> None:
    old = gang("old", 2)
    running = [member(make.pod(f"o{name}").cpu("1500m").running(name).obj(), "old") for name in "ab"]
    cache = cache_with(
        make.node("a").capacity(cpu="2", memory="8Gi", pods=10).obj(),
        make.node("b").capacity(cpu="2", memory="8Gi", pods=10).obj(),
        old,
        *running,
    )
    attempt = tried(cache, gang("g", 1, priority=9), member(make.pod("x").priority(9).cpu("1").obj(), "g"))
    assert attempt.preemption is not None
    assert attempt.preemption.evicted == ["default/oa"]


def test_a_whole_group_on_a_missing_node_stops_all_preemption() -> None:
    old = gang("old", 1, priority=99, whole=True)
    lost = member(make.pod("lost").running("gone").obj(), "old")
    alive = member(make.pod("alive").running("a").obj(), "old")
    cache = cache_with(make.node("a").capacity(cpu="1", memory="8Gi", pods=10).obj(), old, lost, alive)
    attempt = tried(cache, gang("g", 1, priority=9), member(make.pod("x").priority(9).cpu("2").obj(), "g"))
    assert attempt.condition is not None
    assert attempt.condition.reason == "SchedulerError"
    assert 'nodeinfo not found for node name "gone"' in attempt.condition.message
