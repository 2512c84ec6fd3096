"""Before a pod is bound all its claims are: those it names, and those of its generic ephemeral volumes.

A pod whose claims cannot be bound as it was decided is tried again at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.core.actions import Action, Bind, SetCondition, WriteVolumes
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved, VolumesAnswered
from bayplan.core.plugins.volume_claims import BIND_COMPLETED
from bayplan.core.scheduler import Scheduler
from bayplan.model.pod import Pod
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim
from bayplan.model.time_units import SECOND
from bayplan.testing.builders import claim, node, pod, storage_class, volume

CLASS = storage_class("disk", mode="WaitForFirstConsumer").obj()


def bound(one: Any) -> Any:
    """As the volume controller writes it."""
    meta = replace(one.metadata, annotations={**one.metadata.annotations, BIND_COMPLETED: "yes"})
    return replace(one, metadata=meta, spec=replace(one.spec, volume_name=f"pv-{meta.name}"))


def actions_of(scheduler: Scheduler) -> list[Action]:
    found: list[Action] = []
    while (decision := scheduler.decide(0)) is not None:
        found += decision.actions
    return found


def test_an_ephemeral_claim_is_waited_for() -> None:
    """The pod goes on when the last of its claims is bound, whichever it is."""
    user: Pod = pod("web").claim("data").ephemeral("scratch").obj()
    named = claim("data").storage_class("disk").obj()
    ephemeral = claim("web-scratch").storage_class("disk").owner(pod("web")).obj()
    scheduler = build_scheduler(load_configuration(None, release=DEFAULT_RELEASE), started_at=0)
    for one in (node("n").obj(), CLASS, named, ephemeral, user):
        scheduler.observe(ObjectAdded(one), 0)
    (written,) = (action for action in actions_of(scheduler) if isinstance(action, WriteVolumes))
    selected = {one.metadata.name: one for one in written.objects}
    assert set(selected) == {"data", "web-scratch"}
    scheduler.observe(VolumesAnswered(written.pod, written.uid, ""), 0)
    scheduler.observe(ObjectChanged(named, bound(selected["data"])), 0)
    assert actions_of(scheduler) == []
    scheduler.observe(ObjectChanged(ephemeral, bound(selected["web-scratch"])), 0)
    assert actions_of(scheduler) == [Bind("default/web", user.metadata.uid, "n")]


def waiting_pod(configuration: dict[str, Any] | None = None) -> tuple[Scheduler, PersistentVolumeClaim]:
    """A scheduler whose only pod waits on its node for a volume to be made; the claim as it was written."""
    scheduler = build_scheduler(load_configuration(configuration, release=DEFAULT_RELEASE), started_at=0)
    named = claim("data").storage_class("disk").obj()
    for one in (node("n").obj(), CLASS, named, pod("web").claim("data").obj()):
        scheduler.observe(ObjectAdded(one), 0)
    (written,) = (action for action in actions_of(scheduler) if isinstance(action, WriteVolumes))
    (selected,) = written.objects
    assert isinstance(selected, PersistentVolumeClaim)
    scheduler.observe(VolumesAnswered(written.pod, written.uid, ""), 0)
    scheduler.observe(ObjectChanged(named, selected), 0)
    assert actions_of(scheduler) == []
    return scheduler, selected


def test_volumes_are_waited_for_as_long_as_the_configuration_says() -> None:
    arguments = {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 30}}
    scheduler, _ = waiting_pod(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"pluginConfig": [arguments]}],
        }
    )
    assert scheduler.wake_at() == 30 * SECOND
    decision = scheduler.decide(30 * SECOND)
    assert decision is not None
    (condition,) = (action for action in decision.actions if isinstance(action, SetCondition))
    assert condition.message == 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'


def without_selected_node(one: PersistentVolumeClaim, **annotations: str) -> PersistentVolumeClaim:
    return replace(one, metadata=replace(one.metadata, annotations=annotations))


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        pytest.param(
            lambda selected: ObjectChanged(selected, without_selected_node(selected)),
            'selectedNode annotation reset for PVC "data"',
            id="annotations-are-gone",
        ),
        pytest.param(
            lambda selected: ObjectChanged(selected, without_selected_node(selected, other="x")),
            'provisioning failed for PVC "data"',
            id="the-driver-gives-the-node-back",
        ),
        pytest.param(
            ObjectRemoved,
            'failed to check provisioning pvc: could not find v1.PersistentVolumeClaim "default/data"',
            id="the-claim-is-deleted",
        ),
        pytest.param(
            lambda _: ObjectRemoved(node("n").obj()),
            'failed to get node "n": node "n" not found',
            id="the-node-goes",
        ),
    ],
)
def test_a_pod_whose_volume_will_never_come_is_tried_again(
    happens: Callable[[PersistentVolumeClaim], Event], reason: str
) -> None:
    """It does not sit out the ten minutes that a volume may take."""
    scheduler, selected = waiting_pod()
    scheduler.observe(happens(selected), 0)
    refused = [action for action in actions_of(scheduler) if isinstance(action, SetCondition)]
    assert refused[0].message == f'running PreBind plugin "VolumeBinding": binding volumes: {reason}'
    assert scheduler.pods_on_the_way() == []


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        pytest.param(
            ObjectRemoved,
            'failed to check binding: could not find v1.PersistentVolume "pv"',
            id="deleted",
        ),
        pytest.param(
            lambda kept: ObjectChanged(kept, replace(kept, spec=replace(kept.spec, claim_ref=None))),
            'ClaimRef got reset for pv "pv"',
            id="no-longer-kept-for-the-claim",
        ),
    ],
)
def test_a_pod_whose_volume_is_lost_is_tried_again(happens: Callable[[PersistentVolume], Event], reason: str) -> None:
    """The same of a volume that was there already, and was to be bound to the claim."""
    scheduler = build_scheduler(load_configuration(None, release=DEFAULT_RELEASE), started_at=0)
    free = volume("pv").storage_class("disk").obj()
    objects = (node("n").obj(), CLASS, free, claim("data").storage_class("disk").obj(), pod("web").claim("data").obj())
    for one in objects:
        scheduler.observe(ObjectAdded(one), 0)
    (written,) = (action for action in actions_of(scheduler) if isinstance(action, WriteVolumes))
    (kept,) = written.objects
    assert isinstance(kept, PersistentVolume)
    scheduler.observe(VolumesAnswered(written.pod, written.uid, ""), 0)
    scheduler.observe(ObjectChanged(free, kept), 0)
    assert actions_of(scheduler) == []
    scheduler.observe(happens(kept), 0)
    refused = [action for action in actions_of(scheduler) if isinstance(action, SetCondition)]
    assert refused[0].message == f'running PreBind plugin "VolumeBinding": binding volumes: {reason}'
    assert scheduler.pods_on_the_way() == []
