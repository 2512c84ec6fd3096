"""The stored objects as scheduler and controllers know them: narrow structs, in step with the documents.

Takes each change of a document of a kind that `bayplan.model` knows, and makes the same change to a typed content and a
typed watch log. Log positions are its own: documents of other kinds take versions too, and these leave no gap here.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from bayplan.apiserver.storage.entries import Document, Entry
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.controllers.ownership import TEMPLATE_HASH
from bayplan.model.kinds import ALL_KINDS, KindInfo, Object
from bayplan.model.pod import PodTemplateSpec
from bayplan.model.watch_types import DELETED
from bayplan.store.content import Content
from bayplan.store.errors import BadRequest
from bayplan.store.log import WatchEvent, WatchLog
from bayplan.store.rules import RULES

#: Modeled kinds by the resource whose documents they are a view of.
MODELED: dict[str, KindInfo] = {RULES[kind].qualified_resource: info for kind, info in ALL_KINDS.items()}

#: Clients resume in the log of documents; those who read this one are in the same process and never far behind.
_LOG_CAPACITY = 1_024


def narrow(document: Document, info: KindInfo) -> Object:
    """The struct of a document; raises BadRequest where a field that matters has another type."""
    try:
        return msgspec.convert(document, info.struct)
    except msgspec.ValidationError:
        pass
    try:
        # The real server shows some empty lists as null, which structs do not take.
        return msgspec.convert(_without_nulls(document), info.struct)
    except msgspec.ValidationError as error:
        message = f'{info.kind} in version "{info.version}" cannot be handled as a {info.kind}: {error}'
        raise BadRequest(message) from None


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {field: _without_nulls(item) for field, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def narrow_document(obj: Any) -> Document:
    """The document of a struct, with the fields that the struct has."""
    document: Document = msgspec.to_builtins(obj)
    return document


def _following(old: Object | None, change: DocumentChange, info: KindInfo) -> Any:
    """The struct of the new document, with the parts of the old one that did not change: controllers go by that."""
    new: Any = narrow(change.new.document, info)
    if old is not None and change.old is not None:
        for part in ("spec", "status"):
            if hasattr(new, part) and change.old.document.get(part) == change.new.document.get(part):
                setattr(new, part, getattr(old, part))
    return _with_fingerprint(new, change.new.document)


def _with_fingerprint(obj: Any, document: Document) -> Any:
    """The struct, whose template is known by all of its fields: a new environment variable means a new rollout."""
    template = getattr(getattr(obj, "spec", None), "template", None)
    if isinstance(template, PodTemplateSpec) and not template.fingerprint:
        whole = document["spec"].get("template") or {}
        metadata = whole.get("metadata") or {}
        labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != TEMPLATE_HASH}
        compared = {**whole, "metadata": {**metadata, "labels": labels}}
        encoded = msgspec.json.encode(compared, order="deterministic")
        template.fingerprint = hashlib.blake2b(encoded, digest_size=8).hexdigest()
    return obj


class TypedContent:
    """Typed content and log that follow the documents."""

    def __init__(self) -> None:
        self.content = Content()
        self.log = WatchLog(_LOG_CAPACITY)
        self.now = 0
        """When the newest change was made; set by whoever writes."""
        self._prepared: WatchEvent | None = None

    def restore(self, resource: str, entry: Entry) -> None:
        """Takes over what was stored before this process began."""
        info = MODELED.get(resource)
        if info is not None:
            obj = _with_fingerprint(narrow(entry.document, info), entry.document)
            self._apply(WatchEvent("ADDED", info.kind, None, obj, self.log.resource_version + 1, self.now))

    def prepare(self, change: DocumentChange) -> None:
        """Sees the document as a struct before it is stored; raises BadRequest if that is not possible."""
        self._prepared = None
        info = MODELED.get(change.resource)
        if info is None:
            return
        old = self.content.find(info.kind, change.new.namespace, change.new.name)
        new = _following(old, change, info)
        if change.type == DELETED and old is None:
            return
        self._prepared = WatchEvent(change.type, info.kind, old, new, self.log.resource_version + 1, self.now)

    def follow(self, _change: DocumentChange) -> None:
        """Makes the change that was prepared, once it is stored."""
        if self._prepared is not None:
            self._apply(self._prepared)

    def _apply(self, change: WatchEvent) -> None:
        self.content.apply(change)
        self.log.append(change)
