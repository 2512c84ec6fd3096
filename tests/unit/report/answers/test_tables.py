"""Tables of which a reader sees the beginning."""

from __future__ import annotations

from bayplan.report.answers.parts import Cell, Sentence, Table, Tone
from bayplan.report.answers.tables import ROWS_MAX, short_table


def test_the_first_rows_and_how_many_more() -> None:
    table, more = short_table(("n",), [(str(number),) for number in range(ROWS_MAX + 1_234)])
    assert isinstance(table, Table)
    assert len(table.rows) == ROWS_MAX
    assert more == Sentence("and 1,234 more; -o json has them all", Tone.FAINT)


def test_all_rows_if_they_are_few() -> None:
    (table,) = short_table(("n",), [("1",)] * ROWS_MAX)
    assert isinstance(table, Table)
    assert len(table.rows) == ROWS_MAX


def test_a_column_without_content_is_left_out() -> None:
    (table,) = short_table(("a", "b", "c"), [("1", "", Cell("2")), ("3", Cell(""), "4")], numeric={"c"})
    assert isinstance(table, Table)
    assert table.columns == ("a", "c")
    assert table.numeric == {"c"}
    assert table.rows == [["1", Cell("2")], ["3", "4"]]


def test_what_only_a_later_row_has_keeps_its_column() -> None:
    table, _ = short_table(("a", "b"), [("1", "")] * ROWS_MAX + [("2", "x")])
    assert isinstance(table, Table)
    assert table.columns == ("a", "b")
