"""An answer as a page: complete, without scripts, and whatever users call things is text."""

from __future__ import annotations

from bayplan.report.answers.html import html
from bayplan.report.answers.parts import Bar, Bars, Cell, Details, Heading, Next, Part, Sentence, Snippet, Table, Tone


def test_every_part_is_an_element_and_nothing_is_markup() -> None:
    evil = "<script>x</script>"
    parts: list[Part] = [
        Sentence(evil, Tone.BAD),
        Sentence(evil),
        Heading(evil),
        Table((evil, "n"), [[Cell(evil, Tone.WARN), "1"]], numeric=frozenset({"n"})),
        Bars([Bar(evil, 1.0, evil)], full=4.0),
        Snippet(evil),
        Next(evil),
        Details([Sentence(evil)]),
    ]
    page = html(evil, parts)
    assert "<script" not in page
    assert page.count("&lt;script&gt;x&lt;/script&gt;") == 12  # the title twice, bars twice, all others once
    assert '<p class="answer bad">' in page
    assert '<td class="number">' in page
    assert '<rect class="plain" width="25.00%"' in page


def test_an_empty_sentence_leaves_nothing() -> None:
    assert "<p" not in html("t", [Sentence("")])
