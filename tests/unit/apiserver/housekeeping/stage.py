"""An API server with one party of housekeeping, or several: after each step nothing is due."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.support.api_server import Api, Document

from bayplan.apiserver.housekeeping.contract import Housekeeper

_STEPS_MAX = 20


@dataclass
class Stage:
    """Requests in, and what housekeeping made of them."""

    parties: list[Housekeeper]
    api: Api = field(default_factory=Api)

    def __post_init__(self) -> None:
        for party in self.parties:
            self.api.registry.storage.follow(party.observe)

    def post(self, path: str, **document: Any) -> Document:
        made = self.api.post(path, document)
        self.settle()
        return made

    def patch(self, path: str, **patch: Any) -> Document:
        made = self.api.patch(path, patch)
        self.settle()
        return made

    def delete(self, path: str, **options: Any) -> None:
        self.api.answer("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", **options})
        self.settle()

    def settle(self) -> None:
        for _ in range(_STEPS_MAX):
            before = self.api.version
            for party in self.parties:
                party.reconcile(self.api.registry, self.api.now)
            if self.api.version == before:
                return
        raise AssertionError("housekeeping does not come to rest")

    def names(self, path: str) -> list[str]:
        return [item["metadata"]["name"] for item in self.api.get(path)["items"]]


def named(name: str, *owners: Document, **metadata: Any) -> Document:
    """Metadata of an object that these own."""
    references = [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": True,
        }
        for owner in owners
    ]
    return {"name": name, **({"ownerReferences": references} if references else {}), **metadata}
