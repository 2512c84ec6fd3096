"""What a server says about itself: discovery, OpenAPI, its version and its health."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

from bayplan.apiserver.http.requests import TEXT, Answer, Request
from bayplan.apiserver.registry.documents import is_custom
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.schema import discovery, openapi_v2, openapi_v2_protobuf, openapi_v3
from bayplan.apiserver.schema.openapi_schemas import V2, V3
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import encode_json
from bayplan.config.releases import KubernetesRelease
from bayplan.model.media_types import JSON
from bayplan.store.errors import NotFound

OPENAPI_V2_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_BUILD: Final = {
    "gitCommit": "$Format:%H$",
    "gitTreeState": "",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "go1.27.3",
    "compiler": "gc",
    "platform": "linux/amd64",
}
_HEALTH: Final = frozenset({"healthz", "readyz", "livez"})
#: The one check there is: a server that answers is healthy.
_PING: Final = "ping"
_OK: Final = Answer(200, b"ok", TEXT, (("x-content-type-options", "nosniff"),))
_NOT_MODIFIED: Final = 304
#: How many segments a path about the server has at most, by the first; longer ones are about objects.
_LENGTHS: Final = {"api": 2, "apis": 3, "openapi": 5}


class Information:
    """Answers about the server; what they say is put together once for each set of resources that is served.

    May be asked from another thread while requests are served: what it reads is replaced and not changed, and an answer
    that was begun for an older set of resources is kept with that set.
    """

    def __init__(
        self, registry: Registry, address: str, release: KubernetesRelease, others: tuple[Resource, ...] = ()
    ) -> None:
        """`others` are served beside what is stored, and only discovery tells of them."""
        self._others = others
        self._catalogue = registry.catalogue
        self._definitions = registry.definitions
        self._address = address
        self._version = version_document(release)
        self._generation = -1
        self._answers: dict[tuple[str, ...], Answer] = {}

    def answer(self, request: Request) -> Answer | None:
        """The answer, or None if the path is not about the server."""
        segments = request.segments
        if not segments:
            return _json({"paths": self._paths()})
        if segments[0] in _HEALTH and segments[1:] in ((), (_PING,)):
            return _health(request, segments[0]) if len(segments) == 1 else _OK
        if segments == ("version",):
            return Answer(200, msgspec.json.format(encode_json(self._version), indent=2))
        if len(segments) <= _LENGTHS.get(segments[0], 0):
            return self._cached(request)
        return None

    def _cached(self, request: Request) -> Answer | None:
        generation = self._catalogue.generation
        if self._generation != generation:
            self._answers = {}
            self._generation = generation
        wants = _discovery_version(request.header("accept")) if len(request.segments) == 1 else ""
        protobuf = "protobuf" if "protobuf" in request.header("accept") else ""
        key = (*request.segments, wants, protobuf)
        answers = self._answers
        known = answers.get(key)
        if known is None:
            made = self._made(request.segments, wants, protobuf)
            if made is None:
                return None
            known = answers[key] = _with_etag(made)
        if request.header("if-none-match") == known.headers[0][1]:
            return known._replace(status=_NOT_MODIFIED, body=b"")
        return known

    def _made(self, segments: tuple[str, ...], wants: str, protobuf: str) -> Answer | None:
        resources = discovery.in_discovery_order(self._catalogue.custom, self._catalogue.built_in)
        if segments[0] == "openapi":
            return self._openapi(segments, resources, protobuf)
        resources = (*resources, *self._others)
        if len(segments) == 1 and wants:
            version: Any = wants
            body = discovery.aggregated(resources, core=segments[0] == "api", version=version)
            return _json(body)._replace(content_type=f"{JSON};g=apidiscovery.k8s.io;v={wants};as=APIGroupDiscoveryList")
        if segments == ("api",):
            return _json(discovery.api_versions(self._address))
        if segments == ("apis",):
            return _json(discovery.api_group_list(resources))
        return _classic(segments, resources)

    def _openapi(self, segments: tuple[str, ...], resources: tuple[Resource, ...], protobuf: str) -> Answer | None:
        if segments == ("openapi", "v2"):
            document = openapi_v2.document(resources, self._definitions.openapi(V2))
            if protobuf:
                return Answer(200, openapi_v2_protobuf.encode_document(document), OPENAPI_V2_PROTOBUF)
            return _json(document)
        paths = dict.fromkeys(openapi_v3.document_path(resource) for resource in resources)
        if segments == ("openapi", "v3"):
            # What a document says follows from what is served, so that none need be made to tell whether it changed.
            marks = {path: f"{path} {self._generation}".encode() for path in paths}
            return _json(openapi_v3.index(marks))._replace(content_type=TEXT)
        path = "/".join(segments[2:])
        if path not in paths:
            return None
        served = [resource for resource in resources if openapi_v3.document_path(resource) == path]
        if is_custom(served[0]):
            schemas = self._definitions.openapi(V3, served[0].api_version)
            return _json(openapi_v3.custom_document(served, schemas))
        return _json(openapi_v3.built_in_document(served))

    def _paths(self) -> list[str]:
        found = {
            "/api",
            "/api/v1",
            "/apis",
            "/healthz",
            "/healthz/ping",
            "/livez",
            "/metrics",
            "/openapi/v2",
            "/openapi/v3",
            "/readyz",
            "/version",
        }
        for resource in self._catalogue.all():
            if resource.group:
                found |= {f"/apis/{resource.group}", f"/apis/{resource.api_version}"}
        return sorted(found)


def _health(request: Request, page: str) -> Answer:
    # Upstream: handleRootHealth in apiserver/pkg/server/healthz/healthz.go (v1.36).
    if "verbose" not in request.query:
        return _OK
    excluded = request.query.get("exclude", "")
    lines = f"[+]{_PING} excluded: ok\n" if excluded == _PING else f"[+]{_PING} ok\n"
    if excluded not in ("", _PING):
        lines += f'warn: some health checks cannot be excluded: no matches for "{excluded}"\n'
    return _OK._replace(body=f"{lines}{page} check passed\n".encode())


def _classic(segments: tuple[str, ...], resources: tuple[Resource, ...]) -> Answer | None:
    """`/api/v1`, `/apis/GROUP` and `/apis/GROUP/VERSION`; None if the path names more than that."""
    body = None
    if segments[0] == "api" and len(segments) == 2:
        body = discovery.api_resource_list(resources, "", segments[1])
    elif segments[0] == "apis" and len(segments) == 2:
        body = discovery.api_group(resources, segments[1])
    elif segments[0] == "apis" and len(segments) == 3:
        body = discovery.api_resource_list(resources, segments[1], segments[2])
        if body is None and any(resource.group == segments[1] for resource in resources):
            raise NotFound.no_resource()
    return None if body is None else _json(body)


def _discovery_version(accept: str) -> str:
    """The version of aggregated discovery that the client asks for first; "" if it wants the classic form."""
    for media_range in accept.split(","):
        if "as=APIGroupDiscoveryList" in media_range:
            return "v2beta1" if "v=v2beta1" in media_range else "v2"
    return ""


def _json(body: Any) -> Answer:
    return Answer(200, encode_json(body))


def _with_etag(answer: Answer) -> Answer:
    digest = hashlib.sha512(answer.body).hexdigest().upper()
    return answer._replace(headers=(("etag", f'"{digest}"'), ("vary", "Accept")))


def version_document(release: KubernetesRelease) -> dict[str, str]:
    """What `/version` says of a server of that release."""
    major, minor = release.version.split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": release.recorded_from,
        **_BUILD,
    }
