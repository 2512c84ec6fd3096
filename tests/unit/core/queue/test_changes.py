"""What changed in a pod or a node, in the words plugins register for."""

from __future__ import annotations

import pytest

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.framework.requeue import ActionType
from bayplan.core.queue.changes import node_changes, pod_changes
from bayplan.model.meta import Condition
from bayplan.model.pod import ContainerStatus, Pod, ReportedResources
from bayplan.testing.builders import NodeBuilder, node, pod
from bayplan.testing.pods import PodBuilder


def base() -> PodBuilder:
    return pod("p").cpu("1").memory("1Gi").labels(app="a")


def resized(cpu: str, held: str) -> Pod:
    """A pod whose spec was changed to `cpu` while the node still holds `held` for it."""
    thing = base().cpu(cpu).obj()
    requests = ReportedResources(requests={"cpu": held, "memory": "1Gi"})
    thing.status.container_statuses = [ContainerStatus(name="main", resources=requests)]
    return thing


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        pytest.param(base().annotations(a="b"), [ActionType.UPDATE], id="nothing that matters"),
        pytest.param(base().labels(app="b"), [ActionType.UPDATE_POD_LABEL], id="label"),
        pytest.param(base().cpu("900m"), [ActionType.UPDATE_POD_SCALE_DOWN], id="less"),
        pytest.param(base().cpu("1000m"), [ActionType.UPDATE], id="the same in other words"),
        pytest.param(base().cpu("2"), [ActionType.UPDATE], id="more"),
        pytest.param(
            base().cpu("2").memory("1Mi"), [ActionType.UPDATE_POD_SCALE_DOWN], id="more of one, less of another"
        ),
        pytest.param(pod("p").cpu("1").labels(app="a"), [ActionType.UPDATE_POD_SCALE_DOWN], id="request removed"),
        pytest.param(base().tolerates("k"), [ActionType.UPDATE_POD_TOLERATION], id="toleration"),
        pytest.param(
            base().labels(app="b").cpu("1m").tolerates("k"),
            [ActionType.UPDATE_POD_LABEL, ActionType.UPDATE_POD_SCALE_DOWN, ActionType.UPDATE_POD_TOLERATION],
            id="several, in order",
        ),
        pytest.param(base().gate("g"), [ActionType.UPDATE], id="gate added"),
    ],
)
def test_pod_changes(new: PodBuilder, expected: list[ActionType]) -> None:
    assert pod_changes(base().obj(), new.obj(), DEFAULT_GATES) == expected


def test_scaling_down_counts_when_the_node_has_let_go() -> None:
    assert pod_changes(base().obj(), resized("500m", held="1"), DEFAULT_GATES) == [ActionType.UPDATE]
    assert pod_changes(resized("500m", held="1"), resized("500m", held="500m"), DEFAULT_GATES) == [
        ActionType.UPDATE_POD_SCALE_DOWN
    ]


def test_amounts_are_compared_without_overflow() -> None:
    """Upstream counts thousandths of bytes here, of which 64 bits hold neither amount: to it they are equal."""
    assert pod_changes(base().memory("20P").obj(), base().memory("10P").obj(), DEFAULT_GATES) == [
        ActionType.UPDATE_POD_SCALE_DOWN
    ]


def test_only_the_last_gate_counts() -> None:
    two, one, none = base().gate("a", "b").obj(), base().gate("a").obj(), base().obj()
    assert pod_changes(two, one, DEFAULT_GATES) == [ActionType.UPDATE]
    assert pod_changes(one, none, DEFAULT_GATES) == [ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED]


def conditioned(builder: NodeBuilder, **statuses: str) -> NodeBuilder:
    builder._object.status.conditions = [Condition(type=t, status=s, reason="r" + s) for t, s in statuses.items()]
    return builder


def machine() -> NodeBuilder:
    return node("n").allocatable(cpu="4").label("zone", "a").taint("t").annotations(a="1").declares("F")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(machine(), machine(), [], id="nothing"),
        pytest.param(machine(), machine().unschedulable(), [], id="cordoned"),
        pytest.param(machine().unschedulable(), machine(), [ActionType.UPDATE_NODE_TAINT], id="uncordoned"),
        pytest.param(machine(), machine().allocatable(cpu="5"), [ActionType.UPDATE_NODE_ALLOCATABLE], id="more"),
        pytest.param(machine(), machine().allocatable(cpu="4000m"), [], id="the same in other words"),
        pytest.param(machine(), machine().allocatable(gpu="1"), [ActionType.UPDATE_NODE_ALLOCATABLE], id="another"),
        pytest.param(machine(), machine().label("zone", "b"), [ActionType.UPDATE_NODE_LABEL], id="label"),
        pytest.param(machine(), machine().taint("u"), [ActionType.UPDATE_NODE_TAINT], id="taint"),
        pytest.param(machine(), machine().annotations(a="2"), [ActionType.UPDATE_NODE_ANNOTATION], id="annotation"),
        pytest.param(machine(), machine().declares("G"), [ActionType.UPDATE_NODE_DECLARED_FEATURE], id="feature"),
        pytest.param(
            conditioned(machine(), Ready="False"),
            conditioned(machine(), Ready="True"),
            [ActionType.UPDATE_NODE_CONDITION],
            id="condition",
        ),
        pytest.param(
            conditioned(machine(), Ready="True", Disk="False"),
            conditioned(machine(), Disk="False", Ready="True"),
            [],
            id="conditions in another order",
        ),
        pytest.param(
            machine().unschedulable(),
            machine().taint("u").label("x", "y").allocatable(cpu="1"),
            [
                ActionType.UPDATE_NODE_TAINT,
                ActionType.UPDATE_NODE_ALLOCATABLE,
                ActionType.UPDATE_NODE_LABEL,
                ActionType.UPDATE_NODE_TAINT,
            ],
            id="several, in order",
        ),
    ],
)
def test_node_changes(old: NodeBuilder, new: NodeBuilder, expected: list[ActionType]) -> None:
    assert node_changes(old.obj(), new.obj()) == expected
