"""Metrics of kube-scheduler that rules and dashboards name, and that another version does not have.

Takes Prometheus rule files, PrometheusRules and Grafana dashboards, as YAML or JSON. Every text in them is looked
through for names of metrics, so that it does not matter where a tool keeps its queries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from bayplan.config.releases import RELEASES
from bayplan.model.reading import read_documents


@dataclass(frozen=True, slots=True)
class MetricChange:
    """A name, or a pattern of a label's value, that one version has and the one before or after it does not."""

    pattern: str
    advice: str


#: For each version: what is in the version before it and not in this one, and what is in this one for the first time.
_GONE: Final[Mapping[str, tuple[MetricChange, ...]]] = MappingProxyType(
    {
        "1.37": (
            MetricChange(
                "scheduler_resourceclaim_creates_total",
                "renamed dynamic_resource_allocation_resourceclaim_creates_total, with more labels",
            ),
            MetricChange(
                "scheduler_preemption_goroutines_duration_seconds",
                "deprecated; it now has the time until all victims are evicted, and the true result",
            ),
            MetricChange(
                "UnschedulablePod[A-Za-z]*",
                "this value of the label event is now UnscheduledPod… or, for a pod's own updates, TargetPod…",
            ),
            MetricChange("node_not_full", "this value of the label reason is no longer used"),
        )
    }
)
_NEW: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "1.37": (
            "dynamic_resource_allocation_resourceclaim_creates_total",
            "informer_processing_latency_seconds",
            "informer_queued_items",
            "informer_store_resource_version",
            "scheduler_batch_rescore_attempts_total",
            "scheduler_batch_rescore_duration_seconds",
            "scheduler_generated_placements_total",
            "scheduler_placement_evaluation_duration_seconds",
            "scheduler_placement_evaluations_total",
            "scheduler_pre_queueing_hint_evaluations_total",
            "scheduler_preemption_evaluation_duration_seconds",
            "scheduler_preemption_execution_duration_seconds",
            "scheduler_preemption_pdb_violations_total",
            "scheduler_preemption_workload_disruptions",
            "scheduler_queue_incoming_entities_total",
            "scheduler_queued_entities",
            "scheduler_workload_preemption_attempts_total",
            "scheduler_workload_preemption_victims",
            # Values of labels: of events, of points, and of why a batch ended.
            "UnscheduledPod[A-Za-z]*",
            "TargetPod[A-Za-z]*",
            "PlacementFeasible",
            "PodGroupPostFilter",
            "filter_error",
            "normalize_error",
            "pod_nominated",
            "prescore_error",
            "rescore_error",
        )
    }
)
_SUFFIXES: Final = "(?:_bucket|_sum|_count)?"


@dataclass(frozen=True, slots=True)
class StaleName:
    """A name in a file that the other version does not have."""

    file: str
    where: str  # `groups[0].rules[2].expr`
    name: str
    advice: str

    def to_dict(self) -> dict[str, Any]:
        return {"file": self.file, "where": self.where, "name": self.name, "advice": self.advice}


def stale_names(files: Sequence[str], before: str, after: str) -> list[StaleName]:
    """In these files, for a scheduler that goes from one version to another. Raises InvalidObject."""
    changes = metric_changes(before, after)
    if not changes:
        return []
    patterns = [
        (re.compile(rf"(?<![A-Za-z0-9_:]){each.pattern}{_SUFFIXES}(?![A-Za-z0-9_:])"), each) for each in changes
    ]
    found: dict[StaleName, None] = {}
    for read in read_documents(files) if files else ():
        for where, text in _texts(read.document, ""):
            for pattern, change in patterns:
                for match in pattern.finditer(text):
                    found[StaleName(read.source, where, match[0], change.advice)] = None
    return list(found)


def metric_changes(before: str, after: str) -> list[MetricChange]:
    """What the scheduler after no longer has."""
    versions = list(RELEASES)
    start, end = versions.index(before), versions.index(after)
    if start < end:
        return [change for version in versions[start + 1 : end + 1] for change in _GONE.get(version, ())]
    return [
        MetricChange(name, f"new in v{version}")
        for version in versions[end + 1 : start + 1]
        for name in _NEW.get(version, ())
    ]


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for position, each in enumerate(value):
            yield from _texts(each, f"{path}[{position}]")
