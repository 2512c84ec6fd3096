"""Whether the node affinity of a configuration can be evaluated at all.

Takes a `NodeAffinity`, reports requirements with an unknown operator, a wrong number of values or invalid
names. Terms that match nothing (no requirement) and preferences without weight are allowed: they have no
effect.
"""

from __future__ import annotations

import re

from bayplan.config.faults import Faults, element
from bayplan.config.names import label_value_errors, qualified_name_errors
from bayplan.model.conversion import child
from bayplan.model.pod import PREFERRED, REQUIRED, NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm

_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS = ("In", "NotIn")
_INTEGER = re.compile(r"[+-]?[0-9]+")


def check_node_affinity(affinity: NodeAffinity, path: str, faults: Faults) -> None:
    """Report every requirement of the affinity that cannot be evaluated."""
    if affinity.required is not None:
        terms_path = child(child(path, REQUIRED), "nodeSelectorTerms")
        for position, term in enumerate(affinity.required.node_selector_terms):
            _check_term(term, element(terms_path, position), faults)
    for position, preferred in enumerate(affinity.preferred):
        if preferred.weight != 0:
            preference_path = child(element(child(path, PREFERRED), position), "preference")
            _check_term(preferred.preference, preference_path, faults)


def _check_term(term: NodeSelectorTerm, path: str, faults: Faults) -> None:
    for position, requirement in enumerate(term.match_expressions):
        _check_label_requirement(requirement, element(child(path, "matchExpressions"), position), faults)
    for position, requirement in enumerate(term.match_fields):
        _check_field_requirement(requirement, element(child(path, "matchFields"), position), faults)


def _check_label_requirement(requirement: NodeSelectorRequirement, path: str, faults: Faults) -> None:
    operator, values, values_path = requirement.operator, requirement.values, child(path, "values")
    if operator not in _LABEL_OPERATORS:
        faults.unsupported(child(path, "operator"), operator, _LABEL_OPERATORS)
    for error in qualified_name_errors(requirement.key):
        faults.invalid(child(path, "key"), requirement.key, error)
    if operator in ("In", "NotIn") and not values:
        faults.invalid(values_path, values, "for 'in', 'notin' operators, values set can't be empty")
    if operator in ("Exists", "DoesNotExist") and values:
        faults.invalid(values_path, values, "values set must be empty for exists and does not exist")
    if operator in ("Gt", "Lt"):
        _check_bound(values, values_path, faults)
    for position, value in enumerate(values):
        for error in label_value_errors(value):
            faults.invalid(element(values_path, position), value, error)


def _check_bound(values: list[str], path: str, faults: Faults) -> None:
    if len(values) != 1:
        faults.invalid(path, values, "for 'Gt', 'Lt' operators, exactly one value is required")
        return
    if not _INTEGER.fullmatch(values[0]):
        faults.invalid(element(path, 0), values[0], "for 'Gt', 'Lt' operators, the value must be an integer")


def _check_field_requirement(requirement: NodeSelectorRequirement, path: str, faults: Faults) -> None:
    if requirement.operator not in _FIELD_OPERATORS:
        faults.unsupported(child(path, "operator"), requirement.operator, _FIELD_OPERATORS)
    elif len(requirement.values) != 1:
        faults.invalid(child(path, "values"), requirement.values, "must have one element")
