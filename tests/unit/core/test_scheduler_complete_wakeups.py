"""What the scheduler itself says to its queue where no wake-up may be missed, and upstream's does not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.devices import asks, claim_of, device, device_class, slice_of

from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, VolumesAnswered
from bayplan.core.framework.requeue import Wakeups
from bayplan.core.lifecycle import PodState
from bayplan.core.scheduler import Scheduler
from bayplan.model.kinds import Object
from bayplan.model.time_units import SECOND
from bayplan.model.well_known import HOSTNAME
from bayplan.testing.builders import claim, namespace, node, pod, storage_class, volume

WAITS = "default/waits"


def tried_all(wakeups: Wakeups, *objects: Object) -> Scheduler:
    """A scheduler that has tried every pod; the one that waits is parked."""
    configuration = replace(load_configuration(None, release=DEFAULT_RELEASE), wakeups=wakeups)
    scheduler = build_scheduler(configuration, started_at=0)
    for obj in objects:
        scheduler.observe(ObjectAdded(obj), 0)
        while scheduler.decide(0) is not None:
            pass
    assert scheduler.queue.resting[WAITS].state is PodState.UNSCHEDULABLE
    return scheduler


LATE = storage_class("late", mode="WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner").obj()
CHOSEN = VolumesAnswered("default/first", "pod-default-first", "refused")
WANTED = pod("wanted").priority(10).cpu("4").labels(app="x")
HERMIT = pod("waits").priority(5).pod_anti_affinity(HOSTNAME, {"app": "x"})

CASES = [
    pytest.param(
        [
            node("n").obj(),
            device_class(),
            slice_of("n", device("d0")),
            claim_of("c1", asks("r")),
            claim_of("c2", asks("r")),
            pod("first").resource_claim("r", "c1").obj(),
            pod("waits").resource_claim("r", "c2").obj(),
        ],
        CHOSEN,
        id="devices that were meant for a pod are given back",
    ),
    pytest.param(
        [
            node("n").obj(),
            LATE,
            volume("v").storage_class("late").obj(),
            claim("c1").storage_class("late").obj(),
            claim("c2").storage_class("late").obj(),
            pod("first").claim("c1").obj(),
            pod("waits").claim("c2").obj(),
        ],
        CHOSEN,
        id="a volume that was meant for a pod is given back",
    ),
    pytest.param(
        [node("n").capacity(cpu="4", pods=9).obj(), pod("v").cpu("4").node("n").obj(), WANTED.obj(), HERMIT.obj()],
        ObjectChanged(WANTED.obj(), WANTED.labels(app="y").obj()),
        id="a pod for which a node is kept loses the label that keeps others away",
    ),
    pytest.param(
        [
            node("n").capacity(cpu="8", pods=9).obj(),
            pod("v").cpu("4").node("n").obj(),
            pod("large").priority(10).cpu("8").obj(),
            pod("waits").priority(5).cpu("2").obj(),
        ],
        ObjectChanged(pod("large").priority(10).cpu("8").obj(), pod("large").priority(10).cpu("2").obj()),
        id="a pod for which a node is kept asks for less",
    ),
    pytest.param(
        [
            node("n").obj(),
            pod("other", "blue").labels(app="a").node("n").obj(),
            pod("waits").pod_affinity(HOSTNAME, {"app": "a"}, namespace_selector={"team": "b"}).obj(),
        ],
        ObjectAdded(namespace("blue").labels(team="b").obj()),
        id="a namespace comes that a term selects",
    ),
]


@pytest.mark.parametrize("wakeups", Wakeups)
@pytest.mark.parametrize(("objects", "happens"), CASES)
def test_upstream_says_nothing_of_it(objects: list[Object], happens: Event, wakeups: Wakeups) -> None:
    scheduler = tried_all(wakeups, *objects)
    scheduler.observe(happens, SECOND)
    is_awake = scheduler.queue.resting[WAITS].state is not PodState.UNSCHEDULABLE
    assert is_awake is (wakeups is Wakeups.COMPLETE)
