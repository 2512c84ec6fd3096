"""JSON Schemas of the documents that commands print, one file each in `docs/schemas/v1`.

    python -m website.reference.schemas

writes them from the types. Within a version, fields are only added. A change that can break a reader needs a new
version: in the document's `format`, and in the folder's name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from bayplan.analysis.simulation.results.differences import ComparedRuns, Comparison
from bayplan.analysis.simulation.results.run_format import Run
from bayplan.analysis.sweeping.summary_format import SweepSummary
from website.reference import document_types

FOLDER = Path(__file__).resolve().parents[2] / "docs/schemas/v1"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schemas() -> dict[str, dict[str, Any]]:
    """Format of the document -> its schema."""
    found = {}
    for document in (*document_types.DOCUMENTS, Run, Comparison, ComparedRuns, SweepSummary):
        schema = msgspec.json.schema(document)
        (form,) = schema["$defs"][document.__name__]["properties"]["format"]["enum"]
        found[form] = {"$schema": DIALECT, "title": form, **_ordered(schema)}
    return found


def _ordered(schema: Any) -> Any:
    """With alternatives in one order: msgspec keeps them in a set."""
    if isinstance(schema, list):
        return [_ordered(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    ordered = {name: _ordered(inner) for name, inner in schema.items()}
    if "anyOf" in ordered:
        ordered["anyOf"].sort(key=json.dumps)
    return ordered


def file_name(form: str) -> str:
    """`bayplan exposure ranking v1` is in exposure-ranking.json."""
    return "-".join(form.split()[1:-1]) + ".json"


def text_of(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for form, schema in schemas().items():
        (FOLDER / file_name(form)).write_text(text_of(schema), encoding="utf-8")


if __name__ == "__main__":
    main()
