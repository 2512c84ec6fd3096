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
from bayplan.model.pod import Pod

#: Kind, namespace and name -> the document; None for an object that is not known.
Documents: TypeAlias = Callable[[str, str, str], bytes | None]


class _Kept:
    """One document. Most are never asked for, so that it is made ready when it is."""

    __slots__ = ("_as_it_came", "_ready")

    def __init__(self, as_it_came: bytes) -> None:
        self._as_it_came = as_it_came
        self._ready = b""

    def as_part(self, kind: str) -> bytes:
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
        self._gone: dict[tuple[str, str, str], _Kept] = {}

    def wants(self, kind: str) -> bool:
        """Whether some objects of the kind may be asked for."""
        return self._sends_nodes if kind == "Node" else kind == "Pod"

    def keep(self, obj: Object, document: bytes) -> None:
        """An object that has come or changed, with its JSON, which is copied."""
        if isinstance(obj, Pod) and obj.spec.node_name and not self._sends_victims:
            self.forget(obj)
        else:
            self._documents[_place(obj)] = _Kept(bytes(document))

    def forget(self, obj: Object) -> None:
        """It is gone, but a decision that is being made may still ask for it."""
        kept = self._documents.pop(_place(obj), None)
        if kept is not None:
            self._gone[_place(obj)] = kept

    def sweep(self) -> None:
        """No decision is being made: what is gone is no use any more."""
        self._gone.clear()

    def __call__(self, kind: str, namespace: str, name: str) -> bytes | None:
        place = (kind, namespace, name)
        kept = self._documents.get(place) or self._gone.get(place)
        return None if kept is None else kept.as_part(kind)


def encoded(find: Callable[[str, str, str], Object | None]) -> Documents:
    """Documents made of structs, which have no more fields than decisions depend on."""

    def document(kind: str, namespace: str, name: str) -> bytes | None:
        found = find(kind, namespace, name)
        return None if found is None else _as_part(kind, msgspec.to_builtins(found))

    return document


def _place(obj: Object) -> tuple[str, str, str]:
    return type(obj).__name__, obj.metadata.namespace, obj.metadata.name


def _as_part(kind: str, document: dict[str, Any]) -> bytes:
    if kind == "Pod":
        document.get("metadata", {}).pop("managedFields", None)
    document.pop("kind", None)
    document.pop("apiVersion", None)
    return msgspec.json.encode(document)
