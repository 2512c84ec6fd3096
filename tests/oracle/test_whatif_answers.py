"""`whatif` against placing everything again from scratch, with the change and without it."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy

from hypothesis import event, given
from hypothesis import strategies as st
from tests.oracle.preemption_clusters import HOST, World, key_of
from tests.oracle.settling_clusters import SlowCourse, again, names_of, plain, returns, settings_of
from tests.support.examples import examples

from bayplan.analysis.answers.course import DepartureCause
from bayplan.analysis.answers.whatif import WhatIf
from bayplan.model.pod import Pod


@examples(40)
@given(settings_of())
def test_every_pod_said_to_be_evicted_is_evicted_by_place_and_no_other(setting: tuple[World, list[Pod]]) -> None:
    world, (new, *waiting) = setting
    without, with_change = SlowCourse(world, waiting), SlowCourse(world, [*waiting, new])
    cluster = without.cluster()
    now = without.where(), names_of(without.waiting)
    without.settle()
    with_change.settle()

    found = cluster.whatif([plain(new)], foreign_victims=without.foreign_victims)

    event(f"evicted anyway: {len(without.evicted) > 0}, because of the change: {min(3, len(found.evicted))}")
    anyway = Counter(pod for pod, _ in without.evicted)
    assert [(each.pod, each.by) for each in found.evicted] == [
        (pod, by) for pod, by in with_change.evicted if not _was_so(anyway, pod)
    ]
    _check_ends(found, now, without, with_change)


def _check_ends(
    found: WhatIf, now: tuple[dict[str, str], set[str]], without: SlowCourse, with_change: SlowCourse
) -> None:
    """Every pod is where it is now and where it is in the end, with the change and without it, and in one list only."""
    here, pending = now
    before, after = without.where(), with_change.where()
    waited, waits = names_of(without.waiting), names_of(with_change.waiting)
    ending = (*found.placed, *found.moved, *found.indirect)
    assert {each.pod: (each.node_without, each.node_after) for each in ending} == {
        pod: (before.get(pod, ""), node) for pod, node in after.items() if before.get(pod) != node
    }
    fates = [*ending, *found.pending, *found.lost]
    assert len({each.pod for each in fates}) == len(fates)
    assert all(each.node_before == here.get(each.pod, "") for each in fates)
    assert {each.pod for each in found.placed} == {
        each.pod
        for each in ending
        if each.pod not in here and (each.pod in pending) == (each.pod in waited) and each.pod not in before
    }
    assert {each.pod for each in found.moved} == {
        each.pod for each in ending if each.pod in here and here[each.pod] == before.get(each.pod)
    }
    assert {each.pod for each in found.evicted}.isdisjoint(each.pod for each in found.removed)
    assert {each.pod for each in found.pending} == waits - waited
    assert {each.pod for each in found.lost} == {*before, *waited} - {*after, *waits}


@examples(40)
@given(settings_of(), st.data())
def test_what_follows_when_a_node_and_a_pod_are_deleted_and_a_node_is_added(
    setting: tuple[World, list[Pod]], data: st.DataObject
) -> None:
    world, waiting = setting
    gone, template = data.draw(st.sampled_from(world.nodes)), data.draw(st.sampled_from(world.nodes))
    deleted = data.draw(st.sampled_from(world.pods))
    without, with_change = SlowCourse(world, waiting), SlowCourse(world, waiting)
    cluster = without.cluster()
    now = without.where(), names_of(without.waiting)
    without.settle()
    added = deepcopy(template)
    added.metadata.name = added.metadata.labels[HOST] = f"{template.metadata.name}-0"
    del with_change.nodes[gone.metadata.name]
    with_change.nodes[added.metadata.name] = added
    lost = [*with_change.on[gone.metadata.name], *([deleted] if deleted.spec.node_name != gone.metadata.name else [])]
    for one in lost:
        with_change.take(key_of(one))
        with_change.waiting += [again(one)] if returns(one) else []
    with_change.settle()

    namespace, name = deleted.metadata.namespace, deleted.metadata.name
    found = cluster.whatif(
        delete=[f"node/{gone.metadata.name}", f"{namespace}/pod/{name}"],
        add_nodes=[f"{template.metadata.name}=1"],
        foreign_victims=without.foreign_victims,
    )

    event(f"evicted for room: {any(each.cause is DepartureCause.PREEMPTED for each in found.evicted)}")
    anyway = Counter(pod for pod, _ in without.evicted)
    assert [(each.pod, each.by) for each in found.evicted if each.cause is DepartureCause.PREEMPTED] == [
        (pod, by) for pod, by in with_change.evicted if not _was_so(anyway, pod)
    ]
    _check_ends(found, now, without, with_change)


def _was_so(anyway: Counter[str], pod: str) -> bool:
    anyway[pod] -= 1
    return anyway[pod] >= 0
