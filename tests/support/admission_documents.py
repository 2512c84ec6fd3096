"""A cluster's documents for tests of admission, and builders of the few that many tests need."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bayplan.apiserver.registry.admission import admit_create
from bayplan.apiserver.schema.resources import Resource, resource_of_kind
from bayplan.store.errors import ApiError

Document = dict[str, Any]
NOW = 1_700_000_000_000_000_000


class Documents:
    """What `ClusterView` asks for."""

    def __init__(self, *documents: Document) -> None:
        self._by_key: dict[tuple[str, str, str], Document] = {}
        for document in documents:
            self.add(document)

    def add(self, document: Document) -> None:
        resource, metadata = resource_named(document), document["metadata"]
        self._by_key[resource.qualified_resource, metadata.get("namespace", ""), metadata["name"]] = document

    def remove(self, resource: Resource, namespace: str, name: str) -> None:
        self._by_key.pop((resource.qualified_resource, namespace, name), None)

    def find(self, resource: Resource, namespace: str, name: str) -> Document | None:
        return self._by_key.get((resource.qualified_resource, namespace, name))

    def list(self, resource: Resource, namespace: str) -> Iterable[Document]:
        return [
            document
            for (kind, where, _), document in self._by_key.items()
            if kind == resource.qualified_resource and namespace in ("", where)
        ]

    @property
    def documents(self) -> Iterable[Document]:
        return self._by_key.values()


def resource_named(document: Document) -> Resource:
    found = resource_of_kind(document["apiVersion"], document["kind"])
    assert found is not None, document
    return found


def namespace(name: str, **more: Any) -> Document:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, **more}


def document(api_version: str, kind: str, spec: Any = None, **more: Any) -> Document:
    """A document called `x`, in the namespace `default` where it has one."""
    made = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "uid": "1"}, **more}
    if resource_named(made).namespaced:
        made["metadata"] = {"namespace": "default", **made["metadata"]}
    if spec is not None:
        made["spec"] = spec
    return made


def pod(**spec: Any) -> Document:
    return document("v1", "Pod", {"containers": [container()], **spec})


def container(**more: Any) -> Document:
    return {"name": "c", "image": "image:1", **more}


def admitted(new: Document, *beside: Document) -> Document:
    """The document as it would be stored beside others."""
    return admit_create(resource_named(new), new, Documents(namespace("default"), *beside), NOW)


def refusal(new: Document, *beside: Document) -> str:
    """What is said against the document, without the name; nothing if it is taken."""
    try:
        admitted(new, *beside)
    except ApiError as error:
        return error.message.partition(": ")[2]
    return ""
