"""What a version changes, as SARIF: levels, places and words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bayplan import Cluster
from bayplan.report.answers.upgrade_sarif import RULES, pod_name, upgrade_sarif
from bayplan.testing.builders import node, pod

LINES = {"pods.yaml": {("Pod", "default", "x"): 7}}


def results_of(log: dict[str, Any]) -> list[dict[str, Any]]:
    (run,) = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(RULES)
    found: list[dict[str, Any]] = run["results"]
    assert all(list(RULES)[each["ruleIndex"]] == each["ruleId"] for each in found)
    return found


def test_a_pod_points_at_the_line_it_begins_at() -> None:
    objects = [node("a").capacity(cpu="1").dict(), pod("x").cpu("2").dict()]
    answer = Cluster.from_objects(objects, kubernetes_version="1.36").upgrade("1.37")
    assert [pod_name(each) for each in answer.differences] == ["Pod default/x"]
    (message,) = (
        each
        for each in results_of(upgrade_sarif(answer, lambda _: "pods.yaml", LINES))
        if each["ruleId"].startswith("other-") and each["ruleId"] != "other-default"
    )
    assert (message["ruleId"], message["level"]) == ("other-message", "note")
    assert message["locations"][0]["physicalLocation"]["region"] == {"startLine": 7}
    assert 'Because of DynamicResources: messages no longer say "no new claims' in message["message"]["text"]


def test_refused_settings_and_metrics_that_are_gone(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("groups: [{name: g, rules: [{alert: A, expr: scheduler_resourceclaim_creates_total > 1}]}]\n")
    answer = Cluster.from_objects([node("a").capacity(cpu="1").dict()], kubernetes_version="1.36").upgrade(
        "1.37", rules=[str(rules)], feature_gates="SidecarContainers=true"
    )
    found = {each["ruleId"]: each for each in results_of(upgrade_sarif(answer, lambda _: "", {}))}
    assert found["refused-setting"]["level"] == "error"
    assert "unrecognized feature gate: SidecarContainers" in found["refused-setting"]["message"]["text"]
    assert "physicalLocation" not in found["refused-setting"]["locations"][0]
    where = found["metric-gone"]["locations"][0]
    assert where["physicalLocation"]["artifactLocation"]["uri"] == rules.as_uri()
