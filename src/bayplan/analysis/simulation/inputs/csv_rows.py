"""CSV files as checked rows: a path in, cells by column out, every fault with file, line and column.

A row never raises: a bad cell is recorded and reads as zero, so that one reading finds everything that is wrong with a
file; `read_rows` raises it at the end. What the columns mean is not known here. Files ending in `.gz` are unpacked.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, TypeAlias, TypeVar

from bayplan.model.durations import parse_span
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.quantity import parse_quantity
from bayplan.model.time_units import SECOND

#: More would scroll the first ones, which usually explain the rest, out of sight.
FAULTS_SHOWN: Final = 20
#: Ten thousand years; beyond it nanoseconds leave the range of an int64 soon.
SECONDS_MAX: Final = 9e9
WHOLE_MAX: Final = 2**53

NumberT = TypeVar("NumberT", int, float)
HeaderCheck: TypeAlias = Callable[[Sequence[str], "RowFaults"], None]


class RowFaults:
    """What is wrong with one file."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self._found: list[Fault] = []
        self._count = 0

    def add(self, line: int, column: str, message: str) -> None:
        self._count += 1
        if len(self._found) < FAULTS_SHOWN:
            where = f"{self.source}:{line}" if line else str(self.source)
            self._found.append(Fault(where, "", column, message))

    def raise_any(self) -> None:
        if self._count > len(self._found):
            more = self._count - len(self._found)
            self._found.append(Fault(str(self.source), "", "", f"and {more} more like these"))
        if self._found:
            raise InvalidObject(self._found)


class CsvRow:
    """One line of a table; columns that the table does not have read as empty."""

    __slots__ = ("_cells", "_faults", "line")

    def __init__(self, line: int, cells: dict[str, str], faults: RowFaults) -> None:
        self.line = line
        self._cells = cells
        self._faults = faults

    def reject(self, column: str, message: str) -> None:
        self._faults.add(self.line, column, message)

    def has(self, column: str) -> bool:
        """Whether the table has the column."""
        return column in self._cells

    def text(self, column: str) -> str:
        return self._cells.get(column, "").strip()

    def whole(self, column: str, *, least: int = 0, most: int = WHOLE_MAX) -> int:
        """A whole number within bounds."""
        value = self._parsed(column, int, "expected a whole number", least)
        return self._within(column, value, least, most, _bounds(least, most))

    def number(self, column: str) -> float:
        """A number that is not negative."""
        value = self._parsed(column, float, "expected a number", 0.0)
        return self._within(column, value, 0.0, WHOLE_MAX, "0 or more and finite")

    def seconds(self, column: str) -> float:
        """A time or a span: seconds, or a duration such as `90s`, `5m` or `1h30m`."""
        expected = "expected seconds or a duration such as 90s, 5m or 1h30m"
        value = self._parsed(column, _seconds, expected, 0.0)
        return self._within(column, value, 0.0, SECONDS_MAX, f"between 0 and {SECONDS_MAX:.0f} seconds")

    def quantity(self, column: str) -> str:
        """A Kubernetes quantity that is not negative, as it is written."""
        written = self.text(column)
        try:
            nano = parse_quantity(written)
        except ValueError as error:
            self.reject(column, f"{written!r} is not a quantity: {error}")
            return "0"
        if nano < 0:
            self.reject(column, f"must be 0 or more, not {written}")
            return "0"
        return written

    def _parsed(self, column: str, parse: Callable[[str], NumberT], expected: str, instead: NumberT) -> NumberT:
        try:
            return parse(self.text(column))
        except ValueError:
            self.reject(column, f"{expected}, not {self.text(column)!r}")
            return instead

    def _within(self, column: str, value: NumberT, least: NumberT, most: NumberT, bounds: str) -> NumberT:
        if least <= value <= most:  # false for what is not a number, too
            return value
        self.reject(column, f"must be {bounds}, not {self.text(column)}")
        return least


def _seconds(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        return parse_span(written) / SECOND


def read_rows(path: Path, check_header: HeaderCheck) -> Iterator[CsvRow]:
    """The rows of a file. Raises InvalidObject with every fault after the last row, or where reading on makes no sense.

    Args:
        path: the file.
        check_header: gets the columns before the first row; reading ends if it adds faults.
    """
    faults = RowFaults(path)
    with _opened(path) as file:
        reader = csv.reader(file, strict=True)
        empty = True
        try:
            header = [name.strip() for name in next(reader, ())]
            _check_header(header, check_header, faults)
            for fields in filter(None, reader):  # without blank lines
                empty = False
                if len(fields) == len(header):
                    yield CsvRow(reader.line_num, dict(zip(header, fields, strict=True)), faults)
                else:
                    faults.add(reader.line_num, "", f"has {len(fields)} fields, but the header has {len(header)}")
        except csv.Error as error:
            # What follows a stray quote cannot be split into rows.
            faults.add(reader.line_num, "", f"is not CSV: {error}")
            faults.raise_any()
    if empty:
        faults.add(0, "", "contains no rows")
    faults.raise_any()


def requiring(*names: str) -> HeaderCheck:
    """A check that these columns exist; others are ignored."""

    def check(header: Sequence[str], faults: RowFaults) -> None:
        for name in names:
            if name not in header:
                faults.add(1, name, f"missing column; found: {', '.join(header)}")

    return check


def _check_header(header: list[str], check_header: HeaderCheck, faults: RowFaults) -> None:
    if not any(header):
        faults.add(0, "", "is empty: expected a header line with column names")
        faults.raise_any()
    for name in dict.fromkeys(header):
        if header.count(name) > 1:
            faults.add(1, name, "duplicate column")
    check_header(header, faults)
    faults.raise_any()


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    open_text = gzip.open if path.suffix == ".gz" else open
    try:
        with open_text(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield file
    except FileNotFoundError:
        raise InvalidObject([Fault(str(path), "", "", "no such file")]) from None
    except UnicodeDecodeError as error:
        raise InvalidObject([Fault(str(path), "", "", f"is not UTF-8 text: {error.reason}")]) from error
    except (OSError, EOFError, zlib.error) as error:
        said = getattr(error, "strerror", None) or error
        raise InvalidObject([Fault(str(path), "", "", f"cannot be read: {said}")]) from error


def _bounds(least: int, most: int) -> str:
    return f"{least} or more" if most == WHOLE_MAX else f"between {least} and {most}"
