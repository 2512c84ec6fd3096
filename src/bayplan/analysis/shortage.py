"""How much is missing: of each resource that nodes lack for a pod, what it asks for and the most that is free.

Looks only at nodes whose verdict is about that resource. Amounts are in the columns' units: milli-cores for cpu, whole
units for all else. Room promised to nominated pods counts as free here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from bayplan.core.columns.resources import CPU_NAME
from bayplan.core.diagnosis import failure_groups
from bayplan.core.explain import Explanation

_PREFIX = "Insufficient "
_UNITS = (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))
_COUNTED_IN_BYTES = ("memory", "ephemeral-storage", "hugepages-")


@dataclass(frozen=True, slots=True)
class Shortage:
    """One resource that is short on some nodes."""

    resource: str
    asked: int
    most_free: int
    node: str  # where that is
    most_offered: int  # by any of these nodes, used or not


def shortages(explanation: Explanation) -> list[Shortage]:
    """In order of first mention."""
    filtered, view = explanation.attempt.filtered, explanation.view
    if filtered is None:
        return []
    short_rows: defaultdict[str, list[int]] = defaultdict(list)
    for group in failure_groups(filtered, view):
        for resource in _resources_named(group.status.reasons):
            short_rows[resource] += group.rows.tolist()
    found = []
    for resource, rows in short_rows.items():
        column = view.nodes.resources.find(resource)
        free = view.nodes.allocatable[rows, column] - view.usage.requested[rows, column]
        best = int(free.argmax())
        asked = explanation.attempt.pod.shape.requests.asked.get(resource, 0)
        offered = int(view.nodes.allocatable[rows, column].max())
        found.append(Shortage(resource, asked, max(0, int(free[best])), view.nodes.names[rows[best]], offered))
    return found


def _resources_named(reasons: tuple[str, ...]) -> Iterator[str]:
    return (reason.removeprefix(_PREFIX) for reason in reasons if reason.startswith(_PREFIX))


def written_amount(resource: str, amount: int) -> str:
    """As one would write it in a manifest: `1500m`, `4`, `8Gi`."""
    if resource == CPU_NAME:
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if resource.startswith(_COUNTED_IN_BYTES):
        for unit, size in _UNITS:
            if amount >= size:
                return f"{amount / size:.4g}{unit}"
    return str(amount)
