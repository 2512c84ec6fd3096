"""How far the nodes are from having enough: a sentence for each resource that is short."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan.core.columns.resources import CPU_NAME
from bayplan.report.answers.parts import Part, Sentence

UNITS = (("Ei", 1 << 60), ("Pi", 1 << 50), ("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))
COUNTED_IN_BYTES = ("memory", "ephemeral-storage", "hugepages-")


def shortage_parts(shortages: Iterable[Mapping[str, Any]]) -> Iterator[Part]:
    """Takes the `shortages` of an explanation."""
    for shortage in shortages:
        resource, offered = shortage["resource"], shortage["mostOffered"]
        if shortage["asked"] <= offered:
            free = written_amount(resource, shortage["mostFree"])
            rest = f"the most free on these nodes is {free}, on {shortage['mostFreeOn']}"
        elif offered:
            rest = f"even when empty, these nodes have at most {written_amount(resource, offered)}"
        else:
            rest = "these nodes have none"
        yield Sentence(f"{resource}: the pod requests {written_amount(resource, shortage['asked'])}; {rest}.")


def written_amount(resource: str, amount: int) -> str:
    """As one would write it in a manifest: `1500m`, `4`, `8Gi`."""
    if resource == CPU_NAME:
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if resource.startswith(COUNTED_IN_BYTES):
        for unit, size in UNITS:
            if amount >= size:
                return f"{amount / size:.4g}{unit}"
    return str(amount)
