"""Pods are bound where they were placed."""

from __future__ import annotations

from tests.support.caches import cache_of

from bayplan.core.framework.contract import BindPlugin
from bayplan.core.plugins.default_binder import DefaultBinder
from bayplan.testing.builders import pod


def test_binds_to_the_chosen_node() -> None:
    """The node that was chosen, whatever the pod was nominated to."""
    info = cache_of().info(pod("p").nominated("other").obj())
    plugin = DefaultBinder()
    assert isinstance(plugin, BindPlugin)
    assert plugin.bind_target(info, "chosen") == "chosen"
