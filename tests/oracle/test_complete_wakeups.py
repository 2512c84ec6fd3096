"""Under `wakeups: complete` a change that lets a rejected pod fit wakes it: for every plugin, and without exception.

A plugin is asked alone, about random small clusters and one change at a time. The pod need not fit on the whole: it is
enough that the plugin lets it through on a node where it could not go before, because the plugins after it may do so
too. `test_known_missed_wakeups` has a case by hand for each kind of change that upstream sleeps through.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle import complete_worlds, wakeup_worlds
from tests.oracle.wakeup_worlds import World, begins_to_fit, shown

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.framework.args import NodeAffinityArgs, NodeResourcesFitArgs, PodTopologySpreadArgs
from bayplan.core.framework.requeue import Wakeups
from bayplan.core.plugins.dynamic_resources import DynamicResources
from bayplan.core.plugins.inter_pod_affinity import InterPodAffinity
from bayplan.core.plugins.node_affinity import NodeAffinity
from bayplan.core.plugins.node_declared_features import NodeDeclaredFeatures
from bayplan.core.plugins.node_name import NodeName
from bayplan.core.plugins.node_ports import NodePorts
from bayplan.core.plugins.node_resources_fit import NodeResourcesFit
from bayplan.core.plugins.node_unschedulable import NodeUnschedulable
from bayplan.core.plugins.node_volume_limits import NodeVolumeLimits
from bayplan.core.plugins.pod_topology_spread import PodTopologySpread
from bayplan.core.plugins.taint_toleration import TaintToleration
from bayplan.core.plugins.volume_binding import VolumeBinding
from bayplan.core.plugins.volume_restrictions import VolumeRestrictions
from bayplan.core.plugins.volume_zone import VolumeZone
from bayplan.model.kinds import Object
from bayplan.model.pod import NodeAffinity as NodeAffinitySpec
from bayplan.model.pod import NodeSelector, Pod, TopologySpreadConstraint
from bayplan.testing.builders import node_term
from bayplan.testing.plugin_wakeups import is_woken

IN_POOL = NodeAffinitySpec(required=NodeSelector(node_selector_terms=[node_term("pool")]))
OVER_ZONES = TopologySpreadConstraint(max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule")

CASES = [
    pytest.param(NodeUnschedulable(gates=DEFAULT_GATES), wakeup_worlds.cordons(), id="cordons"),
    pytest.param(NodeName(), wakeup_worlds.names(), id="names"),
    pytest.param(TaintToleration(gates=DEFAULT_GATES), wakeup_worlds.taints(), id="taints"),
    pytest.param(NodeAffinity(), wakeup_worlds.node_labels(), id="node-labels"),
    pytest.param(NodeAffinity(NodeAffinityArgs(added_affinity=IN_POOL)), complete_worlds.pools(), id="pools"),
    pytest.param(NodeDeclaredFeatures(gates=DEFAULT_GATES), wakeup_worlds.features(), id="features"),
    pytest.param(NodePorts(), complete_worlds.ports(), id="ports"),
    pytest.param(
        NodeResourcesFit(NodeResourcesFitArgs(ignored_resources=frozenset({"example.com/x"})), gates=DEFAULT_GATES),
        complete_worlds.rooms(),
        id="rooms",
    ),
    pytest.param(VolumeRestrictions(), complete_worlds.disks(), id="disks"),
    pytest.param(PodTopologySpread(gates=DEFAULT_GATES), complete_worlds.spreads(), id="spreads"),
    pytest.param(
        PodTopologySpread(
            PodTopologySpreadArgs(default_constraints=(OVER_ZONES,), defaulting_type="List"), gates=DEFAULT_GATES
        ),
        complete_worlds.default_spreads(),
        id="default-spreads",
    ),
    pytest.param(InterPodAffinity(gates=DEFAULT_GATES), complete_worlds.company(), id="company"),
    pytest.param(NodeVolumeLimits(gates=DEFAULT_GATES), complete_worlds.attachments(), id="attachments"),
    pytest.param(
        NodeVolumeLimits(replace(DEFAULT_GATES, volume_limit_scaling=True)),
        complete_worlds.attachments(),
        id="drivers",
    ),
    pytest.param(VolumeZone(), complete_worlds.zones(), id="zones"),
    pytest.param(VolumeBinding(gates=DEFAULT_GATES), complete_worlds.bindings(), id="bindings"),
    pytest.param(DynamicResources(gates=DEFAULT_GATES), complete_worlds.devices(), id="devices"),
]


#: So many rounds of random worlds may pass in which no change helps any pod; of devices one in a hundred does.
ROUNDS_MAX = 5


def helping_changes(plugin: Any, world: World) -> int:
    """Check every change of the world; how many let the pod go somewhere."""
    count = 0
    before = (world.waiting, world.objects())
    changes: list[tuple[Object | None, Object | None, Pod, list[Object]]] = [
        (world.waiting, world.waiting_later, world.waiting_later, world.objects())
    ]
    changes += [
        (old, new, world.waiting, world.objects(changed=position)) for position, (old, new) in enumerate(world.things)
    ]
    for old, new, waiting, objects in changes:
        if old != new and begins_to_fit(plugin, before, (waiting, objects)):
            count += 1
            woken = is_woken(plugin, world.waiting, old, new, objects, Wakeups.COMPLETE)
            assert woken, f"{shown(old)} -> {shown(new)}"
    return count


@pytest.mark.parametrize(("plugin", "drawn"), CASES)
def test_a_change_that_helps_wakes_the_pod(plugin: Any, drawn: st.SearchStrategy[World]) -> None:
    count = 0

    @settings(database=None)
    @given(drawn)
    def holds(world: World) -> None:
        nonlocal count
        count += helping_changes(plugin, world)

    for _ in range(ROUNDS_MAX):
        holds()
        if count:
            return
    pytest.fail("no change helped any pod, so nothing was tested")


def test_every_plugin_that_can_reject_is_asked() -> None:
    """But for the one that only looks at gates."""
    (profile,) = build_profiles(load_configuration(None, release=DEFAULT_RELEASE)).values()
    rejecting: set[Any] = {*profile.pre_filter, *profile.filter}
    asked: set[Any] = {case.values[0] for case in CASES}
    assert {plugin.name for plugin in asked} == {plugin.name for plugin in rejecting}
