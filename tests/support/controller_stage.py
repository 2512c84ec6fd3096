"""A store with controllers, driven by hand: time passes only when a test says so, news travel at once.

Also usable with a single controller. After each call nothing is due, and no news are unheard.
"""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.controllers.contract import Controller
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import parse_time
from bayplan.store.objects import Store

START = parse_time("2026-01-01T00:00:00Z")

_STEPS_MAX = 10_000


class Stage:
    """A store and the controllers that act on it."""

    def __init__(self, *controllers: Controller) -> None:
        self.store = Store(log_capacity=1_000_000)
        self.now = START
        self._controllers = controllers
        self._news = self.store.watch(essential=True)

    @property
    def seconds(self) -> float:
        """Since the start."""
        return (self.now - START) / SECOND

    def create(self, *objects: Object) -> None:
        for one in objects:
            self.store.create(one, self.now)
        self.settle()

    def load(self, *objects: Object) -> None:
        """With status and uid, as a cluster would have them."""
        self.store.load(objects, self.now)
        self.settle()

    def delete(self, kind: type[Object], namespace: str, name: str, grace_seconds: int | None = None) -> None:
        self.store.delete(kind, namespace, name, self.now, grace_seconds=grace_seconds)
        self.settle()

    def bind(self, name: str, node_name: str, namespace: str = "default") -> None:
        self.store.bind(namespace, name, node_name, "", self.now)
        self.settle()

    def pod(self, name: str, namespace: str = "default") -> Pod:
        return self.store.get(Pod, namespace, name)

    def has_pod(self, name: str, namespace: str = "default") -> bool:
        return self.store.find(Pod, namespace, name) is not None

    def pass_time(self, seconds: float) -> None:
        """Lets time pass, stopping whenever something is due."""
        self.settle()
        until = self.now + round(seconds * SECOND)
        for _ in range(_STEPS_MAX):
            due = [at for at in self._wakes() if at <= until]
            if not due:
                self.now = until
                return
            self.now = max(self.now, min(due))
            self.settle()
        raise AssertionError("a controller never has enough")

    def settle(self) -> None:
        """Lets controllers act until there is nothing to do now."""
        for _ in range(_STEPS_MAX):
            changes = self._news.read()
            for change in changes:
                for controller in self._controllers:
                    controller.observe(change, self.now)
            if not changes and not any(at <= self.now for at in self._wakes()):
                return
            for controller in self._controllers:
                controller.reconcile(self.store, self.now)
        raise AssertionError("the controllers do not come to rest")

    def _wakes(self) -> Iterable[int]:
        return [at for controller in self._controllers if (at := controller.wake_at()) is not None]
