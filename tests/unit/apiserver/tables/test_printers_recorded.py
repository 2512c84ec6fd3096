"""Tables that a real API server (v1.36.4) answered with: the same columns, and the same cells for the same objects."""

from __future__ import annotations

import json
import lzma
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from bayplan.apiserver.kinds.served import kind_of
from bayplan.apiserver.schema.resources import RESOURCES
from bayplan.apiserver.tables.columns import Printer
from bayplan.apiserver.tables.printers import DEFAULT
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import parse_time

Body = dict[str, Any]
Exchange = dict[str, Any]
NOT_IN_FULL = ("Scale", "PartialObjectMetadata", "PartialObjectMetadataList")
PRINTERS = {(resource.group, resource.plural): kind_of(resource).printer for resource in RESOURCES}


@pytest.fixture(scope="module")
def exchanges(recordings: Path) -> list[Exchange]:
    with lzma.open(recordings / "transcripts.jsonl.xz", "rt") as lines:
        return [json.loads(line) for line in lines]


def bodies(exchange: Exchange) -> Iterator[Body]:
    answer = exchange["response"]
    events = (event.get("object") for event in answer.get("events") or ())
    return (body for body in chain([answer.get("body")], events) if isinstance(body, dict))


def recorded_tables(exchanges: list[Exchange]) -> Iterator[tuple[str, Printer, Body]]:
    for exchange in exchanges:
        for body in bodies(exchange):
            if body.get("kind") == "Table":
                group, resource = group_and_resource(exchange["request"]["path"])
                yield f"{resource}.{group}", PRINTERS.get((group, resource), DEFAULT), body


def group_and_resource(path: str) -> tuple[str, str]:
    parts = urlsplit(path).path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    return group, rest[2] if rest[0] == "namespaces" and len(rest) > 2 else rest[0]


def recorded_documents(exchanges: list[Exchange]) -> dict[tuple[str, str], Body]:
    """Objects that were answered in full, by uid and version."""
    found: dict[tuple[str, str], Body] = {}
    for body in (body for exchange in exchanges for body in bodies(exchange)):
        for document in body["items"] if isinstance(body.get("items"), list) else [body]:
            metadata = document.get("metadata") or {}
            if "uid" in metadata and "resourceVersion" in metadata and body.get("kind") not in NOT_IN_FULL:
                found[metadata["uid"], metadata["resourceVersion"]] = document
    return found


def test_columns_are_those_of_the_real_server(exchanges: list[Exchange]) -> None:
    compared: set[str] = set()
    for resource, printer, body in recorded_tables(exchanges):
        if body["columnDefinitions"]:
            compared.add(resource)
            # The recording leaves descriptions out.
            columns = [{k: v for k, v in column.items() if k != "description"} for column in printer.definitions]
            assert columns == body["columnDefinitions"], resource
    assert len(compared) >= 60


def test_rows_of_an_empty_list_are_those_of_the_real_server(exchanges: list[Exchange]) -> None:
    for resource, printer, body in recorded_tables(exchanges):
        if not body["rows"]:
            assert body["rows"] == (None if printer.empty_is_null else []), resource


def test_rows_are_those_of_the_real_server(exchanges: list[Exchange]) -> None:
    documents = recorded_documents(exchanges)
    compared: Counter[str] = Counter()
    for resource, printer, body in recorded_tables(exchanges):
        for row in body["rows"] or ():
            metadata = (row["object"] or {}).get("metadata", {})
            document = documents.get((metadata.get("uid", ""), metadata.get("resourceVersion", "")))
            if document is not None:
                compared[resource] += 1
                assert printer.conditions(document) == row.get("conditions")
                assert row["cells"] in rows_over_time(printer, document), resource
    assert compared.total() >= 190
    assert len(compared) >= 19


def rows_over_time(printer: Printer, document: Body) -> Iterator[list[Any]]:
    """What the document shows as time goes by: the recording does not say when an answer was made."""
    created = parse_time(document["metadata"]["creationTimestamp"])
    return (printer.cells(document, created + quarter * SECOND // 4) for quarter in range(1200 * 4))
