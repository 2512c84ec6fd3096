"""An answer in a pull request's comment: names of users are text there, never markup."""

from __future__ import annotations

import pytest

from bayplan.report.answers.markdown import markdown
from bayplan.report.answers.parts import Bar, Bars, Cell, Details, Heading, Next, Part, Sentence, Snippet, Table, Tone


def test_every_part_is_a_block() -> None:
    parts: list[Part] = [
        Sentence("No: 2 pods would go.", Tone.BAD),
        Sentence(""),
        Heading("Who"),
        Table(("pod", "cpu"), [["a|b", Cell("1", Tone.WARN)]], numeric=frozenset({"cpu"})),
        Bars([Bar("zone-a", 4.0, "4 of 8"), Bar("b", 8.0)]),
        Snippet("spec: {}\n"),
    ]
    assert markdown("bayplan whatif", parts) == (
        "### bayplan whatif\n\n"
        "❌ **No: 2 pods would go.**\n\n"
        "#### Who\n\n"
        "| pod | cpu |\n| --- | ---: |\n| a\\|b | ⚠️ 1 |\n\n"
        "```text\nzone-a  ██████████            4 of 8\nb       ████████████████████\n```\n\n"
        "```yaml\nspec: {}\n```\n"
    )


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a_b_c", "a_b_c"),
        ("_a_", "\\_a\\_"),
        ("<img> *x* `y` [z]", "\\<img\\> \\*x\\* \\`y\\` \\[z\\]"),
    ],
)
def test_what_would_be_markup_is_escaped(text: str, written: str) -> None:
    assert markdown("t", [Sentence("x"), Sentence(text)]).splitlines()[-1] == written


def test_a_fence_is_longer_than_any_inside() -> None:
    assert markdown("t", [Snippet("```\nx", "text")]).splitlines()[2] == "````text"


def test_a_row_of_one_tone_is_marked_once() -> None:
    row = [Cell("a", Tone.GOOD), Cell("b", Tone.GOOD)]
    assert markdown("t", [Table(("x", "y"), [row])]).splitlines()[-1] == "| ✅ a | b |"


def test_details_are_folded() -> None:
    parts: list[Part] = [Sentence("No."), Next("bayplan fix a/b"), Details([Sentence(""), Heading("Who")]), Details([])]
    assert markdown("t", parts) == (
        "### t\n\n**No.**\n\nNext:\n\n```sh\nbayplan fix a/b\n```\n\n"
        "<details>\n<summary>Details</summary>\n\n#### Who\n\n</details>\n"
    )
