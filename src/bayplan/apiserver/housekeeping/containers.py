"""Containers that are started again and again, as their commands say: reported at the time they end and start."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from bayplan.apiserver.housekeeping.kubelets import KUBELET_OPTIONS
from bayplan.apiserver.registry.registry import PODS, Registry
from bayplan.apiserver.statuses.restarting import advanced, next_change_at
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.controllers.ownership import NamespacedName
from bayplan.controllers.timers import Timers
from bayplan.model.watch_types import DELETED
from bayplan.store import ApiError


class ContainerRestarts:
    """Keeps the statuses of containers that end while their pod goes on."""

    def __init__(self) -> None:
        self._timers: Timers[NamespacedName] = Timers()

    def observe(self, change: DocumentChange) -> None:
        if change.resource != PODS.plural:
            return
        key = (change.new.namespace, change.new.name)
        at = None if change.type == DELETED else next_change_at(change.new.document)
        if at is not None:
            self._timers.set(key, at)
        else:
            self._timers.cancel(key)

    def reconcile(self, registry: Registry, now: int) -> None:
        # Those that are due again at once come with the next look, so that none keeps the others waiting.
        for namespace, name in [*self._timers.pop_due(now)]:
            with suppress(ApiError):
                registry.update(
                    PODS, namespace, name, partial(_advanced, now), KUBELET_OPTIONS, now, subresource="status"
                )


def _advanced(now: int, pod: dict[str, object]) -> dict[str, object]:
    return advanced(pod, now)
