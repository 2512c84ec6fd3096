"""Objects of a live cluster as a test reads and writes them: plain dicts.

Takes manifests in whatever shape a test has them, and the names of kinds that kubectl takes. What the API refuses is
raised as `Refusal`. Watches are for real clients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from bayplan.apiserver.http.requests import APPLY_PATCH, Answer, Request
from bayplan.apiserver.schema.resources import Resource
from bayplan.model.media_types import JSON
from bayplan.model.reading import read_documents
from bayplan.model.well_known import DEFAULT_NAMESPACE
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
    """The objects of a live cluster, as one client reads and writes them."""

    def __init__(
        self,
        ask: Callable[[Request], Answer],
        served: Callable[[], Sequence[Resource]],
        namespace: str = DEFAULT_NAMESPACE,
    ) -> None:
        """`served` gives what the API serves now, in the order of discovery; the namespace is for who names none."""
        self._send = ask
        self._served = served
        self._namespace = namespace

    def apply(self, source: Source, namespace: str | None = None) -> list[dict[str, Any]]:
        """Creates or changes objects, from YAML text, a file, a folder, an object or a list of objects.

        Those with only a beginning of a name are created, all others applied by the server.

        Args:
            source: text with a line break is YAML; any other text is a path.
            namespace: for objects that name none.

        Returns: the objects as they are stored.
        """
        return [self._apply(document, self._or_usual(namespace)) for document in documents_of(source)]

    def get(self, kind: str, name: str, namespace: str | None = None) -> dict[str, Any]:
        """One object. The kind may be any name that kubectl takes: `Deployment`, `deploy`, `deployments.apps`."""
        return self._ask("GET", self._path(self._resource(kind), self._or_usual(namespace), name))

    def list(self, kind: str, namespace: str | None = None, selector: str = "") -> list[dict[str, Any]]:
        """The objects of a kind, of one namespace or of all, with these labels (`app=web,tier!=test`)."""
        resource = self._resource(kind)
        found = self._ask("GET", self._path(resource, namespace or ""), {"labelSelector": selector})
        type_of = {"apiVersion": resource.api_version, "kind": resource.kind}
        return [{**type_of, **item} for item in found["items"]]

    def delete(self, kind: str, name: str, namespace: str | None = None) -> None:
        """Deletes one object, or begins to: a pod gets its grace period, finalizers their time."""
        self._ask("DELETE", self._path(self._resource(kind), self._or_usual(namespace), name))

    def _or_usual(self, namespace: str | None) -> str:
        return self._namespace if namespace is None else namespace

    def _token(self, namespace: str, account: str) -> str:
        """A token of a ServiceAccount, good for as long as any test lasts."""
        path = (*self._path(self._resource("serviceaccounts"), namespace, account), "token")
        body = msgspec.json.encode({"spec": {"expirationSeconds": _TOKEN_SECONDS}})
        token: str = self._ask("POST", path, body=body)["status"]["token"]
        return token

    def _resource(self, name: str) -> Resource:
        """The resource that kubectl would take the name for; the first that discovery names, if several have it."""
        asked, _, group = name.lower().partition(".")
        for resource in self._served():
            names = {resource.plural, resource.singular, resource.kind.lower(), *resource.short_names}
            if asked in names and (not group or group in (resource.group, f"{resource.version}.{resource.group}")):
                return resource
        raise _unknown(name)

    def _apply(self, document: Mapping[str, Any], namespace: str) -> dict[str, Any]:
        api_version, kind = document.get("apiVersion", ""), document.get("kind", "")
        found = (each for each in self._served() if (each.api_version, each.kind) == (api_version, kind))
        resource = next(found, None)
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
        answer = self._send(request)
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
