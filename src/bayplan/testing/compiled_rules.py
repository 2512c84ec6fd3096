"""The rule for plugins that the compiled loops stand in for: `filter_rule` and `score_rule` say what the plugin says.

Takes a trial (a plugin and a scene) and raises `Breach`. Where there is a rule, the core applies it without asking the
plugin, and compares nothing: one that differs would decide wrongly in silence. So every row is compared, in the cluster
as it is and after each change, with the state made now and, where the core may keep it, with the one made before.
Plugins without these methods have nothing to compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from bayplan.core.columns import ALL_ROWS, BoolArray, IntArray, every_row, loops
from bayplan.core.columns.loops import Rule
from bayplan.core.framework.contract import (
    SKIP,
    Reads,
    Ready,
    Skip,
    State,
)
from bayplan.core.framework.speed_hints import hint
from bayplan.model.node import Node
from bayplan.testing.asking import Case, case_of, codes_of, prepared, raw_scores, require, score_state
from bayplan.testing.change_rules import apply_change, described_change, is_waiting
from bayplan.testing.plugin_rules import Trial

#: When something is asked, in words; the state to ask with; and the cluster.
Moment = tuple[str, State, Case]


def means_what_its_rules_say(trial: Trial) -> None:
    plugin = trial.plugin
    if trial.filters and hint(plugin, "filter_rule"):
        for when, state, case in _moments(trial, partial(_filter_state, plugin), plugin.reads):
            codes = codes_of(plugin, state, case.view, ALL_ROWS)
            _compare_rule("filter", plugin.filter_rule(state), codes == 0, case, when)
    if trial.scores and hint(plugin, "score_rule"):
        for when, state, case in _moments(trial, partial(_score_state, trial), plugin.score_reads):
            scores = raw_scores(plugin, state, case.view, every_row(case.view.nodes.count))
            _compare_rule("score", plugin.score_rule(state), scores, case, when)


def _compare_rule(what: str, rule: Rule | None, answers: IntArray | BoolArray, case: Case, when: str) -> None:
    """`answers` (nodes,): which nodes pass, or what they score."""
    if rule is None or loops.compiled is None:
        return
    nodes = case.view.nodes
    values, nothing = np.zeros(nodes.count, dtype=np.int64), np.zeros(nodes.count, dtype=np.int64)
    tables = (nodes.allocatable, nodes.taken, nodes.allowed_pods, nothing)
    loops.compiled.appraise(values, None, *tables, ~nodes.alive, None, ((rule.number, 1, rule.amounts),), 0, None)
    found = values if what == "score" else values == 0
    for row in case.alive_rows.tolist():
        said = f"{what}_rule stands for {found[row]} in row {row}, yet {what} gives {answers[row]}{when}"
        require(found[row] == answers[row], "compiled", said)


def _moments(trial: Trial, prepare: Callable[[Case], State], reads: Reads) -> Iterator[Moment]:
    """Each waiting pod in the cluster as it is, and after each change; those for which the plugin has work to do."""
    for when, state, case in _all_moments(trial, prepare, reads):
        if not isinstance(state, Skip):
            yield when, state, case


def _all_moments(trial: Trial, prepare: Callable[[Case], State], reads: Reads) -> Iterator[Moment]:
    for case in trial.cases():
        yield "", prepare(case), case
    for pod in trial.scene.waiting:
        for change in trial.scene.changes:
            if any(is_waiting(trial, obj) for obj in change):
                continue
            before = case_of(trial.scene.objects, pod)
            kept = prepare(before)
            after, when = apply_change(before, change), f" after {described_change(change)}"
            yield when, prepare(after), after
            if Reads.CLUSTER not in reads and not any(isinstance(obj, Node) for obj in change):
                yield f"{when}, with the state made before", kept, after


def _filter_state(plugin: Any, case: Case) -> State:
    outcome = prepared(plugin, case)
    return outcome.state if isinstance(outcome, Ready) else SKIP


def _score_state(trial: Trial, case: Case) -> State:
    rows = trial.score_rows(case)
    return score_state(trial.plugin, case, rows) if len(rows) else SKIP
