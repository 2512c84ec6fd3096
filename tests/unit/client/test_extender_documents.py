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
    ("extenders", "nodes", "victims"),
    [
        ((NAMES,), False, False),
        ((OBJECTS,), True, False),
        ((SCORES,), True, False),
        ((VICTIMS,), False, True),
        ((BINDS,), False, False),
        ((NAMES, OBJECTS, VICTIMS), True, True),
    ],
)
def test_only_what_may_be_asked_for_is_kept(extenders: tuple[Extender, ...], nodes: bool, victims: bool) -> None:
    documents = kept(*extenders)
    assert documents.wants("Pod"), "the pod that is tried is always sent"
    assert documents.wants("Node") is nodes
    assert not documents.wants("Namespace")
    documents.keep(pod("p").obj(), b"{}")
    assert documents("Pod", "default", "p") is not None
    documents.keep(pod("p").running("n").obj(), b"{}")
    documents.sweep()
    assert (documents("Pod", "default", "p") is not None) is victims


def test_a_pod_is_given_as_go_writes_it_into_another_object() -> None:
    documents = kept(NAMES)
    documents.keep(pod("p").obj(), json.dumps(RAW).encode())
    for _ in range(2):
        assert documents("Pod", "default", "p") == b'{"metadata":{"name":"p"},"spec":{"odd":[1.5]}}'


def test_a_node_keeps_the_owners_of_its_fields() -> None:
    documents = kept(OBJECTS)
    documents.keep(node("n").obj(), json.dumps({"metadata": {"name": "n", "managedFields": FIELDS}}).encode())
    assert json.loads(documents("Node", "", "n") or b"") == {"metadata": {"name": "n", "managedFields": FIELDS}}


def test_the_last_one_counts_until_it_is_gone_and_no_decision_may_ask_for_it() -> None:
    documents = kept(NAMES)
    for number in range(2):
        documents.keep(pod("p").obj(), json.dumps({"status": number}).encode())
        assert documents("Pod", "default", "p") == b'{"status":%d}' % number
    documents.forget(pod("p").obj())
    documents.forget(pod("unknown").obj())
    assert documents("Pod", "default", "p") == b'{"status":1}'
    documents.sweep()
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
