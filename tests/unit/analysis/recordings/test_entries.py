"""Entries: short, and the same objects again."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.analysis.recordings.entries import EntryReader, EntryWriter, difference, merged, plain_of, trim_annotations
from bayplan.controllers.nodes.kubelet import RUN_SECONDS
from bayplan.model.structs import replace
from bayplan.testing import builders as make

from .histories import node, pod

VALUES: Any = st.recursive(
    st.one_of(st.integers(0, 3), st.lists(st.integers(0, 2), max_size=2)),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
PLAINS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


@given(PLAINS, PLAINS)
def test_the_old_with_the_difference_is_the_new(old: dict[str, Any], new: dict[str, Any]) -> None:
    before = msgspec.json.encode(old)
    assert merged(old, difference(old, new)) == new
    assert msgspec.json.encode(old) == before


@given(PLAINS)
def test_nothing_differs_from_itself(plain: dict[str, Any]) -> None:
    assert difference(plain, msgspec.json.decode(msgspec.json.encode(plain))) == {}


def test_the_second_pod_of_a_template_is_its_name_and_little_else() -> None:
    entries = EntryWriter()
    entries.added(pod("a", labels={"app": "web"}))
    assert entries.added(pod("b", labels={"app": "web"}))[2:] == [
        "Pod",
        0,
        {"metadata": {"name": "b", "uid": "uid-b"}},
    ]


def test_a_change_of_nothing_that_matters_is_no_entry() -> None:
    entries, old = EntryWriter(), pod("a")
    entries.added(old)
    annotated = replace(old.metadata, resource_version="2", annotations={"acme/secret": "hunter2"})
    assert entries.changed(old, replace(old, metadata=annotated)) is None


def test_models_are_forgotten_by_both_sides() -> None:
    """As many containers as nobody has: who reads must drop models when who wrote did."""
    writer, reader = EntryWriter(), EntryReader()
    pods = [make.pod(f"p{number}").cpu(str(number % 4_200 + 1)).obj() for number in range(8_500)]
    for one in pods:
        _, _, kind, model, given_plain = writer.added(one)
        assert reader.added(kind, model, given_plain) == plain_of(one)


@pytest.mark.parametrize("obj", [node("n1"), pod("a", node="n1"), make.deployment("web").replicas(2).obj()])
def test_objects_are_read_as_they_were(obj: Any) -> None:
    writer, reader = EntryWriter(), EntryReader()
    _, _, kind, model, plain = writer.added(obj)
    assert msgspec.convert(reader.added(kind, model, plain), type(obj)) == obj


def test_annotations_that_nothing_reads_are_dropped_everywhere() -> None:
    annotations = {"acme/secret": "hunter2", RUN_SECONDS: "5"}
    value = {"metadata": {"annotations": dict(annotations)}, "list": [{"annotations": dict(annotations)}]}
    trim_annotations(value)
    assert value == {"metadata": {"annotations": {RUN_SECONDS: "5"}}, "list": [{"annotations": {RUN_SECONDS: "5"}}]}


def test_a_label_may_be_called_annotations() -> None:
    value = {"metadata": {"labels": {"annotations": "yes"}}}
    trim_annotations(value)
    assert value == {"metadata": {"labels": {"annotations": "yes"}}}
