"""Defaults of role bindings. Takes documents in wire form, completes them in place."""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.schema.messages import RBAC_GROUP


def default_binding(binding: Document) -> None:
    role = binding["roleRef"]
    role["apiGroup"] = role.get("apiGroup") or RBAC_GROUP
    for subject in binding.get("subjects", ()):
        if subject["kind"] in ("User", "Group"):
            subject.setdefault("apiGroup", RBAC_GROUP)
