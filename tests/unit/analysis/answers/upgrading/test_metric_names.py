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
