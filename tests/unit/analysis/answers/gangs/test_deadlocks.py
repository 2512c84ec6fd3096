"""Groups that wait for each other."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.testing.test_group_stories import gang, node, pod

from bayplan import Cluster, simulate
from bayplan.analysis.answers.gangs.deadlocks import find_deadlocks
from bayplan.analysis.gates import FailCondition, FailKind
from bayplan.cli.simulation_gates import judge
from bayplan.config.loading import load_configuration

GATES = {"GenericWorkload": True}
#: Each gang has a pod on a node that the other one needs as well.
NODES = [node("a", cpu="2"), node("b", cpu="2")]
HALVES = [pod("x0", "x", cpu="2", on="a"), pod("y0", "y", cpu="2", on="b")]
OTHERS = [pod("x1", "x", cpu="2"), pod("y1", "y", cpu="2")]


def found(*objects: dict[str, Any]) -> list[list[tuple[str, str, tuple[str, ...]]]]:
    cluster = Cluster.from_objects(objects, kubernetes_version="1.37")
    configuration = load_configuration(None, GATES, release=cluster.release, with_groups=True)
    return [
        [(each.group, each.waits_for, each.held_by) for each in deadlock.groups]
        for deadlock in find_deadlocks(cluster, configuration)
    ]


def test_two_gangs_that_hold_what_the_other_needs() -> None:
    assert found(*NODES, gang("x", 2), gang("y", 2), *HALVES, *OTHERS) == [
        [("default/x", "default/y", ("default/y0",)), ("default/y", "default/x", ("default/x0",))]
    ]


@pytest.mark.parametrize(
    "objects",
    [
        # There is room for one of them, after which the other one waits for nobody who waits.
        [*NODES, node("c", cpu="2"), gang("x", 2), gang("y", 2), *HALVES, *OTHERS],
        # One may preempt.
        [
            *NODES,
            gang("x", 2, priority=5),
            gang("y", 2),
            pod("x0", "x", cpu="2", on="a", priority=5),
            HALVES[1],
            pod("x1", "x", cpu="2", priority=5),
            OTHERS[1],
        ],
        # One has all that it wants.
        [*NODES, gang("x", 2), gang("y", 1), *HALVES, OTHERS[0]],
        # What is missing is somebody else's.
        [*NODES, node("c", cpu="2"), pod("z", cpu="2", on="c"), gang("x", 3), gang("y", 2), *HALVES, *OTHERS],
    ],
)
def test_groups_that_do_not_wait_for_each_other(objects: list[dict[str, Any]]) -> None:
    assert found(*objects) == []


def test_three_gangs_in_a_circle_are_told_once() -> None:
    nodes = [node(name, cpu="2") for name in "abc"]
    for each in nodes:
        each["metadata"]["labels"] = {"pool": each["metadata"]["name"]}
    pods = []
    for name, here, there in (("x", "a", "b"), ("y", "b", "c"), ("z", "c", "a")):
        waiting = pod(f"{name}1", name, cpu="2")
        waiting["spec"]["nodeSelector"] = {"pool": there}
        pods += [gang(name, 2), pod(f"{name}0", name, cpu="2", on=here), waiting]
    (circle,) = found(*nodes, *pods)
    assert [(group, after) for group, after, _ in circle] == [
        ("default/x", "default/y"),
        ("default/y", "default/z"),
        ("default/z", "default/x"),
    ]


def test_a_simulation_reports_them(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster.from_objects([*NODES, gang("x", 2), gang("y", 2), *HALVES, *OTHERS], kubernetes_version="1.37")
    result = simulate(cluster, feature_gates=GATES, until="5m")
    (deadlock,) = result.run.deadlocks
    assert [each.waits_for for each in deadlock.groups] == ["default/y", "default/x"]
    assert deadlock.groups[0].waiting == ["default/x1"]
    assert judge(result, [FailCondition(FailKind.DEADLOCK)]) == 1
    assert "1 deadlock: default/x and default/y" in capsys.readouterr().err
