"""The Kubernetes scheduler in Python.

`bayplan.Cluster` answers questions about a cluster: why a pod is pending, where pods would go, who would be evicted.
`bayplan.simulate` runs a cluster through time, `bayplan.load_trace` reads pods to come for it, `bayplan.compare`
compares runs, `bayplan.sweep` does many of them, and `bayplan.write_report` writes a page about any of these. Input
that cannot be used raises `bayplan.InvalidObject`. All are imported on first use only, so that `bayplan --help` and
plain imports of one part stay fast. Plugin authors need `bayplan.plugin` and `bayplan.testing`; every other module is
internal.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayplan.analysis.cluster import Cluster
    from bayplan.analysis.simulation.inputs.traces import load_trace
    from bayplan.analysis.simulation.replaying.recorded_life import load_recording
    from bayplan.analysis.simulation.results.comparison import compare
    from bayplan.analysis.simulation.running import simulate
    from bayplan.analysis.sweeping.sweeping import sweep
    from bayplan.model.errors import InvalidObject
    from bayplan.report.writing import write_report

__all__ = [
    "Cluster",
    "InvalidObject",
    "__version__",
    "compare",
    "load_recording",
    "load_trace",
    "simulate",
    "sweep",
    "write_report",
]

__version__ = "0.1.0"

#: The same places as above, to import from when a name is first used.
_HOMES = {
    "Cluster": "bayplan.analysis.cluster",
    "InvalidObject": "bayplan.model.errors",
    "compare": "bayplan.analysis.simulation.results.comparison",
    "load_recording": "bayplan.analysis.simulation.replaying.recorded_life",
    "load_trace": "bayplan.analysis.simulation.inputs.traces",
    "simulate": "bayplan.analysis.simulation.running",
    "sweep": "bayplan.analysis.sweeping.sweeping",
    "write_report": "bayplan.report.writing",
    # How answers show themselves; not for users.
    "html_of": "bayplan.report.notebook",
    "sentence_of": "bayplan.report.notebook",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
