"""Public parts for writing tests: object builders, small clusters, and checks for plugins.

`builders` makes Kubernetes objects in one line each. `check_plugin` holds any plugin to its contract (`RULES`),
`compare_plugins` compares two, both on clusters that `small_scene` draws from seeds. `would_wake` says whether a change
brings a rejected pod back. `cluster` runs a whole cluster, with a Kubernetes API for the clients under test. Nothing in
the product imports this package. What is not exported here serves the project's own tests.
"""

from bayplan.testing import builders
from bayplan.testing.check_plugin import RULES, check_plugin
from bayplan.testing.clusters import GPU, NODE_PATTERNS, POD_PATTERNS, Scene, small_scene
from bayplan.testing.comparing import compare_plugins
from bayplan.testing.live_cluster import LiveCluster, cluster
from bayplan.testing.live_objects import Refusal
from bayplan.testing.scheduler_wakeups import would_wake

__all__ = [
    "GPU",
    "NODE_PATTERNS",
    "POD_PATTERNS",
    "RULES",
    "LiveCluster",
    "Refusal",
    "Scene",
    "builders",
    "check_plugin",
    "cluster",
    "compare_plugins",
    "small_scene",
    "would_wake",
]
