"""What reaches a terminal, and what reaches a pipe."""

from __future__ import annotations

from io import StringIO

import pytest

from bayplan.report.terminal import PIPE_WIDTH, Part, Verbatim, heading, rendered, sentence, show, table

ESCAPE = "\x1b"
LONG = "word " * 60


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def parts() -> list[Part]:
    made = table("name", "text", flexible=["text"])
    made.add_row("a", LONG)
    return [heading("Title"), sentence(LONG, "red"), made, Verbatim(LONG.strip())]


def test_a_pipe_gets_plain_lines_of_readable_width() -> None:
    stream = StringIO()
    show(parts(), stream)
    lines = stream.getvalue().splitlines()
    assert ESCAPE not in stream.getvalue()
    assert lines[1] == "Title"
    assert lines[-1] == LONG.strip(), "text to copy is whole"
    assert 140 < max(map(len, lines[:-1])) <= PIPE_WIDTH
    assert " ".join(lines).count("word") == 3 * LONG.count("word"), "nothing is cut"
    assert all(line == line.rstrip() for line in lines)


def test_terminal_gets_colors_and_wrapped_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    stream = Terminal()
    show(parts(), stream)
    assert ESCAPE in stream.getvalue()
    assert len(stream.getvalue().splitlines()) > 10


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_terminal_without_colors(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    stream = Terminal()
    show(parts(), stream)
    assert ESCAPE not in stream.getvalue()


def test_names_are_not_taken_for_markup() -> None:
    assert rendered([sentence("[red]x[/red] :smile: 12")]) == "[red]x[/red] :smile: 12\n"


def test_verbatim_is_never_wrapped() -> None:
    assert rendered([Verbatim(LONG.strip())], width=40) == f"{LONG.strip()}\n"


def test_fixed_columns_keep_their_words_on_a_narrow_terminal() -> None:
    made = table("name", "text", flexible=["text"])
    made.add_row("a-name-of-twenty-chars", LONG)
    assert "a-name-of-twenty-chars " in rendered([made], width=60)


def test_in_a_narrow_terminal_every_column_gives_way_and_nothing_is_cut() -> None:
    rows = [("default/web-6c9f7b5d48-k4x2p", "default/urgent", "1,234,567,890", "runs on node-3, evicting 1 pod")]
    made = table("pod", "by", "priority", "then", rows=rows, numeric={"priority"}, flexible={"then"})
    lines = rendered([made], width=60).splitlines()
    assert max(map(len, lines)) <= 60
    assert "1,234,567,890" in lines[2]
    assert {"runs", "node-3,", "evicting"} <= set(" ".join(lines).split())


def test_numbers_make_a_table_wider_than_the_terminal_rather_than_wrong() -> None:
    titles = [f"column-{number}" for number in range(9)]
    made = table(*titles, rows=[["123,456,789,012"] * 9], numeric=set(titles))
    assert rendered([made], width=60).splitlines()[-1].split() == ["123,456,789,012"] * 9
