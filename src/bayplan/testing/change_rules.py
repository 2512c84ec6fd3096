"""The rules that hold when the cluster changes: what an answer may depend on, what-if worlds, and who is woken.

Each rule takes a trial (a plugin and a scene) and raises `Breach`. The core relies on them: answers of plugins that
do not read the cluster are kept, preemption tries all nodes at once, and a pod sleeps until a plugin says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from bayplan.config.plugin_loading import normalizes_usage
from bayplan.core.columns import ALL_ROWS, IntArray, RowArray, row_array
from bayplan.core.filtering import WhatIfWorlds
from bayplan.core.framework.contract import (
    Reads,
    Ready,
    Skip,
)
from bayplan.core.framework.requeue import EnqueueExtensions, Wakeups
from bayplan.core.framework.verdict import SUCCESS, Status
from bayplan.model.kinds import Object, object_key
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.testing.asking import (
    Case,
    case_of,
    codes_of,
    explained,
    normal_scores,
    prepared,
    raw_scores,
    require,
    score_state,
    status_on,
)
from bayplan.testing.clusters import ObjectChange
from bayplan.testing.plugin_rules import Trial
from bayplan.testing.plugin_wakeups import is_same_pod, is_woken

#: How many nodes of a case are tried as worlds of their own; each costs a cluster built again.
WORLDS_MAX = 2

# ---------------------------------------------------------------- what an answer depends on


def reads_what_it_says(trial: Trial) -> None:
    """Answers that the core may keep change only as `Reads` allows, and a state stays good for as long."""
    if trial.filters and Reads.CLUSTER not in trial.plugin.reads:
        for case, node_row, change in _elsewhere(trial):
            _check_kept_verdicts(trial, case, node_row, change)
    if trial.scores and Reads.CLUSTER not in trial.plugin.score_reads:
        require(
            not normalizes_usage(trial.plugin),
            "reads",
            "it normalizes scores that depend on usage, so score_reads must include Reads.CLUSTER",
        )
        for case, node_row, change in _elsewhere(trial):
            _check_kept_scores(trial, case, node_row, change)
        for case in trial.cases():
            _check_normalize(trial, case)


def _elsewhere(trial: Trial) -> Iterator[tuple[Case, int, ObjectChange]]:
    """Cases with a change that is not about a node object: of a pod on a node (its row), or of anything else (-1)."""
    for pod in trial.scene.waiting:
        for old, new in trial.scene.changes:
            obj = new if new is not None else old
            if isinstance(obj, Node) or is_waiting(trial, obj):
                continue
            case = case_of(trial.scene.objects, pod)
            row = case.view.nodes.rows_by_name.get(obj.spec.node_name, -1) if isinstance(obj, Pod) else -1
            if isinstance(obj, Pod) and (row < 0 or not case.view.nodes.alive[row]):
                continue
            yield case, row, (old, new)


def apply_change(case: Case, change: ObjectChange) -> Case:
    old, new = change
    if isinstance(old, Pod):
        case.cache.remove_pod(object_key(old))
    elif old is not None and new is None:
        case.cache.objects.remove(old)
    if new is not None:
        case.cache.add(new)
    return replace(case, view=case.cache.view())


def _check_kept_verdicts(trial: Trial, case: Case, node_row: int, change: ObjectChange) -> None:
    plugin = trial.plugin
    kept = prepared(plugin, case)
    before = codes_of(plugin, kept.state, case.view, ALL_ROWS) if isinstance(kept, Ready) else None
    later = apply_change(case, change)
    outcome = prepared(plugin, later)
    kinds = type(kept).__name__, type(outcome).__name__
    require(
        kinds[0] == kinds[1],
        "reads",
        f"pre_filter gives {kinds[1]} instead of {kinds[0]} after {described_change(change)}",
    )
    if isinstance(kept, Ready) and isinstance(outcome, Ready):
        after = codes_of(plugin, outcome.state, later.view, ALL_ROWS)
        with_old_state = codes_of(plugin, kept.state, later.view, ALL_ROWS)
        _check_kept(
            case, plugin.reads, before, after, with_old_state, node_row, f"filter, after {described_change(change)}"
        )


def _check_kept_scores(trial: Trial, case: Case, node_row: int, change: ObjectChange) -> None:
    plugin, rows = trial.plugin, row_array(range(case.view.nodes.count))
    kept = score_state(plugin, case, rows)
    if isinstance(kept, Skip):
        require(
            isinstance(score_state(plugin, apply_change(case, change), rows), Skip),
            "reads",
            f"pre_score no longer skips after {described_change(change)}",
        )
        return
    before = raw_scores(plugin, kept, case.view, rows)
    later = apply_change(case, change)
    state = score_state(plugin, later, rows)
    require(not isinstance(state, Skip), "reads", f"pre_score skips after {described_change(change)}")
    after = raw_scores(plugin, state, later.view, rows)
    with_old_state = raw_scores(plugin, kept, later.view, rows)
    reads = plugin.score_reads
    _check_kept(case, reads, before, after, with_old_state, node_row, f"score, after {described_change(change)}")


def _check_kept(
    case: Case, reads: Reads, before: Any, after: IntArray, with_old_state: IntArray, node_row: int, when: str
) -> None:
    alive = case.view.nodes.alive
    same = np.array_equal(after[alive], with_old_state[alive])
    require(same, "reads", f"{when}: an old state gives different answers than a new one")
    moved = np.flatnonzero(alive & (before != after))
    if Reads.USAGE in reads:
        moved = moved[moved != node_row]
    names = [case.view.nodes.names[row] for row in moved]
    require(
        not names,
        "reads",
        f"{when}: the answer for {', '.join(names)} changed, but reads is {reads} (add USAGE, or CLUSTER)",
    )


def _check_normalize(trial: Trial, case: Case) -> None:
    """What becomes of a score depends on it and on the lowest and the highest."""
    plugin, rows = trial.plugin, case.alive_rows
    state = score_state(plugin, case, rows)
    if isinstance(state, Skip) or not hasattr(plugin, "normalize"):
        return
    raw = raw_scores(plugin, state, case.view, rows)
    final = normal_scores(plugin, state, raw, rows)
    extremes = row_array(sorted({int(raw.argmin()), int(raw.argmax())}))
    alone = normal_scores(plugin, state, raw[extremes], rows[extremes])
    require(
        np.array_equal(alone, final[extremes]),
        "reads",
        "normalize looks at more than the lowest and highest score, so score_reads must have Reads.CLUSTER",
    )


# ---------------------------------------------------------------- what if


def keeps_worlds_apart(trial: Trial) -> None:
    """Pods that move in one node's world change that node's answer alone, and the state they were forked from not."""
    if not trial.filters:
        return
    for case, state, node_row in worlds_of(trial):
        pod_rows = pods_on(case, node_row)
        nodes = np.full(len(pod_rows), node_row, dtype=np.intp)
        worlds = WhatIfWorlds([trial.plugin], [state], case.view)
        plain = _codes(worlds, case)
        require(
            np.array_equal(plain, codes_of(trial.plugin, state, case.view, case.alive_rows)),
            "what-if",
            "a fork in which nothing moved answers differently",
        )
        worlds.shift(pod_rows, nodes, -1)
        without = _codes(worlds, case)
        others = case.alive_rows != node_row
        name = case.view.nodes.names[node_row]
        same = np.array_equal(plain[others], without[others])
        require(same, "what-if", f"pods that leave {name} change the answer for another node")
        original = codes_of(trial.plugin, state, case.view, case.alive_rows)
        require(np.array_equal(plain, original), "what-if", f"shifting a fork on {name} changes the original state")
        back = worlds.fork()
        back.shift(pod_rows, nodes, +1)
        require(
            np.array_equal(plain, _codes(back, case)),
            "what-if",
            f"pods that leave {name} and come back change the answer",
        )
        require(
            np.array_equal(without, _codes(worlds, case)), "what-if", "shifting a fork of a fork changes the first fork"
        )


def follows_pods_that_move(trial: Trial) -> None:
    """A what-if world says of its node what the cluster would say if the pods had really moved."""
    if not trial.filters:
        return
    for case, state, node_row in worlds_of(trial):
        name = case.view.nodes.names[node_row]
        pod_rows = row_array([row for row in pods_on(case, node_row) if _is_plain(case, int(row))])
        for leaving in (pod_rows, pod_rows[1:]):
            if len(leaving):
                worlds = WhatIfWorlds([trial.plugin], [state], case.view)
                worlds.shift(leaving, np.full(len(leaving), node_row, dtype=np.intp), -1)
                keys = {case.view.pods.keys[row] for row in leaving}
                left = [obj for obj in trial.scene.objects if _key(obj) not in keys]
                _compare_worlds(trial, case, worlds, left, node_row, f"{', '.join(sorted(keys))} left {name}")
        _follow_a_pod_that_comes(trial, _waiting(trial, case), node_row)


def _follow_a_pod_that_comes(trial: Trial, pod: Pod, node_row: int) -> None:
    for new in [new for old, new in trial.scene.changes if old is None and isinstance(new, Pod)][:1]:
        case = case_of(trial.scene.objects, pod)
        pod_row, name = case.cache.nominate(_placed(new, ""), "").row, case.view.nodes.names[node_row]
        case = replace(case, view=case.cache.view())
        outcome = prepared(trial.plugin, case)
        if isinstance(outcome, Ready) and _is_plain(case, pod_row):
            worlds = WhatIfWorlds([trial.plugin], [outcome.state], case.view)
            worlds.shift(row_array([pod_row]), row_array([node_row]), +1)
            objects = [*trial.scene.objects, _placed(new, name)]
            _compare_worlds(trial, case, worlds, objects, node_row, f"{_key(new)} came to {name}")


def _compare_worlds(
    trial: Trial, case: Case, worlds: WhatIfWorlds, objects: Sequence[Object], node_row: int, when: str
) -> None:
    name, plugin = case.view.nodes.names[node_row], trial.plugin
    code = int(worlds.filter(row_array([node_row])).codes[0])
    supposed = explained(plugin, worlds.states[0], worlds.view, code) if code else SUCCESS
    if code:
        outcome = prepared(plugin, case)
        assert isinstance(outcome, Ready), "it was when the worlds were made"
        explained(plugin, outcome.state, case.view, code)  # as preemption puts it into words
    real = case_of(objects, _waiting(trial, case))
    said = status_on(plugin, prepared(plugin, real), real.view, real.row_of(name))
    require(
        supposed == said,
        "moved pods",
        f"what if {when}: {_words(supposed)}; when that has really happened: {_words(said)}. A state that depends on "
        f"pods needs fork and shift",
    )


def worlds_of(trial: Trial) -> Iterator[tuple[Case, Any, int]]:
    """Cases in which the plugin has something to do, each with the rows of a few nodes that have pods."""
    rng = trial.rng()
    for case in trial.cases():
        outcome = prepared(trial.plugin, case)
        if isinstance(outcome, Ready):
            crowded = [row for row in case.alive_rows.tolist() if case.view.nodes.pod_rows[row]]
            for row in rng.sample(crowded, min(WORLDS_MAX, len(crowded))):
                yield case, outcome.state, row


def _codes(worlds: WhatIfWorlds, case: Case) -> IntArray:
    return worlds.filter(case.alive_rows).codes


def pods_on(case: Case, node_row: int) -> RowArray:
    return row_array(case.view.nodes.pod_rows[node_row])


def _is_plain(case: Case, pod_row: int) -> bool:
    """Ports are a set, volumes are looked up elsewhere, a pod that terminates counts for some and not for others.

    What becomes of these is more than the pod's move, and upstream's plugins have their own ways with them.
    """
    shape = case.view.shape(pod_row)
    return not shape.ports and not shape.spec.volumes and not case.view.pods.terminating[pod_row]


def _waiting(trial: Trial, case: Case) -> Pod:
    return next(pod for pod in trial.scene.waiting if _key(pod) == case.info.key)


def _placed(pod: Pod, node_name: str) -> Pod:
    placed = deepcopy(pod)
    placed.spec.node_name = node_name
    return placed


# ---------------------------------------------------------------- waking up


def misses_no_wake_up(trial: Trial) -> None:
    """A change after which a rejected pod fits somewhere is one that the plugin registered for; its hint agrees.

    What it says it sleeps through, as upstream's plugins do, counts as registered.
    """
    if not isinstance(trial.plugin, EnqueueExtensions):
        return  # it is helped by anything
    for pod in trial.scene.waiting:
        if not _rejects(trial, trial.scene.objects, pod):
            continue
        for old, new in trial.scene.changes:
            after, objects = pod, list(trial.scene.objects)
            if isinstance(new, Pod) and is_waiting(trial, new):
                if not is_same_pod(pod, new):
                    continue
                after = new
            else:
                objects = [obj for obj in objects if obj is not old] + ([] if new is None else [new])
            if not _has_nodes(objects) or _rejects(trial, objects, after):
                continue
            require(
                is_woken(trial.plugin, pod, old, new, objects, Wakeups.COMPLETE),
                "wakes",
                f"{_key(pod)} is rejected everywhere and fits after {described_change((old, new))}, "
                "but no registered event covers it",
            )


def _rejects(trial: Trial, objects: Sequence[Object], pod: Pod) -> bool:
    """Whether the plugin alone keeps the pod from the queue or from every node, of which there is one."""
    case = case_of(objects, pod)
    if "preEnqueue" in trial.points and not trial.plugin.pre_enqueue(case.info).ok:
        return True
    if not trial.filters or not len(case.alive_rows):
        return False
    outcome = prepared(trial.plugin, case)
    return not any(status_on(trial.plugin, outcome, case.view, int(row)).ok for row in case.alive_rows)


def is_waiting(trial: Trial, obj: Object | None) -> bool:
    return isinstance(obj, Pod) and any(is_same_pod(obj, pod) for pod in trial.scene.waiting)


def _has_nodes(objects: Sequence[Object]) -> bool:
    return any(isinstance(obj, Node) for obj in objects)


# ---------------------------------------------------------------- words


def _key(obj: Object) -> str:
    return object_key(obj) if isinstance(obj, Pod) else ""


def described_change(change: ObjectChange) -> str:
    old, new = change
    subject = new if new is not None else old
    assert subject is not None, "a change has an object before or after it"
    what = "came" if old is None else "went" if new is None else "changed"
    where = f" on {subject.spec.node_name}" if isinstance(subject, Pod) and subject.spec.node_name else ""
    return f"{type(subject).__name__} {subject.metadata.name}{where} {what}"


def _words(status: Status) -> str:
    return "it passes" if status.ok else f"it fails with {status.message!r}"
