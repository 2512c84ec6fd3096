"""The rules that hold for one snapshot: answers depend on it alone, node by node, and leave it as it is.

Each rule takes a trial (a plugin and a scene) and raises `Breach`. What happens when the cluster changes, really or
as a what-if, is in `change_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import numpy as np

from bayplan.core.columns import ALL_ROWS, IntArray, RowArray, row_array
from bayplan.core.filtering import filter_pod
from bayplan.core.framework.contract import (
    MAX_NODE_SCORE,
    Reads,
    Ready,
    Skip,
)
from bayplan.core.framework.verdict import Status
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.testing.asking import (
    Breach,
    Case,
    case_of,
    codes_of,
    default_profile,
    digest,
    explained,
    freeze,
    normal_scores,
    prepared,
    raw_scores,
    require,
    score_state,
    status_on,
    transcript,
)
from bayplan.testing.asking_groups import group_transcript
from bayplan.testing.clusters import Scene


@dataclass(slots=True)
class Seen:
    """What a plugin has done so far, to tell a rule that holds from one that was never put to the test."""

    passed: bool = False
    rejected: bool = False
    scores: set[int] = field(default_factory=set)
    placement_scores: set[int] = field(default_factory=set)
    divided: bool = False  # some group got several placements


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A plugin on a scene."""

    plugin: Any
    fresh: Callable[[], Any]  # another instance, which has not been asked anything yet
    points: frozenset[str]
    scene: Scene
    seen: Seen
    _cases: dict[str, Case] = field(default_factory=dict)

    @property
    def filters(self) -> bool:
        return "filter" in self.points

    @property
    def scores(self) -> bool:
        return "score" in self.points

    @property
    def sees_placements(self) -> bool:
        return bool(self.points & {"placementGenerate", "placementScore"})

    def cases(self) -> Iterator[Case]:
        """Each waiting pod, in a cluster of its own that must not be changed."""
        for pod in self.scene.waiting:
            yield self.case(pod)

    def case(self, pod: Pod) -> Case:
        if pod.metadata.name not in self._cases:
            self._cases[pod.metadata.name] = case_of(self.scene.objects, pod)
        return self._cases[pod.metadata.name]

    def transcript(self, case: Case, other: Any = None) -> list[tuple[str, Any]]:
        """All that the plugin says of a case, or another plugin in its place."""
        rows = self.score_rows(case) if self.scores else row_array([])
        plugin, points = other or self.plugin, sorted(self.points)
        return [*transcript(plugin, points, case, rows), *group_transcript(plugin, points, case)]

    def rng(self) -> Random:
        return Random(self.scene.seed)

    def score_rows(self, case: Case) -> RowArray:
        """The rows a score plugin is asked about: all where answers are kept, else those that could be chosen."""
        if Reads.CLUSTER not in self.plugin.score_reads:
            return row_array(range(case.view.nodes.count))
        return feasible_rows(self, case)


def feasible_rows(trial: Trial, case: Case) -> RowArray:
    """What the default plugins and this one leave: no score plugin is asked what it thinks of other nodes."""
    rows = filter_pod(default_profile(), case.info, case.view).feasible_rows
    if not trial.filters or not len(rows):
        return rows
    outcome = prepared(trial.plugin, case)
    passed = [row for row in rows.tolist() if status_on(trial.plugin, outcome, case.view, row).ok]
    return row_array(passed)


# ---------------------------------------------------------------- the rules


def leaves_the_snapshot_alone(trial: Trial) -> None:
    for pod in trial.scene.waiting:
        case = case_of(trial.scene.objects, pod)
        freeze(case.cache)
        before = digest(case)
        try:
            trial.transcript(case)
        except ValueError as error:
            if "read-only" in str(error):
                raise Breach("untouched", f"it writes into a column of the snapshot ({error})") from error
            raise
        after = digest(case)
        changed = [part for part in before if before[part] != after[part]]
        require(not changed, "untouched", f"it changes {', '.join(changed)}")


def says_the_same_twice(trial: Trial) -> None:
    for case in trial.cases():
        first = trial.transcript(case)
        again = trial.transcript(case)
        _compare_transcripts(first, again, "asked twice")
        other = trial.transcript(case, trial.fresh())
        _compare_transcripts(first, other, "compared with a new instance")


def _compare_transcripts(first: list[tuple[str, Any]], later: list[tuple[str, Any]], how: str) -> None:
    for (point, said), (_, said_later) in zip(first, later, strict=True):
        require(said == said_later, "repeat", f"{how}, it answers differently at {point}")


def answers_row_by_row(trial: Trial) -> None:
    """Any selection of rows, in any order, gets the answers of those rows."""
    rng = trial.rng()
    for case in trial.cases():
        if trial.filters:
            outcome = prepared(trial.plugin, case)
            if isinstance(outcome, Ready):
                answers = codes_of(trial.plugin, outcome.state, case.view, ALL_ROWS)
                every = row_array(range(case.view.nodes.count))
                _check_selections(rng, answers, every, partial(codes_of, trial.plugin, outcome.state, case.view))
        if trial.scores:
            rows = trial.score_rows(case)
            state = score_state(trial.plugin, case, rows)
            if len(rows) and not isinstance(state, Skip):
                answers = raw_scores(trial.plugin, state, case.view, rows)
                _check_selections(rng, answers, rows, partial(raw_scores, trial.plugin, state, case.view))


