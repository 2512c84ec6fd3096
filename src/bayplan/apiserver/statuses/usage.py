"""What pods use of CPU and memory, in place of a measurement: what they say in annotations, or else what they request.

`bayplan/cpu-usage: 250m` and `bayplan/memory-usage: 64Mi` are about the whole pod; its first container uses it all.
Takes pods as documents; gives amounts in nano-units, as `model.quantity` has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bayplan.apiserver.storage.entries import Document
from bayplan.core.columns.resources import CPU_NAME, MEMORY_NAME
from bayplan.model.quantity import parse_quantity

_ANNOTATIONS: Final = {CPU_NAME: "bayplan/cpu-usage", MEMORY_NAME: "bayplan/memory-usage"}


def usage_of(pod: Document) -> dict[str, dict[str, int]] | None:
    """By container and resource; None for a pod that does not run."""
    if (pod.get("status") or {}).get("phase") != "Running":
        return None
    containers = pod["spec"]["containers"]
    made = {one["name"]: {resource: requested(one, resource) or 0 for resource in _ANNOTATIONS} for one in containers}
    annotations = pod["metadata"].get("annotations") or {}
    for resource, annotation in _ANNOTATIONS.items():
        amount = _amount(annotations.get(annotation))
        if amount is not None:
            for one in containers:
                made[one["name"]][resource] = amount if one is containers[0] else 0
    return made


def requested(container: Document, resource: str) -> int | None:
    """What the container requests; None if it does not say."""
    return _amount(((container.get("resources") or {}).get("requests") or {}).get(resource))


def total(usages: Iterable[dict[str, int]], resource: str) -> int:
    return sum(usage[resource] for usage in usages)


def _amount(written: str | None) -> int | None:
    """None if nothing was written, or nothing that makes sense."""
    try:
        return None if written is None else max(0, parse_quantity(written))
    except ValueError:
        return None
