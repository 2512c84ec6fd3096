"""Checks of what says where a pod may run: tolerations, affinity, topology spread."""

from __future__ import annotations

import json
import re

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.faults import NOT_POSITIVE, Faults
from bayplan.apiserver.admitting.validation.metadata import check_label_selector, check_operator
from bayplan.apiserver.schema.gates import gate_is_on
from bayplan.model.checks import INCLUSION_POLICIES, UNSATISFIABLE_ACTIONS
from bayplan.model.dns_names import label_faults, subdomain_faults
from bayplan.model.names import label_key_faults, label_value_faults
from bayplan.model.pod import PREFERRED, REQUIRED
from bayplan.model.tolerations import NO_EXECUTE
from bayplan.model.well_known import TAINT_EFFECTS

_ACTIONS = tuple(sorted(UNSATISFIABLE_ACTIONS))
_INCLUSION = tuple(sorted(INCLUSION_POLICIES))
_ANY_KEY = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
_DECIMAL_INTEGER = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)
_GO_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_INT64_DIGITS = 19
_UNSELECTED = "must not be specified when labelSelector is not set"


def check_tolerations(tolerations: list[Document], faults: Faults, path: Path) -> None:
    for position, toleration in enumerate(tolerations):
        at = f"{path}[{position}]"
        key, operator = toleration.get("key", ""), toleration.get("operator", "")
        effect, value = toleration.get("effect", ""), toleration.get("value", "")
        if key and label_key_faults(key):
            faults.all_invalid(f"{at}.key", key, label_key_faults(key))
        if not key and operator != "Exists":
            faults.invalid(f"{at}.operator", operator, _ANY_KEY)
        if toleration.get("tolerationSeconds") is not None and effect != NO_EXECUTE:
            faults.invalid(f"{at}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
        _check_toleration_operator(operator, value, faults, at)
        if effect and effect not in TAINT_EFFECTS:
            faults.unsupported(f"{at}.effect", effect, TAINT_EFFECTS)


def _check_toleration_operator(operator: str, value: str, faults: Faults, path: Path) -> None:
    at = f"{path}.operator"
    if operator in ("", "Equal"):
        if label_value_faults(value):
            faults.invalid(at, value, ";".join(label_value_faults(value)))
    elif operator == "Exists":
        if value:
            faults.invalid(at, value, "value must be empty when `operator` is 'Exists'")
    elif operator in ("Lt", "Gt"):
        if gate_is_on("TaintTolerationComparisonOperators"):
            _check_compared_number(value, faults, f"{path}.value")
        else:
            faults.unsupported(at, operator, ("Equal", "Exists", "Lt", "Gt"))
    else:
        faults.unsupported(at, operator, ("Equal", "Exists"))


def _check_compared_number(value: str, faults: Faults, path: Path) -> None:
    if not value:
        faults.invalid(path, value, "must be non-empty")
    elif not _DECIMAL_INTEGER.fullmatch(value):
        faults.invalid(path, value, "must be a valid decimal integer in canonical form")
    if not _GO_INTEGER.fullmatch(value):
        faults.invalid(path, value, f"strconv.ParseInt: parsing {json.dumps(value)}: invalid syntax")
    elif len(value.lstrip("+-0")) > _INT64_DIGITS or not -(2**63) <= int(value) < 2**63:
        faults.invalid(path, value, f"strconv.ParseInt: parsing {json.dumps(value)}: value out of range")


def check_affinity(affinity: Document, faults: Faults, path: Path) -> None:
    if "nodeAffinity" in affinity:
        _check_node_affinity(affinity["nodeAffinity"], faults, f"{path}.nodeAffinity")
    for field in ("podAffinity", "podAntiAffinity"):
        if field in affinity:
            _check_pod_affinity(affinity[field], faults, f"{path}.{field}")


def _check_node_affinity(affinity: Document, faults: Faults, path: Path) -> None:
    if REQUIRED in affinity:
        check_node_selector(affinity[REQUIRED], faults, f"{path}.{REQUIRED}")
    for position, preferred in enumerate(affinity.get(PREFERRED, ())):
        at = f"{path}.{PREFERRED}[{position}]"
        _check_weight(preferred["weight"], faults, at)
        _check_node_term(preferred["preference"], faults, f"{at}.preference", checks_values=False)


def _check_weight(weight: int, faults: Faults, path: Path) -> None:
    if not 1 <= weight <= 100:
        faults.invalid(f"{path}.weight", weight, "must be in the range 1-100")


def check_node_selector(selector: Document, faults: Faults, path: Path) -> None:
    """Of a selector of nodes made of terms."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        faults.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for position, term in enumerate(terms):
        _check_node_term(term, faults, f"{path}.nodeSelectorTerms[{position}]", checks_values=True)


def _check_node_term(term: Document, faults: Faults, path: Path, *, checks_values: bool) -> None:
    for position, requirement in enumerate(term.get("matchExpressions", ())):
        at = f"{path}.matchExpressions[{position}]"
        _check_node_requirement(requirement, faults, at)
        for index, value in enumerate(requirement.get("values", ()) if checks_values else ()):
            faults.all_invalid(f"{at}.values[{index}]", value, label_value_faults(value))
    for position, requirement in enumerate(term.get("matchFields", ())):
        _check_node_field(requirement, faults, f"{path}.matchFields[{position}]")


def _check_node_requirement(requirement: Document, faults: Faults, path: Path) -> None:
    operator, values = requirement["operator"], requirement.get("values", ())
    if operator in ("Gt", "Lt"):
        if len(values) != 1:
            faults.required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        check_operator(operator, values, faults, path)
    faults.all_invalid(f"{path}.key", requirement["key"], label_key_faults(requirement["key"]))


def _check_node_field(requirement: Document, faults: Faults, path: Path) -> None:
    values = requirement.get("values", ())
    if requirement["operator"] not in ("In", "NotIn"):
        faults.invalid(f"{path}.operator", requirement["operator"], "not a valid selector operator")
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        faults.required(f"{path}.values", text)
    if requirement["key"] != "metadata.name":
        faults.invalid(f"{path}.key", requirement["key"], "not a valid field selector key")
        return
    for position, value in enumerate(values):
        faults.all_invalid(f"{path}.values[{position}]", value, subdomain_faults(value))


def _check_pod_affinity(affinity: Document, faults: Faults, path: Path) -> None:
    for position, term in enumerate(affinity.get(REQUIRED, ())):
        _check_pod_term(term, faults, f"{path}.{REQUIRED}[{position}]")
    for position, weighted in enumerate(affinity.get(PREFERRED, ())):
        at = f"{path}.{PREFERRED}[{position}]"
        _check_weight(weighted["weight"], faults, at)
        _check_pod_term(weighted["podAffinityTerm"], faults, f"{at}.podAffinityTerm")


def _check_pod_term(term: Document, faults: Faults, path: Path) -> None:
    check_label_selector(term.get("labelSelector"), faults, f"{path}.labelSelector")
    check_label_selector(term.get("namespaceSelector"), faults, f"{path}.namespaceSelector")
    for namespace in term.get("namespaces", ()):
        faults.all_invalid(f"{path}.namespace", namespace, label_faults(namespace))
    _check_label_keys(term, faults, path, ("matchLabelKeys", "mismatchLabelKeys"))
    key = term["topologyKey"]
    if not key:
        faults.required(f"{path}.topologyKey", "can not be empty")
    faults.all_invalid(f"{path}.topologyKey", key, label_key_faults(key))


def _check_label_keys(term: Document, faults: Faults, path: Path, fields: tuple[str, ...]) -> None:
    for field in fields:
        if term.get(field):
            if "labelSelector" not in term:
                faults.forbidden(f"{path}.{field}", _UNSELECTED)
                continue
            for position, key in enumerate(term[field]):
                faults.all_invalid(f"{path}.{field}[{position}]", key, label_key_faults(key))
    _check_doubly_selected(term, faults, path)
    for position, key in enumerate(term.get("matchLabelKeys", ())):
        if key in term.get("mismatchLabelKeys", ()):
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            faults.invalid(f"{path}.matchLabelKeys[{position}]", key, text)


def _check_doubly_selected(term: Document, faults: Faults, path: Path) -> None:
    """Creation writes the keys into the selector, so a key that was there before is now there twice."""
    selector = term.get("labelSelector")
    keys = term.get("matchLabelKeys", ())
    if not selector or not keys:
        return
    seen = {*selector.get("matchLabels", ())}
    for requirement in selector.get("matchExpressions", ()):
        key = requirement["key"]
        if key in keys and key in seen:
            last = max(position for position, other in enumerate(keys) if other == key)
            faults.invalid(f"{path}[{last}]", key, "exists in both matchLabelKeys and labelSelector")
        seen.add(key)


def check_spread_constraints(constraints: list[Document], faults: Faults, path: Path) -> None:
    for position, constraint in enumerate(constraints):
        at = f"{path}[{position}]"
        if constraint["maxSkew"] <= 0:
            faults.invalid(f"{at}.maxSkew", constraint["maxSkew"], NOT_POSITIVE)
        if not constraint["topologyKey"]:
            faults.required(f"{at}.topologyKey", "can not be empty")
        action = constraint["whenUnsatisfiable"]
        if action not in _ACTIONS:
            faults.unsupported(f"{at}.whenUnsatisfiable", action, _ACTIONS)
        pair = (constraint["topologyKey"], action)
        if any((other["topologyKey"], other["whenUnsatisfiable"]) == pair for other in constraints[position + 1 :]):
            faults.duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{pair[0]}, {pair[1]}}}")
        _check_domains(constraint, faults, at)
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if field in constraint and constraint[field] not in _INCLUSION:
                faults.unsupported(f"{at}.{field}", constraint[field], _INCLUSION)
        _check_label_keys(constraint, faults, at, ("matchLabelKeys",))
        check_label_selector(constraint.get("labelSelector"), faults, f"{at}.labelSelector")


def _check_domains(constraint: Document, faults: Faults, path: Path) -> None:
    domains, action = constraint.get("minDomains"), constraint["whenUnsatisfiable"]
    if domains is None:
        return
    if domains <= 0:
        faults.invalid(f"{path}.minDomains", domains, NOT_POSITIVE)
    if action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        faults.invalid(f"{path}.minDomains", domains, text)
