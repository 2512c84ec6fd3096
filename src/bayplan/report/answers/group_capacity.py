"""How many more groups fit, as parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.report.answers.parts import Heading, Part, Sentence, Snippet, Table, Tone
from bayplan.report.words import counted, listed

_NAMED = 3


def group_capacity_parts(document: Mapping[str, Any]) -> Iterator[Part]:
    """The answer comes first."""
    yield Sentence(_headline(document), Tone.GOOD if document["enough"] else Tone.BAD)
    if document["byEvicting"]:
        victims, more = document["victims"], f"{document['byEvicting']:,} more"
        if victims:
            evicted = f"{counted(len(victims), 'pod')} of lower priority ({listed(victims, _NAMED)})"
            yield Sentence(f"{more} would fit by evicting {evicted}.", Tone.WARN)
    if document["byDomain"]:
        yield Heading(f"Groups by {document['within']}")
        rows = [(domain, f"{number:,}") for domain, number in document["byDomain"].items()]
        yield Table((document["within"], "groups"), rows, numeric=frozenset({"groups"}))
    if document["stop"]:
        yield Heading("What stops the next one")
        yield Snippet(document["stop"], "text")


def _headline(document: Mapping[str, Any]) -> str:
    fits, wanted = document["fits"], document["wanted"]
    within = f", each on nodes with one value of {document['within']}" if document["within"] else ""
    if wanted > 1:
        what = _what(document, wanted)
        if document["enough"]:
            return f"Yes: {wanted:,} more {what} fit{within}."
        return f"No: of {wanted:,} more {what}, {fits:,} would fit{within}."
    if not fits:
        return f"There is no room for another {_what(document, 1)}{within}."
    return f"There is room for {fits:,} more {_what(document, fits)}{within}."


def _what(document: Mapping[str, Any], number: int) -> str:
    plural, pods = "" if number == 1 else "s", document["podsInEach"]
    if document["new"]:
        return f"gang{plural} of {pods:,} × {document['group']}"
    return f"group{plural} like {document['group']} ({counted(pods, 'pod')})"
