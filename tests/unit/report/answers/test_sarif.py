"""An audit as SARIF: what the schema of version 2.1.0 demands of the parts that are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bayplan import Cluster
from bayplan.analysis.answers.audit.auditing import Audit
from bayplan.analysis.answers.audit.rules import RULES, Finding
from bayplan.report.answers.sarif import sarif

LEVELS = {"none", "note", "warning", "error"}

LINES = {"pods.yaml": {("Pod", "default", "x"): 7}}


def log_of(*findings: Finding) -> dict[str, Any]:
    return sarif(Audit(findings, pods=1, nodes=1), LINES)


def check_message(message: Any) -> None:
    assert isinstance(message["text"], str)
    assert message["text"]


def check_log(log: dict[str, Any]) -> None:
    """By hand what a validator would do: required properties, enumerations, references between parts."""
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    assert set(log) == {"$schema", "version", "runs"}
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        assert driver["name"]
        names = [rule["id"] for rule in driver["rules"]]
        assert len(set(names)) == len(names)
        for rule in driver["rules"]:
            check_message(rule["shortDescription"])
            check_message(rule["help"])
            assert rule["defaultConfiguration"]["level"] in LEVELS
        for result in run["results"]:
            check_result(result, names)


def check_result(result: dict[str, Any], rules: list[str]) -> None:
    check_message(result["message"])
    assert rules[result["ruleIndex"]] == result["ruleId"]
    assert result["level"] in LEVELS
    assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
    for location in result["locations"]:
        assert location["logicalLocations"][0]["fullyQualifiedName"]
        physical = location.get("physicalLocation")
        if physical is not None:
            uri = physical["artifactLocation"]["uri"]
            assert " " not in uri
            assert "\\" not in uri
            assert physical["region"]["startLine"] >= 1


def test_every_rule_makes_a_valid_result() -> None:
    log = log_of(*(Finding(rule, "Pod default/x", "because", source="some dir/pods.yaml") for rule in RULES))
    check_log(log)
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == list(RULES)


def test_no_findings_are_a_valid_log() -> None:
    log = log_of()
    check_log(log)
    assert log["runs"][0]["results"] == []


@pytest.mark.parametrize(
    ("source", "uri"),
    [("web.yaml", "web.yaml"), ("./a b/web.yaml", "a%20b/web.yaml"), ("/k8s/web.yaml", "file:///k8s/web.yaml")],
)
def test_files_are_addresses(source: str, uri: str) -> None:
    (result,) = log_of(Finding("never-fits", "Pod default/x", "no", source=source))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


@pytest.mark.parametrize("source", ["", "standard input"])
def test_what_is_in_no_file_has_a_name_only(source: str) -> None:
    (result,) = log_of(Finding("never-fits", "Pod default/x", "no", source=source))["runs"][0]["results"]
    assert list(result["locations"][0]) == ["logicalLocations"]


def test_objects_are_found_in_the_files_they_came_from(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: a}\nvalue: 1\n"
    )
    (tmp_path / "b.yaml").write_text(
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: b}\nvalue: 9\n"
    )
    findings = Cluster.load(tmp_path).audit().findings
    assert {finding.object: Path(finding.source).name for finding in findings} == {
        "PriorityClass a": "a.yaml",
        "PriorityClass b": "b.yaml",
    }


@pytest.mark.parametrize(
    ("name", "source", "line"),
    [("Pod default/x", "pods.yaml", 7), ("Pod default/y", "pods.yaml", 1), ("Pod default/x", "others.yaml", 1)],
)
def test_a_finding_points_at_the_line_of_its_object(name: str, source: str, line: int) -> None:
    (result,) = log_of(Finding("no-requests", name, "because", source=source))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": line}
