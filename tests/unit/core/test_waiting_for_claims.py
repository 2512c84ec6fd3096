"""Before a pod is bound all its claims are: those it names, and those of its generic ephemeral volumes."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from bayplan.config.loading import load_configuration
from bayplan.config.scheduling import build_scheduler
from bayplan.core.actions import Action, Bind, WriteVolumes
from bayplan.core.events import ObjectAdded, ObjectChanged, VolumesAnswered
from bayplan.core.plugins.volume_claims import BIND_COMPLETED
from bayplan.core.scheduler import Scheduler
from bayplan.model.pod import Pod
from bayplan.testing.builders import claim, node, pod, storage_class

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
    scheduler = build_scheduler(load_configuration(None), started_at=0)
    for one in (node("n").obj(), CLASS, named, ephemeral, user):
        scheduler.observe(ObjectAdded(one), 0)
    (written,) = (action for action in actions_of(scheduler) if isinstance(action, WriteVolumes))
    assert {one.metadata.name for one in written.objects} == {"data", "web-scratch"}
    scheduler.observe(VolumesAnswered(written.pod, written.uid, ""), 0)
    scheduler.observe(ObjectChanged(named, bound(named)), 0)
    assert actions_of(scheduler) == []
    scheduler.observe(ObjectChanged(ephemeral, bound(ephemeral)), 0)
    assert actions_of(scheduler) == [Bind("default/web", user.metadata.uid, "n")]
