"""What helps a pod that found no node to its liking."""

from __future__ import annotations

import pytest
from tests.support.requeue_hints import is_worth_it, registered

from bayplan.core.framework.args import NodeAffinityArgs
from bayplan.core.framework.requeue import ActionType, EventResource
from bayplan.core.plugins.node_affinity import NodeAffinity
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import NodeAffinity as NodeAffinitySpec
from bayplan.model.pod import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from bayplan.testing.builders import NodeBuilder, node, node_term, pod

PICKY = pod("p").node_selector(disk="ssd").node_affinity("zone in (a, b)", "rack > 5").obj()
PLAIN = node("n").obj()
FITTING = node("n").labels(disk="ssd", zone="a").obj()
NAMING = NodeSelectorTerm(
    match_fields=[NodeSelectorRequirement(key="metadata.name", operator="In", values=["n"])],
)


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(None, FITTING, True, id="new-node"),
        pytest.param(None, node("n").labels(disk="ssd", rack="6").obj(), True, id="new-node-by-the-other-term"),
        pytest.param(None, node("n").labels(zone="a").obj(), False, id="new-node-fails-the-selector"),
        pytest.param(None, node("n").labels(disk="ssd", rack="5").obj(), False, id="new-node-fails-the-terms"),
        pytest.param(PLAIN, FITTING, True, id="labels-begin-to-match"),
        pytest.param(FITTING, node("n").labels(disk="ssd", zone="b").obj(), False, id="matched-before"),
        pytest.param(FITTING, PLAIN, False, id="labels-cease-to-match"),
        pytest.param(PLAIN, node("n").taint("a").obj(), False, id="taints"),
        pytest.param(FITTING, None, False, id="gone"),
        pytest.param(PICKY, pod("p").labels(a="1").obj(), False, id="own-labels"),
    ],
)
def test_changes(old: Object | None, new: Object | None, worth_it: bool) -> None:
    """Queue or skip."""
    assert is_worth_it(NodeAffinity(), PICKY, old, new) == worth_it


@pytest.mark.parametrize(
    ("new", "worth_it"),
    [
        pytest.param(node("n").labels(disk="ssd", zone="c"), True, id="no-term-matches"),
        pytest.param(node("n").labels(disk="ssd", zone="a"), True, id="another-term-matches"),
        pytest.param(node("n").labels(disk="hdd", zone="c"), False, id="fails-the-selector"),
    ],
)
def test_a_term_that_does_not_parse_makes_the_hint_fail(new: NodeBuilder, worth_it: bool) -> None:
    """Which counts as a yes, unless the node fails the pod's nodeSelector anyway."""
    odd = pod("p").node_selector(disk="ssd").node_affinity("zone=a", "gen > many").obj()
    assert is_worth_it(NodeAffinity(), odd, None, new.obj()) == worth_it
    assert is_worth_it(NodeAffinity(), odd, node("n").obj(), new.obj()) == worth_it


@pytest.mark.parametrize(("name", "worth_it"), [("n", True), ("m", False)])
def test_a_term_may_name_its_node(name: str, worth_it: bool) -> None:
    """By the field, not by a label."""
    waiting = pod("p").node_affinity(NAMING).obj()
    assert is_worth_it(NodeAffinity(), waiting, None, node(name).obj()) == worth_it


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(None, node("n").labels(pool="x").obj(), True, id="new-node"),
        pytest.param(None, PLAIN, False, id="new-node-outside"),
        # Upstream compares before and after by the pod's own demands alone: here a wake-up is missed.
        pytest.param(PLAIN, node("n").labels(pool="x").obj(), False, id="comes-into-the-pool"),
    ],
)
def test_enforced_affinity(old: Node | None, new: Node, worth_it: bool) -> None:
    """Nodes outside of what the profile enforces help nobody."""
    enforced = NodeAffinitySpec(required=NodeSelector(node_selector_terms=[node_term("pool = x")]))
    plugin = NodeAffinity(NodeAffinityArgs(added_affinity=enforced))
    assert is_worth_it(plugin, pod("p").obj(), old, new) == worth_it


def test_registers() -> None:
    """As upstream."""
    assert registered(NodeAffinity()) == {EventResource.NODE: ActionType.ADD | ActionType.UPDATE_NODE_LABEL}
