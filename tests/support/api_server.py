"""An API server for tests, without a socket: requests in, decoded answers out.

The clock stands still unless a test moves it, and the cluster has nothing in it but what every cluster has.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from bayplan.apiserver.http.application import Application
from bayplan.apiserver.http.requests import Answer, Request, StreamedAnswer, query_of, segments_of
from bayplan.apiserver.registry.catalogue import Catalogue
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.storage.storage import Storage
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.model.time_units import SECOND
from bayplan.worlds.bootstrap import bootstrap

Document = dict[str, Any]
JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TOYS = "/apis/example.com/v1/namespaces/default/toys"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


@dataclass
class Api:
    """A server and those who ask it."""

    log_capacity: int = 1_000
    now: int = 1_767_225_600 * SECOND  # 2026-01-01T00:00:00Z
    application: Application = field(init=False)

    def __post_init__(self) -> None:
        registry = Registry(Storage(log_capacity=self.log_capacity), Catalogue())
        bootstrap(registry, "127.0.0.1", 6443, self.now)
        self.application = Application(registry, "secret", lambda: self.now, "127.0.0.1:8080", release=DEFAULT_RELEASE)

    @property
    def registry(self) -> Registry:
        return self.application.registry

    @property
    def version(self) -> int:
        return self.registry.storage.version

    def ask(
        self, method: str, path: str, body: Any = None, media: str = JSON, **headers: str
    ) -> Answer | StreamedAnswer:
        """One request; a body that is no bytes is sent as JSON. Underscores in header names stand for hyphens."""
        path, _, query = path.partition("?")
        sent = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        given = {"content-type": media, "user-agent": "tests/1", **named}
        return self.application.answer(
            Request(method, segments_of(path.encode()), query_of(query.encode()), given, sent)
        )

    def answer(self, method: str, path: str, body: Any = None, media: str = JSON, **headers: str) -> Answer:
        answer = self.ask(method, path, body, media, **headers)
        assert isinstance(answer, Answer)
        return answer

    def call(self, method: str, path: str, body: Any = None, media: str = JSON, **headers: str) -> tuple[int, Document]:
        """The status and the decoded body."""
        answer = self.answer(method, path, body, media, **headers)
        return answer.status, json.loads(answer.body)

    def get(self, path: str) -> Document:
        return self._accepted("GET", path)

    def post(self, path: str, body: Any) -> Document:
        return self._accepted("POST", path, body)

    def put(self, path: str, body: Any) -> Document:
        return self._accepted("PUT", path, body)

    def patch(self, path: str, body: Any, media: str = MERGE_PATCH) -> Document:
        return self._accepted("PATCH", path, body, media)

    def delete(self, path: str, body: Any = None) -> Document:
        return self._accepted("DELETE", path, body)

    def _accepted(self, method: str, path: str, body: Any = None, media: str = JSON) -> Document:
        status, answer = self.call(method, path, body, media)
        assert status < 400, answer
        return answer

    def refusal(self, method: str, path: str, body: Any = None, media: str = JSON) -> tuple[int, str]:
        """The status and the words of what must be a refusal; nothing may have been stored."""
        before = self.version
        status, answer = self.call(method, path, body, media)
        assert (answer["kind"], answer["status"], answer["code"]) == ("Status", "Failure", status)
        assert self.version == before
        return status, answer["message"]


def config_map(name: str = "m", **data: str) -> Document:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def pod(name: str = "p", **metadata: Any) -> Document:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def deployment(name: str = "d", replicas: int = 1) -> Document:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def toy_definition(schema: Document | None = None, **version: Any) -> Document:
    """A CustomResourceDefinition of toys; the schema is that of whole objects."""
    only = {"name": "v1", "served": True, "storage": True, **version}
    only["schema"] = {"openAPIV3Schema": schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": "toys", "kind": "Toy"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [only]}
    return {"metadata": {"name": "toys.example.com"}, "spec": spec}


def toy(name: str = "t", metadata: Document | None = None, **fields: Any) -> Document:
    return {"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": name, **(metadata or {})}, **fields}
