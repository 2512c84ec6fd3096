"""Parts of cells that several kinds share: labels, selectors, containers, lists that are cut short, conditions.

Takes parts of documents, gives text. Nothing here depends on the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

NONE: Final = "<none>"
UNSET: Final = "<unset>"
_LIST_MAX = 3
_SIGNS = {"In": "in", "NotIn": "notin"}


def labels_text(labels: Mapping[str, str] | None) -> str:
    """`a=b,c=d` in the order of the keys."""
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels)) if labels else NONE


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """A label selector as it would be written in a query, in the order of the keys; empty for one of everything."""
    selector = selector or {}
    parts = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    parts += [(item["key"], _expression(item)) for item in selector.get("matchExpressions") or ()]
    return ",".join(text for _, text in sorted(parts, key=lambda part: part[0]))


def _expression(requirement: Mapping[str, Any]) -> str:
    key, operator = requirement["key"], requirement["operator"]
    if operator in _SIGNS:
        return f"{key} {_SIGNS[operator]} ({','.join(sorted(requirement['values']))})"
    return f"!{key}" if operator == "DoesNotExist" else str(key)


def containers_text(template: Mapping[str, Any] | None) -> tuple[str, str]:
    """Names and images of a pod template's containers."""
    containers = ((template or {}).get("spec") or {}).get("containers") or ()
    return (
        ",".join(container.get("name", "") for container in containers),
        ",".join(container.get("image", "") for container in containers),
    )


def cut_list(items: Iterable[str], nothing: str = UNSET) -> str:
    """The first three, and how many more there are."""
    found = list(items)
    text = ",".join(found[:_LIST_MAX])
    if len(found) > _LIST_MAX:
        return f"{text} + {len(found) - _LIST_MAX} more..."
    return text or nothing


def condition(conditions: Sequence[Mapping[str, Any]] | None, kind: str) -> Mapping[str, Any] | None:
    """The first condition of that type."""
    return next((item for item in conditions or () if item.get("type") == kind), None)


def is_true(conditions: Sequence[Mapping[str, Any]] | None, kind: str) -> bool:
    """Whether the first condition of that type holds."""
    found = condition(conditions, kind)
    return found is not None and found.get("status") == "True"


def quantity_text(quantities: Mapping[str, Any] | None, name: str) -> str:
    """A quantity as it is stored, which is its canonical form; one that is absent is zero."""
    return str((quantities or {}).get(name, "0"))
