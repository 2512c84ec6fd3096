"""Families that upstream has no name for: `bayplan_*`.

Those that are filled with every pod are here; others stand where they are read, made by `own_family`.
"""

from __future__ import annotations

from bayplan.serving.metrics.tallies import Family, Labels

PREFIX = "bayplan_"

DECISION_DURATION = Family(
    "bayplan_decision_duration_seconds",
    "histogram",
    "Time to decide on a pod, by outcome, in finer buckets than upstream's.",
    ("outcome",),
    (1e-05, 2e-05, 5e-05, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.1, 1.0),
)
WRITE_DURATION = Family(
    "bayplan_write_duration_seconds",
    "histogram",
    "From a decision to the answer to a write, with the wait for its turn.",
    ("kind", "outcome"),
    (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0),
)


def own_family(name: str, kind: str, help_text: str, labels: Labels = ()) -> Family:
    if not name.startswith(PREFIX):
        raise ValueError(f"{name}: metrics of bayplan's own start with {PREFIX}")
    return Family(name, kind, help_text, labels)
