"""`drain` against evicting one pod after another from plain objects, and placing everything again each time."""

from __future__ import annotations

from hypothesis import event, given
from hypothesis import strategies as st
from tests.oracle.preemption_clusters import World, key_of
from tests.oracle.settling_clusters import SlowCourse, again, cordoned, covers, names_of, returns, settings_of
from tests.support.examples import examples

from bayplan.model.pod import Pod


def may_be_evicted(slow: SlowCourse, one: Pod) -> bool:
    covering = [each for each in slow.budgets if covers(each, one)]
    if one.status.phase == "Pending" or one.metadata.deletion_timestamp is not None or not covering:
        return True
    return len(covering) == 1 and slow.allowed(covering[0]) > 0


def drain(slow: SlowCourse, name: str) -> list[list[str]]:
    """What goes in each step."""
    slow.nodes[name] = cordoned(slow.nodes[name])
    steps: list[list[str]] = []
    while True:
        granted = []
        for key in sorted(names_of(slow.on[name])):
            one = next(each for each in slow.on[name] if key_of(each) == key)
            if may_be_evicted(slow, one):
                slow.take(key)
                granted.append(one)
                slow.waiting += [again(one)] if returns(one) else []
        if not granted:
            return steps
        steps.append([key_of(one) for one in granted])
        slow.settle()


@examples(40)
@given(settings_of(), st.booleans())
def test_a_drain_goes_as_evicting_and_placing_pod_by_pod(setting: tuple[World, list[Pod]], rolling: bool) -> None:
    world, waiting = setting
    slow = SlowCourse(world, waiting)
    cluster = slow.cluster()
    slow.settle()
    waited, evicted_before = names_of(slow.waiting), len(slow.evicted)
    names = [one.metadata.name for one in world.nodes][:2]

    found = cluster.drain(names, rolling=rolling, foreign_victims=slow.foreign_victims)

    if not rolling:
        slow.nodes |= {name: cordoned(slow.nodes[name]) for name in names}
    for drained in found.nodes:
        before = slow.nodes[drained.node]
        steps = drain(slow, drained.node)
        said = [[each.pod for each in drained.evictions if each.step == number] for number in range(1, len(steps) + 1)]
        assert said == steps
        assert {each.pod: each.node for each in drained.evictions if each.node} == {
            pod: node for pod, node in slow.where().items() if any(pod in step for step in steps)
        }
        assert {each.pod for each in drained.blocked} == names_of(slow.on[drained.node])
        if rolling and not drained.blocked:
            slow.nodes[drained.node] = before
            slow.settle()
    event(f"works: {found.works}, blocked: {any(each.blocked for each in found.nodes)}")
    assert [(each.pod, each.by) for each in found.preempted] == slow.evicted[evicted_before:]
    assert found.pending.keys() == names_of(slow.waiting) - waited
