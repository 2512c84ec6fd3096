"""An answer in a terminal: the answer stands out, bars are drawn, text to copy stays as it is."""

from __future__ import annotations

from bayplan.report.answers.parts import Bar, Bars, Cell, Code, Heading, Part, Sentence, Table, Tone
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.terminal import rendered


def test_every_part_has_its_lines() -> None:
    parts: list[Part] = [
        Sentence("No: 2 pods would go."),
        Heading("Who"),
        Table(("pod", "cpu"), [["a/[b]", Cell("1", Tone.BAD)], ["c", "10"]], numeric=frozenset({"cpu"})),
        Bars([Bar("zone-a", 4.0, "4 of 8"), Bar("b", 0.01)], full=8.0),
        Code("spec: {}\n"),
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
    written = rendered(terminal_parts([Sentence("Yes.", Tone.GOOD), Sentence("More.")]), colours=True)
    assert written.splitlines() == ["\x1b[1;32mYes.\x1b[0m", "More."]


def test_an_answer_may_begin_with_a_table() -> None:
    assert rendered(terminal_parts([Table(("pod",), [["a"]])])).splitlines()[0] == "pod"
