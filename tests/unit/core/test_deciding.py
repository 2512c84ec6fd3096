"""The Decider where there is nothing to reuse: it says what `cycle.attempt` says."""

from __future__ import annotations

import pytest
from tests.support import cache_of

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.core.deciding import Decider
from bayplan.core.framework.verdict import CycleError
from bayplan.testing.builders import node, pod


@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize("plugin", ["NodePorts", "NodeResourcesFit", "VolumeBinding", "VolumeZone", "InterPodAffinity"])
def test_a_filter_whose_pre_filter_is_disabled_ends_the_attempt(plugin: str, reuse: bool) -> None:
    """Whether the plugin reads the cluster or not."""
    profile = {
        "schedulerName": "default-scheduler",
        "plugins": {"preFilter": {"disabled": [{"name": plugin}]}},
    }
    configuration = load_configuration(
        {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [profile]}
    )
    cache = cache_of(node("a").obj())
    decider = Decider(build_profiles(configuration), reuse=reuse)
    with pytest.raises(CycleError, match=f"{plugin} filters but its PreFilter is disabled"):
        decider.decide(cache.info(pod("p").obj()), cache.view())
