"""Questions that are asked by creating an object which is answered and never stored: may I, who am I.

Whoever has a token may do everything here: roles and their bindings are stored, and nobody asks them.
"""

from __future__ import annotations

from typing import Any, Final

from bayplan.apiserver.admitting.validation.access_reviews import check_access_review
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.http import writing
from bayplan.apiserver.http.accepting import Form, not_acceptable
from bayplan.apiserver.http.bodies import decode
from bayplan.apiserver.http.rendering import document_answer
from bayplan.apiserver.http.requests import Answer, Request
from bayplan.apiserver.http.routing import Target
from bayplan.apiserver.patching.server_side_apply.tracking import track
from bayplan.apiserver.registry.admission import with_defaults
from bayplan.apiserver.registry.documents import metadata_of
from bayplan.apiserver.registry.registry import Registry
from bayplan.model.timestamps import format_time
from bayplan.store.errors import BadRequest, Invalid

_EVERYTHING: Final = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}
_STATUSES: Final[dict[str, dict[str, Any]]] = {
    "SelfSubjectAccessReview": {"allowed": True},
    "SubjectAccessReview": {"allowed": True},
    "LocalSubjectAccessReview": {"allowed": True},
    "SelfSubjectRulesReview": _EVERYTHING,
    "SelfSubjectReview": {},
}


#: Metadata that is the server's, whatever a review says.
NOT_REVIEWED: Final = ("namespace", "managedFields")


class _Unnamed:
    """How refusals name a review: by its group alone."""

    group, kind, resource = "authorization.k8s.io", "", ""
    qualified_resource = qualified_kind = ".authorization.k8s.io"


def is_review(target: Target) -> bool:
    return target.resource.kind in _STATUSES


def answer_review(registry: Registry, request: Request, target: Target, form: Form, now: int) -> Answer:
    """POST of a review."""
    if form.shape:
        raise not_acceptable()
    options = writing.options_of(request, "CreateOptions")
    review = decode(request, writing.expected_of(target), "CreateOptions").document
    kind = target.resource.kind
    if kind == "SelfSubjectReview":
        metadata: dict[str, Any] = {"creationTimestamp": format_time(now)}
        status = {"userInfo": request.user.document()}
        return document_answer({**review, "metadata": metadata, "status": status}, form, status=201)
    metadata = {name: value for name, value in metadata_of(review).items() if name not in NOT_REVIEWED}
    if target.namespace:
        metadata["namespace"] = target.namespace
    asked = with_defaults(target.resource, {**review, "metadata": metadata, "spec": review.get("spec") or {}})
    if kind == "SelfSubjectRulesReview":
        if not asked["spec"].get("namespace"):
            raise BadRequest("no namespace on request")
        return document_answer({**asked, "metadata": {}, "spec": {}, "status": _EVERYTHING}, form, status=201)
    owned = track(registry.definitions.scope(target.resource), None, asked, options.manager, now)
    faults = Faults()
    check_access_review(owned, target.namespace, faults)
    if faults:
        raise Invalid.of(_Unnamed(), "", faults)
    return document_answer({**owned, "status": _STATUSES[kind]}, form, status=201)
