"""Checks of questions about permissions. Upstream: pkg/apis/authorization/validation/validation.go (v1.36)."""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.admitting.validation.faults import Faults

_ONE_OF_BOTH = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
_SELF = "SelfSubjectAccessReview"


def check_access_review(review: Document, namespace: str, faults: Faults) -> None:
    """Of a review in this namespace, or in none."""
    spec = review["spec"]
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if admission_release().reviews_need_one_question:
        if (resource is None) == (other is None):
            faults.invalid("spec", other, _ONE_OF_BOTH)
    elif resource is None and other is None:
        faults.invalid("spec.resourceAttributes", None, _ONE_OF_BOTH)
    elif resource is not None and other is not None:
        text = "cannot be specified in combination with resourceAttributes"
        faults.invalid("spec.nonResourceAttributes", internal(other, "NonResourceAttributes"), text)
    if review["kind"] != _SELF and not spec.get("user") and not spec.get("groups"):
        faults.invalid("spec.user", spec.get("user", ""), "at least one of user or group must be specified")
    if not namespace:
        return
    asked = (resource or {}).get("namespace", "")
    if resource is not None and asked != namespace:
        faults.invalid(
            "spec.resourceAttributes.namespace", resource.get("namespace", ""), "must match metadata.namespace"
        )
    if other is not None:
        shown = internal(other, "NonResourceAttributes")
        faults.invalid("spec.nonResourceAttributes", shown, "disallowed on this kind of request")
