"""Checks of questions about permissions. Upstream: pkg/apis/authorization/validation/validation.go (v1.36)."""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.schema.go_order import in_go_order
from bayplan.apiserver.schema.messages import message

_ONE_OF_BOTH = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
_SELF = "SelfSubjectAccessReview"


def check_access_review(review: Document, namespace: str, faults: Faults) -> None:
    """Of a review in this namespace, or in none; with the metadata that it came with."""
    spec = review["spec"]
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    shown = None if other is None else internal(other, "NonResourceAttributes")
    if admission_release().reviews_need_one_question:
        if (resource is None) == (other is None):
            faults.invalid("spec", shown, _ONE_OF_BOTH)
    elif resource is None and other is None:
        faults.invalid("spec.resourceAttributes", None, _ONE_OF_BOTH)
    elif resource is not None and other is not None:
        text = "cannot be specified in combination with resourceAttributes"
        faults.invalid("spec.nonResourceAttributes", shown, text)
    if review["kind"] != _SELF and not spec.get("user") and not spec.get("groups"):
        faults.invalid("spec.user", spec.get("user", ""), "at least one of user or group must be specified")
    for field in ("fieldSelector", "labelSelector"):
        if (resource or {}).get(field) is not None:
            _check_selector((resource or {})[field], faults, f"spec.resourceAttributes.{field}")
    _check_metadata(review["metadata"], namespace, faults)
    if not namespace:
        return
    asked = (resource or {}).get("namespace", "")
    if resource is not None and asked != namespace:
        faults.invalid(
            "spec.resourceAttributes.namespace", resource.get("namespace", ""), "must match metadata.namespace"
        )
    if other is not None:
        faults.invalid("spec.nonResourceAttributes", shown, "disallowed on this kind of request")


def _check_selector(selector: Document, faults: Faults, path: Path) -> None:
    raw, requirements = selector.get("rawSelector"), selector.get("requirements")
    if raw and requirements:
        faults.invalid(f"{path}.rawSelector", raw, "may not specified at the same time as requirements")
    if not raw and not requirements:
        text = f"when {path} is specified, requirements or rawSelector is required"
        faults.required(f"{path}.requirements", text)


def _check_metadata(metadata: Document, namespace: str, faults: Faults) -> None:
    """Nobody needs any, as nothing is stored."""
    if metadata.keys() - {"managedFields", "namespace"}:
        text = "must be empty except for namespace" if namespace else "must be empty"
        faults.invalid("metadata", in_go_order(metadata, message("meta.v1.ObjectMeta")), text)
