"""The Kubernetes scheduler in Python.

`bayplan.Cluster` answers questions about a cluster: why a pod is pending, where pods would go, who
would be evicted. `bayplan.simulate` runs one through time, and `bayplan.compare` holds runs against each other. All
are imported on first use only, so that `bayplan --help` and plain imports of one part stay fast; nothing else is
exported here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayplan.analysis.cluster import Cluster
    from bayplan.analysis.simulation.results.comparison import compare
    from bayplan.analysis.simulation.running import simulate

__all__ = ["Cluster", "__version__", "compare", "simulate"]

__version__ = "0.1.0.dev0"


def __getattr__(name: str) -> Any:
    if name == "Cluster":
        from bayplan.analysis.cluster import Cluster

        return Cluster
    if name == "compare":
        from bayplan.analysis.simulation.results.comparison import compare

        return compare
    if name == "simulate":
        from bayplan.analysis.simulation.running import simulate

        return simulate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
