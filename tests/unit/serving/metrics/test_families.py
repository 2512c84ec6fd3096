"""The families of kube-scheduler v1.36.4: the same names, types, labels and buckets."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import NamedTuple

import pytest

from bayplan.serving.metrics import families
from bayplan.serving.metrics.tallies import Family, number_text


class Recorded(NamedTuple):
    type: str
    labels: tuple[str, ...] = ()
    buckets: str = "-"


FROM_1_MS = "0.001 0.002 0.004 0.008 0.016 0.032 0.064 0.128 0.256 0.512 1.024 2.048 4.096 8.192 16.384 +Inf"
FROM_10_MS = (
    "0.01 0.02 0.04 0.08 0.16 0.32 0.64 1.28 2.56 5.12 10.24 20.48 40.96 81.92 163.84 327.68 655.36 1310.72 2621.44"
    " 5242.88 +Inf"
)
FROM_100_US = "0.0001 0.0002 0.0004 0.0008 0.0016 0.0032 0.0064 0.0128 0.0256 0.0512 0.1024 0.2048 +Inf"
FROM_10_US = "1e-05 2e-05 4e-05 8e-05 0.00016 0.00032 0.00064 0.00128 0.00256 0.00512 0.01024 0.02048 +Inf"
FINE = (
    "1e-05 1.5000000000000002e-05 2.2500000000000005e-05 3.375000000000001e-05 5.062500000000001e-05"
    " 7.593750000000002e-05 0.00011390625000000003 0.00017085937500000006 0.0002562890625000001 0.00038443359375000017"
    " 0.0005766503906250003 0.0008649755859375004 0.0012974633789062506 0.0019461950683593758 0.0029192926025390638"
    " 0.004378938903808595 0.006568408355712893 0.009852612533569338 0.014778918800354007 0.02216837820053101 +Inf"
)

RECORDED = {
    "scheduler_batch_attempts_total": Recorded("counter", ("profile", "result")),
    "scheduler_batch_cache_flushed_total": Recorded("counter", ("profile", "reason")),
    "scheduler_cache_size": Recorded("gauge", ("type",)),
    "scheduler_event_handling_duration_seconds": Recorded("histogram", ("event",), FROM_100_US),
    "scheduler_framework_extension_point_duration_seconds": Recorded(
        "histogram", ("extension_point", "profile", "status"), FROM_100_US
    ),
    "scheduler_get_node_hint_duration_seconds": Recorded("histogram", ("hinted", "profile"), FROM_10_US),
    "scheduler_goroutines": Recorded("gauge", ("operation",)),
    "scheduler_inflight_events": Recorded("gauge", ("event",)),
    "scheduler_pending_pods": Recorded("gauge", ("queue",)),
    "scheduler_plugin_evaluation_total": Recorded("counter", ("extension_point", "plugin", "profile")),
    "scheduler_plugin_execution_duration_seconds": Recorded("histogram", ("extension_point", "plugin", "status"), FINE),
    "scheduler_pod_scheduled_after_flush_total": Recorded("counter"),
    "scheduler_pod_scheduling_attempts": Recorded("histogram", (), "1 2 4 8 16 +Inf"),
    "scheduler_pod_scheduling_sli_duration_seconds": Recorded("histogram", ("attempts",), FROM_10_MS),
    "scheduler_preemption_attempts_total": Recorded("counter"),
    "scheduler_preemption_goroutines_duration_seconds": Recorded("histogram", ("result",), FROM_10_MS),
    "scheduler_preemption_goroutines_execution_total": Recorded("counter", ("result",)),
    "scheduler_preemption_victims": Recorded("histogram", (), "1 2 4 8 16 32 64 +Inf"),
    "scheduler_queue_incoming_pods_total": Recorded("counter", ("event", "queue")),
    "scheduler_queueing_hint_execution_duration_seconds": Recorded("histogram", ("event", "hint", "plugin"), FINE),
    "scheduler_schedule_attempts_total": Recorded("counter", ("profile", "result")),
    "scheduler_scheduling_algorithm_duration_seconds": Recorded("histogram", (), FROM_1_MS),
    "scheduler_scheduling_attempt_duration_seconds": Recorded("histogram", ("profile", "result"), FROM_1_MS),
    "scheduler_store_schedule_results_duration_seconds": Recorded("histogram", ("profile",), FROM_10_US),
    "scheduler_unschedulable_pods": Recorded("gauge", ("plugin", "profile")),
    "scheduler_volume_scheduling_stage_error_total": Recorded("counter", ("operation",)),
}
#: Upstream has them: in the recordings no pod waited at Permit or had extended resources, and the others are of v1.37.
NOT_RECORDED = {
    "scheduler_permit_wait_duration_seconds",
    "scheduler_queue_incoming_entities_total",
    "scheduler_queued_entities",
    "scheduler_resourceclaim_creates_total",
}
#: Of v1.37, too.
SHARED = {"dynamic_resource_allocation_resourceclaim_creates_total"}


def ours() -> dict[str, Family]:
    found = [value for value in vars(families).values() if isinstance(value, Family)]
    return {family.name: family for family in found}


@pytest.mark.parametrize("name", RECORDED)
def test_a_family_is_as_upstream_has_it(name: str) -> None:
    family = ours()[name]
    bounds = " ".join([*map(number_text, family.buckets), "+Inf"]) if family.buckets else "-"
    assert Recorded(family.type, tuple(sorted(family.labels)), bounds) == RECORDED[name]


def test_nothing_is_called_scheduler_that_upstream_does_not_have() -> None:
    named = {name for name in ours() if name.startswith("scheduler_")}
    assert named == {*RECORDED, *NOT_RECORDED}


def recorded_lines(recordings: Path) -> list[str]:
    return lzma.decompress((recordings / "metrics.txt.xz").read_bytes()).decode().splitlines()


def test_the_table_is_what_was_recorded(recordings: Path) -> None:
    found: dict[str, Recorded] = {}
    for line in recorded_lines(recordings):
        if line.startswith("scheduler_"):
            name, kind, _, labels, buckets = (part.strip() for part in line.split("|"))
            names = () if labels == "-" else tuple(sorted(pair.split(" = ")[0] for pair in labels.split("; ")))
            found[name] = Recorded(kind, names, buckets)
    assert found == RECORDED


@pytest.mark.parametrize("family", ours().values(), ids=ours())
def test_a_family_outside_scheduler_is_named_as_in_the_recording(family: Family, recordings: Path) -> None:
    for line in recorded_lines(recordings):
        if line.startswith(f"{family.name} |") and not line.startswith("scheduler_"):
            _, kind, _, labels = (part.strip() for part in line.split("|"))
            assert (kind, labels.split(", ")) == (family.type, sorted(family.labels))
            return
    assert family.name in {*RECORDED, *NOT_RECORDED, *SHARED}
