"""Whatever is tried, the cache is as before."""

from __future__ import annotations

from tests.support.caches import cache_of
from tests.support.preemption_attempts import default_profile

from bayplan.analysis.answers.fixing.trying import Trying
from bayplan.model.node import Node
from bayplan.testing.builders import node, pod


def trying() -> Trying:
    nodes = [node("n").capacity(cpu="4").obj(), node("m").capacity(cpu="1").obj()]
    pods = {f"default/{name}": pod(name).cpu("1").running("n").obj() for name in "abcd"}
    return Trying(cache_of(*nodes, *pods.values()), default_profile(), pod("x").cpu("2").obj(), nodes, pods)


def test_pods_are_gone_for_a_while_and_back_in_their_order() -> None:
    tried = trying()
    assert not tried.fits(())
    with tried.pods_gone("n", ["default/a", "default/c"]):
        assert tried.pods_on("n") == ["default/b", "default/d"]
        assert tried.fits(())
    assert tried.pods_on("n") == [f"default/{name}" for name in "abcd"]
    assert not tried.fits(())


def test_a_node_is_another_one_for_a_while() -> None:
    tried = trying()
    larger: Node = node("m").capacity(cpu="2").obj()
    with tried.changed_node(larger):
        assert tried.decide(()).node == "m"
    assert tried.decide(()).node == ""


def test_there_is_one_more_node_for_a_while() -> None:
    tried = trying()
    with tried.new_node(node("new").capacity(cpu="3").obj(), [pod("agent").cpu("1").running("new").obj()]):
        assert tried.decide(()).node == "new"
    assert not tried.fits(())
    assert "new" not in tried.cache.nodes.rows_by_name
