"""Every kind that the API of `bayplan up` serves from the start, with its verbs and subresources."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.apiserver.registry.catalogue import Catalogue
from website.reference.markdown import code, table


def page() -> str:
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield from ("# Kinds that `up` serves", "")
    yield "[`bayplan up`](../guide/up.md) and `bayplan.testing.cluster()` serve these, and the kinds of any"
    yield "CustomResourceDefinition that is created there."
    served = sorted(Catalogue().all(), key=lambda resource: (resource.group, resource.kind, resource.version))
    rows = (
        (
            f"{resource.group}/{resource.version}".removeprefix("/"),
            code(resource.kind),
            "yes" if resource.namespaced else "",
            ", ".join(resource.verbs),
        )
        for resource in served
    )
    yield from table(("API version", "Kind", "In namespaces", "Verbs"), rows)
