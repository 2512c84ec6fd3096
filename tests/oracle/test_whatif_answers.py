"""`whatif` against placing everything again from scratch, with the change and without it."""

from __future__ import annotations

from collections import Counter

from hypothesis import event, given
from tests.oracle.preemption_clusters import World
from tests.oracle.settling_clusters import SlowCourse, names_of, plain, settings_of

from bayplan.model.pod import Pod


@given(settings_of())
def test_every_pod_said_to_be_evicted_is_evicted_by_place_and_no_other(setting: tuple[World, list[Pod]]) -> None:
    world, (new, *waiting) = setting
    without, with_change = SlowCourse(world, waiting), SlowCourse(world, [*waiting, new])
    cluster = without.cluster()
    without.settle()
    with_change.settle()

    found = cluster.whatif([plain(new)], foreign_victims=without.foreign_victims)

    event(f"evicted anyway: {len(without.evicted) > 0}, because of the change: {min(3, len(found.evicted))}")
    anyway = Counter(pod for pod, _ in without.evicted)
    assert [(each.pod, each.by) for each in found.evicted] == [
        (pod, by) for pod, by in with_change.evicted if not _was_so(anyway, pod)
    ]
    before, after = without.where(), with_change.where()
    waited, waits = names_of(without.waiting), names_of(with_change.waiting)
    assert {each.pod: each.node_after for each in found.placed} == {
        pod: node for pod, node in after.items() if pod not in before
    }
    assert {each.pod: (each.node_before, each.node_after) for each in found.moved} == {
        pod: (before[pod], node) for pod, node in after.items() if before.get(pod, node) != node
    }
    assert {each.pod for each in found.pending} == waits - waited
    assert {each.pod for each in found.lost} == {*before, *waited} - {*after, *waits}


def _was_so(anyway: Counter[str], pod: str) -> bool:
    anyway[pod] -= 1
    return anyway[pod] >= 0
