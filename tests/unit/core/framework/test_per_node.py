"""Plugins written for one node at a time do as array plugins do."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from tests.support.caches import cache_of, chosen_node

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.cycle import attempt
from bayplan.core.deciding import Decider
from bayplan.core.explain import Explanation
from bayplan.core.framework.per_node import NodeView, PerNodePlugin
from bayplan.core.framework.verdict import SUCCESS
from bayplan.testing.builders import node, pod


class LeavesOneCoreFree(PerNodePlugin):
    """Refuses nodes that would have less than a core left, and likes nodes with few pods."""

    name: ClassVar[str] = "LeavesOneCoreFree"

    def fits(self, pod: PodInfo, node: NodeView) -> str:
        left = node.allocatable("cpu") - node.requested("cpu") - pod.shape.requests.asked.get("cpu", 0)
        return "" if left >= 1000 else f"{node.name} would have {left}m left"

    def rate(self, pod: PodInfo, node: NodeView) -> int:
        return max(0, 100 - 10 * len(node.pod_keys))


def test_per_node_plugin_filters_scores_and_explains() -> None:
    """Its reasons appear node by node, its scores count with its weight, with and without reuse."""
    cache = cache_of(
        node("a").capacity(cpu="2", memory="4Gi", pods=110).obj(),
        node("b").capacity(cpu="4", memory="4Gi", pods=110).obj(),
        node("c").capacity(cpu="4", memory="4Gi", pods=110).obj(),
        pod("running").cpu("100m").node("b").obj(),
    )
    default = build_profiles(load_configuration(None, release=DEFAULT_RELEASE))["default-scheduler"]
    plugin = LeavesOneCoreFree()
    profile = replace(
        default,
        filter=(*default.filter, plugin),
        score=(plugin,),
        pre_score=(),
        weights={plugin.name: 5},
    )
    info, view = cache.info(pod("p").cpu("1500m").obj()), cache.view()
    found = Explanation(attempt(profile, info, view), view, SUCCESS).to_dict()
    assert found["filter"] == {
        "a": {"code": "Unschedulable", "plugin": plugin.name, "reasons": ["a would have 500m left"]}
    }
    assert found["totals"] == {"b": 450, "c": 500}
    assert chosen_node(Decider({"default-scheduler": profile}), info, view) == "c"


class ByName(PerNodePlugin):
    """Lets a pod go to the node of its own name."""

    name: ClassVar[str] = "ByName"

    def fits(self, pod: PodInfo, node: NodeView) -> str:
        return "" if node.name == pod.name else f"{node.name} is not {pod.name}"


def test_each_pod_is_judged_itself_though_another_has_its_shape() -> None:
    cache = cache_of(node("a").obj(), node("b").obj())
    default = build_profiles(load_configuration(None, release=DEFAULT_RELEASE))["default-scheduler"]
    decider = Decider({"default-scheduler": replace(default, filter=(*default.filter, ByName()))})
    chosen = [chosen_node(decider, cache.info(pod(name).obj()), cache.view()) for name in ("a", "b", "a")]
    assert chosen == ["a", "b", "a"]
