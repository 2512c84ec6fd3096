"""The history of StatefulSets and DaemonSets: a ControllerRevision for every template they had.

`kubectl rollout history` and `undo` read it. A template that comes back is the latest revision again; revisions beyond
the history limit go, the oldest first, unless a pod is still of theirs.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from bayplan.apiserver.housekeeping.contract import OPTIONS
from bayplan.apiserver.registry.registry import PODS, Registry
from bayplan.apiserver.schema.resources import Resource, built_in
from bayplan.apiserver.storage.entries import Document
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.controllers.workloads.templates import REVISION_HASH, template_hash
from bayplan.model.watch_types import DELETED
from bayplan.model.well_known import LAST_APPLIED
from bayplan.model.workloads import DaemonSet, StatefulSet
from bayplan.store import ApiError
from bayplan.store.deleting import DeleteOptions

REVISIONS: Final = built_in("apps", "controllerrevisions")
_OWNERS: Final = {
    "statefulsets.apps": built_in("apps", "statefulsets"),
    "daemonsets.apps": built_in("apps", "daemonsets"),
}
#: The label that a revision bears the hash under, by the kind of its owner.
_HASH_LABELS: Final = {"StatefulSet": "controller.kubernetes.io/hash", "DaemonSet": REVISION_HASH}
_LIMIT: Final = 10


class RevisionHistory:
    """Keeps the revisions of sets."""

    def __init__(self) -> None:
        self._due: dict[tuple[str, str, str], None] = {}

    def observe(self, change: DocumentChange) -> None:
        if change.resource not in _OWNERS or change.type == DELETED:
            return
        before = None if change.old is None else change.old.document["spec"].get("template")
        if before is None or before != change.new.document["spec"].get("template"):
            self._due[change.resource, change.new.namespace, change.new.name] = None

    def reconcile(self, registry: Registry, now: int) -> None:
        due, self._due = self._due, {}
        for resource, namespace, name in due:
            owner = registry.find(_OWNERS[resource], namespace, name)
            if owner is not None:
                with suppress(ApiError):
                    _note(registry, _OWNERS[resource], owner, now)


def _note(registry: Registry, resource: Resource, owner: Document, now: int) -> None:
    meta = owner["metadata"]
    typed = registry.typed.content.find(resource.kind, meta["namespace"], meta["name"])
    assert isinstance(typed, DaemonSet | StatefulSet)
    hashed = template_hash(typed.spec.template)
    known = [
        revision
        for revision in registry.list(REVISIONS, meta["namespace"])
        if any(one["uid"] == meta["uid"] for one in revision["metadata"].get("ownerReferences") or ())
    ]
    latest = max((revision["revision"] for revision in known), default=0)
    name = f"{meta['name']}-{hashed}"
    standing = next((revision for revision in known if revision["metadata"]["name"] == name), None)
    if standing is None:
        document = _revision(owner, name, hashed, latest + 1)
        registry.create(REVISIONS, meta["namespace"], document, OPTIONS, now)
        known.append(document)
    elif standing["revision"] < latest:
        number = {"revision": latest + 1}
        registry.update(REVISIONS, meta["namespace"], name, lambda stored: {**stored, **number}, OPTIONS, now)
    _forget_oldest(registry, owner, known, name, now)


def _revision(owner: Document, name: str, hashed: str, number: int) -> Document:
    meta = owner["metadata"]
    template = owner["spec"]["template"]
    annotations = {key: value for key, value in (meta.get("annotations") or {}).items() if key != LAST_APPLIED}
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    labels = {**(template.get("metadata", {}).get("labels") or {}), _HASH_LABELS[owner["kind"]]: hashed}
    metadata = {"name": name, "labels": labels, "ownerReferences": [reference]}
    return {
        "apiVersion": REVISIONS.api_version,
        "kind": REVISIONS.kind,
        "metadata": {**metadata, "annotations": annotations} if annotations else metadata,
        "data": {"spec": {"template": _in_order({**template, "$patch": "replace"})}},
        "revision": number,
    }


def _in_order(value: Any) -> Any:
    """With keys as Go writes those of maps: clients compare revisions byte by byte."""
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value)}
    return [_in_order(item) for item in value] if isinstance(value, list) else value


def _forget_oldest(registry: Registry, owner: Document, known: list[Document], current: str, now: int) -> None:
    namespace = owner["metadata"]["namespace"]
    limit = owner["spec"].get("revisionHistoryLimit", _LIMIT)
    pods = registry.list(PODS, namespace)
    in_use = {(pod["metadata"].get("labels") or {}).get(REVISION_HASH, "") for pod in pods}
    old = [
        revision["metadata"]["name"]
        for revision in sorted(known, key=lambda revision: revision["revision"])
        if revision["metadata"]["name"] != current and not _is_in_use(revision, in_use)
    ]
    for name in old[: max(0, len(old) - limit)]:
        registry.delete(REVISIONS, namespace, name, DeleteOptions(None, None, None, None), now)


def _is_in_use(revision: Document, hashes: set[str]) -> bool:
    """A pod bears the name of its revision if it is of a StatefulSet, else the hash alone."""
    labels = revision["metadata"]["labels"]
    return revision["metadata"]["name"] in hashes or labels.get(REVISION_HASH) in hashes
