"""Names of metrics in rules and dashboards that another version does not have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from bayplan.analysis.answers.upgrading.metric_names import stale_names
from bayplan.model.errors import InvalidObject

RULE = {"alert": "Slow", "expr": "rate(scheduler_preemption_goroutines_duration_seconds_bucket[5m]) > 1"}
LABEL = 'scheduler_queue_incoming_pods_total{event="UnschedulablePodAdd"}'


def test_rules_and_dashboards_are_looked_through(tmp_path: Path) -> None:
    rules, board = tmp_path / "rules.yaml", tmp_path / "board.json"
    rules.write_text(yaml.safe_dump({"groups": [{"name": "g", "rules": [RULE, {"expr": LABEL}]}]}), encoding="utf-8")
    panel = {"targets": [{"expr": "sum(scheduler_resourceclaim_creates_total)"}]}
    board.write_text(json.dumps({"title": "Scheduler", "panels": [panel]}), encoding="utf-8")
    found = stale_names([str(rules), str(board)], "1.36", "1.37")
    assert [(Path(each.file).name, each.where, each.name) for each in found] == [
        ("rules.yaml", "groups[0].rules[0].expr", "scheduler_preemption_goroutines_duration_seconds_bucket"),
        ("rules.yaml", "groups[0].rules[1].expr", "UnschedulablePodAdd"),
        ("board.json", "panels[0].targets[0].expr", "scheduler_resourceclaim_creates_total"),
    ]
    assert "dynamic_resource_allocation_resourceclaim_creates_total" in found[2].advice


GONE_IN_1_37 = """
    scheduler_resourceclaim_creates_total scheduler_preemption_goroutines_duration_seconds_count
    UnschedulablePodAdd UnschedulablePodUpdate UnschedulablePodUpdatePodLabel node_not_full
"""
NEW_IN_1_37 = """
    dynamic_resource_allocation_resourceclaim_creates_total informer_processing_latency_seconds_sum
    informer_queued_items informer_store_resource_version scheduler_batch_rescore_attempts_total
    scheduler_batch_rescore_duration_seconds_bucket scheduler_generated_placements_total
    scheduler_placement_evaluation_duration_seconds scheduler_placement_evaluations_total
    scheduler_pre_queueing_hint_evaluations_total scheduler_preemption_evaluation_duration_seconds
    scheduler_preemption_execution_duration_seconds scheduler_preemption_pdb_violations_total
    scheduler_preemption_workload_disruptions scheduler_queue_incoming_entities_total scheduler_queued_entities
    scheduler_workload_preemption_attempts_total scheduler_workload_preemption_victims_bucket
    UnscheduledPodAdd TargetPodUpdatePodLabel PlacementFeasible PodGroupPostFilter
    filter_error normalize_error pod_nominated prescore_error rescore_error
"""
IN_BOTH = """
    scheduler_pending_pods scheduler_preemption_victims scheduler_inflight_events AssignedPodDelete NodeAdd
    scheduler_queueing_hint_execution_duration_seconds_bucket scheduler_plugin_execution_duration_seconds_bucket
    scheduler_queue_incoming_pods_total pod_failed PostFilter
"""


def test_what_each_version_alone_has(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    texts = f"{GONE_IN_1_37} {NEW_IN_1_37} {IN_BOTH}".split()
    file.write_text(yaml.safe_dump({"texts": texts}), encoding="utf-8")

    def stale(before: str, after: str) -> set[str]:
        return {each.name for each in stale_names([str(file)], before, after)}

    assert stale("1.36", "1.37") == set(GONE_IN_1_37.split())
    assert stale("1.37", "1.36") == set(NEW_IN_1_37.split())


def test_names_that_only_look_alike_are_not_meant(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("expr: my_scheduler_resourceclaim_creates_total + scheduler_resourceclaim_creates_total_2\n")
    assert stale_names([str(file)], "1.36", "1.37") == []


def test_on_the_way_back_new_names_are_missing(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("expr: scheduler_queued_entities > 0\n", encoding="utf-8")
    assert [each.advice for each in stale_names([str(file)], "1.37", "1.36")] == ["new in v1.37"]
    assert stale_names([str(file)], "1.36", "1.37") == []


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidObject, match="no such file"):
        stale_names([str(tmp_path / "none.yaml")], "1.36", "1.37")
