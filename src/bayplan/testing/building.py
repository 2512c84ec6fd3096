"""What the builders of all kinds share: metadata, owners, times, and handing out the object.

Nothing is validated: tests need wrong objects too.
"""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any, Generic, Self, TypeAlias, TypeVar

import msgspec

from bayplan.model.kinds import ALL_KINDS, Object
from bayplan.model.meta import ObjectMeta, OwnerReference
from bayplan.testing.selecting import Labels

Time: TypeAlias = str | int
"""As written in an object, or whole seconds since 1970."""

CREATED_AT = "2026-01-01T00:00:00Z"

ObjectT = TypeVar("ObjectT", bound=Object)


def format_time(time: Time) -> str:
    """RFC 3339 as an object holds it."""
    return time if isinstance(time, str) else datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Builder(Generic[ObjectT]):
    """What every kind has: a name, a namespace, labels, annotations, owners and times."""

    _object: ObjectT

    def __init__(self, built: ObjectT, name: str, namespace: str = "default") -> None:
        info = ALL_KINDS[type(built).__name__]
        meta = built.metadata
        meta.name = name
        meta.namespace = namespace if info.namespaced else ""
        meta.uid = f"{info.kind.lower()}-{meta.namespace}-{name}" if info.namespaced else f"{info.kind.lower()}-{name}"
        meta.creation_timestamp = CREATED_AT
        self._object = built

    @property
    def _meta(self) -> ObjectMeta:
        return self._object.metadata

    def obj(self) -> ObjectT:
        """The object, independent of the builder from here on."""
        return copy.deepcopy(self._object)

    def dict(self) -> dict[str, Any]:
        """The object as plain JSON data, with its apiVersion."""
        info = ALL_KINDS[type(self._object).__name__]
        plain: dict[str, Any] = msgspec.to_builtins(self._object)
        return {"apiVersion": info.api_version, **plain}

    def manifest(self) -> Self:
        """As in a file nobody has applied yet: no uid, no creation time."""
        self._meta.uid = ""
        self._meta.creation_timestamp = None
        return self

    def namespace(self, name: str) -> Self:
        self._meta.namespace = name
        return self

    def uid(self, uid: str) -> Self:
        self._meta.uid = uid
        return self

    def labels(self, given: Labels | None = None, /, **labels: str) -> Self:
        self._meta.labels.update(given or {}, **labels)
        return self

    def annotations(self, given: Labels | None = None, /, **annotations: str) -> Self:
        self._meta.annotations.update(given or {}, **annotations)
        return self

    def finalizers(self, *names: str) -> Self:
        self._meta.finalizers.extend(names)
        return self

    def created(self, time: Time) -> Self:
        self._meta.creation_timestamp = format_time(time)
        return self

    def terminating(self, time: Time = CREATED_AT, grace_seconds: int | None = 30) -> Self:
        self._meta.deletion_timestamp = format_time(time)
        self._meta.deletion_grace_period_seconds = grace_seconds
        return self

    def owner(self, owner: Builder[Any] | Object | str, name: str = "", *, controller: bool = True) -> Self:
        """Owned by another object, or by a kind and a name."""
        self._meta.owner_references.append(_owner_reference(owner, name, controller))
        return self


def _owner_reference(owner: Builder[Any] | Object | str, name: str, controller: bool) -> OwnerReference:
    if isinstance(owner, str):
        info = ALL_KINDS.get(owner)
        return OwnerReference(
            api_version=info.api_version if info else "example.com/v1",
            kind=owner,
            name=name,
            controller=controller,
        )
    built = owner.obj() if isinstance(owner, Builder) else owner
    info = ALL_KINDS[type(built).__name__]
    return OwnerReference(
        api_version=info.api_version,
        kind=info.kind,
        name=built.metadata.name,
        uid=built.metadata.uid,
        controller=controller,
    )
