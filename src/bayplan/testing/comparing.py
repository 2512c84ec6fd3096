"""Two plugins that are meant to be the same: an easy one to read and a fast one.

Takes two plugins or their classes; raises AssertionError with the seed and the first node of which they speak
differently. Compared are verdicts in words and final scores, never codes, which are each plugin's own affair. Whether
a verdict can be cured by preemption is not compared: a plugin for one node at a time cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from bayplan.config.plugin_loading import checked_points
from bayplan.core.framework.verdict import Status
from bayplan.testing.check_plugin import SEEDS, instances_of
from bayplan.testing.clusters import Scene, small_scene
from bayplan.testing.plugin_rules import Seen, Trial, words_by_node


def compare_plugins(
    plugin: Any,
    other: Any,
    *,
    seeds: Iterable[int] = SEEDS,
    scenes: Callable[[int], Scene] = small_scene,
) -> None:
    """Ask both about every pod and node of every scene. A score of nothing counts as 0."""
    trials = [_trials(given) for given in (plugin, other)]
    for seed in seeds:
        scene = scenes(seed)
        first, second = (trial(scene) for trial in trials)
        names = first.plugin.name, second.plugin.name
        for pod in scene.waiting:
            said = [
                {node: _plain(words) for node, words in words_by_node(t, t.case(pod)).items()} for t in (first, second)
            ]
            for node, words in said[0].items():
                assert words == said[1][node], (
                    f"pod {pod.metadata.name} on node {node} (seed {seed}): "
                    f"{names[0]} says {words}, {names[1]} says {said[1][node]}"
                )


def _trials(given: Any) -> Callable[[Scene], Trial]:
    plugin, fresh = instances_of(given)
    points = checked_points(type(plugin))
    return lambda scene: Trial(plugin, fresh, points, scene, Seen())


def _plain(words: tuple[Status | None, int | None]) -> tuple[tuple[str, ...], int]:
    status, score = words
    return (status.reasons if status is not None else ()), score or 0
