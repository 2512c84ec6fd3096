"""Public parts for writing tests: object builders, small clusters, and checks for plugins.

`bayplan.testing.builders` makes Kubernetes objects in one line each, `clusters` draws small clusters from seeds.
`check_plugin` holds any plugin to its contract, `compare_plugins` holds two to each other. Nothing in the product
imports this package.
"""

from bayplan.testing.check_plugin import check_plugin
from bayplan.testing.comparing import compare_plugins

__all__ = ["check_plugin", "compare_plugins"]
