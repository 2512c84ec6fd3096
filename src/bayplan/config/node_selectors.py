"""Whether the node affinity of a configuration can be evaluated at all.

Takes a `NodeAffinity`, reports requirements with an unknown operator, a wrong number of values or invalid names. Terms
that match nothing (no requirement) and preferences without weight are allowed: they have no effect.
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.config.faults import ConfigFaults
from bayplan.model.conversion import FieldFault
from bayplan.model.pod import PREFERRED, REQUIRED, NodeAffinity, NodeSelectorTerm
from bayplan.model.selectors import node_field_faults, node_requirement_faults


def check_node_affinity(affinity: NodeAffinity, path: str, faults: ConfigFaults) -> None:
    """Report every requirement of the affinity that cannot be evaluated."""
    for term, term_path in _terms(affinity, path):
        for field, message in _term_faults(term, term_path):
            faults.add(field, message)


def _terms(affinity: NodeAffinity, path: str) -> Iterator[tuple[NodeSelectorTerm, str]]:
    if affinity.required is not None:
        for position, term in enumerate(affinity.required.node_selector_terms):
            yield term, f"{path}.{REQUIRED}.nodeSelectorTerms[{position}]"
    for position, preferred in enumerate(affinity.preferred):
        if preferred.weight != 0:
            yield preferred.preference, f"{path}.{PREFERRED}[{position}].preference"


def _term_faults(term: NodeSelectorTerm, path: str) -> Iterator[FieldFault]:
    for position, requirement in enumerate(term.match_expressions):
        yield from node_requirement_faults(requirement, f"{path}.matchExpressions[{position}]")
    for position, requirement in enumerate(term.match_fields):
        yield from node_field_faults(requirement, f"{path}.matchFields[{position}]")
