"""An answer in a terminal: the answer stands out, bars are drawn, text to copy stays as it is."""

from __future__ import annotations

from bayplan.report.answers.parts import Bar, Bars, Cell, Details, Heading, Next, Part, Sentence, Snippet, Table, Tone
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.terminal import rendered


def test_every_part_has_its_lines() -> None:
    parts: list[Part] = [
        Sentence("No: 2 pods would go."),
        Heading("Who"),
        Table(("pod", "cpu"), [["a/[b]", Cell("1", Tone.BAD)], ["c", "10"]], numeric=frozenset({"cpu"})),
        Bars([Bar("zone-a", 4.0, "4 of 8"), Bar("b", 0.01)], full=8.0),
        Snippet("spec: {}\n"),
    ]
    assert rendered(terminal_parts(parts)).splitlines() == [
        "No: 2 pods would go.",
        "",
        "Who",
        "pod     cpu",
        "───────────",
        "a/[b]     1",
        "c        10",
        "zone-a ███████████████                4 of 8",
        "b      ▏",
        "spec: {}",
    ]


def test_the_answer_is_bold_and_has_its_color() -> None:
    written = rendered(terminal_parts([Sentence("Yes.", Tone.GOOD), Sentence("More.")]), colors=True)
    assert written.splitlines() == ["\x1b[1;32mYes.\x1b[0m", "More."]


def test_an_answer_may_begin_with_a_table() -> None:
    assert rendered(terminal_parts([Table(("pod",), [["a"]])])).splitlines()[0] == "pod"


def test_details_are_shown_on_request_only() -> None:
    parts: list[Part] = [Sentence("Yes."), Next("bayplan fix shop/web"), Details([Details([Sentence("All of it.")])])]
    assert rendered(terminal_parts(parts)).splitlines() == ["Yes.", "Next: bayplan fix shop/web", "All of it."]
    short = rendered(terminal_parts(parts, details=False)).splitlines()
    assert short == ["Yes.", "Next: bayplan fix shop/web", "--details shows everything."]


def test_nothing_is_said_of_details_that_are_empty() -> None:
    assert rendered(terminal_parts([Sentence("Yes."), Details([])], details=False)) == "Yes.\n"


def test_long_labels_of_bars_are_folded_rather_than_cut() -> None:
    name = "x" * 70
    text = rendered(terminal_parts([Bars([Bar(name, 1.0, "more than 1.5 cores")])]), width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("x") == 70
    assert {"more", "than", "cores"} <= set(text.split())
