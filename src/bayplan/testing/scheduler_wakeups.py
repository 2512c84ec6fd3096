"""Would this change bring that rejected pod back? A pure question, answered by the scheduler's own handlers and queue.

Takes a cluster as plain objects, a pod of it that waits, the plugins that rejected it, and a change as a watch reports
it. A scheduler with the default profile is told of the cluster, tries the pod once and parks it; then the change comes.
The answer includes what the change amounts to, who registered for that and what each hint says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from bayplan.admission import admit
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles, queue_order
from bayplan.config.releases import choose_release
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.core.framework.args import DEFAULT_PREEMPTION
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.requeue import Wakeups
from bayplan.core.lifecycle import PodState
from bayplan.core.scheduler import Scheduler
from bayplan.model.kinds import Object, object_key
from bayplan.model.pod import FINISHED_PHASES, Pod
from bayplan.model.reading import from_dicts
from bayplan.model.time_units import SECOND

PlainObject = Mapping[str, Any]

_STARTED_AT: Final = 0
_TRIED_AT: Final = 1 * SECOND
_HAPPENS_AT: Final = 2 * SECOND


def would_wake(
    objects: Iterable[PlainObject],
    pod: str,
    rejectors: Sequence[str],
    event: Mapping[str, Any],
    wakeups: str = Wakeups.UPSTREAM.value,
    *,
    kubernetes_version: str | None = None,
) -> bool:
    """Whether the parked pod goes to the active or the backoff queue.

    Args:
        objects: the cluster before the change, as an API server stores it.
        pod: `namespace/name` of a pending pod among them.
        rejectors: the plugins that rejected it; a plugin that keeps it out of the queue stands alone.
        event: `kind`, `action` (Add, Update or Delete), and the object before and after it: `old` and `new`, or None.
        wakeups: "upstream", or "complete" for a scheduler that sleeps through nothing.
        kubernetes_version: that of the scheduler, as `1.37`.

    Raises ValueError when there is no such pod, or those plugins cannot have rejected it.
    """
    known = admit(from_dicts(list(objects)).objects)
    scheduler = _scheduler_that_parked(known, pod, tuple(rejectors), Wakeups(wakeups), kubernetes_version)
    change = _change(event["old"], event["new"], known)
    if change is None:
        return False  # of a kind that the scheduler does not watch
    scheduler.observe(change, _HAPPENS_AT)
    queued = scheduler.queue.find(pod)
    return queued is not None and queued.state in (PodState.ACTIVE, PodState.BACKOFF)


def _scheduler_that_parked(
    objects: list[Object], pod: str, rejectors: tuple[str, ...], wakeups: Wakeups, kubernetes_version: str | None
) -> Scheduler:
    configuration = load_configuration(None, release=choose_release(kubernetes_version, None).release)
    profiles = build_profiles(configuration)
    scheduler = Scheduler(
        profiles, queue_order(profiles), started_at=_STARTED_AT, wakeups=wakeups, gates=configuration.gates
    )
    waiting = {object_key(obj): obj for obj in objects if isinstance(obj, Pod) and _waits(obj)}
    if pod not in waiting:
        raise ValueError(f"{pod} is no pending pod of the cluster")
    for obj in objects:
        if not (isinstance(obj, Pod) and _waits(obj)):
            scheduler.observe(ObjectAdded(obj), _STARTED_AT)
    # Alone in the queue it is the one that is tried.
    scheduler.observe(ObjectAdded(waiting.pop(pod)), _TRIED_AT)
    _park(scheduler, pod, rejectors)
    for other in waiting.values():
        scheduler.observe(ObjectAdded(other), _TRIED_AT)
    return scheduler


def _park(scheduler: Scheduler, pod: str, rejectors: tuple[str, ...]) -> None:
    queue = scheduler.queue
    queued = queue.find(pod)
    if queued is None:
        raise ValueError(f"{pod} is of another scheduler")
    if queued.state is not PodState.ACTIVE:
        if rejectors != (queued.gating_plugin,):
            raise ValueError(f"{pod} is kept out of the queue by {queued.gating_plugin} alone")
        return
    possible = _names_of_rejecting_plugins(scheduler.profiles[queued.info.scheduler_name])
    if not rejectors or not possible.issuperset(rejectors):
        wrong = " and ".join(name for name in rejectors if name not in possible) or "nobody"
        raise ValueError(f"{wrong} cannot have rejected {pod}")
    tried = queue.pop(_TRIED_AT)
    assert tried is queued, "there is no other"
    queue.return_failed(queued, rejectors, (), _TRIED_AT)


def _names_of_rejecting_plugins(profile: Profile) -> set[str]:
    """Those that an attempt may fail on, and the one that holds back a preemptor."""
    lists = (profile.pre_filter, profile.filter, profile.reserve, profile.permit)
    return {DEFAULT_PREEMPTION, *(plugin.name for plugins in lists for plugin in plugins)}


def _change(old: PlainObject | None, new: PlainObject | None, beside: list[Object]) -> Event | None:
    before, after = _read(old, beside), _read(new, beside)
    if before is None:
        return None if after is None else ObjectAdded(after)
    return ObjectRemoved(before) if after is None else ObjectChanged(before, after)


def _read(plain: PlainObject | None, beside: list[Object]) -> Object | None:
    found = from_dicts([plain]).objects if plain is not None else []
    return admit(found, beside=beside)[0] if found else None


def _waits(pod: Pod) -> bool:
    return not pod.spec.node_name and pod.status.phase not in FINISHED_PHASES
