"""Public parts for writing tests: object builders, small clusters, and the check of a plugin's contract.

`bayplan.testing.builders` makes Kubernetes objects in one line each, `clusters` draws small clusters from seeds, and
`check_plugin` holds any plugin to its contract. Nothing in the product imports this package.
"""

from bayplan.testing.check_plugin import check_plugin

__all__ = ["check_plugin"]
