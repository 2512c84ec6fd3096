"""What a column and a printer are, and the columns that most kinds share.

A printer turns one document into the cells of one row. Descriptions are our own short ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

Document = Mapping[str, Any]
"""An object as it is stored: every field a client sent, never changed."""

Cells = list[Any]
"""Text, numbers and booleans in the order of the columns."""


class Column(msgspec.Struct, frozen=True):
    """One column of a table; those of priority 1 show with `-o wide` only."""

    name: str
    description: str
    type: str = "string"
    format: str = ""
    priority: int = 0

    def definition(self) -> dict[str, Any]:
        """The column as clients receive it."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


class Printer:
    """How documents of one resource show in a table."""

    def __init__(
        self,
        columns: tuple[Column, ...],
        cells: Callable[[Document, int], Cells],
        conditions: Callable[[Document], list[dict[str, Any]] | None] = lambda _document: None,
        *,
        empty_is_null: bool = False,
        repeats_columns: bool = False,
    ) -> None:
        self.definitions = [column.definition() for column in columns]
        self.cells = cells
        self.conditions = conditions
        """Marks on the row as a whole: pods that are over have one."""
        self.empty_is_null = empty_is_null
        """Upstream's printer of last resort has null for the rows of an empty list."""
        self.repeats_columns = repeats_columns
        """Upstream's printer of API services sends columns with every event of a watch."""


def wide(name: str, description: str, format: str = "") -> Column:  # noqa: A002 - the field's name in the API
    """A column that shows with `-o wide` only."""
    return Column(name, description, format=format, priority=1)


def integer(name: str, description: str) -> Column:
    return Column(name, description, type="integer")


def boolean(name: str, description: str) -> Column:
    return Column(name, description, type="boolean")


NAME = Column("Name", "Name of the object, unique among its kind in the namespace.", format="name")
AGE = Column("Age", "Time since the object was created.")
CONTAINERS = wide("Containers", "Names of the containers in the pod template.")
IMAGES = wide("Images", "Images of the containers in the pod template.")
SELECTOR = wide("Selector", "Labels of the pods that belong to the object.")
