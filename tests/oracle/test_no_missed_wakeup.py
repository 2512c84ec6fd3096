"""A change that lets a rejected pod fit wakes it: the plugin that rejected it has registered for the change.

Each plugin is asked alone, about random small clusters and one change at a time. Where kube-scheduler itself sleeps
through a change, so do we; `test_known_missed_wakeups` lists those cases.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracle import wakeup_worlds as worlds
from tests.oracle.wakeup_worlds import World, fits, is_rejected, shown
from tests.support.examples import examples
from tests.support.requeue_hints import is_worth_it

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.framework.requeue import EnqueueExtensions
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

CASES = [
    pytest.param(NodeUnschedulable(gates=DEFAULT_GATES), worlds.cordons(), id="cordons"),
    pytest.param(NodeName(), worlds.names(), id="names"),
    pytest.param(TaintToleration(gates=DEFAULT_GATES), worlds.taints(), id="taints"),
    pytest.param(NodeAffinity(), worlds.node_labels(), id="node-labels"),
    pytest.param(NodeDeclaredFeatures(gates=DEFAULT_GATES), worlds.features(), id="features"),
    pytest.param(NodePorts(), worlds.ports(), id="ports"),
    pytest.param(NodeResourcesFit(gates=DEFAULT_GATES), worlds.rooms(), id="rooms"),
    pytest.param(VolumeRestrictions(), worlds.disks(), id="disks"),
    pytest.param(PodTopologySpread(gates=DEFAULT_GATES), worlds.spreads(), id="spreads"),
    pytest.param(InterPodAffinity(gates=DEFAULT_GATES), worlds.attractions(), id="attractions"),
    pytest.param(InterPodAffinity(gates=DEFAULT_GATES), worlds.aversions(), id="aversions"),
    pytest.param(InterPodAffinity(gates=DEFAULT_GATES), worlds.hostilities(), id="hostilities"),
    pytest.param(NodeVolumeLimits(gates=DEFAULT_GATES), worlds.attachments(), id="attachments"),
    pytest.param(VolumeZone(), worlds.zones(), id="zones"),
    pytest.param(VolumeBinding(gates=DEFAULT_GATES), worlds.bindings(), id="bindings"),
]


def turns(plugin: Any, world: World) -> int:
    """Check every change of the world; in how many the pod began to fit."""
    if not is_rejected(plugin, world.waiting, world.objects()):
        return 0
    count = 0
    if fits(plugin, world.waiting_later, world.objects()):
        count += 1
        assert is_worth_it(plugin, world.waiting, world.waiting, world.waiting_later)
    for position, (old, new) in enumerate(world.things):
        if old != new and fits(plugin, world.waiting, world.objects(changed=position)):
            count += 1
            assert is_worth_it(plugin, world.waiting, old, new), f"{shown(old)} -> {shown(new)}"
    return count


@pytest.mark.parametrize(("plugin", "drawn"), CASES)
def test_a_change_that_helps_wakes_the_pod(plugin: Any, drawn: st.SearchStrategy[World]) -> None:
    """One change, one plugin, all nodes."""
    count = 0

    @examples(120, database=None)
    @given(drawn)
    def holds(world: World) -> None:
        nonlocal count
        count += turns(plugin, world)

    holds()
    assert count, "no change helped any pod, so nothing was tested"


def test_every_plugin_that_can_reject_says_what_helps() -> None:
    """In the default profile none is left to be woken by everything."""
    (profile,) = build_profiles(load_configuration(None, release=DEFAULT_RELEASE)).values()
    rejecting: set[Any] = {*profile.pre_enqueue, *profile.pre_filter, *profile.filter}
    assert len(rejecting) == 15
    assert all(isinstance(plugin, EnqueueExtensions) and plugin.events_to_register() for plugin in rejecting)
