"""Namespaces that objects are in and that do not exist: an API server would refuse to create such objects.

Takes the objects of a cluster. Where there is no Namespace at all, they were left out, and nothing can be said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bayplan.model.cluster import Namespace
from bayplan.model.kinds import ALL_KINDS, Object
from bayplan.model.near_matches import near
from bayplan.model.well_known import DEFAULT_NAMESPACE

#: Every cluster has them.
_ALWAYS: Final = (DEFAULT_NAMESPACE, "kube-system", "kube-public", "kube-node-lease")


@dataclass(frozen=True, slots=True)
class UnknownNamespace:
    """A namespace that does not exist."""

    name: str
    objects: int  # that are in it
    meant: list[str]  # namespaces of similar names


def unknown_namespaces(objects: Sequence[Object]) -> list[UnknownNamespace]:
    """Those with the most objects first."""
    existing = {obj.metadata.name for obj in objects if isinstance(obj, Namespace)}
    if not existing:
        return []
    named = Counter(obj.metadata.namespace for obj in objects if ALL_KINDS[type(obj).__name__].namespaced)
    known = existing.union(_ALWAYS)
    return [
        UnknownNamespace(name, count, near(name, existing))
        for name, count in named.most_common()
        if name and name not in known
    ]
