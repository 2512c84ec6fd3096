"""A write as policies see it."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from bayplan.apiserver.registry.users import ADMIN, UserInfo
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import Document

CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"
DELETE: Final = "DELETE"
_OPTIONS_KINDS: Final = {CREATE: "CreateOptions", UPDATE: "UpdateOptions", DELETE: "DeleteOptions"}


class Attributes(NamedTuple):
    """What is to be written, by whom and how."""

    operation: str
    resource: Resource
    namespace: str
    """Of a Namespace, its own name."""
    name: str
    object: Document | None = None
    """None when something is deleted."""
    old: Document | None = None
    """None when something is created."""
    subresource: str = ""
    user: UserInfo = ADMIN
    dry_run: bool = False
    manager: str = ""

    @property
    def is_of_namespace(self) -> bool:
        """Whether a Namespace itself is written."""
        return self.resource.qualified_resource == "namespaces"

    @property
    def shown_name(self) -> str:
        """As a refusal names the object."""
        metadata = ((self.object or self.old) or {}).get("metadata") or {}
        return str(metadata.get("name") or metadata.get("generateName") or self.name or "Unknown")

    def request(self, matched: Resource) -> dict[str, Any]:
        """The variable `request`, for a policy that matched this resource."""
        asked, seen = (_names(self, resource) for resource in (self.resource, matched))
        options = {"kind": _OPTIONS_KINDS[self.operation], "apiVersion": "meta.k8s.io/v1"}
        if self.dry_run:
            options["dryRun"] = ["All"]  # type: ignore[assignment]
        if self.manager:
            options["fieldManager"] = self.manager
        made = {
            "uid": "",
            "kind": seen[0],
            "resource": seen[1],
            "subResource": self.subresource,
            "requestKind": asked[0],
            "requestResource": asked[1],
            "requestSubResource": self.subresource,
            "name": self.name,
            "namespace": self.namespace,
            "operation": self.operation,
            "userInfo": self.user.document(),
            "dryRun": self.dry_run,
            "options": options,
        }
        return {field: value for field, value in made.items() if value != "" or field == "uid"}


def _names(attributes: Attributes, resource: Resource) -> tuple[dict[str, str], dict[str, str]]:
    """Kind and resource, each with its group and version."""
    group, version, kind = resource.group, resource.version, resource.kind
    seen = attributes.object if attributes.object is not None else attributes.old
    if attributes.subresource and seen is not None and seen.get("kind", kind) != kind:  # a Scale, an Eviction
        group, _, version = str(seen["apiVersion"]).rpartition("/")
        kind = str(seen["kind"])
    of_kind = {"group": group, "version": version, "kind": kind}
    return of_kind, {"group": resource.group, "version": resource.version, "resource": resource.plural}
