"""The families about groups of kube-scheduler v1.37.0-rc.1: the same names, types, labels and buckets, all alpha."""

from __future__ import annotations

import pytest

from bayplan.serving.metrics import group_families
from bayplan.serving.metrics.tallies import Family, number_text

FROM_1_MS = "0.001 0.002 0.004 0.008 0.016 0.032 0.064 0.128 0.256 0.512 1.024 2.048 4.096 8.192 16.384"
UP_TO_33_S = f"{FROM_1_MS} 32.768"
UP_TO_1024 = "1 2 4 8 16 32 64 128 256 512 1024"
UPSTREAM = {
    "scheduler_generated_placements_total": ("counter", ("profile",), ""),
    "scheduler_placement_evaluation_duration_seconds": ("histogram", ("result", "profile"), FROM_1_MS),
    "scheduler_placement_evaluations_total": ("counter", ("result", "profile"), ""),
    "scheduler_podgroup_schedule_attempts_total": ("counter", ("result", "profile"), ""),
    "scheduler_podgroup_scheduling_algorithm_duration_seconds": ("histogram", (), FROM_1_MS),
    "scheduler_podgroup_scheduling_attempt_duration_seconds": ("histogram", ("result", "profile"), FROM_1_MS),
    "scheduler_preemption_evaluation_duration_seconds": ("histogram", ("preemptor", "result"), UP_TO_33_S),
    "scheduler_preemption_execution_duration_seconds": ("histogram", ("preemptor", "result"), UP_TO_33_S),
    "scheduler_preemption_pdb_violations_total": ("counter", ("preemptor",), ""),
    "scheduler_preemption_workload_disruptions": ("histogram", ("preemptor",), UP_TO_1024),
    "scheduler_workload_preemption_attempts_total": ("counter", ("result",), ""),
    "scheduler_workload_preemption_victims": ("histogram", (), UP_TO_1024),
}
OURS = {each.name: each for each in vars(group_families).values() if isinstance(each, Family)}


@pytest.mark.parametrize("name", UPSTREAM)
def test_a_family_is_as_upstream_has_it(name: str) -> None:
    family = OURS[name]
    assert (family.type, family.labels, " ".join(map(number_text, family.buckets))) == UPSTREAM[name]


def test_there_are_no_others() -> None:
    assert OURS.keys() == UPSTREAM.keys()
