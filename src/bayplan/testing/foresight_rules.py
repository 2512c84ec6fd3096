"""The rule for plugins that foresee their answers: these hold, whichever pods of a lower priority leave a node.

Takes a trial (a plugin and a scene) and raises `Breach`. Preemption does not try a node again whose answer is foreseen,
and shares answers among pods of one shape: an answer that does not hold would decide wrongly in silence. So pods leave
nodes in several ways, in the cluster as it is and where others have come before; and pods elsewhere come and go, for
nodes whose own pods are said to decide. That a plugin foresees little is no breach.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

import numpy as np

from bayplan.core.columns import ALL_ROWS, IntArray, RowArray, row_array
from bayplan.core.filtering import WhatIfWorlds
from bayplan.core.framework.contract import Ready
from bayplan.core.framework.speed_hints import (
    OWN_PODS_DECIDE,
    UNFORESEEN,
    SpeedHints,
    hint,
)
from bayplan.model.pod import Pod
from bayplan.testing.asking import Case, case_of, codes_of, prepared, require
from bayplan.testing.change_rules import apply_change, described_change, worlds_of
from bayplan.testing.clusters import ObjectChange
from bayplan.testing.plugin_rules import Trial

#: Of the pod that wants a place: more than those of none, of some and of all pods of a scene.
PRIORITIES = (0, 1, 50, 1_000)
VISITORS_MAX = 2
RULE = "foresight"


def foresees_what_it_says(trial: Trial) -> None:
    plugin: Any = trial.plugin
    if not trial.filters or not hint(plugin, "foresee"):
        return
    rng = trial.rng()
    for case, state, node_row in worlds_of(trial):
        worlds = WhatIfWorlds([trial.plugin], [state], case.view)
        _let_pods_leave(plugin, worlds, node_row, rng, "")
        others = np.flatnonzero(case.view.pods.node_rows >= 0).tolist()
        visitors = row_array(rng.sample(others, min(VISITORS_MAX, len(others))))
        worlds.shift(visitors, np.full(len(visitors), node_row, dtype=np.intp), +1)
        _let_pods_leave(plugin, worlds, node_row, rng, " after others have come")
    for case in trial.cases():
        _compare_with_another_of_its_shape(trial, case)
    for pod in trial.scene.waiting:
        for change in trial.scene.changes:
            if all(thing is None or (isinstance(thing, Pod) and thing.spec.node_name) for thing in change):
                _let_pods_elsewhere_change(plugin, trial, pod, change)


def _let_pods_leave(plugin: SpeedHints, worlds: WhatIfWorlds, node_row: int, rng: Random, when: str) -> None:
    name = worlds.view.nodes.names[node_row]
    for priority in PRIORITIES:
        foreseen = _foreseen(plugin, worlds, priority).item(node_row)
        if foreseen in (UNFORESEEN, OWN_PODS_DECIDE):
            continue
        for leaving in _ways_to_leave(worlds, node_row, priority, rng):
            code = _code_without(worlds, node_row, leaving)
            keys = ", ".join(worlds.view.pods.keys[row] for row in leaving) or "no pod"
            said = f"foresee says {foreseen} for {name} and priority {priority}, filter {code} if {keys} left it{when}"
            require(code == foreseen, RULE, said)


def _foreseen(plugin: SpeedHints, worlds: WhatIfWorlds, priority: int) -> IntArray:
    answer: Any = plugin.foresee(worlds.states[0], worlds.view, priority)
    count = worlds.view.nodes.count
    right_form = isinstance(answer, np.ndarray) and answer.dtype == np.int64 and answer.shape == (count,)
    require(right_form, "form", f"foresee gives no int64 array with a code for each of {count} nodes")
    return answer  # type: ignore[no-any-return]


def _ways_to_leave(worlds: WhatIfWorlds, node_row: int, priority: int, rng: Random) -> Iterator[RowArray]:
    """No pod, all that are of a lower priority, each alone, and some of them."""
    on_node = row_array(worlds.view.nodes.pod_rows[node_row])
    below = on_node[worlds.view.pods.priorities[on_node] < priority].tolist()
    yield row_array([])
    yield row_array(below)
    yield from (row_array([row]) for row in below)
    yield row_array([row for row in below if rng.random() < 0.5])


def _let_pods_elsewhere_change(plugin: SpeedHints, trial: Trial, pod: Pod, change: ObjectChange) -> None:
    """What a node's own pods decide they decide the same way afterwards, if they still do."""
    case = case_of(trial.scene.objects, pod)
    before = _decided_by_own_pods(plugin, case)
    after = _decided_by_own_pods(plugin, apply_change(case, change))
    changed = {thing.spec.node_name for thing in change if isinstance(thing, Pod)}
    for (name, priority), codes in before.items():
        if name not in changed and (name, priority) in after:
            said = f"own pods decide on {name} for priority {priority}, yet after {described_change(change)}"
            require(codes == after[name, priority], RULE, f"{said} filter gives {after[name, priority]}, not {codes}")


def _decided_by_own_pods(plugin: Any, case: Case) -> dict[tuple[str, int], list[int]]:
    """By node and priority the codes with none, all and each of its pods gone, where these are said to decide."""
    outcome = prepared(plugin, case)
    if not isinstance(outcome, Ready):
        return {}
    worlds = WhatIfWorlds([plugin], [outcome.state], case.view)
    found: dict[tuple[str, int], list[int]] = {}
    for priority in PRIORITIES:
        for row in np.flatnonzero(_foreseen(plugin, worlds, priority) == OWN_PODS_DECIDE).tolist():
            ways = _ways_to_leave(worlds, row, priority, Random(0))
            found[case.view.nodes.names[row], priority] = [_code_without(worlds, row, leaving) for leaving in ways]
    return found


def _code_without(worlds: WhatIfWorlds, node_row: int, leaving: RowArray) -> int:
    left = worlds.fork()
    left.shift(leaving, np.full(len(leaving), node_row, dtype=np.intp), -1)
    return left.filter(row_array([node_row])).codes.item(0)


def _compare_with_another_of_its_shape(trial: Trial, case: Case) -> None:
    pod = next(pod for pod in trial.scene.waiting if pod.metadata.name == case.info.name)
    other = deepcopy(pod)
    other.metadata.name, other.spec.priority = f"{pod.metadata.name}-twin", (pod.spec.priority or 0) + 7
    same = np.array_equal(_codes(trial, case), _codes(trial, case_of(trial.scene.objects, other)))
    require(same, RULE, "filter answers differently for a pod of another name and priority")


def _codes(trial: Trial, case: Case) -> IntArray:
    """(nodes,) -1 for all where the plugin does not get to filter."""
    outcome = prepared(trial.plugin, case)
    if not isinstance(outcome, Ready):
        return np.full(case.view.nodes.count, -1, dtype=np.int64)
    return codes_of(trial.plugin, outcome.state, case.view, ALL_ROWS)
