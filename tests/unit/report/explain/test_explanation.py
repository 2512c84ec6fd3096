"""The table view: what it says, in which order, and that a stranger can read it in 80 columns.

Every view here is made from the JSON of the explanation alone: a fact of the table that the JSON lacks fails a test.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bayplan import Cluster
from bayplan.analysis.explanation import PodExplanation
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.explain.explanation import explanation_parts
from bayplan.report.terminal import rendered
from bayplan.testing import builders as make
from bayplan.testing.building import Builder


def explain(pod: str, *things: Builder[Any], config: dict[str, Any] | None = None) -> PodExplanation:
    return Cluster.from_objects([thing.dict() for thing in things]).explain(pod, config)


def view(why: PodExplanation, *, all_reasons: bool = False, **options: Any) -> list[str]:
    document = msgspec.json.decode(msgspec.json.encode(why.document(all_reasons=all_reasons)))
    return rendered(terminal_parts(explanation_parts(document, **options)), width=1_000).splitlines()


def row(lines: list[str], start: str) -> list[str]:
    """The cells of the first row that starts so."""
    return next(line for line in lines if line.startswith(start)).split()


class TestFits:
    def test_answer_comes_first(self) -> None:
        lines = view(
            explain(
                "prod/x",
                make.node("a").capacity(cpu="8"),
                make.node("b").capacity(cpu="2"),
                make.node("c").taint("k"),
                make.pod("x", "prod").cpu("1"),
            )
        )
        assert lines[0].startswith("prod/x fits on 2 of 3 nodes; a wins with ")

    def test_scores_name_what_decides(self) -> None:
        why = explain(
            "default/x", make.node("a").capacity(cpu="8"), make.node("b").capacity(cpu="2"), make.pod("x").cpu("1")
        )
        lines, plain = view(why), why.to_dict()
        header = lines.index("Scores of the 2 feasible nodes, by plugin")
        assert row(lines[header:], "a ")[1] == str(plain["totals"]["a"])
        assert any(line.startswith("Every feasible node got: TaintToleration 300") for line in lines)
        assert not any("message" in line for line in lines)

    def test_top_and_all_nodes(self) -> None:
        nodes = [make.node(f"n{number}") for number in range(9)]
        why = explain("default/x", *nodes, make.pod("x"))
        assert sum(line.startswith("n") for line in view(why)) == 1 + 5
        assert sum(line.startswith("n") for line in view(why, top=2)) == 1 + 2
        assert sum(line.startswith("n") for line in view(why, all_nodes=True)) == 1 + 9

    def test_ties_are_told(self) -> None:
        lines = view(explain("default/x", make.node("a"), make.node("b"), make.pod("x")))
        assert "fits on all 2 nodes; a and b tie with " in lines[0]

    @pytest.mark.parametrize(
        ("pod", "remark"),
        [
            (make.pod("x").running("a"), "It is on a now"),
            (make.pod("x").node("a").phase("Failed"), "It was on a and has finished (Failed)"),
            (make.pod("x").gate("later"), "It is gated"),
            (make.pod("x").nominated("a"), "It is nominated to a, where it fits now."),
        ],
    )
    def test_remarks(self, pod: Builder[Any], remark: str) -> None:
        assert any(line.startswith(remark) for line in view(explain("default/x", make.node("a"), pod)))


class TestDoesNotFit:
    def test_groups_of_reasons(self) -> None:
        tainted = [make.node(f"t{number}").taint("k") for number in range(5)]
        lines = view(explain("default/x", *tainted, make.node("s").capacity(cpu="1"), make.pod("x").cpu("2")))
        assert lines[0] == "default/x does not fit on any of the 6 nodes, and evicting other pods would not help."
        (group,) = [line for line in lines if "TaintToleration" in line]
        assert group.split()[0] == "5"
        assert group.endswith("t0, t1, t2, +2")
        assert "cpu: the pod requests 2; even when empty, these nodes have at most 1." in lines

    def test_every_node_when_asked(self) -> None:
        tainted = [make.node(f"t{number}").taint("k") for number in range(5)]
        lines = view(explain("default/x", *tainted, make.pod("x")), all_nodes=True)
        start = lines.index("Why 5 nodes do not fit")
        assert [row(lines[start:], f"t{number}")[-1] for number in range(5)] == ["TaintToleration"] * 5

    def test_all_reasons_in_place_of_the_first(self) -> None:
        nodes = [make.node(name).capacity(cpu="1").taint("k") for name in "ab"]
        lines = view(explain("default/x", *nodes, make.pod("x").cpu("2")), all_reasons=True)
        start = lines.index("All failures on 2 nodes")
        assert row(lines[start:], "    2")[:4] == ["2", "a,", "b", "TaintToleration"]
        assert "NodeResourcesFit" in lines[start + 4]

    def test_message_is_last_and_verbatim(self) -> None:
        why = explain("default/x", make.node("a").taint("k"), make.pod("x"))
        lines = view(why)
        assert lines[-2:] == ["Scheduler message", why.to_dict()["message"]]

    def test_an_error_is_said_with_what_is_known(self) -> None:
        odd, nodes = make.pod("x").node_affinity("gen > many", weight=1), [make.node("a"), make.node("b")]
        scoring = view(explain("default/x", *nodes, make.node("c").taint("k"), odd))
        assert scoring[0] == "default/x fits on 2 of 3 nodes, but scoring them ends in an error."
        assert "Why 1 other node does not fit" in scoring
        assert scoring[-1].startswith('running PreScore plugin "NodeAffinity": ')
        filtering = view(explain("default/x", *nodes, make.pod("x").spread("zone", {"app": "not a value!"})))
        assert filtering[0] == "The attempt to place default/x ends in an error."
        assert filtering[-1].startswith('running PreFilter plugin "PodTopologySpread": ')

    def test_a_lone_node_may_be_taken_without_scores(self) -> None:
        odd = make.pod("x").node_affinity("gen > many", weight=1)
        lines = view(explain("default/x", make.node("a"), odd))
        assert lines == ["default/x fits on the only node; a is taken without scoring."]

    def test_no_nodes(self) -> None:
        assert view(explain("default/x", make.pod("x")))[0] == "default/x does not fit: there are no nodes."

    def test_rejected_before_any_node(self) -> None:
        lines = view(explain("default/x", make.node("a"), make.node("b"), make.pod("x").claim("none")))
        assert lines[0].startswith("default/x does not fit on any of the 2 nodes: persistentvolumeclaim")
        assert any(line.startswith("No: the pod was rejected before any node") for line in lines)


def story(*, preemptor: Builder[Any] | None = None) -> PodExplanation:
    """Four candidates, each worse than `two` by another criterion, a node full of equals, and a tainted one."""
    return explain(
        "prod/x",
        *(make.node(name).capacity(cpu="4") for name in ("one", "two", "three", "four", "five")),
        make.node("tainted").taint("k"),
        make.budget("db", "prod").selects(app="db").allows(0),
        make.pod("db", "prod").labels(app="db").cpu("4").priority(1).running("one"),
        make.pod("cheap", "dev").cpu("2").running("two", since="2026-01-01T00:00:00Z"),
        make.pod("stays", "dev").cpu("1").priority(5).running("two"),
        make.pod("dear", "dev").cpu("4").priority(50).running("three"),
        make.pod("many-1", "dev").cpu("2").running("four"),
        make.pod("many-2", "dev").cpu("2").running("four"),
        make.pod("equal", "dev").cpu("4").priority(100).running("five"),
        preemptor or make.pod("x", "prod").cpu("3").priority(100),
    )


class TestPreemption:
    def test_answer_names_victims_and_node(self) -> None:
        assert (
            view(story())[0]
            == "prod/x does not fit on any of the 6 nodes; evicting dev/cheap from two would make room."
        )

    def test_why_it_is_the_cheapest(self) -> None:
        (text,) = [line for line in view(story()) if "is cheapest" in line]
        assert text == (
            "two is cheapest: no budget violated (one violates prod/db); highest victim priority 0 versus 50 on three; "
            "1 victim (priorities 0 in total) versus 2 victims (priorities 0 in total) on four."
        )

    def test_victims_with_what_they_cost(self) -> None:
        lines = view(story())
        assert row(lines, "dev/cheap") == ["dev/cheap", "0", "2026-01-01T00:00:00Z", "none", "violated"]

    def test_who_was_put_back_and_what_stopped_the_others(self) -> None:
        lines = view(story())
        tried = lines[lines.index("What was tried on two") :]
        assert row(tried, "dev/stays") == ["dev/stays", "5", "stays"]
        assert " ".join(row(tried, "dev/cheap")) == "dev/cheap 0 evicted: Insufficient cpu (NodeResourcesFit)"

    def test_other_candidates_lost_by_something(self) -> None:
        lines = view(story())
        others = lines[lines.index("3 other nodes where preemption would help") :]
        assert [line.split()[0] for line in others[4:7]] == ["four", "three", "one"]
        assert row(others, "one")[1:4] == ["1", "1", "1"]
        assert " ".join(row(others, "one")[-3:]) == "violates more budgets"

    def test_why_it_does_not_help_elsewhere(self) -> None:
        lines = view(story())
        rest = "\n".join(lines[lines.index("Why preemption does not help on 2 other nodes") :])
        assert "no lower-priority pods to evict" in rest
        assert "evicting pods cannot fix this: node(s) had untolerated taint(s)" in rest

    @pytest.mark.parametrize(
        ("count", "said"),
        [(1, "1 pod of other schedulers was not considered."), (2, "2 pods of other schedulers were not considered.")],
    )
    def test_pods_of_others_that_were_spared(self, count: int, said: str) -> None:
        foreign = (make.pod(f"f{number}").cpu("1").scheduler("else").running("a") for number in range(count))
        things: list[Builder[Any]] = [
            make.node("a").capacity(cpu=str(count)),
            *foreign,
            make.pod("x").cpu("1").priority(1),
        ]
        cluster = Cluster.from_objects([thing.dict() for thing in things])
        assert said in view(cluster.explain("x", foreign_victims="never"))
        assert said not in view(cluster.explain("x"))

    def test_broken_budget_is_said_of_the_victim(self) -> None:
        lines = view(
            explain(
                "default/x",
                make.node("a").capacity(cpu="1"),
                make.budget("guard").selects(app="db").allows(0),
                make.pod("db").labels(app="db").cpu("1").running("a"),
                make.pod("x").cpu("1").priority(1),
            )
        )
        assert row(lines, "default/db")[-2:] == ["violates", "default/guard"]
        assert "a is the only node where preemption helps." in lines

    def test_policy_never(self) -> None:
        lines = view(story(preemptor=make.pod("x", "prod").cpu("3").priority(100).never_preempts()))
        assert lines[0] == "prod/x does not fit on any of the 6 nodes, and it may not preempt other pods."
        assert any("preemptionPolicy is Never" in line for line in lines)

    def test_victims_of_an_earlier_preemption_still_leave(self) -> None:
        leaving = make.pod("old").cpu("1").running("a").condition("DisruptionTarget", "True", "PreemptionByScheduler")
        lines = view(
            explain(
                "default/x",
                make.node("a").capacity(cpu="1"),
                leaving.terminating(),
                make.pod("x").cpu("1").priority(1).nominated("a"),
            )
        )
        assert "It is nominated to a, where it does not fit yet." in lines
        assert any(line.startswith("Not now: ") for line in lines)

    def test_profile_without_preemption(self) -> None:
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"plugins": {"postFilter": {"disabled": [{"name": "*"}]}}}],
        }
        lines = view(explain("default/x", make.node("a").taint("k"), make.pod("x"), config=config))
        assert any(line.startswith("Not attempted") for line in lines)

    def test_equally_cheap_nodes(self) -> None:
        full = [make.node(name).capacity(cpu="1") for name in "ab"]
        pods = [make.pod(f"on-{name}").cpu("1").running(name) for name in "ab"]
        lines = view(explain("default/x", *full, *pods, make.pod("x").cpu("1").priority(1)))
        assert lines[0].endswith("evicting default/on-a from a would make room.")
        assert any(line.startswith("a and b are equally cheap: ") for line in lines)

    def test_later_start_decides_at_last(self) -> None:
        full = [make.node(name).capacity(cpu="1") for name in "ab"]
        pods = [
            make.pod("on-a").cpu("1").running("a", since="2026-01-01T00:00:00Z"),
            make.pod("on-b").cpu("1").running("b", since="2026-01-02T00:00:00Z"),
        ]
        lines = view(explain("default/x", *full, *pods, make.pod("x").cpu("1").priority(1)))
        (text,) = [line for line in lines if "is cheapest" in line]
        assert "started 2026-01-02T00:00:00Z versus 2026-01-01T00:00:00Z on a" in text


@pytest.mark.parametrize("width", [80, 100])
def test_nothing_but_the_message_is_wider_than_the_terminal(width: int) -> None:
    why = story()
    lines = rendered(terminal_parts(explanation_parts(why.document())), width=width).splitlines()
    assert all(len(line) <= width for line in lines if line != why.to_dict()["message"])
