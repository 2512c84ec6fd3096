"""Merging plugin sets with the defaults and spreading multiPoint over the extension points."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.config.decoding import decode_struct
from bayplan.config.defaults import (
    DEFAULT_MULTI_POINT,
    EXTENSION_POINTS,
    GROUP_EXTENSION_POINTS,
    IMPLEMENTED_POINTS,
)
from bayplan.config.faults import ConfigFaults
from bayplan.config.merge import ExpandedPlugins, expand_plugins, expand_point, merge_plugin_sets
from bayplan.config.schema import Plugin, Plugins, PluginSet

DEFAULT_FILTERS = (
    "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions "
    "NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity DynamicResources "
    "NodeDeclaredFeatures"
)
DEFAULT_SCORES = (
    "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity "
    "DynamicResources NodeResourcesBalancedAllocation ImageLocality"
)


def plugin_set(enabled: str = "", disabled: str = "") -> PluginSet:
    """`plugin_set("A=3 B", "C")`: A with weight 3 and B enabled, C disabled."""
    pairs = [entry.partition("=") for entry in enabled.split()]
    return PluginSet(
        enabled=tuple(Plugin(name=name, weight=int(weight or 0)) for name, _, weight in pairs),
        disabled=tuple(Plugin(name=name) for name in disabled.split()),
    )


def written(merged: PluginSet) -> str:
    return " ".join(f"{plugin.name}={plugin.weight}" if plugin.weight else plugin.name for plugin in merged.enabled)


def expand(sets: dict[str, Any], implements: dict[str, frozenset[str]] | None = None) -> ExpandedPlugins:
    faults = ConfigFaults()
    expanded = expand_with(faults, sets, implements)
    assert faults.found == []
    return expanded


def expand_with(
    faults: ConfigFaults, sets: dict[str, Any], implements: dict[str, frozenset[str]] | None = None
) -> ExpandedPlugins:
    custom = decode_struct(Plugins, sets, "plugins", faults)
    return expand_plugins(
        custom, DEFAULT_MULTI_POINT, {**IMPLEMENTED_POINTS, **(implements or {})}, "x", "plugins", faults
    )


def messages(sets: dict[str, Any], implements: dict[str, frozenset[str]] | None = None) -> list[tuple[str, str]]:
    faults = ConfigFaults()
    expand_with(faults, sets, implements)
    return [(fault.field, fault.message) for fault in faults.found]


def named(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


@pytest.mark.parametrize(
    ("enabled", "disabled", "expected"),
    [
        pytest.param("", "", "A=1 B=2 C", id="nothing custom"),
        pytest.param("", "B", "A=1 C", id="one disabled"),
        pytest.param("", "*", "", id="all disabled"),
        pytest.param("D=4", "", "A=1 B=2 C D=4", id="new ones are appended"),
        pytest.param("B=9", "", "A=1 B=9 C", id="a default is replaced in place"),
        pytest.param("C=3 A=5", "", "A=5 B=2 C=3", id="replacing keeps the default order"),
        pytest.param("B=9", "B", "A=1 C B=9", id="disabled and enabled moves to the end"),
        pytest.param("C A=7", "*", "C A=7", id="star and own list, in its order"),
        pytest.param("D=1 B=9 E", "A", "B=9 C D=1 E", id="all at once"),
        pytest.param("B=3 B=4", "", "A=1 B=4 C B=3", id="the last of repeated ones replaces"),
        pytest.param("B", "", "A=1 B C", id="a replacement without weight has none"),
    ],
)
def test_merge_plugin_sets(enabled: str, disabled: str, expected: str) -> None:
    merged = merge_plugin_sets(plugin_set("A=1 B=2 C"), plugin_set(enabled, disabled))
    assert written(merged) == expected


def test_merging_keeps_what_the_default_disables() -> None:
    merged = merge_plugin_sets(plugin_set("A B", "B"), plugin_set("", "C"))
    assert written(merged) == "A"
    assert [plugin.name for plugin in merged.disabled] == ["C", "B"]


@pytest.mark.parametrize(
    ("enabled", "disabled", "expected"),
    [
        pytest.param("", "", "A B C", id="multiPoint alone"),
        pytest.param("", "B", "A C", id="one disabled"),
        pytest.param("X", "*", "X", id="star leaves only the own list"),
        pytest.param("C B", "*", "C B", id="star and multiPoint names, in own order"),
        pytest.param("C", "", "C A B", id="an override comes first"),
        pytest.param("X C A", "", "C A B X", id="overrides, multi, rest"),
        pytest.param("X B", "B", "A C X B", id="disabled and enabled is rest, not override"),
        pytest.param("X Y", "Z", "A B C X Y", id="disabling the absent does nothing"),
    ],
)
def test_expand_point(enabled: str, disabled: str, expected: str) -> None:
    assert expand_point(plugin_set(enabled, disabled), ["A", "B", "C"]) == expected.split()


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ("preEnqueue", "SchedulingGates DynamicResources DefaultPreemption"),
        ("queueSort", "PrioritySort"),
        (
            "preFilter",
            "NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone "
            "PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures",
        ),
        ("filter", DEFAULT_FILTERS),
        ("postFilter", "DynamicResources DefaultPreemption"),
        (
            "preScore",
            "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity "
            "NodeResourcesBalancedAllocation",
        ),
        ("score", DEFAULT_SCORES),
        ("reserve", "VolumeBinding DynamicResources"),
        ("permit", ""),
        ("preBind", "VolumeBinding DynamicResources"),
        ("bind", "DefaultBinder"),
        ("postBind", ""),
    ],
)
def test_default_order(point: str, expected: str) -> None:
    assert list(expand({}).by_point[point]) == expected.split()


def test_default_weights() -> None:
    assert expand({}).score_weights == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


def test_every_default_plugin_says_what_it_implements() -> None:
    assert [plugin.name for plugin in DEFAULT_MULTI_POINT.enabled] == list(IMPLEMENTED_POINTS)


def test_result_has_every_point_and_no_other() -> None:
    assert tuple(expand({}).by_point) == (*EXTENSION_POINTS, *GROUP_EXTENSION_POINTS)


@pytest.mark.parametrize(
    ("sets", "weight"),
    [
        pytest.param({"multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": 7}]}}, 7, id="multiPoint"),
        pytest.param({"score": {"enabled": [{"name": "NodeAffinity", "weight": 8}]}}, 8, id="score"),
        pytest.param(
            {
                "multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": 7}]},
                "score": {"enabled": [{"name": "NodeAffinity", "weight": 8}]},
            },
            8,
            id="score wins over multiPoint",
        ),
        pytest.param({"score": {"enabled": named("NodeAffinity")}}, 1, id="none at score is 1, not the default"),
        pytest.param({"multiPoint": {"enabled": named("NodeAffinity")}}, 1, id="none at multiPoint is 1"),
        pytest.param(
            {"score": {"disabled": named("*"), "enabled": [{"name": "NodeAffinity", "weight": 5}]}}, 5, id="alone"
        ),
    ],
)
def test_weight_override(sets: dict[str, Any], weight: int) -> None:
    assert expand(sets).score_weights["NodeAffinity"] == weight


def test_weights_are_those_of_the_score_plugins_only() -> None:
    expanded = expand({"score": {"disabled": named("ImageLocality")}})
    assert "ImageLocality" not in expanded.score_weights
    assert tuple(expanded.score_weights) == expanded.by_point["score"]


def test_multi_point_star_with_the_needed_plugins() -> None:
    expanded = expand(
        {
            "multiPoint": {
                "disabled": named("*"),
                "enabled": named("DefaultBinder", "NodeName", "PrioritySort", "ImageLocality"),
            }
        }
    )
    assert {point: names for point, names in expanded.by_point.items() if names} == {
        "queueSort": ("PrioritySort",),
        "filter": ("NodeName",),
        "score": ("ImageLocality",),
        "bind": ("DefaultBinder",),
    }


def test_disabling_at_one_point_leaves_the_others() -> None:
    expanded = expand({"score": {"disabled": named("NodeResourcesFit")}})
    assert "NodeResourcesFit" not in expanded.by_point["score"]
    assert "NodeResourcesFit" in expanded.by_point["filter"]


def test_disabling_at_multi_point_leaves_a_specific_enable() -> None:
    expanded = expand(
        {"multiPoint": {"disabled": named("NodeResourcesFit")}, "filter": {"enabled": named("NodeResourcesFit")}}
    )
    assert expanded.by_point["filter"][-1] == "NodeResourcesFit"
    assert "NodeResourcesFit" not in expanded.by_point["score"]


def test_override_at_a_point_moves_a_plugin_to_the_front() -> None:
    expanded = expand({"filter": {"enabled": named("NodePorts", "NodeName")}})
    assert expanded.by_point["filter"][:3] == ("NodePorts", "NodeName", "NodeUnschedulable")
    assert sorted(expanded.by_point["filter"]) == sorted(DEFAULT_FILTERS.split())


def test_a_plugin_of_ones_own_joins_every_point_it_implements() -> None:
    expanded = expand(
        {"multiPoint": {"enabled": [{"name": "Mine", "weight": 6}]}},
        {"Mine": frozenset({"filter", "score"})},
    )
    assert expanded.by_point["filter"] == (*DEFAULT_FILTERS.split(), "Mine")
    assert expanded.by_point["score"] == (*DEFAULT_SCORES.split(), "Mine")
    assert expanded.score_weights["Mine"] == 6


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        pytest.param(
            {"score": {"enabled": named("Nope")}},
            ("plugins.score.enabled[0]", 'ScorePlugin "Nope" does not exist'),
            id="unknown at a point",
        ),
        pytest.param(
            {"multiPoint": {"enabled": named("Nope")}},
            ("plugins.multiPoint.enabled", 'plugin "Nope" does not exist'),
            id="unknown at multiPoint",
        ),
        pytest.param(
            {"preFilter": {"enabled": named("NodePorts", "ImageLocality")}},
            ("plugins.preFilter.enabled[1]", 'plugin "ImageLocality" does not extend PreFilterPlugin plugin'),
            id="wrong type",
        ),
        pytest.param(
            {"filter": {"enabled": named("NodePorts", "NodePorts")}},
            ("plugins.filter.enabled[1]", 'plugin "NodePorts" already registered as "FilterPlugin"'),
            id="repeated at a point",
        ),
        pytest.param(
            {"multiPoint": {"enabled": named("NodePorts", "NodePorts")}},
            ("plugins.multiPoint.enabled", 'plugin "NodePorts" already registered'),
            id="repeated at multiPoint",
        ),
        pytest.param(
            {"queueSort": {"disabled": named("*")}},
            (
                "plugins.queueSort",
                'only one queue sort plugin required for profile with scheduler name "x", but got 0',
            ),
            id="no queue sort",
        ),
        pytest.param(
            {"multiPoint": {"disabled": named("DefaultBinder")}},
            ("plugins.bind", 'at least one bind plugin is needed for profile with scheduler name "x"'),
            id="no bind",
        ),
        pytest.param(
            {"placementGenerate": {"enabled": named("TopologyPlacementGenerator")}},
            (
                "plugins.placementGenerate.enabled[0]",
                'PlacementGeneratePlugin "TopologyPlacementGenerator" does not exist',
            ),
            id="gated plugin",
        ),
    ],
)
def test_faults(sets: dict[str, Any], expected: tuple[str, str]) -> None:
    assert messages(sets) == [expected]


def test_two_queue_sort_plugins_are_refused() -> None:
    found = messages({"multiPoint": {"enabled": named("Other")}}, {"Other": frozenset({"queueSort"})})
    assert found == [
        (
            "plugins.queueSort",
            'only one queue sort plugin required for profile with scheduler name "x", but got 2',
        )
    ]


def test_disabling_an_unknown_plugin_is_no_fault() -> None:
    assert messages({"score": {"disabled": named("Nope")}}) == []
