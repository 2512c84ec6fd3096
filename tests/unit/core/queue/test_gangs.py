"""When a gang may enter the queue."""

from __future__ import annotations

import pytest

from bayplan.core.queue.gangs import may_gang_enter
from bayplan.model.groups import EmptyPart, GangPolicy, GroupSchedulingPolicy, PodGroup, PodGroupSpec

MISSING = 'waiting for pods\'s pod group "g" to appear in scheduling queue'
TOO_FEW = "waiting for minCount pods from a gang to appear in scheduling queue"


def group(policy: GroupSchedulingPolicy) -> PodGroup:
    return PodGroup(spec=PodGroupSpec(scheduling_policy=policy))


GANG = group(GroupSchedulingPolicy(gang=GangPolicy(min_count=3)))
BASIC = group(GroupSchedulingPolicy(basic=EmptyPart()))


@pytest.mark.parametrize(
    ("known", "pod_count", "said"), [(None, 9, MISSING), (GANG, 2, TOO_FEW), (GANG, 3, ""), (BASIC, 1, "")]
)
def test_a_gang_waits_for_its_group_and_for_enough_pods(known: PodGroup | None, pod_count: int, said: str) -> None:
    status = may_gang_enter("g", known, pod_count)
    assert status.ok is not bool(said)
    assert status.message == said
