"""Objects of a live cluster as a test reads and writes them: plain dicts, through the API without a connection.

Takes manifests in whatever shape a test has them, and the names of kinds that kubectl takes. What the API refuses is
raised as `Refusal`. Watches are for real clients.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from bayplan.apiserver.http.application import Application
from bayplan.apiserver.http.requests import APPLY_PATCH, Answer, Request
from bayplan.apiserver.schema.discovery import in_discovery_order
from bayplan.apiserver.schema.resources import Resource
from bayplan.model.media_types import JSON
from bayplan.model.reading import read_documents
from bayplan.model.yaml_documents import parse_yaml

Source: TypeAlias = str | Path | Mapping[str, Any] | Iterable[Mapping[str, Any]]

_MANAGER: Final = "bayplan-testing"
_REFUSED_FROM: Final = 400
#: A hundred years: tests may put the clock forward.
_TOKEN_SECONDS: Final = 100 * 365 * 24 * 3600


class Refusal(Exception):  # noqa: N818 - an answer of the API, not an error of this program
    """The API said no: `code` (404, 409, 422 …), `reason` (`NotFound` …) and its message."""

    def __init__(self, status: Mapping[str, Any]) -> None:
        self.code = int(status.get("code", 500))
        self.reason = str(status.get("reason", ""))
        super().__init__(f"{self.reason or self.code}: {status.get('message', '')}")


class LiveObjects:
    """The objects behind an application that another thread runs."""

    def __init__(
        self,
        application: Application,
        in_its_thread: Callable[[Callable[[], Any]], Any],
        in_its_loop: Callable[[Coroutine[Any, Any, Any]], Any],
    ) -> None:
        self._application = application
        self._catalogue = application.registry.catalogue
        self._in_its_thread = in_its_thread
        self._in_its_loop = in_its_loop

    def apply(self, source: Source, namespace: str) -> list[dict[str, Any]]:
        """Server-side apply of each document; those with only a beginning of a name are created."""
        return [self._apply(document, namespace) for document in documents_of(source)]

    def get(self, kind: str, name: str, namespace: str) -> dict[str, Any]:
        return self._ask("GET", self._path(self.resource(kind), namespace, name))

    def list(self, kind: str, namespace: str | None, selector: str) -> list[dict[str, Any]]:
        resource = self.resource(kind)
        found = self._ask("GET", self._path(resource, namespace or ""), {"labelSelector": selector})
        type_of = {"apiVersion": resource.api_version, "kind": resource.kind}
        return [{**type_of, **item} for item in found["items"]]

    def delete(self, kind: str, name: str, namespace: str) -> None:
        self._ask("DELETE", self._path(self.resource(kind), namespace, name))

    def token(self, namespace: str, account: str) -> str:
        """A token of a ServiceAccount, good for as long as any test lasts."""
        path = (*self._path(self.resource("serviceaccounts"), namespace, account), "token")
        body = msgspec.json.encode({"spec": {"expirationSeconds": _TOKEN_SECONDS}})
        token: str = self._ask("POST", path, body=body)["status"]["token"]
        return token

    def resource(self, name: str) -> Resource:
        """The resource that kubectl would take the name for; the first that discovery names, if several have it."""
        asked, _, group = name.lower().partition(".")
        served: tuple[Resource, ...] = self._in_its_thread(
            lambda: in_discovery_order(self._catalogue.custom, self._catalogue.built_in)
        )
        for resource in served:
            names = {resource.plural, resource.singular, resource.kind.lower(), *resource.short_names}
            if asked in names and (not group or group in (resource.group, f"{resource.version}.{resource.group}")):
                return resource
        raise _unknown(name)

    def _apply(self, document: Mapping[str, Any], namespace: str) -> dict[str, Any]:
        api_version, kind = document.get("apiVersion", ""), document.get("kind", "")
        resource = self._in_its_thread(lambda: self._catalogue.of_kind(api_version, kind))
        if resource is None:
            raise _unknown(f"{kind} of {api_version}" if api_version else f"{kind or 'object'} without apiVersion")
        metadata = document.get("metadata") or {}
        path = self._path(resource, metadata.get("namespace") or namespace, metadata.get("name", ""))
        body = msgspec.json.encode(document)
        query = {"fieldManager": _MANAGER}
        if not metadata.get("name"):
            return self._ask("POST", path, query, body)
        return self._ask("PATCH", path, {**query, "force": "true"}, body, APPLY_PATCH)

    @staticmethod
    def _path(resource: Resource, namespace: str, name: str = "") -> tuple[str, ...]:
        root = ("apis", resource.group, resource.version) if resource.group else ("api", resource.version)
        within = ("namespaces", namespace) if resource.namespaced and namespace else ()
        return (*root, *within, resource.plural, *((name,) if name else ()))

    def _ask(
        self,
        method: str,
        path: tuple[str, ...],
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        content_type: str = JSON,
    ) -> dict[str, Any]:
        request = Request(method, path, query or {}, {"content-type": content_type}, body)
        answer = self._in_its_loop(self._application.answer_in_turn(request))
        assert isinstance(answer, Answer), "nothing here asks for a watch"
        content: dict[str, Any] = msgspec.json.decode(answer.body)
        if answer.status >= _REFUSED_FROM:
            raise Refusal(content)
        return content


def _unknown(what: str) -> Refusal:
    message = f"the server doesn't have a resource type for {what}"
    return Refusal({"code": 404, "reason": "NotFound", "message": message})


def documents_of(source: Source) -> Iterator[Mapping[str, Any]]:
    """The objects in YAML text, a file, a folder, an object or a list of objects; lists give their items."""
    if isinstance(source, str) and "\n" in source:
        yield from _from_yaml(source.encode())
    elif isinstance(source, str | Path):
        for found in read_documents([source]):
            yield found.document
    elif isinstance(source, Mapping):
        yield from _flattened(source)
    else:
        for item in source:
            yield from _flattened(item)


def _from_yaml(data: bytes) -> Iterator[Mapping[str, Any]]:
    for document in parse_yaml(data):
        if document is not None:
            yield from _flattened(document)


def _flattened(document: Any) -> Iterator[Mapping[str, Any]]:
    if not isinstance(document, Mapping):
        raise TypeError(f"not a Kubernetes object: {document!r}")
    if str(document.get("kind", "")).endswith("List") and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _flattened(item)
    else:
        yield document
