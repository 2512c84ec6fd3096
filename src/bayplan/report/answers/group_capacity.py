"""How many more groups fit, as parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.report.answers.parts import Heading, Part, Sentence, Snippet, Table, Tone
from bayplan.report.words import counted


def group_capacity_parts(document: Mapping[str, Any]) -> Iterator[Part]:
    """The answer comes first."""
    fits, each = document["fits"], counted(document["podsInEach"], "pod")
    within = f", each on nodes with one value of {document['within']}" if document["within"] else ""
    if fits:
        more = "1 more group" if fits == 1 else f"{fits:,} more groups"
        yield Sentence(f"There is room for {more} like {document['group']} ({each}){within}.", Tone.GOOD)
    else:
        yield Sentence(f"There is no room for another group like {document['group']} ({each}){within}.", Tone.BAD)
    if document["byDomain"]:
        yield Heading(f"Groups by {document['within']}")
        rows = [(domain, f"{number:,}") for domain, number in document["byDomain"].items()]
        yield Table((document["within"], "groups"), rows, numeric=frozenset({"groups"}))
    if document["stop"]:
        yield Heading("What stops the next one")
        yield Snippet(document["stop"], "text")
