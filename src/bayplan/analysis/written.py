"""Parts of objects as people write them: taints, requirements, selectors, amounts."""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.core.columns.resources import CPU_NAME
from bayplan.model.meta import LabelSelector, LabelSelectorRequirement
from bayplan.model.node import Taint
from bayplan.model.pod import NodeSelectorTerm

UNITS = (("Ei", 1 << 60), ("Pi", 1 << 50), ("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))
COUNTED_IN_BYTES = ("memory", "ephemeral-storage", "hugepages-")


def written_taint(taint: Taint) -> str:
    """As kubectl writes it."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def written_requirement(requirement: LabelSelectorRequirement) -> str:
    """`zone in (a, b)`, as a label selector is written."""
    values = ", ".join(requirement.values)
    match requirement.operator:
        case "In":
            return f"{requirement.key} in ({values})"
        case "NotIn":
            return f"{requirement.key} not in ({values})"
        case "Exists":
            return f"{requirement.key} exists"
        case "DoesNotExist":
            return f"{requirement.key} does not exist"
        case operator:
            return f"{requirement.key} {operator} {values}"


def written_terms(terms: Iterable[NodeSelectorTerm]) -> str:
    """`zone in (a, b) and disk exists or metadata.name in (n1)`: one term is enough."""
    written = (" and ".join(map(written_requirement, [*term.match_expressions, *term.match_fields])) for term in terms)
    return " or ".join(filter(None, written))


def written_selector(selector: LabelSelector | None) -> str:
    """`app=web, tier in (a, b)`; all pods if it is empty."""
    if selector is None:
        return "no pods"
    labels = [f"{key}={value}" for key, value in selector.match_labels.items()]
    others = [
        f"{each.key}={each.values[0]}" if each.operator == "In" and len(each.values) == 1 else written_requirement(each)
        for each in selector.match_expressions
    ]
    return ", ".join([*labels, *others]) or "all pods"


def written_amount(resource: str, amount: int) -> str:
    """As one would write it in a manifest: `1500m`, `4`, `8Gi`."""
    if resource == CPU_NAME:
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if resource.startswith(COUNTED_IN_BYTES):
        for unit, size in UNITS:
            if amount >= size:
                return f"{amount / size:.4g}{unit}"
    return str(amount)
