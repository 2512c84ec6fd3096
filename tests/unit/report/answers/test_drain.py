"""How the answer of drain reads."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.changed_clusters import cluster_of, owned

from bayplan.controllers.budgets.evicting import MIRROR_ANNOTATION
from bayplan.report.answers.drain import drain_parts
from bayplan.report.answers.parts import Details, Next, Part, Sentence, Snippet, Table, Tone, cell
from bayplan.testing import builders as make
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder

A, B = make.node("a").capacity(cpu="2"), make.node("b").capacity(cpu="2")
BUDGET = make.budget("guard").selects(app="web").allows(0)


def web(name: str, node: str = "a", cpu: str = "1") -> PodBuilder:
    return owned(name).labels(app="web").cpu(cpu).running(node)


def short(*things: Builder[Any], nodes: tuple[str, ...] = ("a",), rolling: bool = False) -> list[Part]:
    return list(drain_parts(cluster_of(*things).drain(nodes, rolling=rolling)))


def parts(*things: Builder[Any], nodes: tuple[str, ...] = ("a",), rolling: bool = False) -> list[Part]:
    """With the details, unfolded."""
    shown = short(*things, nodes=nodes, rolling=rolling)
    assert isinstance(shown[-1], Details)
    return [*shown[:-1], *shown[-1].parts]


def rows(shown: list[Part]) -> list[list[list[str]]]:
    return [[[cell(content).text for content in row] for row in part.rows] for part in shown if isinstance(part, Table)]


LOW, HIGH = owned("low").cpu("2").running("b"), owned("high").cpu("2").priority(9).running("a")
SPARE = make.node("c").capacity(cpu="2").taint("spare")


@pytest.mark.parametrize(
    ("things", "says", "tone"),
    [
        ([A], "Yes: a can be drained: there are no pods to move.", Tone.GOOD),
        ([A, B, web("p")], "Yes: a can be drained: its pod gets a node.", Tone.GOOD),
        ([A, B, web("p"), web("q")], "Yes: a can be drained: both pods get a node.", Tone.GOOD),
        ([A, web("p")], "No: if a is drained, 1 pod is left without a node.", Tone.BAD),
        (
            [A, B, BUDGET, web("p")],
            "No: a cannot be drained: disruption budget default/guard blocks the eviction of 1 pod.",
            Tone.BAD,
        ),
        (
            [A, B, make.pod("bare").running("a")],
            "No: if a is drained, 1 pod without a controller would be lost.",
            Tone.BAD,
        ),
        (
            [A, B, SPARE, HIGH, owned("low").cpu("2").tolerates("spare").running("b")],
            "Yes: a can be drained: its pod gets a node, and 1 other pod is evicted.",
            Tone.WARN,
        ),
    ],
)
def test_the_first_sentence_is_the_answer(things: list[Builder[Any]], says: str, tone: Tone) -> None:
    assert parts(*things)[0] == Sentence(says, tone)


def test_where_pods_go_and_whom_they_evict() -> None:
    shown = parts(A, B, LOW, HIGH)
    assert rows(shown) == [
        [["1", "default/high", "b", "default/low"]],
        [["default/low", "0", "b", "default/high", "pending"]],
    ]


def test_what_the_api_server_says() -> None:
    shown = parts(A, B, BUDGET, web("p"))
    ((pod, budget, message),) = rows(shown)[-1]
    assert (pod, budget) == ("default/p", "default/guard")
    assert message.startswith("Cannot evict pod as it would violate the pod's disruption budget.")


def test_the_commands_name_the_options_that_kubectl_wants() -> None:
    daemon = make.pod("d").owner(make.daemon_set("d")).running("a")
    mirror = make.pod("m").annotations({MIRROR_ANNOTATION: "x"}).owner("Node", "a").running("a")
    shown = parts(A, B, daemon, mirror)
    assert [part.text for part in shown if isinstance(part, Sentence)][1:] == [
        "1 DaemonSet pod stays (--ignore-daemonsets).",
        "1 static pod stays.",
    ]
    assert Next("kubectl drain a --ignore-daemonsets") in shown


def test_what_does_not_work_has_another_next_command() -> None:
    assert Next("bayplan whatif --drain a --add-nodes a=1") in short(A, web("p"))
    assert Next("bayplan drain --rolling a b") in short(A, B, web("p"), nodes=("a", "b"))
    blocked = short(A, B, BUDGET, web("p"))
    assert Next("kubectl describe pdb guard -n default") in blocked


def test_all_budgets_of_a_pod_are_described_by_one_command() -> None:
    budgets = [make.budget(name).selects(app="web").allows(0) for name in ("one", "two")]
    parts = list(drain_parts(cluster_of(A, B, owned("p").labels(app="web").running("a"), *budgets).drain(["a"])))
    assert Next("kubectl describe pdb one two -n default") in parts


def test_the_short_answer_says_why_and_names_what_is_affected() -> None:
    assert [part.text for part in short(A, web("p"), web("q")) if isinstance(part, Sentence)][1:] == [
        "No node for default/p and default/q: 0/1 nodes are available: 1 node(s) were unschedulable."
    ]
    blocked = [part.text for part in short(A, B, BUDGET, web("p")) if isinstance(part, Sentence)]
    assert blocked[1:] == ["Budget default/guard allows no eviction of default/p."]
    evicting = [part.text for part in short(A, B, LOW, HIGH) if isinstance(part, Sentence)]
    assert "1 lower-priority pod elsewhere is evicted: default/low; no node is left for it." in evicting


def test_many_nodes_are_not_all_named_in_the_next_command() -> None:
    nodes = [make.node(f"n{number}").capacity(cpu="1") for number in range(5)]
    shown = short(*nodes, owned("p").cpu("1").running("n0"), nodes=tuple(f"n{number}" for number in range(5)))
    assert Next("bayplan explain default/p") in shown


def test_reasons_that_differ_in_numbers_alone_are_one() -> None:
    small = make.node("b").capacity(cpu="1")
    pods = [owned("large").cpu("2").running("a"), owned("small").cpu("1").memory("99Gi").running("a")]
    shown = short(make.node("a").capacity(cpu="4", memory="200Gi"), small, *pods, owned("third").cpu("3").running("a"))
    reasons = [part.text for part in shown if isinstance(part, Sentence) and part.text.startswith("No node for")]
    assert [text.partition(":")[0] for text in reasons] == [
        "No node for default/large and default/third",
        "No node for default/small",
    ]


def test_a_long_list_of_commands_is_in_the_details() -> None:
    nodes = [make.node(f"n{number}") for number in range(6)]
    shown = short(*nodes, nodes=tuple(f"n{number}" for number in range(6)))
    (first,) = [part for part in shown if isinstance(part, Snippet)]
    assert first.text.splitlines()[-1] == "# and 2 more commands: --details"
    assert isinstance(shown[-1], Details)
    assert isinstance(shown[-1].parts[-1], Snippet)
    assert len(shown[-1].parts[-1].text.splitlines()) == 6


def test_a_pool_node_by_node() -> None:
    shown = parts(A, B, owned("p").cpu("2").running("a"), nodes=("a", "b"), rolling=True)
    assert shown[0] == Sentence("Yes: a and b can be drained one after another: their pod gets a node.", Tone.GOOD)
    assert rows(shown)[0] == [["a", "1", "1", "0", "0", "empty"], ["b", "1", "1", "0", "0", "empty"]]
    (commands,) = [part for part in shown if isinstance(part, Snippet)]
    assert commands.text.splitlines() == [
        "kubectl drain a",
        "kubectl uncordon a",
        "kubectl drain b",
        "kubectl uncordon b",
    ]


def test_a_pod_that_waits_for_its_node() -> None:
    shown = parts(A, B, web("p", cpu="2"), web("q", "b", cpu="2"), nodes=("a", "b"), rolling=True)
    assert shown[0] == Sentence(
        "Yes: a and b can be drained one after another: both pods get a node, 2 of them only when a node is back.",
        Tone.GOOD,
    )
    assert [row[-1] for row in rows(shown)[0]] == ["empty; pods wait until it is back"] * 2
    assert [row[-1] for row in rows(shown)[1]] == ["waits until the node is back"] * 2


def test_nodes_behind_one_that_cannot_be_drained() -> None:
    shown = parts(A, B, BUDGET, web("p"), nodes=("a", "b"), rolling=True)
    assert [row[-1] for row in rows(shown)[0]] == ["blocked by a budget", "not reached"]
