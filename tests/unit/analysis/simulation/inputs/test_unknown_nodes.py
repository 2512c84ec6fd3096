"""Nodes that a timeline names and that never exist."""

from __future__ import annotations

import pytest
from tests.unit.analysis.simulation.worlds import after, cluster, nodes, objects

from bayplan.analysis.references import Reference
from bayplan.analysis.simulation.inputs.commands import (
    Apply,
    Command,
    Cordon,
    DeleteObject,
    Drain,
    LabelObjects,
    NodesFail,
    NodesRecover,
    SetLabels,
    SetTaints,
)
from bayplan.analysis.simulation.running import simulate
from bayplan.model.errors import InvalidObject
from bayplan.testing import builders as make

NAMED = [
    Cordon(("n3",)),
    Drain(("n1", "n3")),
    NodesFail(("n3",)),
    NodesRecover(("n3",)),
    SetTaints(("n3",)),
    SetLabels(("n3",)),
    DeleteObject((Reference("Node", "", "n3"),)),
    LabelObjects((Reference("Node", "", "n3"),)),
]


@pytest.mark.parametrize("command", NAMED)
def test_a_node_that_never_exists_is_an_error_before_the_run(command: Command) -> None:
    with pytest.raises(InvalidObject) as caught:
        simulate(cluster(*nodes(2)), [after(1, command)], until=600)
    assert str(caught.value) == "test: Node n3: not found in the input, and no step adds it"


def test_a_similar_name_is_suggested() -> None:
    with pytest.raises(InvalidObject, match="did you mean worker-1\\?"):
        simulate(cluster(make.node("worker-1")), [after(1, Drain(("worker1",)))], until=600)


def test_all_of_them_are_named() -> None:
    with pytest.raises(InvalidObject) as caught:
        simulate(cluster(*nodes(2)), [after(1, Drain(("a", "b"))), after(2, Cordon(("c",)))], until=600)
    assert [fault.object for fault in caught.value.faults] == ["Node a", "Node b", "Node c"]


def test_a_node_that_a_step_adds_may_be_named() -> None:
    plans = [after(1, Apply(objects(make.node("n3")))), after(2, Drain(("n3",))), after(3, DeleteObject(()))]
    assert simulate(cluster(*nodes(2)), plans, until=600).run.notes == []


def test_pods_need_not_exist() -> None:
    """They come and go, so that only the run can tell."""
    gone = DeleteObject((Reference("Pod", "default", "n3"),))
    assert len(simulate(cluster(*nodes(2)), [after(1, gone)], until=600).run.notes) == 1
