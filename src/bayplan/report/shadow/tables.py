"""The findings of a shadow in the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.report.shadow.sections import Plain, answer, sections
from bayplan.report.terminal import Part, heading, sentence, table

_SHOWN = 10


def shadow_parts(found: Plain) -> Iterator[Part]:
    """The summary."""
    yield sentence(answer(found), "bold")
    for section in sections(found, _SHOWN):
        yield heading(section.title)
        if section.sentence:
            yield sentence(section.sentence, "dim")
        yield table(*section.titles, rows=section.rows, numeric=section.numeric, flexible=section.titles[1:])
