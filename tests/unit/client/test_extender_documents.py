"""Objects as they are passed on: what is kept, and in which form it is given."""

from __future__ import annotations

import json

import pytest

from bayplan.client.extender_documents import KeptDocuments, encoded
from bayplan.config.schema import Extender
from bayplan.model.kinds import Object
from bayplan.testing.builders import node, pod

FIELDS = [{"manager": "unknown"}]
RAW = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "managedFields": FIELDS}, "spec": {"odd": [1.50]}}
NAMES = Extender(url_prefix="http://a", filter_verb="f", preempt_verb="p", node_cache_capable=True)
OBJECTS = Extender(url_prefix="http://b", filter_verb="f")
SCORES = Extender(url_prefix="http://b", prioritize_verb="f")
VICTIMS = Extender(url_prefix="http://c", preempt_verb="p")
BINDS = Extender(url_prefix="http://d", bind_verb="b")


def kept(*extenders: Extender) -> KeptDocuments:
    return KeptDocuments(extenders)


@pytest.mark.parametrize(
    ("extenders", "nodes", "running"),
    [
        ((NAMES,), False, False),
        ((OBJECTS,), True, False),
        ((SCORES,), True, False),
        ((VICTIMS,), False, True),
        ((BINDS,), False, False),
        ((NAMES, OBJECTS, VICTIMS), True, True),
    ],
)
def test_only_what_may_be_asked_for_is_wanted(extenders: tuple[Extender, ...], nodes: bool, running: bool) -> None:
    documents = kept(*extenders)
    assert documents.wants("Pod"), "the pod that is tried is always sent"
    assert (documents.wants("Node"), documents.wants("Pod", has_node=True)) == (nodes, running)
    assert not documents.wants("Namespace")


def test_a_pod_is_given_as_go_writes_it_into_another_object() -> None:
    documents = kept(NAMES)
    documents.keep("Pod", "default", "p", json.dumps(RAW).encode())
    for _ in range(2):
        assert documents("Pod", "default", "p") == b'{"metadata":{"name":"p"},"spec":{"odd":[1.5]}}'


def test_a_node_keeps_the_owners_of_its_fields() -> None:
    documents = kept(OBJECTS)
    documents.keep("Node", "", "n", json.dumps({"metadata": {"name": "n", "managedFields": FIELDS}}).encode())
    assert json.loads(documents("Node", "", "n") or b"") == {"metadata": {"name": "n", "managedFields": FIELDS}}


def test_the_last_one_counts_until_it_is_forgotten() -> None:
    documents = kept(NAMES)
    for number in range(2):
        documents.keep("Pod", "default", "p", json.dumps({"status": number}).encode())
        assert documents("Pod", "default", "p") == b'{"status":%d}' % number
    documents.forget("Pod", "default", "p")
    documents.forget("Pod", "default", "unknown")
    assert documents("Pod", "default", "p") is None


def test_structs_are_given_in_the_same_form() -> None:
    objects: dict[tuple[str, str, str], Object] = {
        ("Pod", "default", "p"): pod("p").cpu(1).obj(),
        ("Node", "", "n"): node("n").obj(),
    }
    documents = encoded(lambda *place: objects.get(place))
    shown = json.loads(documents("Pod", "default", "p") or b"")
    assert shown["metadata"]["name"] == "p"
    assert shown["spec"]["containers"][0]["resources"] == {"requests": {"cpu": 1}}
    assert "kind" not in shown
    assert documents("Node", "", "n") is not None
    assert documents("Node", "", "other") is None
