"""NodeAffinity: node selectors and node affinity, of the pod and of the profile (`addedAffinity`).

Required terms filter, preferred terms score by their weights. Compiled terms become cached masks over all nodes, so
judging some rows is a lookup. Required terms that do not parse match nothing; preferred ones that do not parse
end the attempt, as upstream. Constructing the plugin raises SelectorError on an addedAffinity that does not parse.
Upstream: plugins/nodeaffinity/node_affinity.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import ClassVar, TypeAlias

import numpy as np

from bayplan.core.columns import BoolArray, IntArray, RowArray, Rows
from bayplan.core.columns.node_selectors import (
    NodeTerm,
    RequiredNodes,
    compile_term,
    match_any,
    match_required,
    matches_any,
    node_affinity_of,
    required_nodes,
)
from bayplan.core.columns.nodes import NodeTable
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.args import NodeAffinityArgs
from bayplan.core.framework.contract import (
    SKIP,
    PreFiltered,
    Reads,
    Ready,
    Skip,
    default_normalize,
)
from bayplan.core.framework.requeue import ActionType, ClusterEventWithHint, EventResource
from bayplan.core.framework.speed_hints import OtherNodes, sign_constraints
from bayplan.core.framework.verdict import CycleError, Status, unresolvable
from bayplan.core.plugins.requeue_rules import on
from bayplan.core.snapshot import View
from bayplan.model.node import Node
from bayplan.model.pod import NodeAffinity as NodeAffinitySpec
from bayplan.model.pod import NodeSelectorTerm, PodSpec, PreferredSchedulingTerm
from bayplan.model.selectors import IN, NODE_NAME_FIELD, SelectorError

REASON_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
REASON_POD = "node(s) didn't match Pod's node affinity/selector"
REASON_CONFLICT = "pod affinity terms conflict"

FAILS_ENFORCED, FAILS_POD = 1, 2

#: Terms with what a node gets for matching them.
WeightedTerms: TypeAlias = tuple[tuple[int, NodeTerm], ...]


class NodeAffinity:
    """Filter and score."""

    name: ClassVar[str] = "NodeAffinity"
    scores_unprepared: ClassVar[bool] = True
    reads: ClassVar[Reads] = Reads.NODE
    score_reads: ClassVar[Reads] = Reads.NODE
    sign_pod = staticmethod(sign_constraints)
    other_nodes: ClassVar[OtherNodes] = OtherNodes.NOTHING

    def __init__(self, args: NodeAffinityArgs | None = None) -> None:
        added = (args or NodeAffinityArgs()).added_affinity or NodeAffinitySpec()
        self._added_required = (
            None if added.required is None else tuple(compile_term(term) for term in added.required.node_selector_terms)
        )
        self._has_added_preferred = bool(added.preferred)
        self._added_preferred = weighted_terms(added.preferred)

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:  # noqa: ARG002
        required = required_nodes(pod.spec)
        if not required.restricts and self._added_required is None:
            return SKIP
        names = named_nodes(_required_terms(pod.spec))
        if names is not None and not names:
            return unresolvable(REASON_CONFLICT)
        return Ready(required, names)

    def unprepared(self, pod: PodInfo, view: View) -> RequiredNodes:  # noqa: ARG002
        return required_nodes(pod.spec)

    def filter(self, state: RequiredNodes, view: View, rows: Rows) -> IntArray:
        return self._codes(view.nodes, match_required(view.nodes, state)[rows], rows)

    def _codes(self, nodes: NodeTable, matches_pod: BoolArray, rows: Rows) -> IntArray:
        codes = np.where(matches_pod, 0, FAILS_POD).astype(np.int64)
        if self._added_required is not None:
            codes[~match_any(nodes, self._added_required)[rows]] = FAILS_ENFORCED
        return codes

    def explain_failure(self, state: object, view: View, code: int) -> Status:  # noqa: ARG002
        return unresolvable(REASON_ENFORCED if code == FAILS_ENFORCED else REASON_POD)

    def pre_score(self, pod: PodInfo, view: View, feasible_rows: RowArray) -> WeightedTerms | Skip:  # noqa: ARG002
        preferred = node_affinity_of(pod.spec).preferred
        if not preferred and not self._has_added_preferred:
            return SKIP
        return self._scoring_terms(preferred)

    def _scoring_terms(self, preferred: Iterable[PreferredSchedulingTerm]) -> WeightedTerms:
        try:
            return self._added_preferred + weighted_terms(preferred)
        except SelectorError as problem:
            raise CycleError(self.name, str(problem)) from problem

    def score(self, state: WeightedTerms | PodInfo, view: View, rows: RowArray) -> IntArray:
        # As for pre_filter: a profile may leave out pre_score.
        terms = self._scoring_terms(node_affinity_of(state.spec).preferred) if isinstance(state, PodInfo) else state
        scores = np.zeros(len(rows), dtype=np.int64)
        for weight, term in terms:
            scores += weight * match_any(view.nodes, (term,))[rows]
        return scores

    def normalize(self, state: object, scores: IntArray, rows: RowArray) -> IntArray:  # noqa: ARG002
        return default_normalize(scores, reverse=False)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        hint = partial(after_node_change, enforced=self._added_required)
        return (on(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL, hint),)

    def events_slept_through(self) -> tuple[ClusterEventWithHint, ...]:
        if self._added_required is None:
            return ()
        hint = partial(after_enforced_terms_met, enforced=self._added_required)
        return (on(EventResource.NODE, ActionType.UPDATE_NODE_LABEL, hint),)


def after_node_change(
    pod: PodInfo, old: Node | None, new: Node, *, enforced: tuple[NodeTerm, ...] | None = None
) -> bool:
    """Hint: a node that the pod may go to and, if it is not new, might not go to before by its own word.

    As upstream: a node that only now meets the profile's `enforced` terms, but always met the pod's, wakes nobody. A
    term that does not parse makes the hint fail where no other term matches, which counts as a yes.
    """
    required = required_nodes(pod.spec)
    if enforced is not None and not matches_any(new, enforced):
        return False
    if not required.allow(new):
        return required.labels_on(new) and _has_faults(pod.spec, required)
    return old is None or not required.allow(old)


def after_enforced_terms_met(pod: PodInfo, old: Node, new: Node, *, enforced: tuple[NodeTerm, ...]) -> bool:
    """Hint upstream lacks: a node that the pod might always go to by its own word has come to meet the profile's."""
    return not matches_any(old, enforced) and matches_any(new, enforced) and required_nodes(pod.spec).allow(new)


