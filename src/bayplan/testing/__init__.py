"""Public parts for writing tests: object builders, small clusters, and checks for plugins.

`builders` makes Kubernetes objects in one line each. `check_plugin` holds any plugin to its contract (`RULES`),
`compare_plugins` compares two, both on clusters that `small_scene` draws from seeds. `would_wake` says whether a change
brings a rejected pod back, `try_pod` what becomes of a pod among pod groups, `play_group_story` what becomes of groups
over time. `cluster` runs a whole cluster, with a Kubernetes API for the clients under test. Nothing in the product
imports this package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bayplan.testing import builders
from bayplan.testing.check_plugin import RULES, check_plugin
from bayplan.testing.clusters import GPU, NODE_PATTERNS, POD_PATTERNS, Scene, small_scene
from bayplan.testing.comparing import compare_plugins
from bayplan.testing.group_questions import try_pod
from bayplan.testing.group_stories import play_group_story
from bayplan.testing.scheduler_wakeups import would_wake

if TYPE_CHECKING:
    from bayplan.testing.live_cluster import LiveCluster, cluster
    from bayplan.testing.live_faults import RequestFaults
    from bayplan.testing.live_objects import Refusal
    from bayplan.testing.live_users import ClusterUser

__all__ = [
    "GPU",
    "NODE_PATTERNS",
    "POD_PATTERNS",
    "RULES",
    "ClusterUser",
    "LiveCluster",
    "Refusal",
    "RequestFaults",
    "Scene",
    "builders",
    "check_plugin",
    "cluster",
    "compare_plugins",
    "play_group_story",
    "small_scene",
    "try_pod",
    "would_wake",
]

_OF_A_CLUSTER = {
    "ClusterUser": "live_users",
    "RequestFaults": "live_faults",
    "LiveCluster": "live_cluster",
    "Refusal": "live_objects",
    "cluster": "live_cluster",
}


def __getattr__(name: str) -> Any:
    if name not in _OF_A_CLUSTER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Loaded when first asked for: tests of plugins need no API server.
    return getattr(import_module(f"bayplan.testing.{_OF_A_CLUSTER[name]}"), name)
