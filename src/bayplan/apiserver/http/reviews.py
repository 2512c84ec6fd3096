"""Questions that are asked by creating an object which is answered and never stored: may I, who am I.

Whoever has a token may do everything here: roles and their bindings are stored, and nobody asks them.
"""

from __future__ import annotations

from typing import Any, Final

from bayplan.apiserver.http import writing
from bayplan.apiserver.http.accepting import Form, not_acceptable
from bayplan.apiserver.http.bodies import decode
from bayplan.apiserver.http.rendering import document_answer
from bayplan.apiserver.http.requests import Answer, Request
from bayplan.apiserver.http.routing import Target
from bayplan.apiserver.patching.server_side_apply.tracking import track
from bayplan.apiserver.registry.registry import Registry
from bayplan.model.timestamps import format_time

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
    asked = {field: value for field, value in review.items() if field != "status"}
    scope = registry.definitions.scope(target.resource)
    owned = track(scope, None, {**asked, "metadata": {}}, options.manager, now)
    return document_answer({**owned, "status": _STATUSES[kind]}, form, status=201)
