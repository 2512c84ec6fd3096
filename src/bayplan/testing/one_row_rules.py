"""The rule for plugins that answer for single rows too: `filter_one` and `score_one` agree with `filter` and `score`.

Takes a trial (a plugin and a scene) and raises `Breach`. The core asks for single rows wherever one node has changed,
and compares nothing: an answer that differs would decide wrongly in silence. So every row is asked about, in the
cluster as it is, after each change with the state made now and, where the core may keep it, with the one made before,
and in what-if worlds. Plugins without these methods have nothing to compare. The rules that the compiled loops apply in
a plugin's place are compared with the plugin in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from bayplan.core.columns import ALL_ROWS, BoolArray, IntArray, RowArray, every_row, loops
from bayplan.core.columns.loops import Rule
from bayplan.core.filtering import WhatIfWorlds
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
from bayplan.testing.change_rules import apply_change, described_change, is_waiting, pods_on, worlds_of
from bayplan.testing.plugin_rules import Trial

#: When something is asked, in words; the state to ask with; and the cluster.
Moment = tuple[str, State, Case]


def answers_for_one_row_as_for_all(trial: Trial) -> None:
    """And a compiled rule as the plugin; both are compared at each moment, as moments are what takes time."""
    if trial.filters and (hint(trial.plugin, "filter_one") or hint(trial.plugin, "filter_rule")):
        _compare_filters(trial)
    if trial.filters and hint(trial.plugin, "filter_one"):
        _compare_filters_in_worlds(trial)
    if trial.scores and (hint(trial.plugin, "score_one") or hint(trial.plugin, "score_rule")):
        _compare_scores(trial)


def _compare_filters(trial: Trial) -> None:
    plugin = trial.plugin
    for when, state, case in _moments(trial, partial(_filter_state, plugin), plugin.reads):
        codes, rows = codes_of(plugin, state, case.view, ALL_ROWS), every_row(case.view.nodes.count)
        if hint(plugin, "filter_one"):
            _compare("filter", codes, partial(plugin.filter_one, state, case.view), rows, when)
        if hint(plugin, "filter_rule"):
            _compare_rule("filter", plugin.filter_rule(state), codes == 0, case, when)


def _compare_filters_in_worlds(trial: Trial) -> None:
    plugin = trial.plugin
    for case, state, node_row in worlds_of(trial):
        pod_rows = pods_on(case, node_row)
        worlds = WhatIfWorlds([plugin], [state], case.view)
        worlds.shift(pod_rows, np.full(len(pod_rows), node_row, dtype=np.intp), -1)
        shifted, view, rows = worlds.states[0], worlds.view, case.alive_rows
        when = f" in a what-if world without the pods of {view.nodes.names[node_row]}"
        _compare("filter", codes_of(plugin, shifted, view, rows), partial(plugin.filter_one, shifted, view), rows, when)


def _compare_scores(trial: Trial) -> None:
    plugin = trial.plugin
    for when, state, case in _moments(trial, partial(_score_state, trial), plugin.score_reads):
        if hint(plugin, "score_one"):
            rows = trial.score_rows(case)
            scores = raw_scores(plugin, state, case.view, rows)
            # What is said of a row without a node object nobody wants to know.
            alive = case.view.nodes.alive[rows]
            _compare("score", scores[alive], partial(plugin.score_one, state, case.view), rows[alive], when)
        if hint(plugin, "score_rule"):
            every = every_row(case.view.nodes.count)
            _compare_rule("score", plugin.score_rule(state), raw_scores(plugin, state, case.view, every), case, when)


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
        require(found[row] == answers[row], "one row", said)


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


def _compare(method: str, answers: IntArray, ask: Callable[[int], Any], rows: RowArray, when: str) -> None:
    for row, expected in zip(rows.tolist(), answers.tolist(), strict=True):
        found = ask(row)
        # A number of NumPy's would pass for one here, and cost more than it saves where the core adds it up.
        require(type(found) is int, "one row", f"{method}_one gives {type(found).__name__}, not int")
        require(found == expected, "one row", f"{method}_one gives {found} for row {row}, {method} {expected}{when}")
