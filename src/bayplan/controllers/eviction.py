"""Evicting a pod as controllers do: a condition that says why, then the delete."""

from __future__ import annotations

from contextlib import suppress

from bayplan.controllers.ownership import NamespacedName
from bayplan.model.conditions import with_pod_condition
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.model.timestamps import format_time
from bayplan.store import Conflict, NotFound, Store


def evict(store: Store, key: NamespacedName, because: Condition, now: int) -> None:
    """A pod that is gone by now is left alone."""

    def mark(pod: Pod) -> Pod:
        return with_pod_condition(pod, because, format_time(now))

    with suppress(NotFound, Conflict):
        store.modify_status(Pod, *key, mark, now)
        store.delete(Pod, *key, now)
