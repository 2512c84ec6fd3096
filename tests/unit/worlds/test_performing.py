"""Actions done on a store."""

from __future__ import annotations

from bayplan.core.actions import Bind
from bayplan.core.events import BindAnswered
from bayplan.model.pod import Pod
from bayplan.store import Store
from bayplan.testing.builders import pod
from bayplan.worlds.performing import Performer


def test_a_binding_that_was_done_already_counts_as_done() -> None:
    """Its request comes again when its answer was lost; to another node, or for another pod, it is refused."""
    store = Store()
    uid = store.create(pod("p").manifest().obj(), 0).metadata.uid
    performer = Performer(store, None)
    for _ in range(2):
        assert performer.perform(Bind("default/p", uid, "n1"), 0) == BindAnswered("default/p", uid)
    assert store.resource_version == 2
    assert store.get(Pod, "default", "p").spec.node_name == "n1"
    for refused, words in (
        (Bind("default/p", uid, "n2"), 'already assigned to node "n1"'),
        (Bind("default/p", "another", "n1"), "UID in precondition: another"),
        (Bind("default/nope", uid, "n1"), 'pods "nope" not found'),
    ):
        answer = performer.perform(refused, 0)
        assert isinstance(answer, BindAnswered)
        assert words in answer.error
