"""The printer of kinds without columns of their own: name and time of creation."""

from __future__ import annotations

from bayplan.apiserver.tables.columns import NAME, Cells, Column, Document, Printer


def _default_cells(document: Document, _now: int) -> Cells:
    metadata = document["metadata"]
    return [metadata.get("name", ""), metadata.get("creationTimestamp") or "0001-01-01T00:00:00Z"]


DEFAULT = Printer(
    (NAME, Column("Created At", "Time at which the object was created.", type="date")),
    _default_cells,
    empty_is_null=True,
)
