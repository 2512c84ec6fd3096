"""Whether labels match a selector with matchLabels and matchExpressions, as a document holds it."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.apiserver.admitting.documents import Document


def matches(selector: Document, labels: Mapping[str, str]) -> bool:
    """An empty selector matches everything; one that is malformed matches nothing."""
    wanted = selector.get("matchLabels", {})
    return wanted.items() <= labels.items() and all(
        _holds(requirement, labels) for requirement in selector.get("matchExpressions", ())
    )


def _holds(requirement: Document, labels: Mapping[str, str]) -> bool:
    key, operator, values = requirement["key"], requirement["operator"], requirement.get("values", ())
    if operator == "In":
        return labels.get(key) in values
    if operator == "NotIn":
        return labels.get(key) not in values
    if operator == "Exists":
        return key in labels
    return operator == "DoesNotExist" and key not in labels
