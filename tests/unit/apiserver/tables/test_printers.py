"""Every resource that is served has a printer, whose cells fit its columns."""

from __future__ import annotations

import pytest

from bayplan.apiserver.kinds.served import kind_of
from bayplan.apiserver.schema.resources import Resource, built_in, resources_with
from bayplan.apiserver.schema.versions import FIRST
from bayplan.apiserver.tables.printers import DEFAULT

LISTED = [resource for resource in resources_with({"GenericWorkload"}, FIRST) if "list" in resource.verbs]
ONE_CELL_MORE = "ipaddresses"  # as upstream: an age without a column


@pytest.mark.parametrize("resource", LISTED, ids=lambda resource: resource.qualified_resource)
def test_cells_fit_the_columns_even_of_a_bare_object(resource: Resource) -> None:
    printer = kind_of(resource).printer
    cells = printer.cells({"metadata": {"name": "x"}}, 0)
    assert len(cells) == len(printer.definitions) + (resource.plural == ONE_CELL_MORE)


@pytest.mark.parametrize("resource", LISTED, ids=lambda resource: resource.qualified_resource)
def test_every_column_is_described(resource: Resource) -> None:
    definitions = kind_of(resource).printer.definitions
    assert all(definition["description"].endswith(".") for definition in definitions)


def test_resources_without_a_printer_show_when_they_were_created() -> None:
    printer = kind_of(built_in("", "limitranges")).printer
    assert printer is DEFAULT
    created = "2026-01-01T00:00:00Z"
    assert printer.cells({"metadata": {"name": "x", "creationTimestamp": created}}, 0) == ["x", created]
    assert printer.cells({"metadata": {"name": "x"}}, 0) == ["x", "0001-01-01T00:00:00Z"]
