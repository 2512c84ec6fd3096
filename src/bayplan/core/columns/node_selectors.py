"""Node selectors over all nodes at once.

A selector is compiled into requirements and evaluated as masks: a requirement is decided for each distinct value of
its label and looked up by value id. Upstream's rules: terms are alternatives, requirements within a term must all
hold, a term without any requirement matches nothing, and so does a term that does not parse. Ghosts never match.
Masks are cached on the node table and read-only; an invalid term is dropped in silence unless the caller compiles
it with `compile_term`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from bayplan.core.columns import ABSENT, BoolArray
from bayplan.core.columns.labels import LabelColumn
from bayplan.core.columns.nodes import NodeTable
from bayplan.model.node import Node
from bayplan.model.pod import NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm, PodSpec
from bayplan.model.selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    IN,
    NOT_IN,
    CompiledNodeTerm,
    LabelRequirement,
    SelectorError,
    compile_node_term,
)

NodeTerm: TypeAlias = CompiledNodeTerm

_Written: TypeAlias = tuple[tuple[str, str, tuple[str, ...]], ...]


class RequiredNodes(NamedTuple):
    """Where a pod may go at all, by its own word: node selector and required node affinity."""

    labels: tuple[tuple[str, str], ...] = ()
    terms: tuple[NodeTerm, ...] | None = None  # None: there is no required affinity; (): nothing matches it

    @property
    def restricts(self) -> bool:
        return bool(self.labels) or self.terms is not None

    def allow(self, node: Node) -> bool:
        """What `match_required` says, of a node that is in no table."""
        return self.labels_on(node) and (self.terms is None or matches_any(node, self.terms))

    def labels_on(self, node: Node) -> bool:
        """Whether the node has all labels of the node selector."""
        return all(node.metadata.labels.get(key) == value for key, value in self.labels)


ANYWHERE = RequiredNodes()
_NO_AFFINITY = NodeAffinity()


def node_affinity_of(spec: PodSpec) -> NodeAffinity:
    """The pod's own node affinity; read it, never write to it."""
    return (spec.affinity.node_affinity if spec.affinity is not None else None) or _NO_AFFINITY


def required_nodes(spec: PodSpec) -> RequiredNodes:
    """What the pod itself demands of nodes. Terms that do not parse can never match and are left out."""
    required = node_affinity_of(spec).required
    if required is None and not spec.node_selector:
        return ANYWHERE
    terms = None if required is None else compile_terms(required.node_selector_terms)
    return RequiredNodes(tuple(sorted(spec.node_selector.items())), terms)


def matches_any(node: Node, terms: Iterable[NodeTerm]) -> bool:
    """What `match_any` says, of a node that is in no table."""
    return any(term.matches(node.metadata.labels, node.metadata.name) for term in terms)


def match_required(nodes: NodeTable, required: RequiredNodes) -> BoolArray:
    """(nodes,) nodes that a pod with these demands may go to. Read-only."""

    def build() -> BoolArray:
        matched = match_labels(nodes, dict(required.labels))
        return matched if required.terms is None else matched & match_any(nodes, required.terms)

    return nodes.masks.get(required, _instant(nodes), build)


def compile_terms(terms: Iterable[NodeSelectorTerm]) -> tuple[NodeTerm, ...]:
    """The terms that parse; one that does not can never match."""
    compiled = []
    for term in terms:
        try:
            compiled.append(compile_term(term))
        except SelectorError:
            continue
    return tuple(compiled)


def compile_term(term: NodeSelectorTerm, path: str = "") -> NodeTerm:
    """Raises SelectorError, whose message begins with `path`."""
    return _compile_written(_written(term.match_expressions), _written(term.match_fields), path)


def match_any(nodes: NodeTable, terms: tuple[NodeTerm, ...]) -> BoolArray:
    """(nodes,) nodes that some term matches. Read-only."""
    return nodes.masks.get(terms, _instant(nodes), lambda: match_some(nodes, terms))


def match_some(nodes: NodeTable, terms: Iterable[NodeTerm], *, use_fields: bool = True) -> BoolArray:
    """(nodes,) as `match_any`, not cached.

    Without `use_fields` fields are not looked at, which is how upstream checks a volume's node affinity.
    """
    matched = np.zeros(nodes.count, dtype=np.bool_)
    for term in terms:
        matched |= _match_term(nodes, term, use_fields)
    return matched


def _match_term(nodes: NodeTable, term: NodeTerm, use_fields: bool) -> BoolArray:
    """(nodes,) nodes that meet every requirement of the term."""
    if not term.labels and not term.names:
        return np.zeros(nodes.count, dtype=np.bool_)
    matched = nodes.alive.copy()
    for requirement in term.labels:
        matched &= _match_label(nodes.labels.column(requirement.key), requirement)
    if use_fields:
        for requirement in term.names:
            named = nodes.named(requirement.values)
            matched &= named if requirement.operator == IN else ~named
    return matched


def match_labels(nodes: NodeTable, wanted: Mapping[str, str]) -> BoolArray:
    """(nodes,) nodes that have all these labels; not cached."""
    matched = nodes.alive.copy()
    for key, value in wanted.items():
        matched &= _has_value(nodes.labels.column(key), (value,))
    return matched


def _instant(nodes: NodeTable) -> tuple[int, int]:
    # The count belongs to it: a ghost lengthens the table without any node having changed.
    return nodes.spec_changes.position, nodes.count


def _match_label(column: LabelColumn, requirement: LabelRequirement) -> BoolArray:
    operator = requirement.operator
    if operator == IN:
        return _has_value(column, requirement.values)
    if operator == NOT_IN:
        return ~_has_value(column, requirement.values)
    if operator in (EXISTS, DOES_NOT_EXIST):
        present: BoolArray = column.ids != ABSENT
        return present if operator == EXISTS else ~present
    key = requirement.key
    return column.where(lambda value: requirement.matches({key: value}), absent=False)


def _has_value(column: LabelColumn, values: Iterable[str]) -> BoolArray:
    value_ids = [value_id for value_id in map(column.values.find, values) if value_id != ABSENT]
    if len(value_ids) == 1:
        has_it: BoolArray = column.ids == value_ids[0]
        return has_it
    accepted = np.zeros(column.domains + 1, dtype=np.bool_)  # the last entry answers for id -1
    accepted[value_ids] = True
    return accepted[column.ids]


def _written(requirements: Iterable[NodeSelectorRequirement]) -> _Written:
    return tuple((item.key, item.operator, tuple(item.values)) for item in requirements)


@lru_cache(maxsize=16_384)
def _compile_written(expressions: _Written, fields: _Written, path: str) -> NodeTerm:
    term = NodeSelectorTerm(match_expressions=_requirements(expressions), match_fields=_requirements(fields))
    return compile_node_term(term, path)


def _requirements(written: _Written) -> list[NodeSelectorRequirement]:
    return [NodeSelectorRequirement(key=key, operator=op, values=list(values)) for key, op, values in written]