def _has_faults(spec: PodSpec, required: RequiredNodes) -> bool:
    """Whether some required term does not parse and was left out."""
    return len(required.terms or ()) < len(_required_terms(spec))


def named_nodes(terms: Iterable[NodeSelectorTerm]) -> frozenset[str] | None:
    """The only nodes that alternatives which all name their nodes leave; None when some alternative names none.

    The terms are taken as written, whether they parse or not.
    """
    names: frozenset[str] | None = None
    for term in terms:
        required = [
            frozenset(field.values)
            for field in term.match_fields
            if field.key == NODE_NAME_FIELD and field.operator == IN
        ]
        if not required:
            return None
        names = (names or frozenset()) | required[0].intersection(*required[1:])
    return names


def weighted_terms(preferred: Iterable[PreferredSchedulingTerm]) -> WeightedTerms:
    """The terms that can earn a node anything. Raises SelectorError with all that is wrong with them."""
    compiled: list[tuple[int, NodeTerm]] = []
    faults: list[str] = []
    for position, term in enumerate(preferred):
        preference = term.preference
        if term.weight == 0 or not (preference.match_expressions or preference.match_fields):
            continue
        try:
            compiled.append((term.weight, compile_term(preference, f"[{position}]")))
        except SelectorError as problem:
            faults += problem.faults
    if faults:
        raise SelectorError(*faults)
    return tuple(compiled)


def _required_terms(spec: PodSpec) -> list[NodeSelectorTerm]:
    required = node_affinity_of(spec).required
    return required.node_selector_terms if required is not None else []
