"""The rule about other nodes: what a plugin says of a node outlasts a change of another one.

After a change of a node object the core asks plugins that declare `other_nodes` about that node only, with the states
they made before.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

from bayplan.core.columns import ALL_ROWS, IntArray, every_row
from bayplan.core.framework.contract import (
    Reads,
    Ready,
    Skip,
)
from bayplan.core.framework.speed_hints import OtherNodes
from bayplan.core.framework.verdict import Status
from bayplan.core.snapshot import View
from bayplan.model.node import Node
from bayplan.testing.asking import Case, case_of, codes_of, prepared, raw_scores, require, score_state
from bayplan.testing.plugin_rules import Trial


def looks_at_other_nodes_as_it_says(trial: Trial) -> None:
    plugin = trial.plugin
    declared: OtherNodes | None = getattr(plugin, "other_nodes", None)
    if declared is None:
        return
    for pod in trial.scene.waiting:
        for changed in _changed_nodes(trial, declared):
            if trial.filters and Reads.CLUSTER not in plugin.reads:
                _check(plugin, "filter", case_of(trial.scene.objects, pod), changed)
            if trial.scores and Reads.CLUSTER not in plugin.score_reads:
                _check(plugin, "score", case_of(trial.scene.objects, pod), changed)


def _changed_nodes(trial: Trial, declared: OtherNodes) -> Iterator[Node]:
    """Nodes of the scene after a change, but for their images where those may matter to others."""
    for old, new in trial.scene.changes:
        if isinstance(old, Node) and isinstance(new, Node):
            changed = deepcopy(new)
            if OtherNodes.IMAGES in declared:
                changed.status.images = old.status.images
            yield changed


def _check(plugin: Any, point: str, case: Case, changed: Node) -> None:
    kept = _state(plugin, point, case)
    before = _answers(plugin, point, kept, case.view)
    resource_count = len(case.view.nodes.resources)
    case.cache.add_node(changed)
    later = replace(case, view=case.cache.view())
    if len(later.view.nodes.resources) > resource_count:
        return  # which resources there are may matter
    name = changed.metadata.name
    after = _answers(plugin, point, _state(plugin, point, later), later.view)
    require((before is None) == (after is None), "other nodes", f"whether it skips at {point} depends on node {name}")
    if before is None or after is None:
        return
    with_kept_state = _answers(plugin, point, kept, later.view)
    assert with_kept_state is not None
    for row in later.alive_rows.tolist():
        other = later.view.nodes.names[row]
        said = f"it answers differently at {point} for {other} after a change of"
        require(after[row] == with_kept_state[row], "other nodes", f"{said} {name}, with the state made before")
        require(other == name or after[row] == before[row], "other nodes", f"{said} {name}")


def _state(plugin: Any, point: str, case: Case) -> Any:
    """What the plugin goes on with; a Status where it rejects the pod."""
    if point == "score":
        return score_state(plugin, case, every_row(case.view.nodes.count))
    outcome = prepared(plugin, case)
    return outcome.state if isinstance(outcome, Ready) else outcome


def _answers(plugin: Any, point: str, state: Any, view: View) -> IntArray | None:
    """(nodes,) None where it does not get that far."""
    if isinstance(state, Skip | Status):
        return None
    if point == "score":
        return raw_scores(plugin, state, view, every_row(view.nodes.count))
    return codes_of(plugin, state, view, ALL_ROWS)
