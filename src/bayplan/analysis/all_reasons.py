"""Every filter on every node: all that stands in a pod's way, not only the first obstacle of each node.

The scheduler stops at the first filter that fails a node, and at the first PreFilter that rejects the pod. Mending that
one often shows the next. Here each plugin is asked on its own, about all nodes at once. The decision itself is not made
here, and nothing is changed.
"""

from __future__ import annotations

import numpy as np

from bayplan.core.columns import RowArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.filtering import Explained, WhatIfWorlds, filter_states, nominated_pods, run_filters
from bayplan.core.framework.contract import (
    SKIP,
    FilterPlugin,
    PreFilterPlugin,
    Ready,
    State,
)
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import Code, CycleError, Status, unresolvable
from bayplan.core.snapshot import View

#: Node row -> what stands in the way there, in the order of the plugins.
Obstacles = dict[int, list[Status]]


def all_obstacles(profile: Profile, pod: PodInfo, view: View) -> Obstacles:
    """Nodes that nothing speaks against are left out."""
    rows = np.flatnonzero(view.nodes.alive)
    obstacles: Obstacles = {int(row): [] for row in rows}
    states: dict[str, State] = {}
    for plugin in profile.pre_filter:
        states[plugin.name] = _pre_filter(plugin, pod, view, rows, obstacles)
    every = zip(profile.filter, filter_states(profile, pod, view, states), strict=True)
    asked = [(plugin, state) for plugin, state in every if state is not SKIP]
    plugins, left = [plugin for plugin, _ in asked], [state for _, state in asked]
    _filter(plugins, left, view, rows, obstacles)
    _filter_with_nominated(plugins, left, pod, view, obstacles)
    return {row: found for row, found in obstacles.items() if found}


def _pre_filter(plugin: PreFilterPlugin, pod: PodInfo, view: View, rows: RowArray, into: Obstacles) -> State:
    try:
        outcome = plugin.pre_filter(pod, view)
    except CycleError as error:
        outcome = Status(Code.ERROR, (error.message,))
    if isinstance(outcome, Status):
        rejected = Status(outcome.code, outcome.reasons, plugin.name)
        for row in rows.tolist():
            into[row].append(rejected)
        return SKIP
    if not isinstance(outcome, Ready):
        return SKIP
    if outcome.nodes is not None:
        outside = unresolvable(f"node(s) didn't satisfy plugin(s) [{plugin.name}]")
        narrowed = Status(outside.code, outside.reasons, plugin.name)
        for row in rows.tolist():
            if view.nodes.names[row] not in outcome.nodes:
                into[row].append(narrowed)
    return outcome.state


def _filter(plugins: list[FilterPlugin], states: list[State], view: View, rows: RowArray, into: Obstacles) -> None:
    for plugin, state in zip(plugins, states, strict=True):
        words: Explained = {}
        codes = run_filters([plugin], [state], view, rows, words).codes
        for position in np.flatnonzero(codes).tolist():
            code = int(codes[position])
            if (0, code) not in words:
                said = plugin.explain_failure(state, view, code)
                words[0, code] = Status(said.code, said.reasons, plugin.name)
            obstacles = into[int(rows[position])]
            if words[0, code] not in obstacles:
                obstacles.append(words[0, code])


def _filter_with_nominated(
    plugins: list[FilterPlugin], states: list[State], pod: PodInfo, view: View, into: Obstacles
) -> None:
    """Once more where other pods are nominated: room that is promised to them is not free."""
    pod_rows, node_rows = nominated_pods(pod, view)
    if len(pod_rows):
        full = WhatIfWorlds(plugins, states, view)
        full.shift(pod_rows, node_rows, +1)
        _filter(plugins, full.states, full.view, np.unique(node_rows), into)
