"""Which nodes a DaemonSet leaves out, and what is answered about pods that it never creates."""

from __future__ import annotations

from bayplan.analysis.answers.fixing.daemons import left_out
from bayplan.analysis.cluster import Cluster
from bayplan.testing.builders import daemon_set, node, pod

AGENT = daemon_set("agent").template(pod("t").labels(app="agent").node_selector(pool="a").tolerates("gpu"))


def test_the_reason_for_each_node() -> None:
    nodes = [
        node("taken").label("pool", "a"),
        node("other").label("pool", "b"),
        node("tolerated").label("pool", "a").taint("gpu"),
        node("tainted").label("pool", "a").taint("dedicated", "db"),
        node("soft").label("pool", "a").taint("spot", effect="PreferNoSchedule"),
        node("cordoned").label("pool", "a").unschedulable(),
    ]
    assert left_out(AGENT.obj(), [each.obj() for each in nodes]) == {
        "other": "its node selector or affinity",
        "tainted": "taint dedicated=db:NoSchedule",
    }


def test_a_daemon_set_that_has_all_its_pods_says_which_nodes_it_leaves_out() -> None:
    agent = daemon_set("agent").template(pod("t").labels(app="agent"))
    things = (node("n1"), node("n2").taint("dedicated"), agent, pod("agent-1").owner(agent).running("n1"))
    answer = Cluster([thing.obj() for thing in things]).fix("ds/agent")
    assert (answer.is_fine, answer.running, answer.left_out) == (True, 1, {"n2": "taint dedicated:NoSchedule"})


def test_a_daemon_set_that_selects_no_node_gets_a_pod_on_each_that_it_then_selects() -> None:
    agent = daemon_set("agent").template(pod("t").labels(app="agent").node_selector(pool="generall"))
    nodes = [node(name).label("pool", "general") for name in ("n1", "n2", "n3")]
    answer = Cluster([*(each.obj() for each in nodes), agent.obj()]).fix("ds/agent")
    assert (answer.fixes[0].fixed, answer.pending, answer.fixes[0].nodes) == (3, 3, ("n1", "n2", "n3"))
