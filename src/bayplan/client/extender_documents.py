"""Objects as an API server shows them, with fields that no struct has: for those who pass them on.

Takes JSON as a watch brings it; gives it without kind and apiVersion, as Go writes an object inside another one, and
pods without managedFields, which the scheduler drops as it reads them. What nobody will ask for is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec

from bayplan.config.schema import Extender
from bayplan.model.kinds import Object

#: Kind, namespace and name -> the document; None for an object that is not known.
Documents: TypeAlias = Callable[[str, str, str], bytes | None]


class _Kept:
    """One document. Most are never asked for, so that it is made ready when it is."""

    __slots__ = ("_as_it_came", "_ready")

    def __init__(self, as_it_came: bytes) -> None:
        self._as_it_came = as_it_came
        self._ready = b""

    def ready(self, kind: str) -> bytes:
        if not self._ready:
            self._ready = _as_part(kind, msgspec.json.decode(self._as_it_came))
            self._as_it_came = b""
        return self._ready


class KeptDocuments:
    """The documents that extenders are sent, as they came last. It is a `Documents`.

    One thread may keep them while another one asks.
    """

    def __init__(self, extenders: Iterable[Extender]) -> None:
        uncached = [extender for extender in extenders if not extender.node_cache_capable]
        self._sends_nodes = any(extender.filter_verb or extender.prioritize_verb for extender in uncached)
        self._sends_victims = any(extender.preempt_verb for extender in uncached)
        self._documents: dict[tuple[str, str, str], _Kept] = {}

    def wants(self, kind: str, *, has_node: bool = False) -> bool:
        """Whether such objects may be asked for; `has_node` is about pods."""
        if kind == "Node":
            return self._sends_nodes
        return kind == "Pod" and (not has_node or self._sends_victims)

    def keep(self, kind: str, namespace: str, name: str, document: bytes) -> None:
        """The object as JSON. It is copied."""
        self._documents[kind, namespace, name] = _Kept(bytes(document))

    def forget(self, kind: str, namespace: str, name: str) -> None:
        """It is gone, or nobody wants it any more. Unknown ones are ignored."""
        self._documents.pop((kind, namespace, name), None)

    def __call__(self, kind: str, namespace: str, name: str) -> bytes | None:
        kept = self._documents.get((kind, namespace, name))
        return None if kept is None else kept.ready(kind)


def encoded(find: Callable[[str, str, str], Object | None]) -> Documents:
    """Documents made of structs, which have no more fields than decisions depend on."""

    def document(kind: str, namespace: str, name: str) -> bytes | None:
        found = find(kind, namespace, name)
        return None if found is None else _as_part(kind, msgspec.to_builtins(found))

    return document


def _as_part(kind: str, document: dict[str, Any]) -> bytes:
    if kind == "Pod":
        document.get("metadata", {}).pop("managedFields", None)
    document.pop("kind", None)
    document.pop("apiVersion", None)
    return msgspec.json.encode(document)
