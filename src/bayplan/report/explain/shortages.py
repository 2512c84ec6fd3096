"""How far the nodes are from having enough: a sentence for each resource that is short."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan.analysis.written import written_amount
from bayplan.report.answers.parts import Part, Sentence


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
