"""Tables as clients receive them, and answers with metadata only."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.tables.building import (
    check_include_object,
    one_row_table,
    partial_metadata,
    partial_metadata_list,
    table,
)
from bayplan.apiserver.tables.cluster import API_SERVICES
from bayplan.apiserver.tables.configuration import CONFIG_MAPS
from bayplan.apiserver.tables.pods import PODS
from bayplan.apiserver.tables.printers import DEFAULT
from bayplan.model.timestamps import parse_time
from bayplan.store import BadRequest

Part = dict[str, Any]
NOW = parse_time("2026-01-01T00:01:00Z")
METADATA: Part = {"name": "m", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"}
DOCUMENT: Part = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": METADATA, "data": {"a": "b"}}
PARTIAL: Part = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": METADATA}


def test_a_table_has_the_lists_metadata_columns_and_rows() -> None:
    body = table(CONFIG_MAPS, [DOCUMENT], NOW, list_metadata={"resourceVersion": "9", "remainingItemCount": 4})
    assert list(body) == ["kind", "apiVersion", "metadata", "columnDefinitions", "rows"]
    assert (body["kind"], body["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert body["metadata"] == {"resourceVersion": "9", "remainingItemCount": 4}
    assert [column["name"] for column in body["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert body["rows"] == [{"cells": ["m", 1, "60s"], "object": PARTIAL}]


@pytest.mark.parametrize(("include_object", "held"), [("Metadata", PARTIAL), ("Object", DOCUMENT), ("None", None)])
def test_rows_hold_as_much_of_the_object_as_is_asked_for(include_object: str, held: Part | None) -> None:
    body = table(CONFIG_MAPS, [DOCUMENT], NOW, include_object=include_object, list_metadata={})
    assert body["rows"][0]["object"] == held


def test_the_bookmark_that_ends_initial_events_keeps_its_metadata() -> None:
    metadata = {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}
    body = one_row_table(CONFIG_MAPS, {"metadata": metadata}, NOW, include_object="None")
    assert body["rows"][0]["object"]["metadata"] == metadata


def test_an_older_version_of_tables_is_named_throughout() -> None:
    body = table(CONFIG_MAPS, [DOCUMENT], NOW, list_metadata={}, version="v1beta1")
    assert body["apiVersion"] == body["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


def test_an_empty_list_has_no_rows_and_null_with_the_printer_of_last_resort() -> None:
    assert table(CONFIG_MAPS, [], NOW, list_metadata={})["rows"] == []
    assert table(DEFAULT, [], NOW, list_metadata={})["rows"] is None


def test_the_table_of_one_object_has_its_version() -> None:
    assert one_row_table(CONFIG_MAPS, DOCUMENT, NOW)["metadata"] == {"resourceVersion": "7"}


def test_later_events_of_a_watch_have_no_columns() -> None:
    assert one_row_table(CONFIG_MAPS, DOCUMENT, NOW, with_columns=False)["columnDefinitions"] is None
    assert one_row_table(API_SERVICES, DOCUMENT, NOW, with_columns=False)["columnDefinitions"]


def test_conditions_of_a_row_stand_between_cells_and_object() -> None:
    body = one_row_table(PODS, {"metadata": METADATA, "status": {"phase": "Failed"}}, NOW)
    assert list(body["rows"][0]) == ["cells", "conditions", "object"]


@pytest.mark.parametrize(("asked", "given"), [("", "Metadata"), ("None", "None"), ("Object", "Object")])
def test_metadata_is_included_unless_something_else_is_asked_for(asked: str, given: str) -> None:
    assert check_include_object(asked) == given


def test_an_unknown_part_to_include_is_refused() -> None:
    with pytest.raises(BadRequest) as refusal:
        check_include_object("All")
    assert refusal.value.message == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "All": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )


def test_metadata_alone() -> None:
    assert partial_metadata(DOCUMENT) == PARTIAL
    assert partial_metadata_list([DOCUMENT], {"resourceVersion": "9"}) == {
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": "9"},
        "items": [PARTIAL],
    }
    assert partial_metadata_list([], {})["items"] is None
