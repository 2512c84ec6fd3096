"""The JSON of one stored object."""

from __future__ import annotations

import gc

from bayplan.apiserver.storage.entries import Entry, with_type

DOCUMENT = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "uid": "u"}, "spec": {}}


def test_the_json_of_an_entry_is_made_once() -> None:
    entry = Entry("default", "p", DOCUMENT, 1)
    assert entry.body == b'{"metadata":{"name":"p","uid":"u"},"spec":{}}'
    assert entry.body is entry.body


def test_a_packed_entry_says_the_same() -> None:
    entry = Entry("default", "p", DOCUMENT, 1)
    body = entry.body
    entry.pack()
    assert entry.document == DOCUMENT
    assert (entry.body, entry.uid, entry.kind, entry.api_version) == (body, "u", "Pod", "v1")


def test_a_packed_entry_keeps_no_document() -> None:
    entry = Entry("default", "p", {**DOCUMENT}, 1)
    entry.pack()
    assert not [found for found in gc.get_referents(entry) if isinstance(found, dict)]
    assert entry.document is not entry.document


def test_the_type_comes_first() -> None:
    assert with_type(b'{"a":1}', "Pod", "v1") == b'{"kind":"Pod","apiVersion":"v1","a":1}'
    assert with_type(b"{}", "Pod", "v1") == b'{"kind":"Pod","apiVersion":"v1"}'
