"""A stage for workload controllers: pods are bound, become ready, end and go when a test says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace
from tests.support.controller_stage import Stage

from bayplan.controllers.ownership import is_active
from bayplan.model.conditions import FALSE, TRUE, with_pod_condition
from bayplan.model.kinds import Object
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import READY
from bayplan.testing.builders import pod

TEMPLATE = pod("t").labels(app="x").cpu("1")
OTHER_TEMPLATE = pod("t").labels(app="x").cpu("2")


class Workloads(Stage):
    """The part of scheduler and kubelet is played by the test."""

    def pods(self) -> list[Pod]:
        """All, in order of arrival."""
        return self.store.list(Pod)

    def active(self) -> list[Pod]:
        return [one for one in self.pods() if is_active(one)]

    def names(self) -> list[str]:
        """Of the active pods."""
        return [one.metadata.name for one in self.active()]

    def run(self, *names: str, node_name: str = "n1") -> None:
        """Binds the pods if they are not yet, and makes them ready."""
        for name in names:
            if not self.pod(name).spec.node_name:
                self.store.bind("default", name, node_name, "", self.now)
            self._set_phase(name, "Running", TRUE)
        self.settle()

    def run_all(self) -> None:
        """Makes all active pods ready that are there now."""
        self.run(*self.names())

    def unready(self, *names: str) -> None:
        for name in names:
            self._set_phase(name, "Running", FALSE)
        self.settle()

    def end(self, *names: str, phase: str = "Succeeded") -> None:
        for name in names:
            self._set_phase(name, phase, FALSE)
        self.settle()

    def fail(self, *names: str) -> None:
        self.end(*names, phase="Failed")

    def evict(self, *names: str) -> None:
        """Begins to delete the pods, with their grace period."""
        for name in names:
            self.store.delete(Pod, "default", name, self.now)
        self.settle()

    def stop(self, *names: str) -> None:
        """The kubelet is done with the pods, so they go."""
        for name in names:
            self.store.delete(Pod, "default", name, self.now, grace_seconds=0)
        self.settle()

    def stop_terminating(self) -> None:
        self.stop(*(one.metadata.name for one in self.pods() if one.metadata.deletion_timestamp is not None))

    def change(self, kind: type[Object], name: str, **spec: Any) -> None:
        """Sets fields of an object's spec."""

        def changed(one: Any) -> Any:
            return replace(one, spec=replace(one.spec, **spec))

        self.store.modify(kind.__name__, "default", name, changed, self.now)
        self.settle()

    def get(self, kind: type[Object], name: str, namespace: str = "default") -> Any:
        return self.store.get(kind.__name__, namespace, name)

    def _set_phase(self, name: str, phase: str, ready: str) -> None:
        condition = Condition(type=READY, status=ready)
        self.store.modify_status(
            Pod,
            "default",
            name,
            lambda one: with_pod_condition(one, condition, format_time(self.now), phase=phase),
            self.now,
        )


def requests(pods: Iterable[Pod]) -> list[str]:
    """What each pod's container asks of the CPU, which tells the templates apart."""
    return [str(one.spec.containers[0].resources.requests["cpu"]) for one in pods]
