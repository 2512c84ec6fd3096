"""Tokens for service accounts, as `kubectl create token` asks for them.

There is one user here, so what a service account is given is the cluster's own token, which outlives what was asked
for; the answer has the form of the real one otherwise. Nothing is stored.
"""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.http import writing
from bayplan.apiserver.http.accepting import Form
from bayplan.apiserver.http.bodies import decode
from bayplan.apiserver.http.rendering import document_answer
from bayplan.apiserver.http.requests import Answer, Request
from bayplan.apiserver.http.routing import Target
from bayplan.apiserver.http.subresources import Handler
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.schema.resources import Resource
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time
from bayplan.store.errors import INVALID, Invalid, field_cause

_TOKEN_REQUESTS: Final = Resource(
    "authentication.k8s.io", "v1", "TokenRequest", "tokenrequests", "tokenrequest", namespaced=True
)
_AUDIENCE: Final = "https://kubernetes.default.svc.cluster.local"
_SECONDS: Final = 3600
_SECONDS_MIN: Final = 600


def issuing(token: str) -> Handler:
    """What serves a TokenRequest with this token."""

    def issue(registry: Registry, request: Request, target: Target, form: Form, now: int) -> Answer:
        registry.entry(target.resource, target.namespace, target.name)
        writing.options_of(request, "CreateOptions")
        asked = decode(request, writing.expected_of(target), "CreateOptions").document.get("spec") or {}
        seconds = asked.get("expirationSeconds") or _SECONDS
        if seconds < _SECONDS_MIN:
            text = f"{seconds}: may not specify a duration less than 10 minutes"
            raise Invalid.of(_TOKEN_REQUESTS, "", [field_cause(INVALID, "spec.expirationSeconds", text)])
        answer = {
            "kind": _TOKEN_REQUESTS.kind,
            "apiVersion": _TOKEN_REQUESTS.api_version,
            "metadata": {
                "name": target.name,
                "namespace": target.namespace,
                "creationTimestamp": format_time(now),
            },
            "spec": {
                "audiences": asked.get("audiences") or [_AUDIENCE],
                "expirationSeconds": seconds,
                "boundObjectRef": asked.get("boundObjectRef"),
            },
            "status": {"token": token, "expirationTimestamp": format_time(now + seconds * SECOND)},
        }
        return document_answer(answer, form, status=201)

    return issue
