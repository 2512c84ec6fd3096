"""Tokens: who the bearer is, those that ServiceAccounts are given, and reviews of them.

The administrator's token is the one the cluster was started with. A ServiceAccount's is a JSON Web Token as the real
server issues it, but signed with a key that is derived from the administrator's; it is good until it expires or the
account is gone. Nothing is stored. What a user may do is not looked at here: everybody who is known may do everything.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import uuid
from typing import Any, Final

import msgspec

from bayplan.apiserver.http import writing
from bayplan.apiserver.http.accepting import Form
from bayplan.apiserver.http.bodies import decode
from bayplan.apiserver.http.rendering import document_answer
from bayplan.apiserver.http.requests import Answer, Request
from bayplan.apiserver.http.reviews import NOT_REVIEWED
from bayplan.apiserver.http.routing import Target
from bayplan.apiserver.patching.server_side_apply.tracking import track
from bayplan.apiserver.registry.documents import metadata_of
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.registry.users import ADMIN, UserInfo, service_account
from bayplan.apiserver.schema.resources import Resource, built_in
from bayplan.apiserver.storage.entries import Document, encode_json
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time
from bayplan.store.errors import INVALID, BadRequest, Invalid, field_cause

_TOKEN_REQUESTS: Final = Resource(
    "authentication.k8s.io", "v1", "TokenRequest", "tokenrequests", "tokenrequest", namespaced=True
)
_ACCOUNTS: Final = built_in("", "serviceaccounts")
_AUDIENCE: Final = "https://kubernetes.default.svc.cluster.local"
_CLAIMS: Final = "kubernetes.io"
_HEADER: Final = {"alg": "HS256", "typ": "JWT"}
_SECONDS: Final = 3600
_SECONDS_MIN: Final = 600


class Tokens:
    """The tokens of one server."""

    def __init__(self, token: str, registry: Registry) -> None:
        self._token = token.encode()
        self._key = hashlib.sha256(b"service accounts of " + self._token).digest()
        self._registry = registry

    def is_admins(self, given: str) -> bool:
        """Whether this is the administrator's token, in a time that says nothing about it."""
        return hmac.compare_digest(given.encode(), self._token)

    def user_of(self, given: str, now: int, audiences: tuple[str, ...] = (_AUDIENCE,)) -> UserInfo | None:
        """Who bears the token; None if nobody does, or if it is meant for others than these."""
        if self.is_admins(given):
            return ADMIN if _AUDIENCE in audiences else None
        claims = self._claims_of(given)
        if claims is None or claims["exp"] * SECOND <= now or not set(audiences) & set(claims["aud"]):
            return None
        said = claims[_CLAIMS]
        account = self._registry.find(_ACCOUNTS, said["namespace"], said["serviceaccount"]["name"])
        if account is None or account["metadata"]["uid"] != said["serviceaccount"]["uid"]:
            return None
        extra = {"authentication.kubernetes.io/credential-id": (f"JTI={claims['jti']}",)}
        return service_account(said["namespace"], account["metadata"]["name"], account["metadata"]["uid"], extra)

    def _claims_of(self, given: str) -> dict[str, Any] | None:
        """What a token says that was signed here."""
        signed, _, signature = given.rpartition(".")
        if not hmac.compare_digest(self._signature(signed), signature.encode()):
            return None
        claims: dict[str, Any] = msgspec.json.decode(_unpadded_decode(signed.partition(".")[2]))
        return claims

    def _signature(self, signed: str) -> bytes:
        return _unpadded(hmac.digest(self._key, signed.encode(), "sha256")).encode()

    def _signed(self, claims: dict[str, Any]) -> str:
        signed = f"{_unpadded(encode_json(_HEADER))}.{_unpadded(encode_json(claims))}"
        return f"{signed}.{self._signature(signed).decode()}"

    def issue(self, registry: Registry, request: Request, target: Target, form: Form, now: int) -> Answer:
        """POST of a TokenRequest to a ServiceAccount."""
        account = registry.entry(target.resource, target.namespace, target.name).document
        writing.options_of(request, "CreateOptions")
        asked = decode(request, writing.expected_of(target), "CreateOptions").document.get("spec") or {}
        seconds = asked.get("expirationSeconds") or _SECONDS
        if seconds < _SECONDS_MIN:
            text = f"{seconds}: may not specify a duration less than 10 minutes"
            raise Invalid.of(_TOKEN_REQUESTS, "", [field_cause(INVALID, "spec.expirationSeconds", text)])
        audiences = asked.get("audiences") or [_AUDIENCE]
        issued = now // SECOND
        identity = {"name": target.name, "uid": account["metadata"]["uid"]}
        claims = {
            "aud": audiences,
            "exp": issued + seconds,
            "iat": issued,
            "iss": _AUDIENCE,
            "jti": str(uuid.uuid4()),
            _CLAIMS: {"namespace": target.namespace, "serviceaccount": identity},
            "nbf": issued,
            "sub": f"system:serviceaccount:{target.namespace}:{target.name}",
        }
        answer = {
            "kind": _TOKEN_REQUESTS.kind,
            "apiVersion": _TOKEN_REQUESTS.api_version,
            "metadata": {
                "name": target.name,
                "namespace": target.namespace,
                "creationTimestamp": format_time(now),
            },
            "spec": {
                "audiences": audiences,
                "expirationSeconds": seconds,
                "boundObjectRef": asked.get("boundObjectRef"),
            },
            "status": {"token": self._signed(claims), "expirationTimestamp": format_time((issued + seconds) * SECOND)},
        }
        return document_answer(answer, form, status=201)

    def review(self, registry: Registry, request: Request, target: Target, form: Form, now: int) -> Answer:
        """POST of a TokenReview."""
        options = writing.options_of(request, "CreateOptions")
        review = decode(request, writing.expected_of(target), "CreateOptions").document
        asked = {field: value for field, value in review.items() if field != "status"}
        if not (asked.get("spec") or {}).get("token"):
            raise BadRequest("token is required for TokenReview in authentication")
        scope = registry.definitions.scope(target.resource)
        metadata = {name: value for name, value in metadata_of(asked).items() if name not in NOT_REVIEWED}
        owned = track(scope, None, {**asked, "metadata": metadata}, options.manager, now)
        return document_answer({**owned, "status": self._reviewed(asked.get("spec") or {}, now)}, form, status=201)

    def _reviewed(self, asked: Document, now: int) -> Document:
        audiences = tuple(asked.get("audiences") or (_AUDIENCE,))
        user = self.user_of(asked.get("token") or "", now, audiences)
        if user is None:
            return {"user": {}, "error": "invalid bearer token"}
        return {"authenticated": True, "user": user.document(), "audiences": [*audiences]}


def _unpadded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _unpadded_decode(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return b"{}"