def _check_selections(rng: Random, answers: IntArray, rows: RowArray, ask: Callable[[RowArray], IntArray]) -> None:
    positions = list(range(len(rows)))
    shuffled = rng.sample(positions, len(positions))
    some = sorted(rng.sample(positions, rng.randint(0, len(positions))))
    selections = {"given as an array": positions, "shuffled": shuffled, "a part of them": some, "none of them": []}
    for how, selection in selections.items():
        found, expected = ask(rows[row_array(selection)]), answers[row_array(selection)]
        same = np.array_equal(found, expected)
        require(same, "rows", f"asked about all rows, {how}: {found.tolist()}, not {expected.tolist()}")


def does_not_care_in_which_order_nodes_came(trial: Trial) -> None:
    nodes = [obj for obj in trial.scene.objects if isinstance(obj, Node)]
    others = [obj for obj in trial.scene.objects if not isinstance(obj, Node)]
    for pod in trial.scene.waiting:
        reversed_case = case_of([*reversed(nodes), *others], pod)
        said, said_then = words_by_node(trial, trial.case(pod)), words_by_node(trial, reversed_case)
        for name, words in said.items():
            require(
                words == said_then[name],
                "order",
                f"{name}: {words}, but {said_then[name]} if nodes are added in reverse",
            )


def words_by_node(trial: Trial, case: Case) -> dict[str, Any]:
    """Verdict and scores of each node."""
    names = [case.view.nodes.names[row] for row in case.alive_rows]
    statuses: list[Any] = [None] * len(names)
    scores: dict[str, int] = {}
    if trial.filters:
        outcome = prepared(trial.plugin, case)
        statuses = [status_on(trial.plugin, outcome, case.view, case.row_of(name)) for name in names]
    if trial.scores:
        rows = feasible_rows(trial, case)
        state = score_state(trial.plugin, case, rows)
        if len(rows) and not isinstance(state, Skip):
            raw = raw_scores(trial.plugin, state, case.view, rows)
            normal = normal_scores(trial.plugin, state, raw, rows)
            scores = {case.view.nodes.names[row]: int(score) for row, score in zip(rows, normal, strict=True)}
    return {name: (status, scores.get(name)) for name, status in zip(names, statuses, strict=True)}


def works_without_nodes_and_with_one(trial: Trial) -> None:
    nodes = [obj for obj in trial.scene.objects if isinstance(obj, Node)]
    others = [obj for obj in trial.scene.objects if not isinstance(obj, Node)]
    nobody = [obj for obj in others if not isinstance(obj, Pod)]
    for objects, size in (
        (nobody, "no node"),
        (others, "no nodes, but pods with a nodeName"),
        ([nodes[0], *others], "one"),
    ):
        for pod in trial.scene.waiting:
            try:
                trial.transcript(case_of(objects, pod))
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                raise Breach("empty", f"in a cluster with {size} it raises {type(error).__name__}: {error}") from error


def scores_from_0_to_100(trial: Trial) -> None:
    if not trial.scores:
        return
    rng = trial.rng()
    for case in trial.cases():
        every = feasible_rows(trial, case)
        for rows in (every, every[: rng.randint(0, len(every))]):
            state = score_state(trial.plugin, case, rows)
            if not len(rows) or isinstance(state, Skip):
                continue
            raw = raw_scores(trial.plugin, state, case.view, rows)
            final = normal_scores(trial.plugin, state, raw, rows)
            trial.seen.scores.update(final.tolist())
            outside = final[(final < 0) | (final > MAX_NODE_SCORE)].tolist()
            require(not outside, "range", f"final scores are 0 to {MAX_NODE_SCORE}, not {outside}")


def gives_reasons(trial: Trial) -> None:
    if not trial.filters:
        return
    for case in trial.cases():
        outcome = prepared(trial.plugin, case)
        if isinstance(outcome, Status):
            trial.seen.rejected = True
            require(outcome.reasons and all(outcome.reasons), "reasons", "pre_filter rejects a pod without a reason")
        if isinstance(outcome, Ready):
            codes = codes_of(trial.plugin, outcome.state, case.view, case.alive_rows)
            trial.seen.passed |= bool((codes == 0).any())
            for code in np.unique(codes[codes != 0]).tolist():
                trial.seen.rejected = True
                explained(trial.plugin, outcome.state, case.view, code)
        else:
            trial.seen.passed |= isinstance(outcome, Skip)


def skips_what_does_not_concern_it(trial: Trial) -> None:
    if not hasattr(trial.plugin, "concerns"):
        return
    for case in trial.cases():
        if not trial.plugin.concerns(case.info):
            outcome = prepared(trial.plugin, case)
            require(isinstance(outcome, Skip), "concerns", f"concerns says no, yet pre_filter gives {outcome!r}")
