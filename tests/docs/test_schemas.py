"""Schemas of JSON documents: current, complete, and able to refuse. Tests of commands compare every document."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError
from tests.conftest import REPOSITORY_ROOT
from tests.support.documents import check_document
from website.reference.schemas import FOLDER, file_name, schemas, text_of

from bayplan.report.json_output import tagged

SOURCES = REPOSITORY_ROOT / "src/bayplan"
VERSIONS = {"kubernetes": "v1", "kubernetesVersions": ["v1"], "python": "3", "numpy": "2"}
VERSION = {"bayplan": "1", **VERSIONS, "compiled": True}


def test_the_files_are_what_the_types_say() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    made = {file_name(form): text_of(schema) for form, schema in schemas().items()}
    assert written == made, "write them again: python -m website.reference.schemas"


def test_each_is_a_schema() -> None:
    for schema in schemas().values():
        Draft202012Validator.check_schema(schema)


def test_every_format_has_one() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))
    formats = {f"bayplan {name} v1" for name in re.findall(r'(?:tagged|answer_document)\("([a-z ]+)"', text)}
    formats |= set(re.findall(r'FORMAT = "(bayplan (?:simul|compar|sweep)\w* v\d)"', text))
    assert formats == set(schemas())


@pytest.mark.parametrize(
    "changed",
    [
        lambda plain: {**plain, "surprise": 1},
        lambda plain: {**plain, "compiled": "yes"},
        lambda plain: {name: value for name, value in plain.items() if name != "numpy"},
    ],
    ids=["unknown field", "wrong type", "missing field"],
)
def test_another_document_is_refused(changed: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    plain = tagged("version", VERSION)
    check_document(plain)
    with pytest.raises(ValidationError):
        check_document(changed(plain))
