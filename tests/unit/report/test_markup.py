"""Text is text, elements are elements, and nothing that a page's policy forbids can be made."""

from __future__ import annotations

import pytest
from markupsafe import Markup

from bayplan.report.markup import joined, tag

EVIL = "\"'><script>&"
ESCAPED = "&#34;&#39;&gt;&lt;script&gt;&amp;"


def test_text_is_escaped_once_wherever_it_is() -> None:
    assert tag("p", EVIL, tag("b", EVIL), title=EVIL) == (f'<p title="{ESCAPED}">{ESCAPED}<b>{ESCAPED}</b></p>')
    assert joined([EVIL, [Markup("<br>")]]) == f"{ESCAPED}<br>"


@pytest.mark.parametrize(
    ("made", "written"),
    [
        (tag("i", class_="c0"), '<i class="c0"></i>'),
        (tag("rect", x=0, width=1.5), '<rect x="0" width="1.5"/>'),
        (tag("input", type="radio", checked=True, value=None, disabled=False), '<input type="radio" checked>'),
        (tag("td", 1234567), "<td>1,234,567</td>"),
        (tag("p", None, False, ""), "<p></p>"),
        (tag("svg", aria_label="x", viewBox="0 0 1 1"), '<svg aria-label="x" viewBox="0 0 1 1"/>'),
    ],
)
def test_elements(made: Markup, written: str) -> None:
    assert made == written


@pytest.mark.parametrize("attribute", ["style", "onclick"])
def test_an_element_cannot_have_a_style_or_a_script(attribute: str) -> None:
    with pytest.raises(AssertionError, match="policy"):
        tag("p", **{attribute: "x"})
