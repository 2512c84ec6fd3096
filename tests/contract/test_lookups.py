"""A built-in plugin looks up no kind but those that its `looks_up` names: a live scheduler watches no others."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from tests.contract.test_builtin_plugins import PATTERNS, SCENES, maker_of

from bayplan.config.plugin_loading import implemented_points
from bayplan.config.registry import PLUGINS_BY_NAME
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.verdict import SUCCESS, CycleError, Status, unschedulable
from bayplan.core.snapshot import HOLDING, View
from bayplan.model.kinds import KINDS
from bayplan.testing.asking import case_of, transcript
from bayplan.testing.clusters import POD_PATTERNS, small_scene

#: What is worked out from objects, with their kinds; the rest of `Objects` says nothing about any.
DERIVED = {
    "namespace_labels": {"Namespace"},
    "covering": {"PodDisruptionBudget"},
    "claims_in_flight": {"ResourceClaim"},
}


class Recorded:
    """Objects, with a list of what was asked for."""

    def __init__(self, objects: Any) -> None:
        self._objects = objects
        self.asked: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.asked.add(name)
        return getattr(self._objects, name)

    @property
    def kinds(self) -> set[str]:
        direct = {HOLDING[name] for name in self.asked & HOLDING.keys()}
        return direct.union(*(kinds for name, kinds in DERIVED.items() if name in self.asked))


@pytest.mark.parametrize("plugin", PLUGINS_BY_NAME.values(), ids=lambda plugin: plugin.name)
def test_a_plugin_declares_what_it_looks_up(plugin: Any) -> None:
    # To ask a PostFilter plugin takes an attempt of all other plugins, which look up what they need.
    made, points = maker_of(plugin)(), sorted(set(implemented_points(plugin)) - {"postFilter"})
    declared: frozenset[str] = getattr(plugin, "looks_up", frozenset())
    asked: set[str] = set()
    for seed in range(10):
        scenes = SCENES.get(plugin.name, small_scene)
        scene = scenes(seed, pod_patterns=PATTERNS.get(plugin.name, POD_PATTERNS))
        for pod in scene.waiting:
            case = case_of(scene.objects, pod)
            recorded: Any = Recorded(case.view.objects)
            watched = replace(case, view=replace(case.view, objects=recorded))
            with suppress(CycleError):
                transcript(made, points, watched, watched.alive_rows)
            asked |= recorded.kinds
    assert asked <= declared
    assert declared <= KINDS.keys()


def test_what_is_looked_up_without_being_declared_is_found() -> None:
    class Secretive:
        name: ClassVar[str] = "Secretive"

        def permit(self, pod: PodInfo, view: View, node_row: int) -> Status:
            return SUCCESS if view.objects.services else unschedulable("no services")

    scene = small_scene(0)
    case = case_of(scene.objects, scene.waiting[0])
    recorded: Any = Recorded(case.view.objects)
    transcript(Secretive(), ["permit"], replace(case, view=replace(case.view, objects=recorded)), case.alive_rows)
    assert recorded.kinds == {"Service"}
